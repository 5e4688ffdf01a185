package main

import (
	"context"
	"fmt"
	"time"
)

// callLimit bounds each of several database calls that share one context.
type callLimit struct {
	length time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

// timeoutError is the cause of a context that a callLimit cancelled.
type timeoutError struct {
	length duration
}

func (e *timeoutError) Error() string {
	return fmt.Sprintf("no answer from the database within %s, see --timeout", e.length.String())
}

// Is makes the error an expired deadline for packages that know no callLimit.
func (e *timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// limitCalls returns a context that is cancelled when one call takes too long. The time of the first call starts now. The caller must end
// the limit.
func limitCalls(ctx context.Context, length time.Duration) (context.Context, *callLimit) {
	limited, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(length, func() { cancel(&timeoutError{length: duration(length)}) })
	return limited, &callLimit{length: length, timer: timer, cancel: cancel}
}

// restart starts the time of the next call.
func (l *callLimit) restart() { l.timer.Reset(l.length) }

// extend starts the time of a call that may also wait for a lock.
func (l *callLimit) extend(wait time.Duration) { l.timer.Reset(wait + l.length) }

// pause stops the time while no call runs.
func (l *callLimit) pause() { l.timer.Stop() }

func (l *callLimit) end() {
	l.timer.Stop()
	l.cancel(nil)
}
