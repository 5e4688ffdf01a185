package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clipperhouse/displaywidth"
	"github.com/gdamore/tcell/v3/color"

	"github.com/applock/applock/applock"
)

// newModel returns a table of some lines whose window shows three locks.
func newModel() model {
	m := model{style: style{zone: time.UTC}, look: look{order: byObject}, verbs: verbs("boss"), reports: reports(), by: "boss"}
	m, _ = m.update(windowSize{width: 100, height: aroundRows + 3})
	return m
}

// press presses keys, of which some have names, and returns what the last one asks for.
func (m model) press(keys ...string) (model, deed) {
	named := map[string]pressed{
		"up": keyUp, "down": keyDown, "pgup": keyPageUp, "pgdn": keyPageDown, "home": keyHome, "end": keyEnd, "enter": keyEnter, "tab": keyTab,
		"esc": keyEscape, "erase": keyErase, "eraseall": keyEraseAll, "^c": keyInterrupt,
	}
	var last deed
	for _, key := range keys {
		m, last = m.update(keyPress{key: named[key], text: map[bool]string{true: key}[named[key] == typed]})
	}
	return m, last
}

// sees has the model find locks with these ids.
func (m model) sees(more bool, ids ...string) model {
	found := sight{more: more}
	for _, id := range ids {
		found.locks = append(found.locks, lockOf(id, "jdoe", 7, time.Hour))
	}
	m, _ = m.update(looked{turn: m.turn, found: found})
	return m
}

func (m model) mustSelect(t *testing.T, id string) {
	t.Helper()
	if lock, there := m.chosen(); !there || lock.Object.ID != id || m.selected.ID != id {
		t.Errorf("%s is selected (%v), want %s", m.selected, lock.Object, id)
	}
	marks := 0
	for _, line := range m.view() {
		if line.shade == marked {
			marks++
			if !strings.Contains(line.text, ":"+id+" ") {
				t.Errorf("the marked line is %q, want that of %s", line.text, id)
			}
		}
	}
	if marks != 1 {
		t.Errorf("%d lines are marked", marks)
	}
}

func (m model) screen() string {
	var all []string
	for _, line := range m.view() {
		all = append(all, strings.TrimRight(line.text, " "))
	}
	return strings.Join(all, "\n") + "\n"
}

// Goal: the selection stays with its lock, and goes on to the next when that is gone. Method: looks that find other locks
// around it.
func TestSelectionStaysWithItsLock(t *testing.T) {
	t.Parallel()
	m := newModel().sees(false, "1", "2", "3")
	m.mustSelect(t, "1")
	m, _ = m.press("down")
	m.mustSelect(t, "2")
	m = m.sees(false, "0", "1", "2")
	m.mustSelect(t, "2")
	m = m.sees(false, "2", "3")
	m.mustSelect(t, "2")
	m = m.sees(false, "1", "3", "4")
	m.mustSelect(t, "1")
	m, _ = m.press("down", "down", "down")
	m.mustSelect(t, "4")
	m = m.sees(false, "1")
	m.mustSelect(t, "1")
	m = m.sees(false)
	if _, there := m.chosen(); there || !strings.Contains(m.screen(), "no locks") {
		t.Errorf("of nothing: %s", m.screen())
	}
	if m, got := m.press("r"); got != (deed{}) || m.mode != browsing {
		t.Error("nothing is released")
	}
	m.sees(false, "1").mustSelect(t, "1")
}

// Goal: in the order of objects a page begins behind the one before, and the way back is known. Method: pages forth and
// back, one that is empty meanwhile, and keys that come before the page does.
func TestPagesByKey(t *testing.T) {
	t.Parallel()
	m := newModel().sees(true, "1", "2", "3")
	if m.look.rows != 3 {
		t.Errorf("the window has %d rows", m.look.rows)
	}
	m, got := m.press("pgdn")
	if !got.look || m.look.request.After.ID != "3" {
		t.Errorf("behind %s is looked for: %+v", m.look.request.After, got)
	}
	if m, got := m.press("pgdn"); got.look || m.look.request.After.ID != "3" {
		t.Errorf("a page is skipped: behind %s", m.look.request.After)
	}
	old := looked{turn: m.turn - 1, found: sight{locks: []applock.Lock{lockOf("1", "jdoe", 7, 1)}}}
	if m, _ := m.update(old); len(m.found.locks) != 3 {
		t.Error("an answer to an earlier question counts")
	}
	m = m.sees(true, "4", "5", "6")
	m.mustSelect(t, "4")
	m, _ = m.press("down", "down", "down")
	m = m.sees(false, "7")
	m.mustSelect(t, "7")
	if m.look.request.After.ID != "6" || !strings.Contains(m.screen(), "7 of 7 locks") {
		t.Errorf("behind %s: %s", m.look.request.After, m.screen())
	}
	m, got = m.update(looked{turn: m.turn})
	if !got.look || m.look.request.After.ID != "3" {
		t.Errorf("from an empty page to behind %s", m.look.request.After)
	}
	m = m.sees(true, "4", "5", "6")
	m.mustSelect(t, "6")
	m, _ = m.press("pgup")
	m = m.sees(true, "1", "2", "3")
	m.mustSelect(t, "3")
	if m.look.request.After != (applock.Object{}) {
		t.Errorf("the first page is behind %s", m.look.request.After)
	}
	m, _ = m.press("pgup")
	m.mustSelect(t, "1")
	m, _ = m.press("pgdn")
	m, got = m.sees(true, "4", "5", "6").press("home")
	if !got.look || m.look.request.After != (applock.Object{}) {
		t.Errorf("home is behind %s", m.look.request.After)
	}
	m.sees(true, "1", "2", "3").mustSelect(t, "1")
}

