//go:build unix

package main

import (
	"context"
	"errors"
)

// promise is one backend's server for the backends that depend on it. The first backend stops it.
type promise struct {
	title   string        // of the product, for people
	settled chan struct{} // closed when server and err may be read
	server  *server
	err     error
}

func newPromise(title string) *promise {
	return &promise{title: title, settled: make(chan struct{})}
}

// settle sets the result, once. A nil promise has no dependents.
func (p *promise) settle(s *server, err error) {
	if p == nil {
		return
	}
	p.server, p.err = s, err
	close(p.settled)
}

// wait returns the server when it runs, or an absentError if there will be none.
func (p *promise) wait(ctx context.Context) (*server, error) {
	select {
	case <-p.settled:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if errors.As(p.err, new(*absentError)) {
		return nil, absent("it needs %s, which is missing", p.title)
	}
	return p.server, p.err
}

// needs wraps a source so that it is tried only when the server of base runs.
func needs(base *promise, s source) source {
	return func(ctx context.Context) (*server, error) {
		if _, err := base.wait(ctx); err != nil {
			return nil, err
		}
		return s(ctx)
	}
}
