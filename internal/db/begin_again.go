package db

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	// txAttempts is how often a transaction is tried at most.
	txAttempts = 10
	// txPause is the longest pause before the second attempt. It grows with each attempt.
	txPause = 5 * time.Millisecond
)

// BeginAgain runs a transaction, and retries it after an error that asks for it, after a deadlock or a serialization failure, and after a
// wait for another transaction that timed out. Interpret gives an error of the caller's own statements its kind. It returns the last
// error, and does not retry once ctx has ended.
func BeginAgain(
	ctx context.Context, interpret func(ctx context.Context, err error) error, asking []error, transaction func() error,
) error {
	for attempt := 1; ; attempt++ {
		err := transaction()
		if err == nil {
			return nil
		}
		kind := KindOf(interpret(ctx, err))
		asks := slices.ContainsFunc(asking, func(one error) bool { return errors.Is(err, one) })
		again := asks || kind == KindRetry || kind == KindBusy
		if !again || attempt == txAttempts {
			return err
		}
		select {
		case <-time.After(rand.N(time.Duration(attempt) * txPause)): //nolint:gosec // spreads callers, hides nothing
		case <-ctx.Done():
			return err
		}
	}
}
