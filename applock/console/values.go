package console

import (
	"fmt"
	"html"
	"html/template"
	"strings"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/visible"
)

// A value is what people and programs have given: a name, an id, a note. It may have letters that are written from right to left, and
// characters that turn the words around it: each value is isolated, and the characters are escapes.

// functions are those that templates show values by.
func (t texts) functions() template.FuncMap {
	return template.FuncMap{
		"text":    t.shown,
		"names":   t.names,
		"few":     func(all []string) template.HTML { return t.firstNames(all, namesOfQueue) },
		"several": several,
		"grant":   grantOf,
		"value":   value,
		"words":   words,
		"visible": visible.Text,
	}
}

// shown returns a text with its values isolated. Without values it fits an attribute, too.
func (t texts) shown(name string, args ...any) (any, error) {
	text, err := t.say(name)
	if err != nil || len(args) == 0 {
		return text, err
	}
	return t.html(name, args...), nil
}

// html returns a text with its values isolated.
func (t texts) html(name string, args ...any) template.HTML {
	isolated := make([]any, len(args))
	for i, arg := range args {
		switch arg := arg.(type) {
		case template.HTML, int, int64, applock.Fence:
			isolated[i] = arg
		default:
			isolated[i] = value(arg)
		}
	}
	return template.HTML(fmt.Sprintf(html.EscapeString(t[name]), isolated...)) //nolint:gosec // each value is escaped
}

// value isolates a value.
func value(of any) template.HTML {
	return template.HTML("<bdi>" + html.EscapeString(visible.Text(fmt.Sprint(of))) + "</bdi>") //nolint:gosec // it is escaped
}

// words isolates what may have several lines.
func words(text string) template.HTML {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = string(value(line))
	}
	return template.HTML(strings.Join(lines, "\n")) //nolint:gosec // each line is escaped
}

// namesShown is how many names a sentence has.
const namesShown = 20

// several names the text for one, or that for several.
func several(text string, names []string) string {
	if len(names) > 1 {
		return text + ".all"
	}
	return text
}

// names lists names, or the first of many.
func (t texts) names(all []string) template.HTML { return t.firstNames(all, namesShown) }

func (t texts) firstNames(all []string, most int) template.HTML {
	var list []string
	for _, name := range all[:min(len(all), most)] {
		list = append(list, string(value(name)))
	}
	text := template.HTML(strings.Join(list, ", ")) //nolint:gosec // each name is escaped
	if more := len(all) - len(list); more > 0 {
		return t.html("names.more", text, more)
	}
	return text
}

// plain returns what a page says for the browser's title, where nothing can be isolated.
func plain(text template.HTML) string {
	return html.UnescapeString(strings.NewReplacer("<bdi>", "", "</bdi>", "").Replace(string(text)))
}