// Goal: the headline says which lock of how many is selected, no number that is not known, and of an old one that it is not exact; and
// nothing of locks that are still looked for. Method: pages forth and back, with the number of all and without, by object and in another order.
func TestPositionIsTold(t *testing.T) {
	t.Parallel()
	m := newModel()
	expect := func(want string) {
		t.Helper()
		if got, _, _ := strings.Cut(m.view()[0].text, " |"); got != want {
			t.Errorf("the headline is %q, want %q", got, want)
		}
	}
	expect("looking for locks by object")
	if !strings.Contains(m.screen(), "\nlooking ...\n") {
		t.Errorf("no locks are told that are looked for:\n%s", m.screen())
	}
	m = m.sees(false)
	expect("0 of 0 locks by object")
	m = m.sees(true, "1", "2", "3")
	expect("1 of more than 3 locks by object")
	m, _ = m.update(counted{locks: 5009, rows: 10_001})
	expect("1 of about 5,009 locks by object")
	m, _ = m.update(counted{locks: 5009, rows: 10_000})
	expect("1 of 5,009 locks by object")
	m, _ = m.press("down", "pgdn")
	expect("looking for locks by object")
	m = m.sees(true, "4", "5", "6")
	expect("4 of 5,009 locks by object")
	m, _ = m.press("pgdn")
	m = m.sees(false, "7", "8")
	m, _ = m.press("down")
	expect("8 of 8 locks by object")
	m, _ = m.press("pgup")
	m = m.sees(true, "4", "5", "6")
	expect("6 of 5,009 locks by object")
	m, _ = m.update(counted{locks: 4, rows: 4})
	expect("6 of more than 6 locks by object")
	m, _ = m.update(counted{locks: 1234567, rows: 1234567})
	m, _ = m.press("/", "x", "enter")
	expect("looking for locks by object")
	m = m.sees(true, "4", "5", "6")
	expect("3 of more than 3 locks by object")
	m, _ = m.press("esc", "s")
	m = m.sees(true, "1", "2", "3", "4")
	m, _ = m.press("down", "down", "down", "down", "down")
	expect("4 of about 1,234,567 locks by left")
	m, _ = m.press("s", "s")
	m = m.sees(true, "1", "2", "3", "4")
	expect("1 of more than 4 locks by waiters") // whatever was selected, the longest wait is wanted
	m.look.request.Operator, m.look.order = "jdoe", byObject
	expect("1 of more than 4 locks by object")
}

// Goal: few locks are counted with each look, also where there were none and where the database was away; many are not, nor where that is
// refused. Method: what counts come to.
func TestFewLocksAreCountedWithEachLook(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		counted counted
		isOld   bool
	}{
		{counted{}, false},
		{counted{locks: 9_000, rows: 10_000}, false},
		{counted{locks: 9_000, rows: 10_001}, true},
		{counted{err: fmt.Errorf("watch: %w", applock.ErrUnreachable)}, false},
		{counted{err: errors.New("no right")}, true},
	} {
		m, got := newModel().update(test.counted)
		if m.isOld != test.isOld || m.total != int(test.counted.locks) || got != (deed{}) {
			t.Errorf("%+v makes %d, old: %t, and %+v", test.counted, m.total, m.isOld, got)
		}
	}
}

// Goal: in any other order the window goes with the selection, and that with its lock. Method: more locks than fit, sorted
// by the database's answer, and a smaller window.
func TestWindowFollowsTheSelection(t *testing.T) {
	t.Parallel()
	m := newModel()
	for _, want := range []order{byLeft, byAge, byWaiters, byObject, byLeft} {
		var got deed
		if m, got = m.press("s"); m.look.order != want || !got.look {
			t.Errorf("sorted by %s, want %s", m.look.order, want)
		}
	}
	m = m.sees(false, "1", "2", "3", "4", "5", "6", "7")
	m, _ = m.press("pgdn")
	m.mustSelect(t, "4")
	m = m.sees(false, "4", "1", "2", "3", "5", "6", "7")
	m.mustSelect(t, "4")
	m = m.sees(false, "1", "2", "3", "5", "6", "7", "4")
	m.mustSelect(t, "4")
	m, _ = m.update(windowSize{width: 100, height: aroundRows + 1})
	m.mustSelect(t, "4")
	m, _ = m.press("up")
	m.mustSelect(t, "7")
	m, _ = m.press("pgup", "pgup", "home")
	m.sees(false, "1", "2").mustSelect(t, "1")
	tiny, _ := m.update(windowSize{width: 1, height: 1})
	if got := len(tiny.view()); got < 1 {
		t.Errorf("%d lines", got)
	}
}

