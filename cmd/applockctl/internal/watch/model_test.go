package watch

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

// Goal: the table does what its keys say, and shows what it knows. Method: steps and checks.
func TestTable(t *testing.T) {
	t.Parallel()
	const plan = `Transfer customer:1 to mlee (CS). The lock of jdoe, fence 7, ends: the holder's next renewal or release is refused. ` +
		`In the history: by boss, "ill".`
	long := strings.Repeat("x", 70)
	for name, script := range map[string]string{
		"the selection stays with its lock, and goes on to the next when that is gone": `
			find 1 2 3              | selected 1
			press down              | selected 2
			find 0 1 2              | selected 2
			find 2 3                | selected 2
			find 1 3 4              | selected 1
			press down down down    | selected 4
			find 1                  | selected 1
			find                    | shows no locks
			press r                 | does nothing | lacks Why?
			find 1                  | selected 1`,
		"a page by object begins behind the one before, and the way back is known": `
			find 1 2 3 ...          | selected 1
			press pgdn              | does refresh | after 3
			press pgdn              | does nothing | after 3
			find 4 5 6 ...          | selected 4
			press down down down    | does refresh
			find 7                  | selected 7 | after 6 | headline 7 of 7 locks by object
			find                    | does refresh | after 3
			find 4 5 6 ...          | selected 6
			press pgup
			find 1 2 3 ...          | selected 3 | after
			press pgup              | selected 1
			press pgdn
			find 4 5 6 ...
			press home              | does refresh | after
			find 1 2 3 ...          | selected 1`,
		"the headline has no number that is not known, and says that an old one is not exact": `
			window 100 11           | headline looking for locks by object | line looking ...
			find                    | headline 0 of 0 locks by object
			find 1 2 3 4 ...        | headline 1 of more than 4 locks by object
			count 5009 10001        | headline 1 of about 5,009 locks by object
			count 5009 10000        | headline 1 of 5,009 locks by object
			press down pgdn         | headline looking for locks by object
			find 5 6 7 ...          | headline 5 of 5,009 locks by object
			press pgdn
			find 8 9                | headline 8 of 9 locks by object
			press down              | headline 9 of 9 locks by object
			press pgup
			find 5 6 7 ...          | headline 7 of 5,009 locks by object
			count 4 4               | headline 7 of more than 7 locks by object
			count 1234567 1234567   | headline 7 of about 1,234,567 locks by object
			press / x enter         | headline looking for locks by object
			find 5 6 7 ...          | headline 3 of more than 3 locks by object
			press esc s
			find 1 2 3 4 ...
			press down down down down down | headline 4 of about 1,234,567 locks by left
			press s s
			find 1 2 3 4 ...        | headline 1 of more than 4 locks by waiters`,
		"in another order the window goes with the selection, and that with its lock": `
			press s                 | does refresh | headline looking for locks by left
			press s                 | headline looking for locks by age
			press s                 | headline looking for locks by waiters
			press s                 | headline looking for locks by object
			press s
			find 1 2 3 4 5 6 7
			press pgdn              | selected 4
			find 4 1 2 3 5 6 7      | selected 4
			find 1 2 3 5 6 7 4      | selected 4
			window 100 8            | selected 4
			press up                | selected 7
			press pgup pgup home
			find 1 2                | selected 1
			window 1 1`,
		"the filter is what was typed, and Escape takes it away": `
			find 1 2 3 ...
			press pgdn
			find 4 ...
			press / q erase s` + "\x1b\a" + `Ä eraseall xé space enter | does refresh | after | shows with xé` + " " + `
			try / y esc             | shows with xé` + " " + `
			press esc               | does refresh | lacks with`,
		"nothing is done before its questions are answered, its plan is shown, and y pressed; and it is about the grant on the screen": `
			find 1 2
			press t enter space enter | does nothing | shows To which operator?
			press eraseall mlee enter CS enter ill enter | does nothing | shows ` + plan + `
			find 1/asmith/8         | shows ` + plan + `
			try n                   | does nothing | shows nothing was done
			try enter               | does nothing | shows nothing was done
			try esc                 | does nothing | shows nothing was done
			try Y                   | does nothing | shows nothing was done
			try q                   | does nothing | shows nothing was done
			press y                 | does change | shows transfer customer:1 ...
			press r                 | does nothing | lacks Why?`,
		"a take needs a reason, and any question can be interrupted": `
			find 1
			try ^c                  | does interrupt
			try / ^c                | does interrupt
			try t ^c                | does interrupt
			try r enter ^c          | does interrupt
			try q                   | does leave
			press o CS enter enter space enter | shows Why?
			press eraseall urgent enter | shows Take customer:1 for boss (CS). The lock of jdoe, fence 7, ends`,
		"a marked lock that has ended is not marked any more, and one that is hidden still is": `
			press x                 | does nothing | lacks marked
			find 1 2 3 ...
			press x j x j x         | does nothing | selected 3
			press j                 | does refresh
			find 5                  | shows 3 marked
			press up
			find 1 3 4 ...          | shows 2 marked
			press / x enter
			find 1                  | shows 2 marked
			press esc               | shows 2 marked | lacks with
			press esc               | lacks marked`,
		"an outage is shown with the time of the last refresh; the table stays and goes on after it": `
			fail list: it is away   | line not up to date: list: it is away
			find 1
			fail list: it is away   | shows not up to date since 2001-09-09 01:46:40 UTC: list: it is away | shows customer:1
			find 2                  | lacks not up to date`,
		"End selects the last lock, also of a page that has not been read": `
			find 1 2 3
			press end               | does nothing | selected 3
			press home
			find 1 2 3 ...
			press end               | does refresh
			fail no answer          | selected 1
			press end end           | does refresh`,
		"a key without a meaning says where the keys are, until another one is pressed": `
			press r                 | lacks no such key
			press h                 | lacks no such key
			find 1 2
			press m                 | does nothing | line There is no such key: ? shows the keys.
			press down              | lacks no such key
			press tab               | line There is no such key: ? shows the keys.`,
		"any key goes back from the page of the keys, in any window": `
			find 1 2
			window 80 24
			press ?                 | does nothing | shows select a lock .. take over the lock, which needs a reason .. ` + Colour + `
			try q                   | does nothing | shows customer:1
			try esc                 | does nothing | shows customer:1
			try r                   | does nothing | lacks Why?
			try ^c                  | does interrupt
			window 30 6             | shows select a lock | lacks quit
			press pgdn pgdn pgdn end | shows quarter of its time
			press k home            | shows select a lock
			press x                 | shows locks by`,
		"j and k move, and x marks, as in the console": `
			find 1 2 3
			press j j k             | selected 2
			press x                 | selected 2 | shows 1 marked
			press x                 | selected 2 | lacks marked`,
		"names are cut in the middle, and nothing says that nobody waits, at 80 columns": `
			window 80 24
			find ` + long + `1 ` + long + `2 | shows xx…xxx .. x1  jdoe .. xx…xxx .. x2  jdoe | lacks WAITERS | lacks ` + long + `2`,
		"a lock is extended for a time that is one, and stays with its holder": `
			find 1
			press e enter           | shows How long from now? _
			press soon enter        | shows How long from now? soon_ .. (needed)
			press eraseall 8h enter | shows Extend customer:1 to at least 8h from now. Each lock stays with its holder
			press y                 | does change`,
		"a holder is asked": `
			find 1
			press a please enter CS enter | shows Ask for customer:1 as boss (CS): "please".
			press y                 | does change`,
	} {
		t.Run(name, func(t *testing.T) { play(t, newModel("boss"), script) })
	}
}

