package main

import (
	"fmt"
	"strings"
)

// progress rewrites the terminal's current line and returns its width. It writes nothing to a log.
func (a *app) progress(line string) int {
	if !a.terminal || a.quiet {
		return 0
	}
	_, _ = fmt.Fprint(a.stderr, "\r", line) // a lost progress line does not stop the work
	return len(line)
}

func (a *app) eraseProgress(width int) {
	if width > 0 {
		_, _ = fmt.Fprint(a.stderr, "\r", strings.Repeat(" ", width), "\r")
	}
}
