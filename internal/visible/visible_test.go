package visible_test

import (
	"testing"

	"github.com/applock/applock/internal/visible"
)

// Goal: what would steer a terminal or a page is readable, and letters stay as they are. Method: texts of each kind.
func TestText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                   "",
		"O'Neill \"Müller\"": "O'Neill \"Müller\"",
		"מנעול":              "מנעול",
		"a\x1b[2Jb":          `a\x1b[2Jb`,
		"1\n2\t3":            `1\n2\t3`,
		"\u202egnp.exe":      `\u202egnp.exe`,
		"ASMITH\u200b":       `ASMITH\u200b`,
		"a\xffb":             "a\ufffdb",
	} {
		if got := visible.Text(text); got != want {
			t.Errorf("%q is written as %q, want %q", text, got, want)
		}
	}
}
