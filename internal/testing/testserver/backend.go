//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// backend is one product and the sources of its servers, best first.
type backend struct {
	name, title string
	sources     []source

	// packages are those of Debian that are installed for the product because it is missing.
	packages func(ctx context.Context) []string

	// needs is the backend whose server this one depends on; nil for most. Meanwhile prepare gets what that takes.
	needs   *backend
	prepare func(ctx context.Context)

	// done is closed when server and missing, the reason for its absence, may be read.
	done    chan struct{}
	server  *server
	missing error
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

func isAbsent(err error) bool { return errors.As(err, new(*absentError)) }

// supply waits for the server that this one needs, and tries the sources in order. When all are absent, it returns an absentError with every
// source's reason.
func (b *backend) supply(ctx context.Context) (*server, error) {
	if b.needs != nil {
		if b.prepare != nil {
			b.prepare(ctx)
		}
		select {
		case <-b.needs.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if b.needs.server == nil {
			return nil, absent("it needs %s, which is missing", b.needs.title)
		}
	}
	var reasons []string
	for _, start := range b.sources {
		if ctx.Err() != nil {
			break
		}
		s, err := start(ctx)
		if err == nil {
			return s, nil
		}
		if !isAbsent(err) {
			return nil, fmt.Errorf("%s: %w", b.name, err)
		}
		reasons = append(reasons, err.Error())
	}
	// An interrupted source may return an absentError.
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, absent("%s", strings.Join(reasons, "; "))
}
