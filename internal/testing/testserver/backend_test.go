//go:build unix

package main

import (
	"context"
	"errors"
	"testing"
)

// present, missingSource and broken are the three things a source can be.
func present(s *server) source {
	return func(context.Context) (*server, error) { return s, nil }
}

func missingSource(reason string) source {
	return func(context.Context) (*server, error) { return nil, absent("%s", reason) }
}

func broken(err error) source {
	return func(context.Context) (*server, error) { return nil, err }
}

// forbidden is a source that must not be asked.
func forbidden(t *testing.T) source {
	t.Helper()
	return func(context.Context) (*server, error) {
		t.Error("a source was asked after the search had ended")
		return nil, absent("forbidden")
	}
}

func TestSupplyTakesTheFirstSourceThatIsThere(t *testing.T) {
	t.Parallel()
	want := &server{version: "2"}
	b := backend{name: "db", sources: []source{missingSource("no 1"), present(want), forbidden(t)}}
	got, err := b.supply(t.Context())
	if err != nil || got != want {
		t.Errorf("supply() = %v, %v", got, err)
	}
}

func TestSupplyGivesEveryReasonWhenAllAreAbsent(t *testing.T) {
	t.Parallel()
	b := backend{name: "db", sources: []source{missingSource("no 1"), missingSource("no 2")}}
	_, err := b.supply(t.Context())
	var none *absentError
	if !errors.As(err, &none) || err.Error() != "no 1; no 2" {
		t.Errorf("error = %v", err)
	}
}

func TestSupplyStopsAtABrokenSource(t *testing.T) {
	t.Parallel()
	cause := errors.New("does not start")
	b := backend{name: "db", sources: []source{missingSource("no 1"), broken(cause), forbidden(t)}}
	_, err := b.supply(t.Context())
	var none *absentError
	if !errors.Is(err, cause) || errors.As(err, &none) {
		t.Errorf("error = %v", err)
	}
}

// A source that was interrupted may say "absent"; that must neither start the next one nor count as a reason.
func TestSupplyEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for name, after := range map[string][]source{"LastSource": nil, "MoreSources": {forbidden(t)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			interrupted := func(context.Context) (*server, error) {
				cancel()
				return nil, absent("installation failed")
			}
			b := backend{name: "db", sources: append([]source{interrupted}, after...)}
			if _, err := b.supply(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("error = %v", err)
			}
		})
	}
}
