package pages

import (
	"errors"
	"fmt"
	"html"
	"html/template"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"unicode"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/visible"
)

// A value is text from people or programs: a name, an id, a note. It may be written from right to left and disturb the words around it, so
// each value is isolated, and control characters are escaped.

// functions are the functions for templates that show values.
func (t texts) functions() template.FuncMap {
	return template.FuncMap{
		"text":    t.shown,
		"names":   t.names,
		"few":     func(all []string) template.HTML { return t.firstNames(all, NamesOfQueue) },
		"several": several,
		"grant":   FormatGrant,
		"value":   Value,
		"clamped": func(name string) template.HTML { return clamped(longestName, name) },
		"object":  func(name string) template.HTML { return clamped(longestObject, name) },
		"words":   words,
		"visible": visible.Text,
	}
}

// shown formats a text with isolated values. Without values the result also fits an attribute. A missing text fails the page.
func (t texts) shown(name string, args ...any) (any, error) {
	text, found := t[name]
	switch {
	case !found:
		return "", fmt.Errorf("there is no text %q", name)
	case len(args) == 0:
		return text, nil
	}
	return t.html(name, args...), nil
}

func (t texts) html(name string, args ...any) template.HTML {
	isolated := make([]any, len(args))
	for i, arg := range args {
		switch arg := arg.(type) {
		case template.HTML, int, int64, applock.Fence:
			isolated[i] = arg
		default:
			isolated[i] = Value(arg)
		}
	}
	return template.HTML(fmt.Sprintf(html.EscapeString(t[name]), isolated...)) //nolint:gosec // each value is escaped
}

// Value isolates a value.
func Value(of any) template.HTML {
	return template.HTML("<bdi>" + html.EscapeString(visible.Text(fmt.Sprint(of))) + "</bdi>") //nolint:gosec // escaped
}

// clamped isolates a name of which a narrow column leaves out the middle, since the ends tell names apart. It is for names of more than most
// characters.
func clamped(most int, name string) template.HTML {
	const tail = 6
	text := []rune(visible.Text(name))
	if len(text) <= most {
		return Value(name)
	}
	at := len(text) - tail
	for at > 0 && unicode.In(text[at], unicode.M) { // a mark stays with its letter
		at--
	}
	head, end := html.EscapeString(string(text[:at])), html.EscapeString(string(text[at:]))
	return template.HTML(`<bdi class="cut" title="` + head + end + `"><span>` + head + `</span><span>` + end + `</span></bdi>`) //nolint:gosec // escaped
}

// words isolates a text of several lines.
func words(text string) template.HTML {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = string(Value(line))
	}
	return template.HTML(strings.Join(lines, "\n")) //nolint:gosec // each line is escaped
}

// NamesOfQueue is the number of waiters of a queue that are named.
const NamesOfQueue = 2

const namesShown = 20

// several returns the name of a text in the singular or plural.
func several(text string, names []string) string {
	if len(names) > 1 {
		return text + ".all"
	}
	return text
}

func (t texts) names(all []string) template.HTML { return t.firstNames(all, namesShown) }

func (t texts) firstNames(all []string, most int) template.HTML {
	var list []string
	for _, name := range all[:min(len(all), most)] {
		list = append(list, string(Value(name)))
	}
	text := template.HTML(strings.Join(list, ", ")) //nolint:gosec // each name is escaped
	if more := len(all) - len(list); more > 0 {
		return t.html("names.more", text, more)
	}
	return text
}

// Plain removes the markup, for the browser's title.
func Plain(text template.HTML) string {
	return html.UnescapeString(strings.NewReplacer("<bdi>", "", "</bdi>", "").Replace(string(text)))
}

// maxForm is the maximum size of a form, enough for a plan of 500 locks.
const maxForm = 1 << 20

// ReadForm reads a form of at most maxForm bytes.
func ReadForm(r *http.Request) (url.Values, error) {
	r.Body = http.MaxBytesReader(nil, r.Body, maxForm)
	err := r.ParseForm()
	var tooBig *http.MaxBytesError
	switch {
	case errors.As(err, &tooBig):
		return nil, ErrFormTooBig
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, ErrFormLate
	case err != nil:
		return nil, &applock.InvalidError{Argument: "form", Reason: "cannot be read"}
	}
	return r.PostForm, nil
}

// Tidy trims a text and unifies its line ends, which differ between browsers.
func Tidy(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) }

// FormatGrant writes a grant as a form's value, and ParseGrant parses it. A blank ends the number and the escaped operator.
func FormatGrant(key applock.Key) string {
	return fmt.Sprintf("%d %s %s", key.Fence, url.QueryEscape(key.Operator), key.Object)
}

// ParseGrant parses what FormatGrant has written. It returns NoLock for other texts.
func ParseGrant(text string) (applock.Key, error) {
	number, rest, _ := strings.Cut(text, " ")
	escaped, name, _ := strings.Cut(rest, " ")
	fence, err := strconv.ParseInt(number, 10, 64)
	holder, unescaped := url.QueryUnescape(escaped)
	if err != nil || unescaped != nil || fence < 1 {
		return applock.Key{}, NoLock()
	}
	object, err := applock.ParseObject(name)
	return applock.Key{Object: object, Operator: holder, Fence: applock.Fence(fence)}, err
}

// NoLock is the error of a form without a lock.
func NoLock() error { return &applock.InvalidError{Argument: "lock", Reason: "is missing: select one"} }

// Unseen reports whether a character is invisible or changes the direction of text, so that two different names could look the same.
func Unseen(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp,
		unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
