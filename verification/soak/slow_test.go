package soak_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testing/wire"
	"github.com/applock/applock/internal/testing/worker"
)

const (
	// slowVariable asks for the whole table of slow ways, which takes a quiet machine and some minutes.
	slowVariable = "APPLOCK_SOAK_SLOW"
	// slowRounds is how many TTLs the leases of the table have to live.
	slowRounds = 4
	// slowPieces is by how many late answers a renewal may be delayed: MySQL answers a call by two, and a statement is prepared first.
	slowPieces = 2
	// connectedPieces is the same for the TTL of a program's first lease, for which it connects.
	connectedPieces = 8
)

// Goal: a lease lives on a slow way, from its first renewal on. Method: servers whose answers are late, by less than a third of the TTL for each
// renewal, and leases that nobody has renewed before; it is the program's first lease where the way is at most an eighth of the TTL. One row
// is for every day, and a slow machine takes nothing from it.
func TestSlowWays(t *testing.T) {
	t.Parallel()
	rounds, ttls := 1, []time.Duration{30 * time.Second}
	delays := []time.Duration{400 * time.Millisecond}
	if worker.Number(t, slowVariable, 0) > 0 {
		rounds, ttls = slowRounds, []time.Duration{2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second}
		delays = []time.Duration{0, 50 * time.Millisecond, 150 * time.Millisecond, 250 * time.Millisecond, 380 * time.Millisecond, time.Second}
	}
	for _, b := range withoutSessions() {
		if b.name == "sqlite" { // has no wire
			continue
		}
		for _, ttl := range ttls {
			for _, delay := range delays {
				if slowPieces*delay >= ttl/3 {
					continue
				}
				t.Run(fmt.Sprint(b.name, "/", ttl, "/", delay), func(t *testing.T) {
					t.Parallel()
					w, wired := wire.Through(t, b.place(t))
					locker := opened(t, b, wired)
					w.Slow(delay)
					if connectedPieces*delay > ttl {
						free := func(context.Context, applock.Lease) error { return nil }
						if err := locker.Do(t.Context(), applock.AcquireRequest{Object: lateObject(1), MaxHold: time.Hour}, free); err != nil {
							t.Fatal(err) // from now on there is a connection, and statements are prepared
						}
					}
					request := applock.AcquireRequest{Object: lateObject(0), MaxHold: time.Hour, TTL: ttl}
					lease, err := locker.Acquire(t.Context(), request)
					if err != nil {
						t.Fatal(err)
					}
					began := time.Now()
					select {
					case <-lease.Context().Done():
						t.Errorf("lost after %s: %v", time.Since(began), lease.Err())
					case <-time.After(time.Duration(rounds) * ttl):
					}
				})
			}
		}
	}
}
