package console

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/span"
)

// parseTemplates returns the pages by their names, each in the frame.
func parseTemplates(words texts) map[string]*template.Template {
	frame := template.Must(template.New("frame.html").Funcs(template.FuncMap{
		"seconds": wholeSeconds,
		"lasting": lasting,
		"stamp":   func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
		"machine": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"entries": menu,
	}).Funcs(words.functions()).ParseFS(files, "templates/frame.html", "templates/parts.html"))
	pages := map[string]*template.Template{}
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		panic(err) // the pattern is written right here
	}
	for _, name := range names {
		page := strings.TrimSuffix(path.Base(name), ".html")
		if page != "frame" && page != "parts" {
			pages[page] = template.Must(template.Must(frame.Clone()).ParseFS(files, name))
		}
	}
	return pages
}

// execute returns a page as a whole, so that one that fails is not begun.
func execute(page *template.Template, data shown) ([]byte, error) {
	var text bytes.Buffer
	err := page.ExecuteTemplate(&text, "frame.html", data)
	return text.Bytes(), err
}

// entry is one of the menu.
type entry struct{ Address, Text string }

// menu returns what can be gone to from everywhere. The addresses are relative: nobody knows where the handler is mounted.
func menu() []entry {
	return []entry{
		{"./", "menu.locks"},
		{expiringSoon, "menu.expiring"},
		{"waiters", "menu.waiters"},
		{"statistics", "menu.statistics"},
		{"health", "menu.health"},
	}
}

// expiringSoon is the list of what ends within an hour.
const expiringSoon = "./?within=1h&sort=left"

func wholeSeconds(d time.Duration) int64 { return int64(d / time.Second) }

// lasting returns the two greatest units of a time, which people can compare.
func lasting(d time.Duration) string {
	seconds := wholeSeconds(d)
	var parts []string
	for _, unit := range []struct {
		letter  string
		seconds int64
	}{{"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}} {
		if number := seconds / unit.seconds; number > 0 || len(parts) > 0 {
			parts = append(parts, fmt.Sprintf("%d%s", number, unit.letter))
			seconds %= unit.seconds
		}
	}
	if len(parts) == 0 {
		return "0s"
	}
	return strings.Join(parts[:min(2, len(parts))], " ")
}

// parseSpan reads a time such as 7d, 36h, 90m or 1d12h; empty is none.
func parseSpan(argument, text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, nil
	}
	parsed, err := span.Parse(text, applock.MaxTTL)
	if err != nil {
		return 0, &applock.InvalidError{Argument: argument, Reason: "is written as 7d, 36h, 90m, 30s or 1d12h"}
	}
	return parsed, nil
}