// Goal: who is not known is asked, once for all changes. Method: a table of nobody.
func TestUserIsAsked(t *testing.T) {
	t.Parallel()
	m := play(t, newModel(""), `
		find 1 2
		press r enter enter y   | shows Who are you? y
		press erase boss enter  | shows by boss, without a reason
		press n r enter         | shows Who are you? boss_
		press eraseall mlee enter | shows by mlee, without a reason`)
	if m.wish.by != "mlee" {
		t.Errorf("the wish is %+v", m.wish)
	}
}

// Goal: few locks are counted with each refresh, also where there were none and where the database was away; many are not, nor where
// the count is refused; and an old answer changes nothing. Method: what counts come to.
func TestFewLocksAreCountedWithEachRefresh(t *testing.T) {
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
		m, got := newModel("boss").update(test.counted)
		if m.isOld != test.isOld || m.total != int(test.counted.locks) || got != (effect{}) {
			t.Errorf("%+v makes %d, old: %t, and %+v", test.counted, m.total, m.isOld, got)
		}
	}
	m := play(t, newModel("boss"), "find 1 2 3 ...\npress pgdn")
	if m, _ := m.update(refreshed{turn: m.turn - 1}); len(m.found.Locks) != 3 || m.query.rows != 3 {
		t.Errorf("an answer to an earlier query is shown, or %d rows are read", m.query.rows)
	}
	if _, got := m.update(refreshDue{}); got != (effect{refresh: true}) {
		t.Errorf("a refresh that is due does %+v", got)
	}
}

