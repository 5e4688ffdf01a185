package watch

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
	"github.com/applock/applock/internal/visible"
)

type shade int

const (
	plain shade = iota
	strong
	faint
	marked
)

type shadedLine struct {
	text  string
	shade shade
	// soon marks a lock that ends soon.
	soon bool
}

type watchedLock struct {
	lock    applock.Lock
	since   string
	waiting []applock.Waiter
}

// fields returns the fields. Where nobody waits for any of the locks, they have no waiters.
func (w watchedLock) fields(waiters bool) []table.Field {
	fields := []table.Field{
		{Title: "OBJECT", Value: w.lock.Object.String()},
		{Title: "OPERATOR", Value: w.lock.Owner.Operator},
		{Title: "DEPARTMENT", Value: w.lock.Owner.Department},
		{Title: "SINCE", Value: table.Word(w.since)},
		{Title: "LEFT", Value: table.Lasting(table.WholeSeconds(w.lock.Left))},
		{Title: "WAITERS", Value: table.Word(waitersOf(w.waiting))},
		{Title: "NOTE", Value: w.lock.Note},
	}
	return slices.DeleteFunc(fields, func(f table.Field) bool { return f.Title == "WAITERS" && !waiters })
}

// waitersOf returns the number of waiters and the longest wait.
func waitersOf(waiting []applock.Waiter) string {
	if len(waiting) == 0 {
		return "0"
	}
	return fmt.Sprintf("%d, %s", len(waiting), waited(waiting[0].Waited))
}

func waited(long time.Duration) string {
	return cmp.Or(table.Lasting(table.WholeSeconds(long)).Short(), "0s")
}

// since returns when a grant began: the time for today's locks, the day for older ones. Today is the day of the database's answer.
func since(s table.Style, lock applock.Lock) string {
	const day = "2006-01-02"
	today, began := lock.ExpiresAt.Add(-lock.Left).In(s.Zone).Format(day), lock.AcquiredAt.In(s.Zone)
	switch {
	case lock.AcquiredAt.IsZero():
		return ""
	case began.Format(day) == today:
		return began.Format("15:04")
	default:
		return began.Format(day)
	}
}

func (m model) view() []shadedLine {
	lines := m.tableView()
	if m.mode == reading {
		lines = m.pageView()
	}
	for i := range lines {
		lines[i].text = table.Shorten(visible.Text(lines[i].text), max(1, m.style.Width))
	}
	return lines[:min(len(lines), max(1, m.height))]
}

// tableView returns two lines above the table, the table, messages, and the details of the selected lock.
func (m model) tableView() []shadedLine {
	below := m.below()
	lines := []shadedLine{{text: m.headline(), shade: faint}}
	lines = append(lines, m.table(m.height-aboveRows-len(below))...)
	for len(lines) < m.height-len(below) {
		lines = append(lines, shadedLine{})
	}
	return append(lines, below...)
}

func (m model) headline() string {
	parts := []string{m.position() + " locks by " + string(m.query.Order)}
	request := m.query.Request
	for _, selection := range []struct{ name, value string }{
		{"type", request.ObjectType}, {"operator", request.Operator}, {"department", request.Department}, {"with", m.query.filter},
	} {
		if selection.value != "" {
			parts = append(parts, selection.name+" "+table.Printable(selection.value))
		}
	}
	if len(m.picked) > 0 {
		parts = append(parts, thousands(len(m.picked))+" marked")
	}
	return strings.Join(parts, " | ")
}

// position returns the number of the selected lock and the total, as far as known.
func (m model) position() string {
	seen := m.before + len(m.found.Locks)
	at := min(seen, m.before+m.index+1)
	switch {
	case m.shown != m.turn:
		return "looking for"
	case !m.found.more:
		return thousands(at) + " of " + thousands(seen)
	case m.query.counted() && m.total > seen && m.isOld:
		return thousands(at) + " of about " + thousands(m.total)
	case m.query.counted() && m.total > seen:
		return thousands(at) + " of " + thousands(m.total)
	default:
		return thousands(at) + " of more than " + thousands(seen)
	}
}

