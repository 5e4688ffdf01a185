package contract

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/applock/applock/applock"
)

// Goal: an object with N permits has at most N holders, each with a slot of its own, however many ask at once. Method: more operators
// than permits take, look around and release, again and again; all permits are free in the end.
func permits(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	const operators, available, rounds = 8, 3, 10
	var inside, granted atomic.Int64
	slots := make([]atomic.Int64, available+1)
	work := func(operator string) error {
		permit, err := place.Client.GetPermit(t.Context(), applock.GetPermitRequest{
			Object: customer("desk"), Permits: available, Owner: applock.Owner{Operator: operator},
		})
		if errors.Is(err, applock.ErrHeld) || errors.Is(err, applock.ErrBusy) {
			return nil
		}
		if err != nil {
			return err
		}
		granted.Add(1)
		var slot int
		if _, err := fmt.Sscanf(permit.Object.ID, "desk#%d", &slot); err != nil || slot < 1 || slot > available {
			return fmt.Errorf("slot %s: %w", permit.Object, err)
		}
		if holders := slots[slot].Add(1); holders > 1 {
			t.Errorf("%d have %s", holders, permit.Object)
		}
		if holders := inside.Add(1); holders > available {
			t.Errorf("%d hold it, want at most %d", holders, available)
		}
		inside.Add(-1)
		slots[slot].Add(-1)
		_, err = place.Client.Release(t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: permit.Object, Operator: operator, Fence: permit.Fence}})
		if errors.Is(err, applock.ErrBusy) { // it has had no effect
			_, err = place.Client.Release(t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: permit.Object, Operator: operator, Fence: permit.Fence}})
		}
		return err
	}
	var group sync.WaitGroup
	for operator := range operators {
		group.Go(func() {
			for range rounds {
				if err := work(fmt.Sprint("OP", operator)); err != nil {
					t.Errorf("operator %d: %v", operator, err)
				}
			}
		})
	}
	group.Wait()
	if granted.Load() == 0 {
		t.Error("nobody was granted a permit")
	}
	for operator := range available {
		_, err := place.Client.GetPermit(t.Context(), applock.GetPermitRequest{
			Object: customer("desk"), Permits: available, Owner: applock.Owner{Operator: fmt.Sprint("LAST", operator)},
		})
		if err != nil {
			t.Errorf("permit %d of %d is not free in the end: %v", operator+1, available, err)
		}
	}
}
