//go:build unix

package main

import (
	"context"
	"errors"
)

// promise is a server that one backend supplies and others stand on. It stays that backend's to stop.
type promise struct {
	title   string        // of the product, for people
	settled chan struct{} // closed when server and err may be read
	server  *server
	err     error
}

func newPromise(title string) *promise {
	return &promise{title: title, settled: make(chan struct{})}
}

// settle says what has become of the server, once. A nil promise is one that nobody waits for.
func (p *promise) settle(s *server, err error) {
	if p == nil {
		return
	}
	p.server, p.err = s, err
	close(p.settled)
}

// wait returns the server when it runs, or an absentError when there is none to be had.
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

// needs is a source that is asked only when the server it stands on runs.
func needs(base *promise, s source) source {
	return func(ctx context.Context) (*server, error) {
		if _, err := base.wait(ctx); err != nil {
			return nil, err
		}
		return s(ctx)
	}
}