// Goal: the filter is what was typed, and Escape takes it away. Method: type, correct, enter, escape.
func TestFilterIsTyped(t *testing.T) {
	t.Parallel()
	m := newModel().sees(true, "1", "2", "3")
	m, _ = m.press("pgdn")
	m, got := m.sees(true, "4").press("/", "q", "erase", "s", "\x1b", "Ä", "eraseall", "x", "é", " ", "enter")
	if !got.look || m.look.filter != "xé " || m.look.request.After != (applock.Object{}) || m.mode != browsing {
		t.Errorf("%+v, looks for %q behind %s", got, m.look.filter, m.look.request.After)
	}
	if !strings.Contains(m.screen(), "with xé") {
		t.Errorf("the filter is not told: %s", m.screen())
	}
	if m, _ := m.press("/", "y", "esc"); m.look.filter != "xé " {
		t.Errorf("a filter that was not entered: %q", m.look.filter)
	}
	if m, got := m.press("esc"); m.look.filter != "" || !got.look {
		t.Errorf("the filter stays: %q", m.look.filter)
	}
}

// Goal: nothing is done before its questions are answered, its plan is told, and y pressed; and it concerns the grant that was
// on the screen when it was begun. Method: each verb, with answers and without, and another grant meanwhile.
func TestChangesAreConfirmed(t *testing.T) {
	t.Parallel()
	m := newModel().sees(false, "1", "2")
	m, got := m.press("t", "enter", " ", "enter")
	if m.step != 0 || got != (deed{}) {
		t.Error("nobody gets the lock")
	}
	m, got = m.press("eraseall", "m", "l", "e", "e", "enter", "C", "S", "enter", "i", "l", "l", "enter")
	if got != (deed{}) || m.mode != confirming || m.wish.to != (applock.Owner{Operator: "mlee", Department: "CS"}) || m.wish.reason != "ill" || m.wish.by != "boss" {
		t.Errorf("%+v: %+v", got, m.wish)
	}
	want := "Transfer customer:1 to mlee (CS). The lock of jdoe, fence 7, ends: the holder's next renewal or release is refused. In the history: by boss, \"ill\"."
	if !strings.Contains(strings.ReplaceAll(m.screen(), "\n", " "), want) {
		t.Errorf("the plan is not told: %s", m.screen())
	}
	m, _ = m.update(looked{turn: m.turn, found: sight{locks: []applock.Lock{lockOf("1", "asmith", 8, time.Hour)}}})
	if !strings.Contains(strings.ReplaceAll(m.screen(), "\n", " "), want) {
		t.Errorf("a look has changed the plan: %s", m.screen())
	}
	for _, key := range []string{"n", "enter", "esc", "Y", "q"} {
		if m, got := m.press(key); got != (deed{}) || m.mode != browsing || !strings.Contains(m.screen(), "nothing was done") {
			t.Errorf("%s does %+v: %s", key, got, m.screen())
		}
	}
	m, got = m.press("y")
	if got != (deed{change: true}) || m.wish.locks[0].Fence != 7 || m.verb.name != "transfer" {
		t.Errorf("y does %+v with %+v", got, m.wish)
	}
	if m, got := m.press("r"); m.mode != browsing || got != (deed{}) {
		t.Error("a second change before the first is answered")
	}
	m, got = m.update(changed{errs: []error{fmt.Errorf("transfer customer:1: %w", &applock.HeldError{Holder: applock.Holder{Owner: applock.Owner{Operator: "a\x1bb"}}})}})
	if !got.look || !strings.Contains(m.screen(), "transfer customer:1: held by a\ufffdb") {
		t.Errorf("%+v: %s", got, m.screen())
	}
	m, _ = m.press("r", "enter")
	if !strings.Contains(m.screen(), "Release customer:1. The lock of asmith, fence 8, ends") {
		t.Errorf("the plan is not told: %s", m.screen())
	}
	m, _ = newModel().sees(false, "1").press("k", "C", "S", "enter", "enter", " ", "enter")
	if m.mode != asking {
		t.Errorf("a take without a reason: %s", m.screen())
	}
	m, _ = m.press("eraseall", "u", "r", "g", "e", "n", "t", "enter")
	if !strings.Contains(m.screen(), "Take customer:1 for boss (CS). The lock of jdoe, fence 7, ends") {
		t.Errorf("the plan is not told: %s", m.screen())
	}
	for _, keys := range [][]string{{"^c"}, {"t", "^c"}, {"/", "^c"}, {"r", "enter", "^c"}} {
		if _, got := newModel().sees(false, "1").press(keys...); got != (deed{interrupted: true}) {
			t.Errorf("%q: %+v", keys, got)
		}
	}
	if _, got := newModel().press("q"); got != (deed{leave: true}) {
		t.Errorf("q: %+v", got)
	}
}