// Goal: a dialog says what its answer is for, which keys there are, and offers the names on the screen; the whole answer stays in
// sight. Method: each question of a verb, with tab, and an answer longer than a line.
func TestDialogsHaveHints(t *testing.T) {
	t.Parallel()
	m := newModel("")
	locks := []applock.Lock{lockOf("1", "mlee", 7, time.Hour), lockOf("2", "Moore", 7, time.Hour), lockOf("3", "asmith", 7, time.Hour)}
	locks[0].Owner.Department = "sales"
	waiting := applock.Waiter{Object: locks[0].Object, Owner: applock.Owner{Operator: "mwong", Department: "CS"}}
	m, _ = m.update(refreshed{turn: m.turn, found: Snapshot{Locks: locks, Waiters: []applock.Waiter{waiting}}})
	m = play(t, m, `
		press /                 | shows Any part of an object, operator, department or note .. only what has this text: _ .. enter finds  esc cancels
		press tab esc t         | shows different operators.  tab: Moore  asmith  mlee  mwong .. customer:1: To which operator? _ .. tab completes  enter .. (needed)
		press mw                | shows tab: mwong .. To which operator? mw_
		press tab enter         | shows tab: CS  sales .. Department of that operator? _ .. (may be empty)
		press x tab             | shows Department of that operator? x_ .. enter goes on
		press enter             | shows The history keeps it, and the former holder reads it .. Why? _ .. (may be empty)
		press long`+strings.Repeat("spacelong", 50)+` | shows Why? long .. long_ .. enter goes on
		press enter             | shows $APPLOCK_OPERATOR .. Who are you? _ .. enter goes on`)
	if m.wish.to != (applock.Owner{Operator: "mwong", Department: "x"}) {
		t.Errorf("it is for %v", m.wish.to)
	}
}

// Goal: marked locks have one plan, which names each with its holder, on any page; a changed lock loses its mark. Method: marks on two
// pages, another grant of one, and an outcome.
func TestMarkedLocksHaveOnePlan(t *testing.T) {
	t.Parallel()
	m := play(t, newModel("boss"), `
		find 1 2 3 ...
		press x j x x j         | selected 3 | shows 1 marked .. * customer:1 | lacks * customer:2
		press pgdn
		find 4 5
		press x j x             | shows 3 marked
		find 4 5/asmith/8       | shows 2 marked
		press t mlee enter enter ill enter | does nothing | shows Transfer 2 locks to mlee, without a department. Each lock ends: its `+
		`holder's next renewal or release is refused. In the history: by boss, "ill". They are customer:1 of jdoe, fence 7; customer:4 of jdoe, fence 7.
		press y                 | does change | shows transfer 2 locks ...`)
	if len(m.wish.locks) != 2 {
		t.Fatalf("the wish is %+v", m.wish)
	}
	m, got := m.update(changed{done: m.wish.locks[:1], answers: []string{"done"}, errs: []error{errors.New("transfer customer:4: no answer")}})
	if text := m.screen(); !got.refresh || !inOrder(text, "1 marked", "* customer:4", "transfer: 1 of 2 locks; transfer customer:4: no answer") {
		t.Errorf("the outcome is not shown, or what is not done not marked:\n%s", text)
	}
	m.picked = nil
	for i := range 100 {
		m.picked = append(m.picked, lockOf(strings.Repeat("x", i), "jdoe", 7, time.Hour))
	}
	play(t, m, `
		window 80 12
		press r enter           | shows Release 100 locks. .. In the history: by boss .. … y  confirms`)
	if cut := m.wrapped(1, plain, strings.Repeat("x", 200)); len(cut) != 1 || cut[0].text != strings.Repeat("x", 99)+"…" {
		t.Errorf("a line that is full ends as %v", cut)
	}
}

