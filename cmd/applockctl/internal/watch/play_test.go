package watch

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clipperhouse/displaywidth"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
)

// newModel returns the table of a user, boss or nobody, whose window has room for three locks.
func newModel(by string) model {
	m := model{
		style: table.Style{Zone: time.UTC}, query: Query{Order: ByObject}, verbs: verbs(by), reports: reports(nil), by: by,
		problem: error.Error,
	}
	m, _ = m.update(windowSize{width: 100, height: aroundRows + 3})
	return m
}

// lockOf returns a lock on a customer.
func lockOf(id, operator string, fence applock.Fence, left time.Duration) applock.Lock {
	return applock.Lock{
		Object: applock.Object{Type: "customer", ID: id}, Owner: applock.Owner{Operator: operator}, Fence: fence,
		LockedAt: time.Unix(int64(fence), 0), ExpiresAt: time.Unix(int64(fence), 0).Add(time.Hour), Left: left,
	}
}

// press presses keys, of which some have names; the characters of another word are typed. It returns the effect of the last one.
func (m model) press(words ...string) (model, effect) {
	named := map[string]pressed{
		"up": keyUp, "down": keyDown, "pgup": keyPageUp, "pgdn": keyPageDown, "home": keyHome, "end": keyEnd, "enter": keyEnter, "tab": keyTab,
		"esc": keyEscape, "erase": keyErase, "eraseall": keyEraseAll, "^c": keyInterrupt,
	}
	var last effect
	for _, word := range words {
		if key, known := named[word]; known {
			m, last = m.update(keyPress{key: key})
			continue
		}
		for _, character := range strings.ReplaceAll(word, "space", " ") {
			m, last = m.update(keyPress{text: string(character)})
		}
	}
	return m, last
}

// finds has the model find locks: ID, or ID/OPERATOR/FENCE. More locks follow behind "...".
func (m model) finds(words ...string) (model, effect) {
	var found Snapshot
	for _, word := range words {
		if word == "..." {
			found.more = true
			continue
		}
		parts := append(strings.Split(word, "/"), "jdoe", "7")
		if len(parts) > 3 {
			parts = parts[:3]
		}
		fence, _ := strconv.Atoi(parts[2])
		found.Locks = append(found.Locks, lockOf(parts[0], parts[1], applock.Fence(fence), time.Hour))
	}
	return m.update(refreshed{turn: m.turn, at: time.Unix(1e9, 0), found: found})
}

func (m model) screen() string {
	var all []string
	for _, line := range m.view() {
		all = append(all, strings.TrimRight(line.text, " "))
	}
	return "\n" + strings.Join(all, "\n") + "\n"
}

// play plays steps, one a line, and the checks behind each. A step is
//
//	find ID...     a refresh finds these locks
//	fail TEXT      a refresh fails
//	count N ROWS   a count arrives
//	press KEY...   keys are pressed
//	try KEY...     keys are pressed, and everything is then as before
//	window W H     the window has another size
//
// After each step everything fits into the window.
func play(t *testing.T, m model, script string) model {
	t.Helper()
	for line := range strings.Lines(script) {
		checks := strings.Split(line, " | ")
		words := strings.Fields(checks[0])
		if len(words) == 0 {
			continue
		}
		var next model
		var did effect
		number := func(i int) int {
			n, err := strconv.Atoi(words[i])
			if err != nil {
				t.Fatal(line)
			}
			return n
		}
		switch words[0] {
		case "find":
			next, did = m.finds(words[1:]...)
		case "fail":
			next, did = m.update(refreshed{turn: m.turn, err: errors.New(strings.Join(words[1:], " "))})
		case "count":
			next, did = m.update(counted{locks: int64(number(1)), rows: int64(number(2))})
		case "window":
			next, did = m.update(windowSize{width: number(1), height: number(2)})
		case "press", "try":
			next, did = m.press(words[1:]...)
		default:
			t.Fatalf("no step: %s", line)
		}
		next.mustFit(t)
		for _, check := range checks[1:] {
			if problem := next.check(strings.TrimSpace(check), did); problem != "" {
				t.Errorf("%s %s; it did %+v, and the screen is%s", line, problem, did, next.screen())
			}
		}
		if words[0] != "try" {
			m = next
		}
	}
	return m
}

// check returns what is wrong. The texts of shows are on the screen one behind the other, wrapped or not.
func (m model) check(check string, did effect) string {
	effects := map[string]effect{
		"nothing": {}, "refresh": {refresh: true}, "change": {change: true}, "report": {report: true}, "leave": {leave: true}, "interrupt": {interrupted: true},
	}
	is, want, _ := strings.Cut(check, " ")
	flat := strings.ReplaceAll(m.screen(), "\n", " ")
	got := ""
	switch is {
	case "does":
		if did == effects[want] {
			got = want
		}
	case "shows":
		got = fmt.Sprint(inOrder(flat, strings.Split(want, " .. ")...))
		want = "true"
	case "lacks":
		got = fmt.Sprint(!strings.Contains(flat, want))
		want = "true"
	case "line":
		got = fmt.Sprint(strings.Contains(m.screen(), "\n"+want+"\n"))
		want = "true"
	case "headline":
		got, _, _ = strings.Cut(m.view()[0].text, " |")
	case "after":
		got = m.query.Request.After.ID
	case "selected":
		got = m.selectedID()
	}
	if got != want {
		return fmt.Sprintf("has %q", got)
	}
	return ""
}

// selectedID returns the id of the selected lock, which has the only line that is marked.
func (m model) selectedID() string {
	lock, _ := m.chosen()
	marks := 0
	for _, line := range m.view() {
		if line.shade == marked {
			marks++
			if !strings.Contains(line.text, ":"+lock.Object.ID+" ") {
				return "the line " + line.text
			}
		}
	}
	if marks != 1 || m.selected != lock.Object {
		return fmt.Sprintf("%d lines, %s and %s", marks, lock.Object, m.selected)
	}
	return lock.Object.ID
}

// mustFit checks that the screen fits into its window.
func (m model) mustFit(t *testing.T) {
	t.Helper()
	lines := m.view()
	if len(lines) > m.height || len(lines) == 0 {
		t.Errorf("%d lines in a window of %d", len(lines), m.height)
	}
	for _, line := range lines {
		if displaywidth.String(line.text) > m.style.Width {
			t.Errorf("wider than %d cells: %s", m.style.Width, line.text)
		}
	}
}

func inOrder(text string, words ...string) bool {
	for _, word := range words {
		_, rest, found := strings.Cut(text, word)
		if !found {
			return false
		}
		text = rest
	}
	return true
}
