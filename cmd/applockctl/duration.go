package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/applock/applock/applock"
)

// duration is a flag such as 7d, 36h, 90s or 1d12h: whole seconds, from one second to what a lock may
// last.
type duration time.Duration

var _ pflag.Value = (*duration)(nil)

// units returns the units of a duration, the longest first.
func units() []unit {
	return []unit{{'d', 24 * time.Hour}, {'h', time.Hour}, {'m', time.Minute}, {'s', time.Second}}
}

type unit struct {
	letter byte
	length time.Duration
}

// Set parses text.
func (d *duration) Set(text string) error {
	parsed, err := parseDuration(text)
	if err == nil {
		*d = duration(parsed)
	}
	return err
}

// String returns the shortest text that Set understands as the same.
func (d *duration) String() string {
	var text strings.Builder
	rest := time.Duration(*d)
	for _, unit := range units() {
		if number := rest / unit.length; number > 0 {
			fmt.Fprintf(&text, "%d%c", number, unit.letter)
			rest -= number * unit.length
		}
	}
	return text.String()
}

// Type is the word for the value in the help.
func (d *duration) Type() string { return "duration" }

func parseDuration(text string) (time.Duration, error) {
	malformed := errors.New("write a number and a unit, d, h, m or s, such as 7d, 36h, 90s or 1d12h")
	if text == "" {
		return 0, malformed
	}
	var total time.Duration
	for rest := text; rest != ""; {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		if digits == 0 || digits == len(rest) {
			return 0, malformed
		}
		length, known := unitLength(rest[digits])
		if !known {
			return 0, malformed
		}
		number, err := strconv.ParseInt(rest[:digits], 10, 64) // fails for too many digits only
		if err != nil || number > int64((applock.MaxTTL-total)/length) {
			longest := duration(applock.MaxTTL)
			return 0, fmt.Errorf("at most %s", longest.String())
		}
		total += time.Duration(number) * length
		rest = rest[digits+1:]
	}
	if total < time.Second {
		return 0, errors.New("at least 1s")
	}
	return total, nil
}

func unitLength(letter byte) (time.Duration, bool) {
	for _, unit := range units() {
		if unit.letter == letter {
			return unit.length, true
		}
	}
	return 0, false
}

// number is a flag that takes a whole number from 1 to max. Zero is a flag that was not given.
type number struct {
	value int64
	max   int64
}

var _ pflag.Value = (*number)(nil)

// Set parses text.
func (n *number) Set(text string) error {
	parsed, err := strconv.ParseInt(text, 10, 64)
	if err != nil || parsed < 1 || parsed > n.max {
		return fmt.Errorf("write a whole number from 1 to %d", n.max)
	}
	n.value = parsed
	return nil
}

// String returns nothing for a flag that was not given.
func (n *number) String() string {
	if n.value == 0 {
		return ""
	}
	return strconv.FormatInt(n.value, 10)
}

// Type is the word for the value in the help.
func (n *number) Type() string { return "int" }