// Goal: the table shows locks and waiters, and nothing that a terminal would obey. Method: names with such characters, and the whole screen.
func TestView(t *testing.T) {
	t.Parallel()
	evil := lockOf("4\x1b[2J", "j\u202edoe", 8, 90*time.Second)
	evil.Object.Type, evil.Owner.Department, evil.Note = "cust\u007fomer", "\u0085CS", "\x1b]0;gone\a"
	locks := []applock.Lock{lockOf("1", "jdoe", 7, 26*time.Hour), evil}
	locks[0].AcquiredAt, locks[1].AcquiredAt = time.Unix(1e9, 0), time.Unix(1.1e9, 0)
	waiters := []applock.Waiter{
		{Object: evil.Object, Owner: applock.Owner{Operator: "a\nsmith", Department: "CS"}, Since: time.Unix(1.2e9, 0)},
		{Object: evil.Object, Owner: applock.Owner{Operator: "mlee"}, Since: time.Unix(1.3e9, 0)},
	}
	m := newModel("boss")
	m.query.Request.Operator, m.query.Request.ObjectType = "j\x1bdoe", "customer"
	m, _ = m.update(refreshed{turn: m.turn, found: Snapshot{Locks: locks, Waiters: waiters}})
	m = play(t, m, "press down")
	want := `
2 of 2 locks by object | type customer | operator "j\x1bdoe"
OBJECT                   OPERATOR      DEPARTMENT  SINCE       LEFT  WAITERS  NOTE
customer:1               jdoe          -           2001-09-09  1d2h  0        -
"cust\x7fomer:4\x1b[2J"  "j\u202edoe"  "\u0085CS"  2004-11-09  1m    2, 0s    "\x1b]0;gone\a"

cust\x7fomer:4\x1b[2J  j\u202edoe (\u0085CS)  fence 8
since 2004-11-09 11:33:20 UTC  until 1970-01-01 01:00:08 UTC  1m left
note: \x1b]0;gone\a
2 wait, w shows all: a\nsmith (CS) for 0s, mlee for 0s
? help  q quit  / find  x mark  t transfer  o take  r release  e extend  a ask  s sort  h history
`
	if m.screen() != want {
		t.Errorf("the screen is%s", m.screen())
	}
	m = play(t, m, "press t ok enter enter enter\nwindow 70 9\nwindow 20 9\npress esc")
	history := reported{title: reports(nil)[0].title(evil), texts: []string{"it was\x1b taken"}}
	m, _ = play(t, m, "window 100 9\npress h | does report").update(history)
	if !strings.Contains(m.screen(), `it was\x1b taken`) {
		t.Errorf("the history is%s", m.screen())
	}
}

