package main

import (
	"context"
	"fmt"
	"time"
)

// callLimit bounds each of several database calls that run on one context.
type callLimit struct {
	length time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

// timeoutError is the cause of a context that a callLimit has cancelled.
type timeoutError struct {
	length duration
}

func (e *timeoutError) Error() string {
	return fmt.Sprintf("no answer from the database within %s, see --timeout", e.length.String())
}

// limitCalls returns a context that is cancelled when a call has taken too long, and begins with the
// first call. The limit must be ended.
func limitCalls(ctx context.Context, length time.Duration) (context.Context, *callLimit) {
	limited, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(length, func() { cancel(&timeoutError{length: duration(length)}) })
	return limited, &callLimit{length: length, timer: timer, cancel: cancel}
}

// restart begins with the next call.
func (l *callLimit) restart() { l.timer.Reset(l.length) }

// extend begins with a call that is to wait for something else than the database, too.
func (l *callLimit) extend(wait time.Duration) { l.timer.Reset(wait + l.length) }

// pause lets time pass that is not the database's.
func (l *callLimit) pause() { l.timer.Stop() }

// end releases the context.
func (l *callLimit) end() {
	l.timer.Stop()
	l.cancel(nil)
}
