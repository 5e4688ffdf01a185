package main

import (
	"testing"
	"time"
)

// Goal: a flag has a time within what a lock may last, and keeps what it had when it is refused. Method: the limits and what lies beyond them;
// how a time is written is tested in internal/span.
func TestDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"1s": time.Second, "1d12h": 36 * time.Hour, "3650d": 3650 * 24 * time.Hour} {
		var got duration
		if err := got.Set(text); err != nil || time.Duration(got) != want || got.String() != text {
			t.Errorf("%q is %s, shown as %s: %v", text, time.Duration(got), got.String(), err)
		}
	}
	for text, want := range map[string]string{
		"":      "write a number and a unit, d, h, m or s, such as 7d, 36h, 90s or 1d12h; at least 1s",
		"7":     "write a number and a unit, d, h, m or s, such as 7d, 36h, 90s or 1d12h; at least 1s",
		"0s":    "at least 1s",
		"0d0h":  "at least 1s",
		"3651d": "at most 3650d",
	} {
		value := duration(time.Minute)
		if err := value.Set(text); err == nil || err.Error() != want || time.Duration(value) != time.Minute {
			t.Errorf("%q is %s: %v, want %s", text, value.String(), err, want)
		}
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	value := number[int]{value: new(int), most: 10000}
	for _, text := range []string{"", "0", "-1", "10001", "1.0", "1e3", "0x10", "99999999999999999999", " 1"} {
		if err := value.Set(text); err == nil || value.String() != "" {
			t.Errorf("%q is accepted as %q", text, value.String())
		}
	}
	for _, text := range []string{"1", "10000"} {
		if err := value.Set(text); err != nil || value.String() != text {
			t.Errorf("%q is %q: %v", text, value.String(), err)
		}
	}
}