// Goal: a dialog says what its answer is for, which keys there are, and offers the names on the screen; the whole answer stays in
// sight. Method: each question of a verb, with tab, and an answer longer than a line.
func TestDialogsHaveHints(t *testing.T) {
	t.Parallel()
	m := newModel()
	m.by, m.verbs = "", verbs("")
	locks := []applock.Lock{lockOf("1", "mlee", 7, time.Hour), lockOf("2", "Moore", 7, time.Hour), lockOf("3", "asmith", 7, time.Hour), lockOf("4", "mlee", 7, time.Hour)}
	locks[0].Owner.Department = "sales"
	waiting := applock.Waiter{Object: locks[0].Object, Owner: applock.Owner{Operator: "mwong", Department: "CS"}}
	m, _ = m.update(looked{turn: m.turn, found: sight{locks: locks, waiters: []applock.Waiter{waiting}}})
	expect := func(want ...string) {
		t.Helper()
		m.mustFit(t)
		if !inOrder(m.screen(), want...) {
			t.Errorf("%q are not on the screen:\n%s", want, m.screen())
		}
	}
	m, _ = m.press("/")
	expect("Any part of an object, operator, department or note", "only what has this text: _", "enter finds  esc cancels")
	m, _ = m.press("tab", "esc", "t")
	expect("different operators.  tab: Moore  asmith  mlee  mwong", "transfer customer:1: To which operator? _", "tab completes  enter goes on  esc cancels", "(needed)")
	m, _ = m.press("m", "w")
	expect("tab: mwong", "To which operator? mw_")
	m, _ = m.press("tab", "enter")
	expect("tab: CS  sales", "Department of that operator? _", "(may be empty)")
	m, _ = m.press("x", "tab")
	expect("Department of that operator? x_", "enter goes on")
	m, _ = m.press("enter")
	expect("The history keeps it, and the former holder reads it", "Why? _", "(may be empty)")
	for range 50 {
		m, _ = m.press("long ")
	}
	expect("Why? long", "long _", "enter goes on")
	m, _ = m.press("enter")
	expect("$APPLOCK_OPERATOR", "Who are you? _", "enter goes on")
	if m.wish.to != (applock.Owner{Operator: "mwong", Department: "x"}) {
		t.Errorf("it is for %v", m.wish.to)
	}
}

// Goal: marked locks have one plan, which names each with its holder, on whatever page it is; a lock that is somebody else's by now is
// not marked any more; and what is done loses its mark. Method: marks on two pages, and another grant of one.
func TestMarkedLocksHaveOnePlan(t *testing.T) {
	t.Parallel()
	m := newModel().sees(true, "1", "2", "3")
	m, _ = m.press("m", "m", "up", "m") // 1 and 2, and 2 not any more
	m.mustSelect(t, "3")
	if text := m.screen(); !inOrder(text, "1 marked", "\n* customer:1 ", "\n  customer:2 ", "\n  customer:3 ") {
		t.Errorf("the marks are not to be seen:\n%s", text)
	}
	m, _ = m.press("pgdn")
	m = m.sees(false, "4", "5")
	m, _ = m.press("m", "m")
	if !strings.Contains(m.screen(), "3 marked") {
		t.Errorf("the marks are not counted:\n%s", m.screen())
	}
	m, _ = m.update(looked{turn: m.turn, found: sight{locks: []applock.Lock{lockOf("4", "jdoe", 7, time.Hour), lockOf("5", "asmith", 8, time.Hour)}}})
	m, got := m.press("t", "m", "l", "e", "e", "enter", "enter", "i", "l", "l", "enter")
	want := `Transfer 2 locks to mlee, without a department. Each lock ends: its holder's next renewal or release is refused. In the history: by boss, "ill".` +
		" They are customer:1 of jdoe, fence 7; customer:4 of jdoe, fence 7."
	if got != (deed{}) || !strings.Contains(strings.ReplaceAll(m.screen(), "\n", " "), want) {
		t.Errorf("%+v, and the plan is:\n%s", got, m.screen())
	}
	m, got = m.press("y")
	if got != (deed{change: true}) || len(m.wish.locks) != 2 || !strings.Contains(m.screen(), "transfer 2 locks ...") {
		t.Errorf("y does %+v with %+v", got, m.wish)
	}
	m, _ = m.update(changed{done: m.wish.locks[:1], answers: []string{"done"}, errs: []error{errors.New("transfer customer:4: no answer")}})
	if text := m.screen(); !inOrder(text, "1 marked", "* customer:4", "transfer: 1 of 2 locks; transfer customer:4: no answer") {
		t.Errorf("the outcome is not told, or what is not done not marked:\n%s", text)
	}
	m, _ = m.press("esc")
	m, _ = m.press("home", "m", "/", "x", "enter")
	m = m.sees(false, "1", "2")
	if m, _ = m.press("esc"); !strings.Contains(m.screen(), "1 marked") || m.look.filter != "" {
		t.Errorf("esc behind a filter does not end that alone:\n%s", m.screen())
	}
	m, _ = m.press("esc")
	if strings.Contains(m.screen(), "marked") {
		t.Errorf("esc leaves marks:\n%s", m.screen())
	}
	m = newModel().sees(true, "1", "2", "3")
	m, _ = m.press("m", "m", "m") // and on to the next page
	if m = m.sees(false, "5"); len(m.picked) != 3 {
		t.Errorf("marks on the page before are gone: %v", m.picked)
	}
	m, _ = m.press("up")
	if m = m.sees(true, "1", "3", "4"); len(m.picked) != 2 {
		t.Errorf("a lock that has ended is marked: %v", m.picked)
	}
	m, _ = m.press("/", "x", "enter")
	if m = m.sees(false, "1"); len(m.picked) != 2 {
		t.Errorf("a mark of what the filter hides is gone: %v", m.picked)
	}
	if m, got := newModel().press("m"); got != (deed{}) || len(m.picked) > 0 {
		t.Errorf("nothing is marked: %+v", got)
	}
}