// thousands separates thousands with commas. The number must not be negative.
func thousands(number int) string {
	if number < 1000 {
		return strconv.Itoa(number)
	}
	return fmt.Sprintf("%s,%03d", thousands(number/1000), number%1000)
}

// The prefixes of marked and unmarked locks, shown while any is marked.
const (
	pickedMark    = "* "
	notPickedMark = "  "
)

func (m model) table(rows int) []shadedLine {
	waiting := m.found.waiting()
	style, margin := m.style, ""
	if len(m.picked) > 0 {
		margin = notPickedMark
		style.Width -= len(margin)
	}
	top := max(m.top, m.index-max(1, rows)+1)
	locks := m.found.Locks[top:min(len(m.found.Locks), top+max(1, rows))]
	waiters := slices.ContainsFunc(locks, func(lock applock.Lock) bool { return len(waiting[lock.Object]) > 0 })
	shown := table.New(style, watchedLock{}.fields(waiters))
	for _, lock := range locks {
		shown.Add(watchedLock{lock: lock, since: since(m.style, lock), waiting: waiting[lock.Object]}.fields(waiters))
	}
	var lines []shadedLine
	for i, text := range strings.Split(strings.TrimSuffix(shown.Align(), "\n"), "\n") {
		if i == 0 {
			lines = append(lines, shadedLine{text: margin + text, shade: strong})
			continue
		}
		lock := m.found.Locks[top+i-1]
		line := shadedLine{text: margin + text, soon: endsSoon(lock)}
		if m.isPicked(lock) {
			line.text = pickedMark + text
		}
		if top+i-1 == m.index {
			line.shade, line.text = marked, table.Pad(line.text, m.style.Width)
		}
		lines = append(lines, line)
	}
	return lines
}

// endsSoon reports whether a lock ends within the hour and is in the last quarter of its time. A lease that is being renewed never is.
func endsSoon(lock applock.Lock) bool {
	return lock.Left <= min(time.Hour, lock.TTL/4)
}

// The maximum of lines for an answer and for the waiters.
const (
	mostSaid    = 4
	mostWaiting = 3
)

func (m model) below() []shadedLine {
	switch m.mode {
	case filtering:
		return m.dialog("Any part of an object, operator, department or note, in upper or lower case. Without a text all locks are shown.",
			"only what has this text: ", "enter finds  esc cancels  ctrl-u clears")
	case asking:
		ask := m.verb.asks[m.step]
		hint, keys := ask.hint, "enter goes on  esc cancels  ctrl-u clears  (needed)"
		if ask.optional {
			keys = "enter goes on  esc cancels  ctrl-u clears  (may be empty)"
		}
		if names := m.offered(); len(names) > 0 {
			hint, keys = hint+"  tab: "+strings.Join(names, "  "), "tab completes  "+keys
		}
		return m.dialog(strings.TrimSpace(hint), m.verb.name+" "+m.wish.what()+": "+ask.text+" ", keys)
	case confirming:
		lines := m.wrapped(m.height-aboveRows-2, strong, m.verb.plan(m.wish))
		return append(lines, shadedLine{text: "y  confirms; any other key cancels"})
	default:
		lines := m.wrapped(mostSaid, strong, m.status())
		waiting := m.wrapped(min(mostWaiting, m.height/8), plain, m.aboutWaiting())
		if asking := m.aboutAsking(); asking != "" {
			waiting = append(waiting, m.wrapped(min(mostWaiting, m.height/8), plain, asking)...)
		}
		lines = append(lines, m.wrapped(m.height-aboveRows-len(lines)-len(waiting)-2, plain, m.aboutChosen()...)...)
		lines = append(lines, waiting...)
		return append(lines, shadedLine{text: m.keys(), shade: faint})
	}
}

// dialog returns the lines that ask for a text: a hint, the question, the keys.
func (m model) dialog(hint, question, keys string) []shadedLine {
	lines := append([]shadedLine{{}}, m.wrapped(2, faint, hint)...)
	lines = append(lines, m.wrapped(m.height-aboveRows-len(lines)-2, strong, question+m.text+"_")...)
	return append(lines, shadedLine{text: keys, shade: faint})
}

