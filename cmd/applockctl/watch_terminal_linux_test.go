package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gdamore/tcell/v3/vt"
	"golang.org/x/sys/unix"

	"github.com/applock/applock/internal/testing/testclient"
)

const (
	watchColumns = 100
	watchRows    = 25
)

// watched is a process of watch in front of somebody.
type watched struct {
	command  *exec.Cmd
	keyboard *os.File
	// terminal is the other end, kept open so that its settings can be read when the process has ended.
	terminal *os.File
	before   unix.Termios
	stderr   *strings.Builder
	emulator vt.MockTerm
	// lock guards raw, which is all that was written to the screen.
	lock sync.Mutex
	raw  strings.Builder
	read chan struct{}
}

// watching starts watch on a terminal.
func (b binary) watching(ctx context.Context, t *testing.T, args ...string) *watched {
	t.Helper()
	terminal, keyboard := openTerminal(t, watchColumns)
	w := &watched{keyboard: keyboard, terminal: terminal, stderr: new(strings.Builder), read: make(chan struct{}, 1)}
	t.Cleanup(func() { _ = terminal.Close() })
	w.before = settingsOf(t, terminal)
	w.emulator = vt.NewMockTerm(vt.MockOptSize{X: watchColumns, Y: watchRows})
	if err := w.emulator.Start(); err != nil {
		t.Fatal(err)
	}
	w.command = b.command(ctx, append([]string{"watch", "--every", "1s"}, args...)...)
	w.command.Env = append(w.command.Env, "TERM=xterm-256color", "LANG=C.UTF-8")
	w.command.Stdin, w.command.Stdout, w.command.Stderr = terminal, terminal, w.stderr
	if err := w.command.Start(); err != nil {
		t.Fatal(err)
	}
	go w.display()
	go func() { _, _ = io.Copy(keyboard, bufio.NewReader(w.emulator)) }() // what a terminal answers when it is asked
	return w
}

func settingsOf(t *testing.T, terminal *os.File) unix.Termios {
	t.Helper()
	settings, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *settings
}

// display shows what the process writes.
func (w *watched) display() {
	buffer := make([]byte, 4096)
	for {
		n, err := w.keyboard.Read(buffer)
		if err != nil {
			return
		}
		w.lock.Lock()
		w.raw.Write(buffer[:n])
		_, _ = w.emulator.Write(buffer[:n])
		w.lock.Unlock()
		select {
		case w.read <- struct{}{}:
		default:
		}
	}
}

// screen returns the lines that somebody sees.
func (w *watched) screen() string {
	w.lock.Lock()
	defer w.lock.Unlock()
	var text strings.Builder
	for y := range vt.Row(watchRows) {
		var line strings.Builder
		for x := range vt.Col(watchColumns) {
			cell := w.emulator.GetCell(vt.Coord{X: x, Y: y})
			if cell.C == "" {
				cell.C = " "
			}
			line.WriteString(cell.C)
		}
		text.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return text.String()
}

// see waits until the screen is as it shall be.
func (w *watched) see(t *testing.T, what string, is func(screen string) bool) {
	t.Helper()
	patience := time.After(time.Minute)
	for !is(w.screen()) {
		select {
		case <-w.read:
		case <-patience:
			t.Fatalf("%s is not to be seen:\n%s\nstderr: %s", what, w.screen(), w.stderr)
		}
	}
}

func (w *watched) seeText(t *testing.T, text string) {
	t.Helper()
	w.see(t, text, func(screen string) bool { return strings.Contains(screen, text) })
}

func (w *watched) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := w.keyboard.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// ended waits for the end, and checks that the terminal is as it was.
func (w *watched) ended(t *testing.T, code int) {
	t.Helper()
	if got := codeOf(w.command.Wait()); got != code {
		t.Errorf("exit code %d, want %d: %s", got, code, w.stderr)
	}
	if settingsOf(t, w.terminal) != w.before {
		t.Error("the terminal has other settings")
	}
	left := func() bool {
		w.lock.Lock()
		defer w.lock.Unlock()
		raw := w.raw.String()
		return strings.Contains(raw, "\x1b[?1049l") && strings.LastIndex(raw, "\x1b[?25h") > strings.LastIndex(raw, "\x1b[?25l")
	}
	patience := time.After(time.Minute)
	for !left() {
		select {
		case <-w.read:
		case <-patience:
			t.Fatal("the screen or the cursor is not put back")
		}
	}
}

// Goal: somebody at a terminal sees locks come, hands over and ends them, and has his terminal back. Method: a process on a
// terminal with an emulator behind it, on SQLite and on PostgreSQL.
func testWatchTerminal(t *testing.T, b binary) {
	for name, dsn := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return sqliteUser(t).getenv(dsnVariable) },
		"postgres": func(t *testing.T) string { return testclient.InstalledPostgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := binary{path: b.path, directory: t.TempDir(), dsn: dsn(t)}
			playWatch(t, b)
		})
	}
}