// Goal: a plan for more locks than the window can name still asks for y. Method: a hundred in a small one.
func TestPlanFitsIntoTheWindow(t *testing.T) {
	t.Parallel()
	m := newModel().sees(false, "1")
	for i := range 100 {
		m.picked = append(m.picked, lockOf(strings.Repeat("x", i), "jdoe", 7, time.Hour))
	}
	m, _ = m.update(windowSize{width: 80, height: 12})
	m, _ = m.press("r", "enter")
	m.mustFit(t)
	if text := m.screen(); !inOrder(text, "Release 100 locks. ", "In the history: by boss", "…\n", "y  confirms") {
		t.Errorf("the plan is:\n%s", text)
	}
	if cut := m.wrapped(1, plain, strings.Repeat("x", 200)); len(cut) != 1 || cut[0].text != strings.Repeat("x", 79)+"…" {
		t.Errorf("a line that is full ends as %v", cut)
	}
}

// Goal: an outage is told, with the time of the last sight; the table stays and goes on after it. Method: a look that fails, and one that does not.
func TestTroubleIsTold(t *testing.T) {
	t.Parallel()
	m := newModel()
	m, _ = m.update(looked{turn: m.turn, err: errors.New("list: it is away")})
	if text := m.screen(); !strings.Contains(text, "not up to date: list: it is away") {
		t.Error(text)
	}
	m, _ = m.update(looked{turn: m.turn, at: time.Unix(1e9, 0), found: sight{locks: []applock.Lock{lockOf("1", "jdoe", 7, time.Hour)}}})
	m, _ = m.update(looked{turn: m.turn, err: errors.New("list: postgres://jdoe:secret@db/crm\nis away")})
	if text := m.screen(); !strings.Contains(text, "not up to date since 2001-09-09 01:46:40 UTC: list: ") || !strings.Contains(text, "customer:1") || strings.Contains(text, "secret") {
		t.Error(text)
	}
	if m = m.sees(false, "2"); strings.Contains(m.screen(), "not up to date") {
		t.Error(m.screen())
	}
	if m, got := m.update(timeToLook{}); !got.look || m.shown != m.turn {
		t.Errorf("%+v", got)
	}
}

// Goal: the table shows locks, who waits, and nothing that a terminal would obey. Method: names with such characters, a
// window that is too narrow, and the whole screen compared.
func TestWatchView(t *testing.T) {
	t.Parallel()
	evil := lockOf("4\x1b[2J", "j\u202edoe", 8, 90*time.Second)
	evil.Owner.Department = "\u0085CS"
	evil.Note = "\x1b]0;gone\a"
	evil.Object.Type = "cust\u007fomer"
	locks := []applock.Lock{lockOf("1", "jdoe", 7, 26*time.Hour), evil}
	locks[0].AcquiredAt, locks[1].AcquiredAt = time.Unix(1e9, 0), time.Unix(1.1e9, 0)
	waiters := []applock.Waiter{
		{Object: evil.Object, Owner: applock.Owner{Operator: "a\nsmith", Department: "CS"}, Since: time.Unix(1.2e9, 0)},
		{Object: evil.Object, Owner: applock.Owner{Operator: "mlee"}, Since: time.Unix(1.3e9, 0)},
	}
	m := newModel()
	m.look.request.Operator, m.look.request.ObjectType = "j\x1bdoe", "customer"
	m, _ = m.update(looked{turn: m.turn, found: sight{locks: locks, waiters: waiters}})
	var text strings.Builder
	for _, step := range [][]string{nil, {"down"}, {"t", "o", "k"}, {"enter", "enter", "enter"}} {
		m, _ = m.press(step...)
		text.WriteString(m.screen() + "----\n")
	}
	m, _ = m.press("esc")
	for _, width := range []int{70, 20} {
		m, _ = m.update(windowSize{width: width, height: 9})
		text.WriteString(m.screen() + "----\n")
		m.mustFit(t)
	}
	golden(t, "watch.golden", text.String())
	if at := strings.IndexFunc(text.String(), func(r rune) bool { return r != '\n' && (r < ' ' || r == 0x7f || r == 0x85 || r == 0x202e) }); at >= 0 {
		t.Errorf("a terminal would obey %q", text.String()[at:])
	}
}

// Goal: whoever looks after locks reads all of the selected one, however long its names are and in whatever script, and still sees
// its line in the table. Method: the longest names and note, in windows of several sizes.
func TestSelectedLockIsToldInFull(t *testing.T) {
	t.Parallel()
	long := lockOf(strings.Repeat("x", 196)+"end!", "jürgen.müller@example.com", 7, time.Hour)
	long.Object.Type, long.Owner.Department = "doc", "顧客サービス部"
	long.AcquiredAt = time.Unix(7, 0)
	long.Note = strings.Repeat("書類待ち ", 30) + "ok"
	wide := lockOf("顧客番号の例", "山田太郎", 8, time.Hour)
	m := newModel()
	m, _ = m.update(looked{turn: m.turn, found: sight{locks: []applock.Lock{
		lockOf("1", "jdoe", 6, time.Hour), lockOf("2", "jdoe", 6, time.Hour), lockOf("3", "jdoe", 6, time.Hour), wide, long,
	}, waiters: []applock.Waiter{{Object: long.Object, Owner: applock.Owner{Operator: "mlee"}, Waited: 3 * time.Hour}}}})
	for _, window := range []windowSize{{80, 24}, {200, 50}, {81, 24}, {30, 40}} {
		m, _ := m.update(window)
		m, _ = m.press("down", "down", "down", "down")
		text := strings.ReplaceAll(m.screen(), "\n", "")
		whole := strings.ReplaceAll(text, " ", "")
		for _, want := range []string{
			long.Object.String(), "jürgen.müller@example.com(顧客サービス部)", "fence7", "until1970-01-0101:00:07UTC", "since1970-01-0100:00:07UTC",
			strings.ReplaceAll(long.Note, " ", ""), "mleefor3h",
		} {
			if !strings.Contains(whole, want) {
				t.Errorf("%+v does not tell %s:\n%s", window, want, m.screen())
			}
		}
		m.mustFit(t)
		marks := 0
		for _, line := range m.view() {
			if line.shade == marked {
				marks++
				if got := displaywidth.String(line.text); got != window.width || !strings.HasPrefix(line.text, "doc:xxx") {
					t.Errorf("the marked line is %d cells wide: %s", got, line.text)
				}
			}
		}
		if marks != 1 {
			t.Errorf("%+v: %d lines are marked:\n%s", window, marks, m.screen())
		}
	}
}

