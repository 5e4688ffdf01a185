// Package locktest is what a backend of leases must do, as a library of tests. Each backend runs all of it on the server
// that it is for, from a test file of some twenty lines:
//
//	func TestMain(m *testing.M) { locktest.Main(m, open) }
//
//	func TestContract(t *testing.T) {
//		locktest.Exercise(t, locktest.Backend{Place: newPlace, Open: open, Direct: direct, ...})
//	}
//
// Exercise has one sub-test for each rule of [lease.Backend]. Some call the backend itself, by Direct: Leases would hide that a
// renewal changes nothing. The others use it as programs do, by Open. A failure names its rule and says it in words. Each
// sub-test has a deadline of its own, so a call that never returns fails the rule that it was made for.
//
// What [lease.Leases] does on any backend is not tested here: its timing, its queues and what it makes of failures are
// tested once, in virtual time, beside it. The sub-tests wait for conditions: a slow or busy machine does not make them fail.
package locktest

import (
	"context"
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// Backend is a backend under test.
type Backend struct {
	// Place returns what Open opens a place for locks by, also in another process. Tests may share one, because the objects
	// of each are of a type of its own.
	Place func(t testing.TB) string
	// Open opens a place. Each call is one more client, as another process would be.
	Open Open
	// Direct opens a place without Leases: it returns the backend that Open's clients use. Each call is one more program.
	Direct Direct
	// OneClient is true where locks do not reach beyond one Locker: all clients of a place are the same then, and there
	// are no other processes.
	OneClient bool
	// OneProcess is true where other processes cannot open a place of the tests.
	OneProcess bool
	// Endless is true where a grant lasts until it is released or its session ends, whatever its TTL.
	Endless bool
	// Fences is true where later grants of an object have greater fences.
	Fences bool
	// Owners is true where a refusal by another client tells the operator who holds the object.
	Owners bool
	// Losses are the ways in which the backend can lose a grant, each by a name. The function makes the holder of an
	// object lose it, so that it is free.
	Losses map[string]func(t testing.TB, place string, object applock.Object)
	// Expire, if set, has the time pass after which an object is free whose holder has crashed. Without it such an object is
	// free as soon as the backend sees the connection end.
	Expire func(t testing.TB, place string, object applock.Object)
	// Waiters, if set, counts those that the backend lists as waiting for objects of a type.
	Waiters func(t testing.TB, place, objectType string) int
}

// Open opens a place. closeClient ends the client; its error fails the test.
type Open func(ctx context.Context, place string) (locker lease.Locker, closeClient func() error, err error)

// Direct opens the backend of a place. closeBackend ends it; its error fails the test.
type Direct func(ctx context.Context, place string) (backend lease.Backend, closeBackend func() error, err error)

// Exercise checks all rules, each in a sub-test of its name, in parallel. It fails where Place, Open or Direct is missing.
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

// rulesOf returns the rules that a backend of this kind must obey.
func rulesOf(backend Backend) []rule {
	rules := directRules(backend)
	rules = append(rules, clientRules()...)
	rules = append(rules, lossRules(backend)...)
	return append(rules, processRules(backend)...)
}