// Goal: all of the selected lock is shown, however long its names are and in whatever script, and its line in the table stays in
// sight. Method: the longest names and note, in windows of several sizes.
func TestSelectedLockIsShownInFull(t *testing.T) {
	t.Parallel()
	long := lockOf(strings.Repeat("x", 196)+"end!", "jürgen.müller@example.com", 7, time.Hour)
	long.Object.Type, long.Owner.Department = "doc", "顧客サービス部"
	long.AcquiredAt = time.Unix(7, 0)
	long.Note = strings.Repeat("書類待ち ", 30) + "ok"
	wide := lockOf("顧客番号の例", "山田太郎", 8, time.Hour)
	m := newModel("boss")
	m, _ = m.update(refreshed{turn: m.turn, found: Snapshot{Locks: []applock.Lock{
		lockOf("1", "jdoe", 6, time.Hour), lockOf("2", "jdoe", 6, time.Hour), lockOf("3", "jdoe", 6, time.Hour), wide, long,
	}, Waiters: []applock.Waiter{{Object: long.Object, Owner: applock.Owner{Operator: "mlee"}, Waited: 3 * time.Hour}}}})
	for _, window := range []string{"80 24", "200 50", "81 24", "30 40"} {
		m := play(t, m, "window "+window+"\npress down down down down")
		whole := strings.NewReplacer("\n", "", " ", "").Replace(m.screen())
		for _, want := range []string{
			long.Object.String(), "jürgen.müller@example.com(顧客サービス部)", "fence7", "until1970-01-0101:00:07UTC", "since1970-01-0100:00:07UTC",
			strings.ReplaceAll(long.Note, " ", ""), "mleefor3h",
		} {
			if !strings.Contains(whole, want) {
				t.Errorf("%s does not show %s:\n%s", window, want, m.screen())
			}
		}
		marks := slices.DeleteFunc(m.view(), func(line shadedLine) bool { return line.shade != marked })
		if len(marks) != 1 || displaywidth.String(marks[0].text) != m.style.Width || !strings.HasPrefix(marks[0].text, "doc:xxx") {
			t.Errorf("%s: the marked lines are %v", window, marks)
		}
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
		m := newModel("boss")
		m, _ = m.update(refreshed{turn: m.turn, found: Snapshot{Locks: []applock.Lock{lock, lock}}})
		for _, line := range m.view()[aboveRows : aboveRows+2] {
			if fore := styleOf(line).GetForeground(); line.soon != test.soon || (fore == color.Maroon) != test.soon {
				t.Errorf("%s of %s are left, soon: %t, colour %s: %s", test.left, test.ttl, line.soon, fore, line.text)
			}
		}
	}
}

// Goal: a page of the database is that of the selected lock, shows an error or that there is nothing, and an answer that comes when
// another page is open changes nothing. Method: answers in time and too late.
func TestReportsArrive(t *testing.T) {
	t.Parallel()
	m := play(t, newModel("boss"), `
		press i                 | does nothing | shows looking ...
		find 1 2
		press down h            | does report | shows The history of customer:2 .. reading ...`)
	history := reported{title: "The history of customer:2"}
	if m, _ := m.update(history); !strings.Contains(m.screen(), "There are no events.") {
		t.Errorf("an empty history is\n%s", m.screen())
	}
	history.err = errors.New("history: no right")
	if m, _ := m.update(history); !strings.Contains(m.screen(), "history: no right") {
		t.Errorf("the error is not shown:\n%s", m.screen())
	}
	for _, keys := range []string{"q", "q i", "q ?"} {
		m := play(t, m, "press "+keys)
		before := m.screen()
		if m, got := m.update(history); m.screen() != before || got != (effect{}) {
			t.Errorf("behind %q: %+v\n%s", keys, got, m.screen())
		}
	}
}