// mustFit checks that the screen fits into its window.
func (m model) mustFit(t *testing.T) {
	t.Helper()
	lines := m.view()
	if len(lines) > m.height {
		t.Errorf("%d lines in a window of %d", len(lines), m.height)
	}
	for _, line := range lines {
		if displaywidth.String(line.text) > m.style.width {
			t.Errorf("wider than %d cells: %s", m.style.width, line.text)
		}
	}
}

// Goal: the keys can be looked up at the table, also in a small window, and any key goes back to it. Method: the page as a whole,
// line by line through it, and back.
func TestHelpOfTheTable(t *testing.T) {
	t.Parallel()
	m := newModel().sees(false, "1", "2")
	m, _ = m.update(windowSize{width: 80, height: 24})
	m, got := m.press("?")
	if !strings.Contains(m.screen(), watchKeys+"\n\n"+watchColour+"\n") || got != (deed{}) {
		t.Errorf("%+v: %s", got, m.screen())
	}
	for _, key := range []string{"q", "esc", "enter", "?", " ", "r"} {
		if m, got := m.press(key); m.mode != browsing || got != (deed{}) || !strings.Contains(m.screen(), "customer:1") {
			t.Errorf("%s does %+v: %s", key, got, m.screen())
		}
	}
	if _, got := m.press("^c"); got != (deed{interrupted: true}) {
		t.Errorf("Ctrl-C does %+v", got)
	}
	m, _ = m.update(windowSize{width: 30, height: 6})
	m.mustFit(t)
	read := ""
	for m.mode == reading {
		read += m.view()[2].text + " "
		before := m.page.top
		if m, _ = m.press("down"); m.page.top == before {
			read += m.view()[3].text + " " + m.view()[4].text
			m, _ = m.press("up", "pgdn", "pgup", "home", "q")
		}
	}
	if !inOrder(strings.Join(strings.Fields(read), " "), "select a lock", "take the lock, which needs a reason", "q quit", "A red lock ends") {
		t.Errorf("in a small window: %s", read)
	}
	if m.page.top != 0 || m.mode != browsing {
		t.Errorf("home is line %d", m.page.top)
	}
}

// Goal: a lock that ends soon stands out, also when it is selected, and a lease that is renewed in time does not. Method: what is left
// of locks of several lengths.
func TestEndingSoonHasAColour(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		ttl, left time.Duration
		soon      bool
	}{
		{7 * 24 * time.Hour, time.Hour, true},
		{7 * 24 * time.Hour, time.Hour + time.Second, false},
		{time.Hour, 15 * time.Minute, true},
		{time.Hour, 16 * time.Minute, false},
		{time.Minute, 40 * time.Second, false}, // a lease just before it is renewed
		{time.Minute, 15 * time.Second, true},
	} {
		lock := lockOf("1", "jdoe", 7, test.left)
		lock.TTL = test.ttl
		m := newModel()
		m, _ = m.update(looked{turn: m.turn, found: sight{locks: []applock.Lock{lock, lock}}})
		for _, line := range m.view()[aboveRows : aboveRows+2] {
			if line.soon != test.soon {
				t.Errorf("%s of %s are left, soon: %t: %s", test.left, test.ttl, line.soon, line.text)
			}
			if fore := styleOf(line).GetForeground(); (fore == color.Maroon) != test.soon {
				t.Errorf("%s has the colour %s", line.text, fore)
			}
		}
	}
}

// Goal: a page of the database is that of the selected lock, tells an error or that there is nothing, and an answer that comes when
// another page is open changes nothing. Method: answers in time and too late.
func TestReportsArrive(t *testing.T) {
	t.Parallel()
	m := newModel().sees(false, "1", "2")
	m, _ = m.press("down")
	m, got := m.press("h")
	if got != (deed{report: true}) || m.page.lock.Object.ID != "2" || !inOrder(m.screen(), "The history of customer:2", "reading ...") {
		t.Errorf("%+v:\n%s", got, m.screen())
	}
	history := reported{title: "The history of customer:2", texts: []string{"it was\x1b taken"}}
	if m, _ := m.update(history); !strings.Contains(m.screen(), `it was\x1b taken`) {
		t.Errorf("the history is not shown:\n%s", m.screen())
	}
	history.texts = nil
	if m, _ := m.update(history); !strings.Contains(m.screen(), "There are no events.") {
		t.Errorf("that there is nothing is not told:\n%s", m.screen())
	}
	history.err = errors.New("history: no right")
	if m, _ := m.update(history); !strings.Contains(m.screen(), "history: no right") {
		t.Errorf("the error is not told:\n%s", m.screen())
	}
	for _, keys := range [][]string{{"q"}, {"q", "i"}, {"q", "?"}} {
		m, _ := m.press(keys...)
		before := m.screen()
		if m, got := m.update(history); m.screen() != before || got != (deed{}) {
			t.Errorf("behind %q: %+v\n%s", keys, got, m.screen())
		}
	}
	if m, got := newModel().press("i"); got != (deed{}) || m.mode != browsing {
		t.Errorf("the inbox of nobody: %+v", got)
	}
}

