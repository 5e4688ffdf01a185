package main

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/span"
)

// duration is a flag such as 7d, 36h, 90s or 1d12h: whole seconds, from one second to the longest ttl.
type duration time.Duration

var _ pflag.Value = (*duration)(nil)

// Set parses text.
func (d *duration) Set(text string) error {
	parsed, err := parseDuration(text)
	if err == nil {
		*d = duration(parsed)
	}
	return err
}

// String returns the shortest text that Set parses to the same value.
func (d *duration) String() string { return span.Format(time.Duration(*d)) }

// Type is the word for the value in the help.
func (d *duration) Type() string { return "duration" }

func parseDuration(text string) (time.Duration, error) {
	parsed, err := span.Parse(text, applock.MaxTTL)
	switch {
	case errors.Is(err, span.ErrTooLong):
		return 0, fmt.Errorf("at most %s", span.Format(applock.MaxTTL))
	case err != nil:
		return 0, fmt.Errorf("%w; at least 1s", err)
	case parsed < time.Second:
		return 0, errors.New("at least 1s")
	}
	return parsed, nil
}

// number is a flag that takes a whole number from 1 to most. Zero means that the flag is not set.
type number[T ~int | ~int64] struct {
	value *T
	most  T
}

// Set parses text.
func (n number[T]) Set(text string) error {
	parsed, err := strconv.ParseInt(text, 10, 64)
	if err != nil || parsed < 1 || parsed > int64(n.most) {
		return fmt.Errorf("write a whole number from 1 to %d", n.most)
	}
	*n.value = T(parsed)
	return nil
}

// String returns an empty text for a flag that is not set.
func (n number[T]) String() string {
	if n.value == nil || *n.value == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*n.value), 10)
}

// Type is the word for the value in the help.
func (number[T]) Type() string { return "int" }
