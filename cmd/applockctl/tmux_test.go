package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/internal/testing/testdb"
)

// tmux is a terminal of tmux with a shell in it, on a server of its own.
type tmux struct {
	t            *testing.T
	path, socket string
	// width and height are those of the window.
	width, height int
}

// newTmux starts a shell that finds applockctl and its database.
func newTmux(t *testing.T, b binary, width, height int) *tmux {
	t.Helper()
	m := &tmux{t: t, path: testdb.Tmux(t), socket: filepath.Join(b.directory, "tmux"), width: width, height: height}
	configuration, profile := filepath.Join(b.directory, "tmux.conf"), filepath.Join(b.directory, "profile")
	for name, text := range map[string]string{configuration: "set -g status off\n", profile: "PS1='ready$ '\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shell := exec.CommandContext(t.Context(), m.path, "-u", "-S", m.socket, "-f", configuration, "new-session", "-d",
		"-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "sh")
	shell.Dir = b.directory
	shell.Env = []string{
		"PATH=" + filepath.Dir(b.path) + ":" + os.Getenv("PATH"), dsnVariable + "=" + b.dsn, "LANG=C.UTF-8", "ENV=" + profile,
	}
	if output, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v: %s", err, output)
	}
	t.Cleanup(func() { _ = exec.Command(m.path, "-S", m.socket, "kill-server").Run() })
	m.see("ready$")
	return m
}

// call sends tmux a command, and returns what it prints.
func (m *tmux) call(args ...string) string {
	m.t.Helper()
	output, err := exec.CommandContext(m.t.Context(), m.path, append([]string{"-u", "-S", m.socket}, args...)...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("tmux %v: %v: %s", args, err, output)
	}
	return string(output)
}

// screen returns the lines that somebody sees. One that is wider than the window, and so wrapped by it, is one line here.
func (m *tmux) screen() []string {
	m.t.Helper()
	lines := strings.Split(strings.TrimSuffix(m.call("capture-pane", "-p", "-J"), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// see waits until the screen has these texts in this order, and returns it.
func (m *tmux) see(texts ...string) string {
	m.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // between two looks
		screen := strings.Join(m.screen(), "\n")
		if inOrder(screen, texts...) {
			return screen
		}
		if time.Now().After(end) {
			m.t.Fatalf("%q are not to be seen at %d x %d:\n%s", texts, m.width, m.height, screen)
		}
	}
}

// press presses keys by the names that tmux has for them.
func (m *tmux) press(keys ...string) {
	m.t.Helper()
	m.call(append([]string{"send-keys"}, keys...)...)
}

// command types a command for the shell.
func (m *tmux) command(command string) {
	m.t.Helper()
	m.call("send-keys", "-l", command)
	m.press("Enter")
}

// enter types a text into a dialog, and enters it when it is there.
func (m *tmux) enter(text string) {
	m.t.Helper()
	m.call("send-keys", "-l", text)
	m.see(text + "_")
	m.press("Enter")
}