// Goal: it is told who waits and for how long, the longest wait first, also in the table; however many they are, they leave the table its
// room. Method: thirty who wait for one lock, and one for another.
func TestWaitersAreTold(t *testing.T) {
	t.Parallel()
	m := newModel()
	found := sight{locks: []applock.Lock{lockOf("1", "jdoe", 7, time.Hour), lockOf("2", "jdoe", 7, time.Hour), lockOf("3", "jdoe", 7, time.Hour)}}
	for i := range 31 {
		waiter := applock.Waiter{Object: found.locks[min(1, i/30)].Object, Owner: applock.Owner{Operator: fmt.Sprintf("waiter%d", i)}}
		waiter.Since, waiter.Waited = time.Unix(int64(-i), 0), time.Duration(i)*time.Minute
		found.waiters = append(found.waiters, waiter)
	}
	m, _ = m.update(windowSize{width: 80, height: 24})
	m, _ = m.update(looked{turn: m.turn, found: found})
	text := m.screen()
	if !inOrder(text, "\ncustomer:1 ", " 30, 29m ", "\ncustomer:2 ", " 1, 30m ", "\ncustomer:3 ", " 0 ", "\n30 wait, w shows all: waiter29 for 29m, waiter28 for") {
		t.Errorf("the waiters are not told:\n%s", text)
	}
	if _, below, _ := strings.Cut(text, "\n30 wait"); strings.Count(below, "\n") != mostWaiting+1 {
		t.Errorf("not %d lines tell of waiters:\n%s", mostWaiting, text)
	}
	if m, got := m.press("w"); got != (deed{report: true}) || m.page.title != "Waiters for customer:1" {
		t.Errorf("w does %+v: %s", got, m.screen())
	}
	m, _ = m.press("down")
	if text := m.screen(); !strings.Contains(text, "\nwaiting: waiter30 for 30m\n") {
		t.Errorf("the waiter is not told:\n%s", text)
	}
}

// Goal: it is told who asks for the selected lock, with what it says and what was answered, the longest first; where nobody asks, nothing is
// said of it. Method: two who ask for one lock, and one for another.
func TestAskersAreTold(t *testing.T) {
	t.Parallel()
	m := newModel()
	found := sight{locks: []applock.Lock{lockOf("1", "jdoe", 7, time.Hour), lockOf("2", "jdoe", 7, time.Hour), lockOf("3", "jdoe", 7, time.Hour)}}
	asker := func(lock int, operator, message string, minutes int) applock.Asker {
		return applock.Asker{
			Object: found.locks[lock].Object, Owner: applock.Owner{Operator: operator}, Message: message,
			Since: time.Unix(int64(-60*minutes), 0), Waited: time.Duration(minutes) * time.Minute,
		}
	}
	kim := asker(1, "kim", "", 3)
	kim.Answer, kim.AnswerReason = applock.AnswerLater, "at noon"
	found.askers = []applock.Asker{asker(0, "brown", "may I?", 1), asker(0, "abel", "", 2), kim}
	m, _ = m.update(windowSize{width: 80, height: 24})
	m, _ = m.update(looked{turn: m.turn, found: found})
	for _, want := range []string{"\n2 ask, a shows all: abel for 2m, brown for 1m: \"may I?\"\n", "\nasking: kim for 3m, answered LATER: \"at noon\"\n"} {
		if text := m.screen(); !strings.Contains(text, "\nnobody waits"+want) {
			t.Errorf("the askers are not told:\n%s", text)
		}
		m, _ = m.press("down")
	}
	if text := m.screen(); strings.Contains(text, "ask") && !strings.Contains(text, "a asking") || strings.Contains(text, "asking:") {
		t.Errorf("somebody is told to ask:\n%s", text)
	}
	if m, got := m.press("a"); got != (deed{report: true}) || m.page.title != "Requests for customer:3" {
		t.Errorf("a does %+v: %s", got, m.screen())
	}
}

// Goal: End selects the last lock, also of a page that has not been read, from which the way back is known. Method: a page, and the look that
// End asks for, which finds the last page; then one that fails.
func TestEndSelectsTheLastLock(t *testing.T) {
	t.Parallel()
	m := newModel().sees(false, "1", "2", "3")
	m, got := m.press("end")
	m.mustSelect(t, "3")
	if got != (deed{}) {
		t.Errorf("end looks again for what is there: %+v", got)
	}
	m, _ = m.press("home")
	m = m.sees(true, "1", "2", "3")
	m, got = m.press("end")
	if !got.look || !m.look.last {
		t.Fatalf("end does not look for the last page: %+v", got)
	}
	three := applock.Object{Type: "customer", ID: "3"}
	six := applock.Object{Type: "customer", ID: "6"}
	found := sight{
		locks:   []applock.Lock{lockOf("7", "jdoe", 7, time.Hour), lockOf("8", "jdoe", 7, time.Hour)},
		skipped: []pageStart{{}, {three, 3}}, after: six,
	}
	m, _ = m.update(looked{turn: m.turn, found: found})
	m.mustSelect(t, "8")
	if m.look.last || m.look.request.After != six || !strings.Contains(m.screen(), "8 of 8 locks") {
		t.Errorf("the last page is behind %s:\n%s", m.look.request.After, m.screen())
	}
	m, _ = m.press("pgup")
	if m.look.request.After != three || m.before != 3 {
		t.Errorf("the page before is behind %s and %d", m.look.request.After, m.before)
	}
	m = m.sees(true, "4", "5", "6")
	m, _ = m.press("end")
	m, _ = m.update(looked{turn: m.turn, err: errors.New("no answer")})
	m.mustSelect(t, "6")
	if m.look.last {
		t.Error("each look goes on to the end, after one that failed")
	}
}

