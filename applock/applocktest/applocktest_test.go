package applocktest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/testing/contract"
)

// Goal: it answers as every database does. Method: the scenarios.
func TestScenarios(t *testing.T) {
	t.Parallel()
	contract.Scenarios(t, contract.Backend{Ways: []string{"facade"}, OneWriter: true, New: func(t testing.TB) contract.Place {
		t.Helper()
		locks := New(t)
		return contract.Place{
			Client: locks.Client,
			Driver: clients.Driver(locks.Client),
			SQL:    locks.handle,
			Table:  "appl_lock",
			Advance: func(_ context.Context, duration time.Duration) error {
				locks.Advance(duration)
				return nil
			},
		}
	}})
}

// Goal: a lock ends when its time has passed, and of many who ask at once one has it. Method: twenty goroutines, an hour, one more.
func TestAdvance(t *testing.T) {
	t.Parallel()
	locks := New(t)
	object := applock.Object{Type: "customer", ID: "42"}
	get := func(operator string) error {
		_, err := locks.Client.Get(t.Context(), applock.GetRequest{Object: object, Owner: applock.Owner{Operator: operator}, TTL: time.Hour})
		return err
	}
	var group sync.WaitGroup
	granted := make(chan string, 20)
	for _, operator := range []string{"A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O", "P", "Q", "R", "S", "T"} {
		group.Go(func() {
			switch err := get(operator); {
			case err == nil:
				granted <- operator
			case !errors.Is(err, applock.ErrHeld):
				t.Errorf("%s: %v", operator, err)
			}
		})
	}
	group.Wait()
	if len(granted) != 1 {
		t.Fatalf("%d have it, want 1", len(granted))
	}
	locks.Advance(59 * time.Minute)
	if err := get("LATE"); !errors.Is(err, applock.ErrHeld) {
		t.Errorf("a minute before its end: %v, want ErrHeld", err)
	}
	locks.Advance(time.Minute)
	if err := get("LATE"); err != nil {
		t.Errorf("after its end: %v", err)
	}
}
