package lease_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease/internal/fakebackend"
)

// Goal: a set is released by one call, whatever its result, and only the set's own grants: not a lease that was left, not the grant of
// another operator who has taken one of the objects, and not a given operator's other locks. Method: a set of three; calls of each kind,
// and the locks afterwards.
func TestReleaseOfASet(t *testing.T) {
	t.Parallel()
	const each, together = fakebackend.Release, fakebackend.ReleaseAll
	for name, c := range map[string]struct {
		operator string
		happens  func(t *testing.T, here program, set applock.LeaseSet)
		alone    int // released by calls of their own
		together int // calls for all
		held     int // afterwards
		isLost   bool
	}{
		"whole": {together: 1},
		"answer lost": {happens: func(_ *testing.T, here program, _ applock.LeaseSet) {
			here.with(together, fakebackend.Fault{Lose: true})
		}, together: 1, alone: 3},
		"unreachable": {
			happens: func(_ *testing.T, here program, _ applock.LeaseSet) {
				here.with(together, fakebackend.Fault{Refuse: applock.ErrUnreachable})
			},
			together: 1, alone: 3,
		},
		"busy": {happens: func(_ *testing.T, here program, _ applock.LeaseSet) {
			here.with(together, fakebackend.Fault{PassOver: true})
		}, together: 1, alone: 3},
		"one is left": {
			happens: func(t *testing.T, _ program, set applock.LeaseSet) {
				t.Helper()
				if err := set.Leases()[1].Leave(t.Context(), time.Minute); err != nil {
					t.Fatal(err)
				}
			},
			alone: 2, held: 1,
		},
		"one is taken": {
			happens: func(_ *testing.T, here program, set applock.LeaseSet) {
				here.backend.Hold(set.Leases()[1].Object(), applock.Owner{Operator: "JDOE"}, time.Hour)
			},
			together: 1, alone: 1, held: 1, isLost: true,
		},
		"one is released": {
			happens: func(t *testing.T, _ program, set applock.LeaseSet) {
				t.Helper()
				release(t, set.Leases()[1])
			},
			alone: 3,
		},
		"a given operator": {operator: "etl-7", alone: 3, held: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playFake(t, func(t *testing.T, here, _ program) {
				here.ReleaseSetsBy(here.backend.ReleaseAll)
				request := all(account(1), account(2), account(3))
				request.Owner.Operator = c.operator
				if c.operator != "" {
					here.backend.Hold(account(4), request.Owner, time.Hour)
				}
				set, err := here.AcquireAllBy(t.Context(), request, here.takeAll)
				if err != nil {
					t.Fatal(err)
				}
				if c.happens != nil {
					c.happens(t, here, set)
				}
				err = set.Release(t.Context())
				if isLost := errors.Is(err, applock.ErrLost); isLost != c.isLost || err != nil && !isLost {
					t.Errorf("released with %v, want a loss: %t", err, c.isLost)
				}
				calls := []int{here.backend.Calls(together), here.backend.Calls(each), len(here.backend.Held())}
				if calls[0] != c.together || calls[1] != c.alone || calls[2] != c.held {
					t.Errorf("%d calls for all, %d for one, and %d are held, want %d, %d and %d", calls[0], calls[1], calls[2], c.together, c.alone, c.held)
				}
				if again := set.Release(t.Context()); !errors.Is(again, err) && again.Error() != err.Error() {
					t.Errorf("released again with %v, want %v", again, err)
				}
				if set.Context().Err() == nil {
					t.Error("the context of the set goes on")
				}
			})
		})
	}
}

// Goal: a set is given up in time also where the server is silent, however many it has: a call for all and one for the rest. Method: 100 objects, and
// calls without an answer.
func TestReleaseOfASetOnASilentServer(t *testing.T) {
	t.Parallel()
	playFake(t, func(t *testing.T, here, _ program) {
		here.ReleaseSetsBy(here.backend.ReleaseAll)
		var objects []applock.Object
		for i := range 100 {
			objects = append(objects, account(i))
		}
		set, err := here.AcquireAllBy(t.Context(), all(objects...), here.takeAll)
		if err != nil {
			t.Fatal(err)
		}
		for _, operation := range []string{fakebackend.ReleaseAll, fakebackend.Release} {
			here.with(operation, fakebackend.Fault{Before: time.Hour})
		}
		began := time.Now()
		err = set.Release(t.Context())
		if took := time.Since(began); err == nil || took > 11*time.Second {
			t.Errorf("%v after %s, want an error after two releases' time, 10 s", err, took)
		}
		for _, operation := range []string{fakebackend.ReleaseAll, fakebackend.Release} {
			here.with(operation, fakebackend.Fault{})
		}
	})
}

// Goal: the release of each lease of a set tells why it failed, also where the ones before have used up the time. Method: a server that refuses
// all releases, because it has become a replica.
func TestReleaseOfASetTellsWhyOfEach(t *testing.T) {
	t.Parallel()
	playFake(t, func(t *testing.T, here, _ program) {
		here.ReleaseSetsBy(here.backend.ReleaseAll)
		set, err := here.AcquireAllBy(t.Context(), all(account(1), account(2), account(3)), here.takeAll)
		if err != nil {
			t.Fatal(err)
		}
		for _, operation := range []string{fakebackend.ReleaseAll, fakebackend.Release} {
			here.with(operation, fakebackend.Fault{Refuse: applock.ErrReadOnly})
		}
		_ = set.Release(t.Context())
		for _, lease := range set.Leases() {
			if err := lease.Release(t.Context()); !errors.Is(err, applock.ErrReadOnly) || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v, want ErrReadOnly", err)
			}
		}
		for _, operation := range []string{fakebackend.ReleaseAll, fakebackend.Release} {
			here.with(operation, fakebackend.Fault{})
		}
	})
}