// Goal: a key that does nothing says where the keys are told, until another one is pressed, and hides no change that is under way. Method:
// such keys, with a lock and without.
func TestKeysThatDoNothing(t *testing.T) {
	t.Parallel()
	m := newModel().sees(false, "1", "2")
	for _, key := range []string{"x", "enter", "tab", "erase"} {
		m, got := m.press(key)
		if got != (deed{}) || !strings.Contains(m.screen(), "\nThere is no such key: ? shows the keys.\n") {
			t.Errorf("%s does %+v:\n%s", key, got, m.screen())
		}
		if m, _ = m.press("down"); m.said != "" {
			t.Errorf("it is said for ever: %s", m.said)
		}
	}
	m.changing, m.said = true, "release ..."
	if m, _ := m.press("x"); m.said != "release ..." {
		t.Errorf("a change is hidden by %s", m.said)
	}
	for _, key := range []string{"r", "h"} {
		if m, _ := newModel().press(key); m.said != "" {
			t.Errorf("of no lock, %s says %s", key, m.said)
		}
	}
}

// Goal: who has said once who it is need not type it again. Method: two releases, of which the first is given up.
func TestWhoAsksIsAskedOnce(t *testing.T) {
	t.Parallel()
	m := newModel().sees(false, "1", "2")
	m.by, m.verbs = "", verbs("")
	m, _ = m.press("r", "enter", "b", "o", "s", "s", "enter", "n", "r", "enter")
	if !strings.Contains(m.screen(), "Who are you? boss_") {
		t.Errorf("it is forgotten who asks:\n%s", m.screen())
	}
	m, _ = m.press("eraseall", "m", "l", "e", "e", "enter")
	if !strings.Contains(m.screen(), "by mlee, without a reason") {
		t.Errorf("another one asks:\n%s", m.screen())
	}
}

// Goal: a text is wrapped at blanks where there are any, and into cells, and nothing of it is lost. Method: texts and widths.
func TestWrap(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text  string
		width int
		want  []string
	}{
		{"", 5, []string{""}},
		{"ab cd ef", 8, []string{"ab cd ef"}},
		{"ab cd ef", 5, []string{"ab cd", "ef"}},
		{"ab cd ef", 4, []string{"ab", "cd", "ef"}},
		{"abcdefgh ij", 3, []string{"abc", "def", "gh", "ij"}},
		{"ab  cd", 6, []string{"ab  cd"}},
		{"日本語 ab", 4, []string{"日本", "語", "ab"}},
		{"日本語", 3, []string{"日", "本", "語"}},
		{"日a", 1, []string{"日", "a"}},
		{"ab", 0, []string{"a", "b"}},
	} {
		if got := wrap(test.text, test.width); !slices.Equal(got, test.want) {
			t.Errorf("%q in %d cells is %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

// Goal: who is not known is asked, before anything is done. Method: a table of nobody.
func TestNobodyIsAsked(t *testing.T) {
	t.Parallel()
	m := newModel().sees(false, "1")
	m.by, m.verbs = "", verbs("")
	m, _ = m.press("r", "enter", "enter", "y")
	if m.mode != asking || !strings.Contains(m.screen(), "Who are you? y") {
		t.Errorf("nobody is asked: %s", m.screen())
	}
	if m, _ = m.press("erase", "m", "e", "enter"); m.mode != confirming || m.wish.by != "me" {
		t.Errorf("%+v: %s", m.wish, m.screen())
	}
}

// Goal: another verb is another entry. Method: each has a key of its own that nothing else has, asks, and tells its plan.
func TestVerbs(t *testing.T) {
	t.Parallel()
	keys := []string{"/", "s", " ", "q", "?", "m"}
	for _, report := range reports() {
		if slices.Contains(keys, report.key) {
			t.Errorf("%s: %+v", report.name, report)
		}
		keys = append(keys, report.key)
	}
	for _, verb := range verbs("boss") {
		if slices.Contains(keys, verb.key) || verb.do == nil {
			t.Errorf("%s: %+v", verb.name, verb)
		}
		keys = append(keys, verb.key)
		plan := verb.plan(wish{locks: []applock.Lock{lockOf("1", "jdoe", 7, time.Hour)}, to: applock.Owner{Operator: "mlee"}})
		if !strings.Contains(plan, "customer:1") || !strings.Contains(plan, "jdoe") || !strings.Contains(plan, "fence 7") {
			t.Errorf("%s: %s", verb.name, plan)
		}
		if !strings.Contains(newModel().keys(), verb.key+" "+verb.name) {
			t.Errorf("%s is not among the keys: %s", verb.name, newModel().keys())
		}
	}
}
