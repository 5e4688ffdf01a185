//go:build unix

package main

import (
	"context"
	"errors"
	"testing"
)

// standing is a backend on the server that another one promises.
func standing(base *promise, s source) backend {
	return backend{name: "upper", sources: []source{needs(base, s)}}
}

func TestABackendStandsOnAnotherOnesServer(t *testing.T) {
	t.Parallel()
	base := newPromise("Base")
	lower := backend{name: "lower", sources: []source{present(&server{dsn: "the dsn"})}, promise: base}
	var got string
	upper := standing(base, func(ctx context.Context) (*server, error) {
		s, err := base.wait(ctx)
		if err != nil {
			return nil, err
		}
		got = s.dsn
		return &server{}, nil
	})
	// The upper one comes first, and has to wait.
	l := newTestLauncher(upper, lower)
	if code := l.run([]string{"--", "true"}); code != 0 || got != "the dsn" {
		t.Errorf("exit code = %d, DSN %q, output:\n%s", code, got, l.stderr.String())
	}
}

func TestABackendIsMissingWithTheServerItNeeds(t *testing.T) {
	t.Parallel()
	base := newPromise("Base")
	lower := backend{name: "lower", sources: []source{missingSource("none here")}, promise: base}
	l := newTestLauncher(lower, standing(base, forbidden(t)))
	if code := l.run([]string{"--", "true"}); code != 0 {
		t.Errorf("exit code = %d", code)
	}
	l.wantOutput(t, "lower missing (none here); upper missing (it needs Base, which is missing)")
}

// Whoever reads the message has to repair the lower one.
func TestABrokenServerIsToldByItsOwnBackend(t *testing.T) {
	t.Parallel()
	for range 2000 {
		base := newPromise("Base")
		lower := backend{name: "lower", sources: []source{broken(errors.New("does not start"))}, promise: base}
		l := newTestLauncher(standing(base, forbidden(t)), lower)
		if code := l.run([]string{"--", "true"}); code != 1 {
			t.Errorf("exit code = %d", code)
		}
		if got, want := l.stderr.String(), "testserver: lower: does not start\n"; got != want {
			t.Fatalf("output = %q, want %q", got, want)
		}
	}
}

func TestAWaitForAServerEndsWithTheRun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newPromise("Base").wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
}
