package seal_test

import (
	"testing"

	"github.com/applock/applock/applock/console/internal/seal"
)

// Goal: only the key, purpose and label of a text open it, and a process without a key has one of its own. Method: each of them changed, and a text that is bent.
func TestSeal(t *testing.T) {
	t.Parallel()
	made := func(key byte, purpose string) *seal.Seal {
		s, err := seal.New(seal.Key{key}, purpose)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	text, err := made(1, "pages").Close("a plan", "MLEE")
	if err != nil {
		t.Fatal(err)
	}
	mine, err := made(0, "pages").Close("a plan", "MLEE")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		by          *seal.Seal
		text, label string
		opens       bool
	}{
		"the same":         {made(1, "pages"), text, "MLEE", true},
		"another key":      {made(2, "pages"), text, "MLEE", false},
		"another purpose":  {made(1, "cookies"), text, "MLEE", false},
		"another label":    {made(1, "pages"), text, "PKING", false},
		"half of the text": {made(1, "pages"), text[:len(text)/2], "MLEE", false},
		"no text":          {made(1, "pages"), "?", "MLEE", false},
		"a random key":     {made(0, "pages"), mine, "MLEE", false},
	} {
		var got string
		if opens := test.by.Open(test.text, test.label, &got); opens != test.opens || opens && got != "a plan" {
			t.Errorf("%s: opens: %t, %q", name, opens, got)
		}
	}
}
