// Package span parses and formats durations as people type them: 7d, 36h, 90s, 1d12h.
package span

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

var (
	// ErrMalformed means that a text is no duration.
	ErrMalformed = errors.New("write a number and a unit, d, h, m or s, such as 7d, 36h, 90s or 1d12h")
	// ErrTooLong means that a duration exceeds the limit.
	ErrTooLong = errors.New("too long")
)

type unit struct {
	letter byte
	length time.Duration
}

func units() [4]unit {
	return [4]unit{{'d', 24 * time.Hour}, {'h', time.Hour}, {'m', time.Minute}, {'s', time.Second}}
}

// Parse parses a duration of whole seconds. It returns ErrTooLong above longest, and ErrMalformed for other texts.
func Parse(text string, longest time.Duration) (time.Duration, error) {
	if text == "" {
		return 0, ErrMalformed
	}
	var total time.Duration
	for rest := text; rest != ""; {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		if digits == 0 || digits == len(rest) {
			return 0, ErrMalformed
		}
		length := lengthOf(rest[digits])
		if length == 0 {
			return 0, ErrMalformed
		}
		number, err := strconv.ParseInt(rest[:digits], 10, 64) // fails only for too many digits
		if err != nil || number > int64((longest-total)/length) {
			return 0, ErrTooLong
		}
		total += time.Duration(number) * length
		rest = rest[digits+1:]
	}
	return total, nil
}

// lengthOf returns zero for a letter that is no unit.
func lengthOf(letter byte) time.Duration {
	for _, unit := range units() {
		if unit.letter == letter {
			return unit.length
		}
	}
	return 0
}

// Format returns the shortest text that Parse parses to the same value, and an empty text below a second.
func Format(span time.Duration) string {
	var text strings.Builder
	for _, unit := range units() {
		if number := span / unit.length; number > 0 {
			fmt.Fprintf(&text, "%d%c", number, unit.letter)
			span -= number * unit.length
		}
	}
	return text.String()
}
