package db2

import "regexp"

// Fold is fold.
func Fold(script string, columns int) string { return fold(script, columns) }

// ZOSProcedures is zosProcedures.
func ZOSProcedures(migration string) string { return zosProcedures(migration) }

// Deltas returns what is looked for in a statement, and why it is different on z/OS.
func Deltas() map[*regexp.Regexp]string {
	patterns := map[*regexp.Regexp]string{}
	for _, delta := range deltas() {
		patterns[delta.luw] = delta.why
	}
	return patterns
}
