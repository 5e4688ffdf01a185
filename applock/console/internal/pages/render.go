package pages

import (
	"cmp"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
	"github.com/applock/applock/internal/span"
)

func parseTemplates(words texts) map[string]*template.Template {
	frame := template.Must(template.New("frame.html").Funcs(template.FuncMap{
		"seconds":  wholeSeconds,
		"lasting":  Lasting,
		"said":     func(t time.Time) string { return said(t, time.Now()) },
		"happened": func(kind applock.EventKind) string { return cmp.Or(words["event."+string(kind)], string(kind)) },
		"span":     FormatSpan,
		"number":   grouped,
		"stamp":    func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
		"machine":  func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"entries":  menu,
		"verbs":    func() []string { return append(access.ChangesOfMany(), access.Ask) },
		"key":      keyOf,
	}).Funcs(words.functions()).ParseFS(files, "templates/frame.html", "templates/parts.html"))
	pages := map[string]*template.Template{}
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		panic(err) // the pattern is a literal
	}
	for _, name := range names {
		page := strings.TrimSuffix(path.Base(name), ".html")
		if page != "frame" && page != "parts" {
			pages[page] = template.Must(template.Must(frame.Clone()).ParseFS(files, name))
		}
	}
	return pages
}

// keyOf returns the key of a verb in the browser. "applockctl watch" has the same keys.
func keyOf(verb string) string {
	return map[string]string{access.Transfer: "t", access.Take: "o", access.Release: "r", access.Extend: "e", access.Ask: "a"}[verb]
}

type entry struct{ Address, Text string }

// menu returns the menu. Its addresses are relative, since the handler may be mounted anywhere.
func menu() []entry {
	return []entry{
		{"./", "title.now"},
		{"locks", "title.locks"},
		{"waiters", "label.waiting"},
		{"requests", "menu.requests"},
		{"people", "title.people"},
		{"history", "title.history"},
		{"statistics", "title.statistics"},
		{"policies", "title.policies"},
		{"health", "title.health"},
	}
}

func wholeSeconds(d time.Duration) int64 { return int64(d / time.Second) }

// Lasting formats a time left: seconds below a minute, minutes below an hour, days alone from a week on, otherwise the two largest units.
// The script in the browser does the same.
func Lasting(d time.Duration) string {
	seconds := max(0, wholeSeconds(d))
	minutes, hours, days := seconds/60, seconds/3600, seconds/86400
	switch {
	case seconds < 60:
		return fmt.Sprintf("%d s", seconds)
	case minutes < 60:
		return fmt.Sprintf("%d m", minutes)
	case days >= 7, days > 0 && hours%24 == 0:
		return fmt.Sprintf("%d d", days)
	case days > 0:
		return fmt.Sprintf("%d d %d h", days, hours%24)
	case minutes%60 == 0:
		return fmt.Sprintf("%d h", hours)
	default:
		return fmt.Sprintf("%d h %d m", hours, minutes%60)
	}
}

// said formats a moment in UTC: the time for today, the weekday for the days around it, the date within the year, or the date with its
// year.
func said(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	const near = 6 * 24 * time.Hour // beyond, the weekday would be ambiguous
	switch {
	case t.Format(time.DateOnly) == now.Format(time.DateOnly):
		return t.Format("15:04")
	case t.Sub(now).Abs() < near:
		return t.Format("Mon 15:04")
	case t.Year() == now.Year():
		return t.Format("2 Jan 15:04")
	default:
		return t.Format("2 Jan 2006")
	}
}

// longestObject and longestName are the longest names of objects and of others that always fit into their columns.
const longestObject, longestName = 20, 14

// grouped separates the thousands of a whole number.
func grouped(number any) template.HTML {
	text := fmt.Sprint(number)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return template.HTML(text) //nolint:gosec // digits
}

// FormatSpan writes a time as ParseSpan parses it: zero is an empty text.
func FormatSpan(of time.Duration) string {
	if of == 0 {
		return ""
	}
	return span.Format(of)
}

// ParseSpan parses a time such as 7d, 36h, 90m or 1d12h; an empty text is zero.
func ParseSpan(argument, text string) (time.Duration, error) {
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