// wrapped wraps texts. It cuts them after the given number of lines, and marks the cut.
func (m model) wrapped(most int, shade shade, texts ...string) []shadedLine {
	var lines []shadedLine
	for _, text := range texts {
		for _, line := range wrap(visible.Text(text), m.style.Width) {
			lines = append(lines, shadedLine{text: line, shade: shade})
		}
	}
	if most = max(1, most); len(lines) > most {
		lines = lines[:most]
		lines[most-1].text = table.Shorten(lines[most-1].text+"…", m.style.Width)
	}
	return lines
}

// aboutChosen describes the selected lock in full.
func (m model) aboutChosen() []string {
	lock, there := m.chosen()
	if !there {
		return []string{""}
	}
	style := m.style
	style.Wide = true
	about := []string{
		fmt.Sprintf("%s  %s  fence %d", lock.Object, lock.Owner, lock.Fence),
		fmt.Sprintf("since %s  until %s  %s left",
			style.Time(lock.AcquiredAt), style.Time(lock.ExpiresAt), table.Lasting(table.WholeSeconds(lock.Left)).Short()),
	}
	if lock.Note != "" {
		about = append(about, "note: "+lock.Note)
	}
	return about
}

// aboutWaiting lists the waiters for the selected lock, the longest wait first.
func (m model) aboutWaiting() string {
	lock, there := m.chosen()
	waiting := m.found.waiting()[lock.Object]
	switch {
	case !there && m.shown != m.turn:
		return "looking ..."
	case !there:
		return "no locks"
	case len(waiting) == 0:
		return "nobody waits"
	}
	names := make([]string, len(waiting))
	for i, waiter := range waiting {
		names[i] = waiter.Owner.String() + " for " + waited(waiter.Waited)
	}
	if len(names) == 1 {
		return "waiting: " + names[0]
	}
	return fmt.Sprintf("%d wait, w shows all: %s", len(names), strings.Join(names, ", "))
}

// aboutAsking lists the requests for the selected lock, the oldest first, or returns an empty text.
func (m model) aboutAsking() string {
	lock, _ := m.chosen()
	var texts []string
	for _, asker := range m.found.asking()[lock.Object] {
		texts = append(texts, askerText(asker))
	}
	switch len(texts) {
	case 0:
		return ""
	case 1:
		return "asking: " + texts[0]
	}
	return fmt.Sprintf("%d ask, w shows all: %s", len(texts), strings.Join(texts, ", "))
}

// status returns the answer to the last change, or the trouble that keeps the table from being current.
func (m model) status() string {
	style := m.style
	style.Wide = true
	switch {
	case m.trouble == "":
		return m.message
	case m.seen.IsZero():
		return "not up to date: " + m.trouble
	default:
		return "not up to date since " + style.Time(m.seen) + ": " + m.trouble
	}
}

// keys lists as many keys as fit, the most important first.
func (m model) keys() string {
	all := []string{"? help", "q quit", "/ find", "x mark"}
	for _, verb := range m.verbs {
		all = append(all, verb.key+" "+verb.name)
	}
	all = append(all, "s sort")
	for _, report := range m.reports {
		all = append(all, report.key+" "+report.name)
	}
	keys := all[0]
	for _, key := range append(all[1:], "space refresh") {
		longer := keys + table.Gap + key
		if displaywidth.String(longer) > m.style.Width {
			break
		}
		keys = longer
	}
	return keys
}

// wrap breaks a text into lines of at most width cells, at blanks if possible.
func wrap(text string, width int) []string {
	var lines []string
	for displaywidth.String(text) > max(1, width) {
		line := displaywidth.TruncateString(text, max(1, width), "")
		if line == "" { // a single character is wider than the line
			characters := displaywidth.StringGraphemes(text)
			characters.Next()
			line = characters.Value()
		}
		if blank := strings.LastIndex(text[:min(len(text), len(line)+1)], " "); blank > 0 {
			line = text[:blank]
		}
		lines = append(lines, line)
		text = strings.TrimLeft(text[len(line):], " ")
	}
	return append(lines, text)
}
