package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/clipperhouse/displaywidth"

	"github.com/applock/applock/internal/testing/testdb"
)

const (
	longObject = "doc:0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz"
	longName   = "a-very-long-name-of-a-service-that-nobody-can-type@example.com"
	longNote   = "the customer has asked for another offer, waits for the answer of the bank, and is called back by Friday"
	wideObject = "doc:日本語の文書-🎉-e\u0301"
)

// superviseLocks makes 5,000 locks of many operators, and nine of which the day is about.
func superviseLocks(t *testing.T, u user) {
	t.Helper()
	for _, lock := range [][]string{
		{longObject, longName, "back office", "30m", longNote}, {wideObject, "山田太郎", "営業部", "50m", ""},
		{"job:nightly", "host1:4711", "", "40m", ""}, {"zebra:1", "jdoe", "sales", "7d", ""}, {"zebra:2", "jdoe", "sales", "7d", ""},
		{"zebra:3", "asmith", "Hochschulen", "7d", ""}, {"zebra:4", "asmith", "service", "7d", ""},
		{"zebra:5", "bjones", "service", "7d", "offenbar vergessen"}, {"zebra:6", "cmiller", "service", "7d", ""},
	} {
		u.must(t, "get", lock[0], "--operator", lock[1], "--department", lock[2], "--ttl", lock[3])
		u.must(t, "note", lock[0], lock[4], "--operator", lock[1])
	}
	withFile(t, u, func(exec func(statement string)) {
		exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
			INSERT INTO appl_lock (object_type, object_id, operator_id, department_id, fence, acquired_ts, lock_ts, ttl_seconds, expires_ts)
			SELECT 'customer', printf('%05d', i), 'user' || (i % 250), iif(i % 3, 'sales', ''), 1,
				(unixepoch() - i * 60) * 1000000, unixepoch() * 1000000, 604800, (unixepoch() + 600000 - i) * 1000000 FROM n`)
		exec("UPDATE appl_lock SET ttl_seconds = 4 * 3600 WHERE object_type = 'job'") // it ends soon
		// Thirty wait for one lock, and the one who has waited longest for another.
		exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 31)
			INSERT INTO appl_lock_waiter (object_type, object_id, operator_id, department_id, client_id, since_ts, until_ts, expires_ts, holder_id)
			SELECT 'zebra', iif(i < 31, '3', '6'), 'waiter' || i, 'service', 'c', (unixepoch() - i * 3600) * 1000000, NULL,
				4102444800000000, '' FROM n`)
	})
}

// Goal: a supervisor does a day's work in a real terminal, of the usual size and of a large one: everything fits, is found, is told in full
// and is done, and the terminal is as it was. Method: watch in tmux over 5,009 locks; what it changes is read by other commands.
func testWatchTmux(t *testing.T, b binary) {
	testdb.Tmux(t)
	for _, size := range []struct{ width, height int }{{80, 24}, {200, 50}} {
		t.Run(fmt.Sprintf("%dx%d", size.width, size.height), func(t *testing.T) {
			t.Parallel()
			b := binary{path: b.path, directory: t.TempDir()}
			u := sqliteUser(t)
			b.dsn = u.getenv(dsnVariable)
			superviseLocks(t, u)
			m := newTmux(t, b, size.width, size.height)
			m.list()
			m.call("send-keys", "-R")
			m.command("stty -a > before; echo written before")
			m.see("\nwritten before")
			m.command("applockctl watch; echo left $?")
			m.browse()
			m.change(u)
			m.leave(b)
		})
	}
}

// list checks that a table fits into the terminal unless its user says otherwise, and that a pipe gets it whole.
func (m *tmux) list() {
	m.t.Helper()
	for _, test := range []struct {
		command string
		width   int
		whole   bool
	}{
		{"applockctl list --type doc", m.width, false},
		{"COLUMNS=78 applockctl list --type doc", 78, false},
		{"applockctl list --type doc --wide", 1000, true},
		{"applockctl list --type doc | cat", 1000, true},
	} {
		m.call("send-keys", "-R")
		m.command(test.command + "; echo listed")
		for line := range strings.Lines(m.see("\ndoc:0123", "\nlisted\n")) {
			line = strings.TrimSpace(line)
			isLong := strings.HasPrefix(line, "doc:0123")
			if isLong && (displaywidth.String(line) > test.width || strings.Contains(line, longName) != test.whole || strings.Contains(line, "…") == test.whole) {
				m.t.Errorf("%s at %d columns prints %s", test.command, m.width, line)
			}
		}
	}
}

