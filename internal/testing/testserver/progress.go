//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/applock/applock/internal/testing/private"
)

// clearLine clears a terminal's line from the cursor on.
const clearLine = "\033[K"

// progress says how far a run is: on a terminal in one line that changes each second, elsewhere in a line a minute.
type progress struct {
	show  func(line string)
	pause time.Duration
}

func newProgress(w io.Writer) progress {
	if isTerminal(w) {
		return progress{pause: time.Second, show: func(line string) { fmt.Fprintf(w, clearLine+"%.79s\r", line) }}
	}
	say := newSay(w)
	return progress{pause: time.Minute, show: func(line string) { say("%s", line) }}
}

// tell shows what the line says, until done is closed.
func (p progress) tell(done <-chan struct{}, line func() string) {
	begin, ticker := time.Now(), time.NewTicker(p.pause)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			p.show(time.Since(begin).Round(time.Second).String() + ": " + line())
		}
	}
}

// compiler is a shell's command that compiles while the servers start, and prints a line for each package.
type compiler struct {
	command string

	writing sync.Mutex
	lines   int
	last    string // empty if the command does not run
}

// run runs the command to its end. It returns no error: the command of the launcher shows what cannot be compiled.
func (c *compiler) run(ctx context.Context) {
	command := exec.CommandContext(ctx, "sh", "-c", c.command)
	command.Stdout, command.Stderr = c, c
	_ = private.RunGroup(command)
	c.writing.Lock()
	defer c.writing.Unlock()
	c.last = ""
}

// Write counts lines, and keeps the last.
func (c *compiler) Write(output []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.lines += bytes.Count(output, []byte("\n"))
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	c.last = lines[len(lines)-1]
	return len(output), nil
}

// waiting says what has been compiled and which servers have not started.
func (l *launcher) waiting() string {
	var names []string
	for _, b := range l.backends {
		select {
		case <-b.done:
		default:
			names = append(names, b.name)
		}
	}
	var parts []string
	l.compiler.writing.Lock()
	if l.compiler.last != "" {
		parts = append(parts, fmt.Sprintf("compiled %d packages, %s", l.compiler.lines, l.compiler.last))
	}
	l.compiler.writing.Unlock()
	if len(names) > 0 {
		parts = append(parts, "waiting for "+strings.Join(names, ", "))
	}
	return strings.Join(parts, "; ")
}
