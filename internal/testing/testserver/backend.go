//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// backend is one database product and the sources of its servers, best first. A new product is one file that builds a backend, and one
// entry in main.
type backend struct {
	name    string
	sources []source

	// promise passes this backend's server to the backends that depend on it; nil if none does.
	promise *promise
}

// source supplies a server, or returns an absentError when this machine cannot supply one. Any other error ends the search: a broken
// server must be reported, not replaced.
type source func(ctx context.Context) (*server, error)

// server is a running server.
type server struct {
	version string   // as the server reports it, "15.18"
	origin  string   // its source, for people; never a password or a DSN
	env     []string // variables for the command, as KEY=value
	dsn     string   // for servers that depend on it; "" if none can

	// stop ends the server and removes all its traces; nil for a server that the launcher did not start.
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

// supply tries the sources in order. When all are absent, it returns an absentError with every source's reason.
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
	// An interrupted source may return an absentError.
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, absent("%s", strings.Join(reasons, "; "))
}