// Goal: waiters and requests are shown, the longest first, with their texts; however many they are, they leave the table its room.
// Method: thirty wait for one lock and one for another; two ask for one and one for another.
func TestWaitersAndAskersAreShown(t *testing.T) {
	t.Parallel()
	m := newModel("boss")
	found := Snapshot{Locks: []applock.Lock{lockOf("1", "jdoe", 7, time.Hour), lockOf("2", "jdoe", 7, time.Hour), lockOf("3", "jdoe", 7, time.Hour)}}
	for i := range 31 {
		found.Waiters = append(found.Waiters, applock.Waiter{
			Object: found.Locks[min(1, i/30)].Object, Owner: applock.Owner{Operator: fmt.Sprintf("waiter%d", i)},
			Since: time.Unix(int64(-i), 0), Waited: time.Duration(i) * time.Minute,
		})
	}
	for _, asker := range []applock.Asker{
		{Object: found.Locks[0].Object, Owner: applock.Owner{Operator: "brown"}, Message: "may I?", Waited: time.Minute},
		{Object: found.Locks[0].Object, Owner: applock.Owner{Operator: "abel"}, Waited: 2 * time.Minute},
		{Object: found.Locks[1].Object, Owner: applock.Owner{Operator: "kim"}, Answer: applock.AnswerLater, AnswerReason: "at noon", Waited: 3 * time.Minute},
	} {
		asker.Since = time.Unix(0, 0).Add(-asker.Waited)
		found.Askers = append(found.Askers, asker)
	}
	m, _ = play(t, m, "window 80 24").update(refreshed{turn: m.turn + 1, found: found})
	m = play(t, m, `
		try space               | shows customer:1 ..  30, 29m .. customer:2 ..  1, 30m .. customer:3 ..  0  .. 30 wait, w shows all: waiter29 for 29m, waiter28 for
		try space               | line 2 ask, w shows all: abel for 2m, brown for 1m: "may I?"
		try w                   | does report | shows Who wants customer:1
		press down              | line waiting: waiter30 for 30m | line asking: kim for 3m, answered LATER: "at noon"
		press down              | line nobody waits | lacks asking: | lacks ask,
		press w                 | does report | shows Who wants customer:3`)
	m, _ = m.press("q", "up", "up")
	if _, below, _ := strings.Cut(m.screen(), "\n30 wait"); strings.Count(below, "\n") != mostWaiting+2 {
		t.Errorf("not %d lines are of waiters:\n%s", mostWaiting, m.screen())
	}
}

// Goal: the last page is shown with the way back. Method: the refresh of End, which finds it.
func TestEndShowsTheLastPage(t *testing.T) {
	t.Parallel()
	m := play(t, newModel("boss"), "find 1 2 3 ...\npress end | does refresh")
	three, six := applock.Object{Type: "customer", ID: "3"}, applock.Object{Type: "customer", ID: "6"}
	m, _ = m.update(refreshed{turn: m.turn, found: Snapshot{
		Locks:   []applock.Lock{lockOf("7", "jdoe", 7, time.Hour), lockOf("8", "jdoe", 7, time.Hour)},
		skipped: []pageStart{{}, {three, 3}}, after: six,
	}})
	m = play(t, m, `
		try space               | after 6 | selected 8
		press pgup              | does refresh | after 3
		find 4 5 6 ...          | headline 6 of more than 6 locks by object
		press end
		fail no answer          | selected 6`)
	if m.query.last {
		t.Error("each refresh goes on to the end, after one that failed")
	}
}

// Goal: a change that is under way stays shown. Method: a key without a meaning.
func TestChangeStaysShown(t *testing.T) {
	t.Parallel()
	m := play(t, newModel("boss"), "find 1")
	m.changing, m.message = true, "release ..."
	play(t, m, "press m | line release ...")
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

// Goal: another verb or report is another entry. Method: each has a key of its own that nothing else has, and stands among the keys, also of 80 columns.
func TestVerbs(t *testing.T) {
	t.Parallel()
	keys := []string{"/", "s", " ", "q", "?", "x", "j", "k"}
	for _, report := range reports(nil) {
		keys = append(keys, report.key)
	}
	m := play(t, newModel("boss"), "window 80 24")
	for _, verb := range verbs("boss") {
		keys = append(keys, verb.key)
		if !strings.Contains(m.keys(), verb.key+" "+verb.name) {
			t.Errorf("%s is not among the keys: %s", verb.name, m.keys())
		}
	}
	slices.Sort(keys)
	if unique := slices.Compact(slices.Clone(keys)); len(unique) != len(keys) {
		t.Errorf("a key has two meanings: %q", keys)
	}
}
