// Package locktest has the tests that every backend of leases must pass. A backend runs all of them on its own server, from a test file of
// some twenty lines:
//
//	func TestMain(m *testing.M) { locktest.Main(m, open) }
//
//	func TestContract(t *testing.T) {
//		locktest.Exercise(t, locktest.Backend{Place: newPlace, Open: open, Direct: direct, ...})
//	}
//
// Exercise has one sub-test for each rule of [lease.Backend]. Some call the backend itself, by Direct, because Leases would hide that a
// renewal changes nothing. The others use it as programs do, by Open. A failure names its rule and states it in words. Each sub-test has
// its own deadline, so a call that never returns fails the rule that it was made for.
//
// What [lease.Leases] adds to a backend is not tested here: its timing, its queues and its handling of failures have their own tests, in
// virtual time. The sub-tests wait for conditions, so a slow or busy machine does not make them fail.
package locktest

import (
	"context"
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// Backend is a backend under test.
type Backend struct {
	// Place returns the argument with which Open opens a place for locks, even in another process. Tests may share a place: each uses its own
	// object type.
	Place func(t testing.TB) string
	// Open opens a place. Each call is one more client, like another process.
	Open Open
	// Direct opens a place without Leases: it returns the backend that Open's clients use. Each call is one more program.
	Direct Direct
	// OneClient means that locks do not reach beyond one Locker. Then all clients of a place are the same one, and there are no other
	// processes.
	OneClient bool
	// OneProcess means that other processes cannot open a place of the tests.
	OneProcess bool
	// Endless means that a grant lasts until its release or the end of its session, whatever its TTL.
	Endless bool
	// Fences means that later grants of an object have greater fences.
	Fences bool
	// Owners means that a refusal names the operator and its department even if another client holds the object.
	Owners bool
	// Losses are the ways in which the backend can lose a grant, by name. The function makes the holder of an object lose it, so that the
	// object is free.
	Losses map[string]func(t testing.TB, place string, object applock.Object)
	// Expire, if set, lets the time pass after which the object of a crashed holder is free. Without it such an object is free as soon as the
	// backend sees the connection end.
	Expire func(t testing.TB, place string, object applock.Object)
	// Waiters, if set, returns how many waiters the backend lists for objects of a type.
	Waiters func(t testing.TB, place, objectType string) int
}

// Open opens a place. closeClient ends the client; its error fails the test.
type Open func(ctx context.Context, place string) (locker lease.Locker, closeClient func() error, err error)

// Direct opens the backend of a place. closeBackend ends it; its error fails the test.
type Direct func(ctx context.Context, place string) (backend lease.Backend, closeBackend func() error, err error)

// Exercise checks all rules in parallel, each in a sub-test of its name. It fails if Place, Open or Direct is missing.
func Exercise(t *testing.T, backend Backend) {
	t.Helper()
	if backend.Place == nil || backend.Open == nil || backend.Direct == nil {
		t.Fatal("locktest needs Place, Open and Direct")
	}
	for _, rule := range rulesOf(backend) {
		t.Run(rule.name, func(t *testing.T) {
			t.Parallel()
			rule.judge(t, backend, limitOf(t))
		})
	}
}

// rulesOf returns the rules for a backend of this kind.
func rulesOf(backend Backend) []rule {
	rules := directRules(backend)
	rules = append(rules, clientRules()...)
	rules = append(rules, lossRules(backend)...)
	return append(rules, processRules(backend)...)
}
