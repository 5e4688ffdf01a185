package fakebackend_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/internal/fakebackend"
	"github.com/applock/applock/applock/lease/locktest"
)

// Goal: the fake does what real backends do, or the tests on it would show nothing. Method: the contract of backends, once
// with everything that a backend can offer and once without. Its clients are those of one process.
func TestContract(t *testing.T) {
	t.Parallel()
	kinds := map[string]func(backend *fakebackend.Backend, program string) lease.Backend{
		"Polled": func(backend *fakebackend.Backend, _ string) lease.Backend {
			return fakebackend.Polled{Backend: backend}
		},
		"Program": func(backend *fakebackend.Backend, program string) lease.Backend {
			return fakebackend.Program{Backend: backend, Name: program}
		},
	}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exercise(t, kind)
		})
	}
}

func exercise(t *testing.T, kind func(backend *fakebackend.Backend, program string) lease.Backend) {
	t.Helper()
	const places = 200
	var backends [places]*fakebackend.Backend
	for i := range backends {
		backends[i] = fakebackend.New()
	}
	var taken, programs atomic.Int64
	at := func(place string) *fakebackend.Backend {
		var number int
		if _, err := fmt.Sscan(place, &number); err != nil {
			t.Fatal(err)
		}
		return backends[number]
	}
	locktest.Exercise(t, locktest.Backend{
		Place: func(testing.TB) string { return fmt.Sprint(taken.Add(1)) },
		Open: func(_ context.Context, place string) (lease.Locker, func() error, error) {
			leases := lease.New(kind(at(place), fmt.Sprint(programs.Add(1))), lease.Config{})
			return leases, leases.Close, nil
		},
		Direct: func(_ context.Context, place string) (lease.Backend, func() error, error) {
			return kind(at(place), fmt.Sprint(programs.Add(1))), func() error { return nil }, nil
		},
		OneProcess: true,
		Fences:     true,
		Owners:     true,
		Losses: map[string]func(t testing.TB, place string, object applock.Object){
			"Supervisor": func(_ testing.TB, place string, object applock.Object) { at(place).End(object) },
		},
	})
}
