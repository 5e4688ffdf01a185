package main

import (
	"fmt"
	"strings"
)

// progress rewrites the line of a terminal and returns its width. Anything else gets nothing: a log
// has no use for it.
func (a *app) progress(line string) int {
	if !a.terminal || a.quiet {
		return 0
	}
	_, _ = fmt.Fprint(a.stderr, "\r", line) // the work goes on, watched or not
	return len(line)
}

// eraseProgress leaves an empty line behind for what comes next.
func (a *app) eraseProgress(width int) {
	if width > 0 {
		_, _ = fmt.Fprint(a.stderr, "\r", strings.Repeat(" ", width), "\r")
	}
}

// count returns a number with its noun.
func count(number int, noun string) string {
	if number == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", number, noun)
}
