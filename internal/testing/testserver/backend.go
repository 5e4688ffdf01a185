//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// backend is one database product and the places a server of it may come from, best first. A new product is one file
// that builds a backend, and one entry in main.
type backend struct {
	name    string
	sources []source

	// promise is where those wait that stand on this backend's server; nil if none does.
	promise *promise
}

// source supplies a server, or returns an absentError when this machine has nothing of its kind to offer. Any other
// error ends the search: a server that is there and does not work must be seen, not replaced.
type source func(ctx context.Context) (*server, error)

// server is a running server.
type server struct {
	version string   // as the server states it, "15.18"
	origin  string   // where it came from, for people; never a password or a DSN
	env     []string // what the command is told, as KEY=value
	dsn     string   // where it is, for servers that stand on it; "" if none can

	// stop ends the server and removes all its traces; nil for a server that somebody else started.
	stop func() error
}

// absentError says why a source has no server to offer.
type absentError struct {
	reason string
}

// Error returns the reason.
func (e *absentError) Error() string { return e.reason }

func absent(format string, args ...any) error {
	return &absentError{reason: fmt.Sprintf(format, args...)}
}

// supply asks the sources in order. It returns an absentError with every source's reason when all are absent.
func (b backend) supply(ctx context.Context) (*server, error) {
	var reasons []string
	for _, start := range b.sources {
		if ctx.Err() != nil {
			break
		}
		s, err := start(ctx)
		if err == nil {
			return s, nil
		}
		var none *absentError
		if !errors.As(err, &none) {
			return nil, fmt.Errorf("%s: %w", b.name, err)
		}
		reasons = append(reasons, none.reason)
	}
	// An interrupted source may call itself absent.
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, absent("%s", strings.Join(reasons, "; "))
}