func playWatch(t *testing.T, b binary) {
	get := func(args ...string) { b.run(t.Context(), append([]string{"get"}, args...)...).check(t, exitYes) }
	get("customer:42", "--operator", "jdoe", "--department", "sales")
	w := b.watching(t.Context(), t, "--by", "boss")
	w.seeText(t, "customer:42  jdoe      sales")
	get("customer:41", "--operator", "mlee")
	w.seeText(t, "customer:41  mlee")
	// The selected line is still jdoe's, which is the second one now.
	w.press(t, "r")
	w.seeText(t, "release customer:42: Why?")
	w.press(t, "ill today\r")
	w.seeText(t, "Release customer:42. The lock of jdoe (sales)")
	// Another grant of the same operator, and no moment without one, in which the line would be gone.
	b.run(t.Context(), "transfer", "customer:42", "--from", "jdoe", "--to", "jdoe", "--to-department", "sales", "--by", "boss").check(t, exitYes)
	w.press(t, "y")
	w.seeText(t, "is not that of the operator's grant")
	w.seeText(t, "fence "+fenceOf(t, userOf(b.dsn), "customer:42")+"\n") // the table has the new grant
	w.press(t, "rill today\r")
	w.seeText(t, "Release customer:42.")
	w.press(t, "y")
	w.seeText(t, "customer:42: RELEASED")
	w.see(t, "one lock", func(screen string) bool { return !strings.Contains(screen, "jdoe") && strings.Contains(screen, "mlee") })
	b.run(t.Context(), "inquire", "customer:42").check(t, exitNo)
	if history := b.run(t.Context(), "history", "customer:42"); !inOrder(history.stdout, "boss", "ill today") {
		t.Errorf("the history has: %+v", history)
	}

	w.press(t, "kservice\r\r")
	w.seeText(t, "take customer:41: Why?") // it wants one
	w.press(t, "urgent\r")
	w.seeText(t, "Take customer:41 for boss (service). The lock of mlee")
	b.run(t.Context(), "release", "customer:41", "--operator", "mlee").check(t, exitYes)
	get("customer:41", "--operator", "mlee")
	w.press(t, "y")
	w.seeText(t, "take customer:41: held by mlee until")
	w.seeText(t, "fence "+fenceOf(t, userOf(b.dsn), "customer:41")+"\n")
	w.press(t, "kservice\rurgent\r")
	w.seeText(t, "Take customer:41 for boss (service). The lock of mlee")
	w.press(t, "y")
	w.seeText(t, "customer:41: TAKEN by boss (service), fence")
	w.seeText(t, "customer:41  boss      service")
	if inbox := b.run(t.Context(), "inbox", "--operator", "mlee"); !inOrder(inbox.stdout, "TAKEN", "customer:41", "boss", "urgent") {
		t.Errorf("the inbox has: %+v", inbox)
	}
	b.run(t.Context(), "transfer", "customer:41", "--from", "boss", "--to", "mlee", "--by", "boss").check(t, exitYes)
	w.seeText(t, "customer:41  mlee")

	w.press(t, "tasmith\rservice\r\r")
	w.seeText(t, "Transfer customer:41 to asmith (service). The lock of mlee")
	b.run(t.Context(), "transfer", "customer:41", "--from", "mlee", "--to", "bjones", "--by", "boss").check(t, exitYes)
	w.press(t, "y")
	w.seeText(t, "transfer customer:41: held by bjones until")
	w.press(t, "q")
	w.ended(t, exitYes)
	if w.stderr.Len() > 0 {
		t.Errorf("stderr: %s", w.stderr)
	}
}

// Goal: whatever ends the program, the terminal is as it was. Method: the key, the signals, and a fault.
func testWatchEnds(t *testing.T, b binary) {
	b.dsn = sqliteUser(t).getenv(dsnVariable)
	ends := []func(w *watched) error{
		func(w *watched) error { _, err := w.keyboard.WriteString("\x03"); return err },
		func(w *watched) error { return w.command.Process.Signal(syscall.SIGTERM) },
	}
	if !signal.Ignored(syscall.SIGHUP) { // by nohup, which the program inherits and heeds
		ends = append(ends, func(w *watched) error { return w.command.Process.Signal(syscall.SIGHUP) })
	}
	for _, end := range ends {
		w := b.watching(t.Context(), t)
		w.seeText(t, "no locks")
		if err := end(w); err != nil {
			t.Fatal(err)
		}
		w.ended(t, exitInterrupted)
		if got := w.stderr.String(); got != "applockctl: watch: interrupted\n" {
			t.Errorf("stderr: %s", got)
		}
	}
}
