package db

import (
	"context"
	"errors"
	"sync"
)

// Sending is how far a call has come, for a caller that stops waiting for it. It is safe for concurrent use.
type Sending struct {
	mutex sync.Mutex
	known bool
	// connecting is set while the call waits for a connection, and reports whether all of the pool are in use.
	connecting func() (allInUse bool)
}

type sendingKey struct{}

// Tracked returns a context in which drivers note how far a call has come.
func Tracked(ctx context.Context) (context.Context, *Sending) {
	sending := &Sending{}
	return context.WithValue(ctx, sendingKey{}, sending), sending
}

// Connects records that a call waits for a connection, until the caller calls connected.
func Connects(ctx context.Context, allInUse func() bool) (connected func()) {
	sending, ok := ctx.Value(sendingKey{}).(*Sending)
	if !ok {
		return func() {}
	}
	sending.set(allInUse)
	return func() { sending.set(nil) }
}

func (s *Sending) set(connecting func() bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.known, s.connecting = true, connecting
}

var (
	errNoConnection = errors.New("there was no connection yet")
	errNoneFree     = errors.New("all were in use")
)

// Unsent returns why a call has not been sent yet, or nil if it has. Known is false if no driver recorded it.
func (s *Sending) Unsent() (why error, known bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch {
	case s.connecting == nil:
		return nil, s.known
	case s.connecting():
		return &Error{Kind: KindPool, Err: errNoneFree}, true
	}
	return &Error{Kind: KindUnreachable, Err: errNoConnection}, true
}
