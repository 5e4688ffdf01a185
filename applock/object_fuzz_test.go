package applock_test

import (
	"strings"
	"testing"

	"github.com/applock/applock/applock"
)

// Goal: no text is read as another object than it names. Method: what is accepted gives the same text again, and its type ends at the first
// colon; what is refused has none.
func FuzzParseObject(f *testing.F) {
	for _, text := range []string{"customer:42", "", ":", "a:b:c", "no colon", "\x00:\xff", " : ", "ａ：ｂ", strings.Repeat("x", 1000) + ":"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		object, err := applock.ParseObject(text)
		if (err == nil) != strings.Contains(text, ":") {
			t.Fatalf("%q: %v", text, err)
		}
		if err == nil && (object.String() != text || strings.Contains(object.Type, ":")) {
			t.Fatalf("%q is type %q and id %q", text, object.Type, object.ID)
		}
	})
}