// browse plays what changes nothing.
func (m *tmux) browse() {
	m.t.Helper()
	m.see("1 of 5,009 locks by object\n", "\ncustomer:00001  user1 ")
	m.fits()
	m.press("?")
	m.see("The keys of applockctl watch\n", "show these keys\n", "any key goes back")
	m.press("x", "NPage")
	m.see(fmt.Sprintf("%d of 5,009 locks by object\n", m.height-6))
	m.press("Home")
	m.see("1 of 5,009 locks by object\n")

	m.find("EBRA:3", 1)
	m.find("smith", 2)
	m.find("hochs", 1)
	m.find("vergess", 1)
	text := m.find(longObject[:20], 1)
	if !strings.Contains(strings.ReplaceAll(text, "\n", ""), longObject+"  "+longName) && !strings.Contains(text, "\n"+longName+" (back office)") ||
		!strings.Contains(strings.ReplaceAll(text, "\n", " "), "note: "+longNote) {
		m.t.Errorf("the lock is not told in full:\n%s", text)
	}
	m.find("日本", 1)
	m.see("\n" + wideObject + "  山田太郎 (営業部)  fence ")
	m.find("doc:", 2)
	m.fits()

	m.press("Escape", "s")
	m.see("1 of 5,009 locks by left\n", "\ndoc:0123", "\njob:nightly ", "\ndoc:日本", "\ncustomer:05000 ")
	if !regexp.MustCompile(`\x1b\[31m\S*job:nightly`).MatchString(m.call("capture-pane", "-p", "-e")) {
		m.t.Error("what ends soon is not red")
	}
	m.fits()
	m.press("s")
	m.see("1 of 5,009 locks by age\n", "\ncustomer:05000 ", "\ncustomer:04999 ")
	m.press("s")
	m.see("1 of 2 locks by waiters\n", "\nzebra:6 ", " 1, 1d7h ", "\nzebra:3 ", " 30, 1d6h ")
	m.press("Down", "w")
	m.see("Who wants zebra:3\n", "waiter30 (service)", "waiter29 (service)")
	m.press("x", "s")
	m.see("1 of 5,009 locks by object\n")
}

// change plays what a supervisor does, and checks what has come of it.
func (m *tmux) change(u user) {
	m.t.Helper()
	m.find("zebra", 6)
	m.press("x", "j", "x")
	m.see("| 2 marked\n", "\n* zebra:1 ", "\n* zebra:2 ")
	m.press("t")
	m.see("transfer 2 locks: To which operator?")
	m.enter("mlee")
	m.see("Department of that operator?")
	m.enter("service")
	m.see("Why?")
	m.enter("jdoe is ill")
	m.see("Who are you?")
	m.enter("boss")
	m.see("Transfer 2 locks to mlee (service).", "y  confirms")
	m.press("y")
	m.see("of 6 locks by object | with zebra\n", "\nzebra:1  mlee ", "\nzebra:2  mlee ", "\ntransfer: 2 of 2 locks\n")
	for _, object := range []string{"zebra:1", "zebra:2"} {
		u.must(m.t, "assert", object, "--operator", "mlee", "--fence", fenceOf(m.t, u, object))
		if history := u.must(m.t, "history", object).stdout; !inOrder(history, "TRANSFERRED", "boss", "jdoe is ill") {
			m.t.Errorf("the history has: %s", history)
		}
	}

	m.press("Home", "Down", "j", "j")
	m.see("4 of 6 locks")
	m.press("r")
	m.see("release zebra:4: Why?")
	m.enter("by mistake")
	m.see("Who are you? boss_") // from the last time
	m.press("Enter")
	m.see("Release zebra:4. The lock of asmith (service)", "y  confirms")
	m.press("y")
	m.see("of 5 locks by object | with zebra\n", "\nzebra:4: RELEASED\n")
	u.run(m.t, "inquire", "zebra:4").check(m.t, exitNo)
	if history := u.must(m.t, "history", "zebra:4").stdout; !inOrder(history, "RELEASED", "boss", "by mistake") {
		m.t.Errorf("the history has: %s", history)
	}

	m.press("Home")
	m.see("1 of 5 locks")
	m.press("h")
	m.see("The history of zebra:1\n", "TRANSFERRED  from jdoe (sales)", "by boss", "why: jdoe is ill")
	m.press("x", "i")
	m.see("The inbox of mlee\n", "HANDED  zebra:2  from jdoe (sales)", "HANDED  zebra:1  from jdoe (sales)")
	m.press("x", "Escape")
	m.see("1 of 5,008 locks by object\n")
}

