package span_test

import (
	"errors"
	"regexp"
	"testing"
	"time"

	"github.com/applock/applock/internal/span"
)

const longest = 3650 * 24 * time.Hour

// Goal: a span is what it says, and what is none is refused and told from what is too long. Method: each unit and their sums, zeros in
// front, the longest, and what is nearly a span.
func TestParse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text  string
		want  time.Duration
		shown string
	}{
		{"7d", 7 * 24 * time.Hour, "7d"},
		{"36h", 36 * time.Hour, "1d12h"},
		{"1d12h", 36 * time.Hour, "1d12h"},
		{"90s", 90 * time.Second, "1m30s"},
		{"1s", time.Second, "1s"},
		{"10m", 10 * time.Minute, "10m"},
		{"0d1s", time.Second, "1s"},
		{"0s", 0, ""},
		{"007d", 7 * 24 * time.Hour, "7d"},
		{"1s1d", 24*time.Hour + time.Second, "1d1s"},
		{"3650d", longest, "3650d"},
		{"3650d0s", longest, "3650d"},
	} {
		got, err := span.Parse(test.text, longest)
		if err != nil || got != test.want || span.Format(got) != test.shown {
			t.Errorf("%q is %s, shown as %s: %v", test.text, got, span.Format(got), err)
		}
	}
	for text, want := range map[string]error{
		"": span.ErrMalformed, " ": span.ErrMalformed, "7": span.ErrMalformed, "d": span.ErrMalformed, "7 d": span.ErrMalformed,
		"-7d": span.ErrMalformed, "+7d": span.ErrMalformed, "7D": span.ErrMalformed, "7w": span.ErrMalformed, "1.5h": span.ErrMalformed,
		"1500ms": span.ErrMalformed, "1d12": span.ErrMalformed, "7d\n": span.ErrMalformed, "７d": span.ErrMalformed, "1e3s": span.ErrMalformed,
		"7\x00d": span.ErrMalformed, "7\xff": span.ErrMalformed,
		"3650d1s": span.ErrTooLong, "3651d": span.ErrTooLong, "99999999999999999999d": span.ErrTooLong,
		"9223372036854775807d": span.ErrTooLong, "9223372036854775807s": span.ErrTooLong, "106751d106751d": span.ErrTooLong,
	} {
		if got, err := span.Parse(text, longest); !errors.Is(err, want) || got != 0 {
			t.Errorf("%q is %s: %v, want %v", text, got, err, want)
		}
	}
}

// Goal: no text is read as what it does not say. Method: what is accepted is a row of numbers and units, within the limit, and means the same
// when it is written and read again.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"7d", "1d12h", "0s", "3650d", "9223372036854775807s", "106751d106751d", "-1d", "7\x00d", "１d"} {
		f.Add(text, int64(longest))
	}
	shape := regexp.MustCompile(`^([0-9]+[dhms])+$`)
	f.Fuzz(func(t *testing.T, text string, limit int64) {
		most := time.Duration(limit)
		if most < 0 {
			t.Skip("no limit is negative")
		}
		got, err := span.Parse(text, most)
		switch {
		case errors.Is(err, span.ErrTooLong):
		case err != nil:
			if shape.MatchString(text) {
				t.Fatalf("%q is refused: %v", text, err)
			}
		case !shape.MatchString(text) || got < 0 || got > most || got%time.Second != 0:
			t.Fatalf("%q is %s, at most %s", text, got, most)
		case got > 0:
			if again, err := span.Parse(span.Format(got), most); err != nil || again != got {
				t.Fatalf("%q is %s, written as %q and read as %s: %v", text, got, span.Format(got), again, err)
			}
		}
	})
}
