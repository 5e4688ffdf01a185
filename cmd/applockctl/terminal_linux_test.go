package main

import (
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal returns the two ends of a terminal of so many columns: what is written to the one can be read from the
// other.
func openTerminal(t *testing.T, columns uint16) (terminal, screen *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: 25}); err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return terminal, screen
}

// onTerminal runs the program in front of somebody, and returns what is on the screen.
func (b binary) onTerminal(t *testing.T, columns uint16, environment []string, args ...string) []string {
	t.Helper()
	terminal, screen := openTerminal(t, columns)
	command := b.command(t.Context(), args...)
	command.Env = append(command.Env, environment...)
	command.Stdout, command.Stderr = terminal, terminal
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	_ = terminal.Close()
	text, _ := io.ReadAll(screen) // ends with an error when the program has closed its end
	if code := codeOf(command.Wait()); code != exitYes {
		t.Errorf("%v: exit code %d: %s", args, code, text)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\r\n"), "\r\n")
}

// Goal: a table fits into the terminal in front of which somebody sits, unless he says how wide it is, or wants it whole;
// what goes into a pipe is never cut. Method: a long name on terminals of several widths.
func testProcessTerminal(t *testing.T, b binary) {
	b.dsn = sqliteUser(t).getenv(dsnVariable)
	const name = "a-very-long-name-of-a-service-that-nobody-can-type@example.com"
	b.run(t.Context(), "get", "customer:42", "--operator", name).check(t, exitYes)
	widest := func(lines []string) int {
		width := 0
		for _, line := range lines {
			width = max(width, len([]rune(line)))
		}
		return width
	}
	for _, test := range []struct {
		columns     uint16
		environment []string
		args        []string
		want        int
		whole       bool
	}{
		{columns: 80, args: []string{"list"}, want: 80},
		{columns: 80, args: []string{"inquire", "customer:42"}, want: 80},
		{columns: 80, args: []string{"get", "customer:42", "--operator", name}, want: 80},
		{columns: 70, args: []string{"list"}, want: 70},
		{columns: 80, environment: []string{"COLUMNS=68"}, args: []string{"list"}, want: 68},
		{columns: 68, environment: []string{"COLUMNS=x"}, args: []string{"list"}, want: 68},
		{columns: 200, args: []string{"list"}, want: 121, whole: true},
		{columns: 80, environment: []string{"COLUMNS=150"}, args: []string{"list"}, want: 121, whole: true},
		{columns: 80, args: []string{"list", "--wide"}, want: 240, whole: true},
		{columns: 0, args: []string{"list"}, want: 121, whole: true},
	} {
		lines := b.onTerminal(t, test.columns, test.environment, test.args...)
		text := strings.Join(lines, "\n")
		if widest(lines) > test.want || strings.Contains(text, name) != test.whole || strings.Contains(text, "…") == test.whole {
			t.Errorf("%v on %d columns %v:\n%s", test.args, test.columns, test.environment, text)
		}
		if !strings.Contains(text, "customer:42") {
			t.Errorf("%v on %d columns: the object cannot be told:\n%s", test.args, test.columns, text)
		}
	}
	piped := b.command(t.Context(), "list")
	piped.Env = append(piped.Env, "COLUMNS=60")
	if output, err := piped.Output(); err != nil || !strings.Contains(string(output), name) {
		t.Errorf("a pipe gets %s, %v", output, err)
	}
}
