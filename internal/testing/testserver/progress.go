//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/applock/applock/internal/testing/private"
)

// clearLine clears a terminal's line from the cursor on.
const clearLine = "\033[K"

// progress says how far a run is: on a terminal in one line that changes each second, elsewhere in a line a minute.
type progress struct {
	show  func(format string, args ...any)
	pause time.Duration
}

func newProgress(w io.Writer) progress {
	if !isTerminal(w) {
		return progress{newSay(w), time.Minute}
	}
	return progress{func(format string, args ...any) { fmt.Fprintf(w, clearLine+"%.79s\r", fmt.Sprintf(format, args...)) }, time.Second}
}

// tell says what the run waits for, until done is closed.
func (l *launcher) tell(done <-chan struct{}) {
	for begin := time.Now(); ; {
		select {
		case <-done:
			return
		case <-time.After(l.progress.pause):
			l.progress.show("%s: %s", time.Since(begin).Round(time.Second), l.waiting())
		}
	}
}

// waiting names what the compiler does, and the servers that have not started.
func (l *launcher) waiting() string {
	var parts, names []string
	if line := l.compiler.line.Load(); line != nil {
		parts = append(parts, *line)
	}
	for _, b := range l.backends {
		select {
		case <-b.done:
		default:
			names = append(names, b.name)
		}
	}
	if names != nil {
		parts = append(parts, "waiting for "+strings.Join(names, ", "))
	}
	return strings.Join(parts, "; ")
}

// compiler is a shell's command that compiles while the servers start, and prints a line for each package.
type compiler struct {
	command string
	line    atomic.Pointer[string] // its last; nil if it does not run
}

// run runs the command to its end. It returns no error: the command of the launcher shows what cannot be compiled.
func (c *compiler) run(ctx context.Context) {
	command := exec.CommandContext(ctx, "sh", "-c", c.command)
	command.Stdout, command.Stderr = c, c
	_, _ = private.Output(command)
	c.line.Store(nil)
}

func (c *compiler) Write(output []byte) (int, error) {
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	c.line.Store(&lines[len(lines)-1])
	return len(output), nil
}
