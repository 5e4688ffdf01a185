package main

import (
	"strings"
	"testing"
)

// Goal: who is refused is told why the holder holds the object, and no note commands the terminal. Method: a note with an escape
// sequence and a sign that turns the direction of writing, in the messages on stderr.
func TestNoteInRefusals(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	u.must(t, "get", "customer:42", "--operator", "jdoe", "--department", "sales")
	u.must(t, "note", "customer:42", "one\ntwo \x1b[31m\u202e", "--operator", "jdoe")
	const quoted = `, "one\ntwo \x1b[31m\u202e"`
	for _, command := range []string{"run customer:42 -- true", "get customer:42 --operator asmith --wait 1s"} {
		got := u.run(t, strings.Fields(command)...)
		if !strings.Contains(got.stderr, "held by jdoe (sales) since ") || !strings.Contains(got.stderr, quoted) {
			t.Errorf("%s: %q, want the holder and %s", command, got.stderr, quoted)
		}
		if strings.ContainsAny(got.stdout+got.stderr, "\x1b\u202e") {
			t.Errorf("%s prints the note as it is: %q", command, got.stdout+got.stderr)
		}
	}
}