// leave plays a window that gets other sizes, and each end.
func (m *tmux) leave(b binary) {
	m.t.Helper()
	m.resize(120, 30)
	m.resize(80, 24)
	m.press("q")
	m.see("\nwritten before\n", "applockctl watch; echo left $?\nleft 0\nready$")
	for _, name := range []string{"C-c", "TERM", "HUP"} {
		m.command("sh -c 'echo $$ > pid; exec applockctl watch'; echo left by " + name + " with $?")
		m.see("locks by object", "? help")
		kill := exec.CommandContext(m.t.Context(), "sh", "-c", "kill -s "+name+" $(cat pid)")
		kill.Dir = b.directory
		if name == "C-c" {
			m.press(name)
		} else if err := kill.Run(); err != nil {
			m.t.Fatal(err)
		}
		m.see("applockctl: watch: interrupted\nleft by " + name + " with 130\nready$")
	}
	m.command("stty -a > after; echo written after")
	m.see("\nwritten after")
	var settings [2]string
	for i, name := range []string{"before", "after"} {
		text, err := os.ReadFile(filepath.Join(b.directory, name))
		if err != nil {
			m.t.Fatal(err)
		}
		settings[i] = regexp.MustCompile(`rows \d+; columns \d+;`).ReplaceAllString(string(text), "")
	}
	if settings[0] != settings[1] {
		m.t.Errorf("the terminal has other settings: %s%s", settings[0], settings[1])
	}
	if got := m.call("display-message", "-p", "#{alternate_on} #{cursor_flag}"); got != "0 1\n" {
		m.t.Errorf("another screen, or no cursor: %s", got)
	}
}

// find has the table show only the locks with a text, of which there are some.
func (m *tmux) find(text string, locks int) string {
	m.t.Helper()
	m.press("/")
	m.see("enter finds")
	m.press("C-u")
	m.enter(text)
	return m.see(fmt.Sprintf("of %d locks by object | with %s\n", locks, text))
}

// fits waits until the table fills the window: no line is wider, the titles and the keys are complete, and every line of the table has its
// columns where the titles are. Until watch draws anew, a window of another size shows the old lines.
func (m *tmux) fits() {
	m.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // between two looks
		lines := m.screen()
		fault := m.misfit(lines)
		if fault == "" {
			return
		}
		if time.Now().After(end) {
			m.t.Fatalf("%s at %d x %d:\n%s", fault, m.width, m.height, strings.Join(lines, "\n"))
		}
	}
}

// misfit says what of a screen does not fill the window.
func (m *tmux) misfit(lines []string) string {
	if len(lines) != m.height || !strings.Contains(lines[0], "locks by") || !strings.HasPrefix(lines[1], "OBJECT ") ||
		!strings.HasPrefix(lines[m.height-1], "? help  q quit  / find") {
		return "not the whole"
	}
	for _, line := range lines {
		if displaywidth.String(line) > m.width {
			return fmt.Sprintf("%q is wider", line)
		}
	}
	before, _, _ := strings.Cut(lines[1], "LEFT ")
	column := displaywidth.String(before)
	left := regexp.MustCompile(` (\d+[dhms])+ `)
	for _, line := range lines[2:] {
		if line == "" {
			break
		}
		if at := left.FindStringIndex(line); at == nil || displaywidth.String(line[:at[0]+1]) != column {
			return fmt.Sprintf("what is left is not in column %d of %q", column, line)
		}
	}
	return ""
}

// resize gives the window another size, and waits until the table has it.
func (m *tmux) resize(width, height int) {
	m.t.Helper()
	m.width, m.height = width, height
	m.call("resize-window", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height))
	m.fits()
}
