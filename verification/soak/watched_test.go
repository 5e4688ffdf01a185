package soak_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testing/worker"
)

// sight is what a watched program sees at one moment.
type sight struct {
	// Wall is the machine's time, as this program sees it.
	Wall time.Time
	// Renewals is how often the lease with the short TTL was seen to be trusted for longer than before.
	Renewals int
	// Lost has the leases that are not trusted any more, and why.
	Lost map[string]string
}

// watchedLeases are the leases of a watched program. Each ends by another one of the engine's clocks.
func watchedLeases() map[string]applock.AcquireRequest {
	return map[string]applock.AcquireRequest{
		"renewed":  {MaxHold: time.Hour, TTL: watchedTTL},
		"slow":     {MaxHold: time.Hour, TTL: time.Minute},
		"max_hold": {MaxHold: 30 * time.Minute},
	}
}

const (
	watchedTTL = 10 * time.Second
	watchTick  = 50 * time.Millisecond
)

// watch holds the watched leases and writes what it sees to stdout, a line each, until ctx ends.
func (w *program) watch(ctx context.Context) error {
	leases := map[string]applock.Lease{}
	for name, request := range watchedLeases() {
		request.Object = applock.Object{Type: "clock", ID: name}
		lease, err := w.locker.Acquire(ctx, request)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		leases[name] = lease
	}
	seen := json.NewEncoder(os.Stdout)
	var deadline time.Time
	for renewals := 0; ctx.Err() == nil; worker.Rest(ctx, watchTick) {
		now := sight{Wall: time.Now(), Lost: map[string]string{}}
		if extended := leases["renewed"].Deadline(); extended.After(deadline) {
			deadline = extended
			renewals++
		}
		now.Renewals = renewals
		for name, lease := range leases {
			if err := lease.Err(); err != nil {
				now.Lost[name] = err.Error()
			}
		}
		if err := seen.Encode(now); err != nil {
			return err
		}
	}
	return nil
}
