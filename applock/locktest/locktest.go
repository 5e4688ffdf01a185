// Package locktest is the contract of [applock.Locker] as a library of tests. Each backend runs all of it from a test
// file of some twenty lines:
//
//	func TestMain(m *testing.M) { locktest.Main(m, open) }
//
//	func TestContract(t *testing.T) {
//		locktest.Exercise(t, locktest.Backend{Place: newPlace, Open: open, ...})
//	}
package locktest

import (
	"context"
	"testing"

	"github.com/applock/applock/applock"
)

// Backend is a backend under test.
type Backend struct {
	// Place makes a place for locks that is nobody else's, removes it when the test ends, and returns what Open opens
	// it by, also in another process.
	Place func(t testing.TB) string
	// Open opens a place. Each call is one more client, as another process would be; close ends it.
	Open Open
	// OneClient is true where locks do not reach beyond one Locker: all clients of a place are the same then, and there
	// are no other processes.
	OneClient bool
	// OneProcess is true where other processes cannot open a place of the tests.
	OneProcess bool
	// Fences is true where later grants of an object have greater fences.
	Fences bool
	// Owners is true where a refusal by another client tells the operator who holds the object.
	Owners bool
	// Losses are the ways in which the backend can lose a grant, each by a name. The function makes the holder of an
	// object lose it, so that it is free.
	Losses map[string]func(t testing.TB, place string, object applock.Object)
	// Waiters, if set, counts those that the backend lists as waiting.
	Waiters func(t testing.TB, place string) int
}

// Open opens a place.
type Open func(ctx context.Context, place string) (locker applock.Locker, closeClient func(), err error)

// Exercise runs the whole contract.
func Exercise(t *testing.T, backend Backend) {
	t.Helper()
	tests := map[string]func(t *testing.T, backend Backend){
		"MutualExclusion":              mutualExclusion,
		"MutualExclusionOfProcesses":   mutualExclusionOfProcesses,
		"DifferentObjects":             differentObjects,
		"Keys":                         keys,
		"FirstComeFirstServed":         firstComeFirstServed,
		"TryAcquireAsksOnce":           tryAcquireAsksOnce,
		"TryAcquireTimesOut":           tryAcquireTimesOut,
		"TryAcquireSucceedsInTime":     tryAcquireSucceedsInTime,
		"Reentrancy":                   reentrancy,
		"ReentrancyKeepsMaxHold":       reentrancyKeepsMaxHold,
		"MaxHold":                      maxHold,
		"RenewalUpToMaxHold":           renewalUpToMaxHold,
		"RenewBeginsMaxHoldAnew":       renewBeginsMaxHoldAnew,
		"Loss":                         loss,
		"Fences":                       fences,
		"CancelledAcquire":             cancelledAcquire,
		"CancelledAtAnyMoment":         cancelledAtAnyMoment,
		"AcquiringContextBoundsNoMore": acquiringContextBoundsNoMore,
		"ReleaseIsIdempotent":          releaseIsIdempotent,
		"Do":                           do,
		"BadArguments":                 badArguments,
		"Close":                        closing,
		"KilledHolder":                 killedHolder,
		"LeavesNothing":                leavesNothing,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, backend)
		})
	}
}
