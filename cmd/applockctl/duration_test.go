package main

import (
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
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
		{"007d", 7 * 24 * time.Hour, "7d"},
		{"3650d", 3650 * 24 * time.Hour, "3650d"},
	} {
		var got duration
		if err := got.Set(test.text); err != nil || time.Duration(got) != test.want || got.String() != test.shown {
			t.Errorf("%q is %s, shown as %s: %v", test.text, time.Duration(got), got.String(), err)
		}
		var again duration
		if err := again.Set(got.String()); err != nil || again != got {
			t.Errorf("%s does not mean the same again: %v", got.String(), err)
		}
	}
	for _, text := range []string{
		"", " ", "7", "d", "7 d", "-7d", "+7d", "7D", "7w", "1.5h", "1500ms", "1d12", "0s", "0d0h", "3650d1s", "3651d",
		"99999999999999999999d", "9223372036854775807d", "9223372036854775807s", "7d\n", "７d", "1e3s",
	} {
		value := duration(time.Minute)
		if err := value.Set(text); err == nil || time.Duration(value) != time.Minute {
			t.Errorf("%q is accepted as %s", text, value.String())
		}
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	value := number{max: 10000}
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
