package contract

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
)

// client is the name of the waiting program in these suites.
const client = "p1"

func mustAwait(t testing.TB, place Place, id, operator string) {
	t.Helper()
	mustAnnounce(t, place, db.AnnounceApplLockWaiterParams{ObjectType: "customer", ObjectID: id, OperatorID: operator})
}

// countWaiters counts the rows of the table, live or dead.
func countWaiters(t testing.TB, place Place) int {
	t.Helper()
	var count int
	if err := place.SQL.QueryRowContext(t.Context(), "SELECT count(*) FROM "+place.Table+"_waiter").Scan(&count); err != nil {
		t.Fatal(err)
	}
	return count
}

// Goal: the pages of waiters make one complete list, whatever their size, and dead waiters are purged without being counted. Method:
// several waiters for each object; time that passes.
func waiters(t *testing.T, backend Backend) {
	t.Run("Pages", func(t *testing.T) {
		t.Parallel()
		place := backend.New(t)
		var want []string
		for id := range 4 {
			for operator := range 3 {
				mustAwait(t, place, fmt.Sprint(id), fmt.Sprint("OP", operator))
				want = append(want, fmt.Sprintf("customer:%d OP%d %s", id, operator, client))
			}
		}
		for _, pageSize := range []int{1, 2, 5, len(want), len(want) + 1, 0} {
			var got []string
			for waiter, err := range place.Client.Waiters(t.Context(), applock.WaitersRequest{PageSize: pageSize}) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprintf("%s %s %s", waiter.Object, waiter.Owner, waiter.Client))
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("page size %d: %q, want %q", pageSize, got, want)
			}
		}
		for range place.Client.Waiters(t.Context(), applock.WaitersRequest{PageSize: 1}) {
			break
		}
	})
	t.Run("Purge", func(t *testing.T) {
		t.Parallel()
		place := backend.New(t)
		for id := range 5 {
			mustAwait(t, place, fmt.Sprint(id), "JDOE")
		}
		for id := range 3 {
			request := applock.GetRequest{Object: applock.Object{Type: "old", ID: fmt.Sprint(id)}, Owner: applock.Owner{Operator: "JDOE"}, TTL: time.Hour}
			if _, err := place.Client.Get(t.Context(), request); err != nil {
				t.Fatal(err)
			}
		}
		if err := place.Advance(t.Context(), 30*24*time.Hour); err != nil {
			t.Fatal(err)
		}
		mustAwait(t, place, "0", "JDOE")
		purge := func(max, purged int64, left int) {
			result, err := place.Driver.PurgeApplLocks(t.Context(), db.PurgeParams{OlderThanSeconds: 86400, MaxRows: max})
			if err != nil || result.Purged != purged {
				t.Errorf("purged %d, %v, want %d", result.Purged, err, purged)
			}
			if rows := countWaiters(t, place); rows != left {
				t.Errorf("%d waiters are left, want %d", rows, left)
			}
		}
		purge(2, 2, 5) // locks first: a call that reaches its limit purges no waiter
		purge(3, 1, 2)
		purge(3, 0, 1)
		purge(3, 0, 1)
	})
	t.Run("Holders", func(t *testing.T) { pollsNoteHolders(t, backend.New(t)) })
}

// Goal: a poll notes a new holder once that has had the object for a second, so that polls write nothing while an object goes from hand to
// hand. Method: a transfer that, by the rows, is still to come, and then long past.
func pollsNoteHolders(t *testing.T, place Place) {
	t.Parallel()
	object := applock.Object{Type: "customer", ID: "1"}
	mustGet := func(operator string) {
		request := applock.GetRequest{Object: object, Owner: applock.Owner{Operator: operator}, TTL: 5 * time.Hour}
		if _, err := place.Client.Get(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
	mustGet("JDOE")
	mustAwait(t, place, object.ID, "ASMITH")
	if _, err := place.Client.Release(t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: object, Operator: "JDOE"}}); err != nil {
		t.Fatal(err)
	}
	mustGet("BROWN")
	for _, step := range []struct {
		passes time.Duration
		holder string
	}{{-time.Hour, "JDOE"}, {time.Hour + 2*time.Second, "BROWN"}} {
		if err := place.Advance(t.Context(), step.passes); err != nil {
			t.Fatal(err)
		}
		keepWaiters(t, place)
		var holder string
		query := "SELECT holder_id FROM " + place.Table + "_waiter"
		if err := place.SQL.QueryRowContext(t.Context(), query).Scan(&holder); err != nil || holder != step.holder {
			t.Errorf("after %s: the waiter's holder is %s, %v, want %s", step.passes, holder, err, step.holder)
		}
	}
}

// Goal: waiting, polling and giving up run together without a deadlock or an aborted wait. Method: many at once, each time with waiters
// that a poll must keep; some waiters are retracted meanwhile, in opposite orders.
func waitingAtOnce(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	const objects = 8
	for range 4 {
		for id := range objects {
			mustAwait(t, place, fmt.Sprint(id), "JDOE")
		}
		if err := place.Advance(t.Context(), 40*time.Second); err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for worker := range 6 {
			group.Go(func() {
				for i := range objects {
					if worker%2 == 0 {
						i = objects - 1 - i
					}
					if err := waitAndPoll(t.Context(), place.Driver, worker, fmt.Sprint(i)); err != nil {
						t.Errorf("worker %d, object %d: %v", worker, i, err)
					}
				}
			})
		}
		group.Wait()
	}
}

// waitAndPoll retracts the waiter, polls, or announces it, depending on the worker.
func waitAndPoll(ctx context.Context, driver db.Driver, worker int, id string) error {
	switch worker / 2 {
	case 0:
		return driver.RetractApplLockWaiter(ctx, db.RetractApplLockWaiterParams{
			ObjectType: "customer", ObjectID: id, OperatorID: "JDOE", ClientID: client,
		})
	case 1:
		return driver.AnnounceApplLockWaiter(ctx, db.AnnounceApplLockWaiterParams{
			ObjectType: "customer", ObjectID: id, OperatorID: "JDOE", ClientID: client,
		})
	}
	_, err := driver.PollApplLocks(ctx, db.PollApplLocksParams{ClientID: client, MaxRows: 10})
	return err
}

// Goal: operations in a driver's own transaction take effect together or not at all, and no connection stays in a transaction. Method:
// each way for it to end.
func inTx(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	get := func(d db.Driver, id string) error {
		_, err := d.GetApplLock(t.Context(), db.GetApplLockParams{ObjectType: "customer", ObjectID: id, OperatorID: "JDOE", TTLSeconds: 60})
		return err
	}
	requireHeld := func(want bool, ids ...string) {
		t.Helper()
		for _, id := range ids {
			_, err := place.Client.Inquire(t.Context(), customer(id))
			if held := err == nil; held != want || err != nil && !errors.Is(err, applock.ErrNotHeld) {
				t.Errorf("%s: held %t, %v, want %t", id, held, err, want)
			}
		}
	}
	cause := errors.New("cause")

	err := place.Driver.InTx(t.Context(), func(d db.Driver) error {
		if err := get(d, "1"); err != nil {
			return err
		}
		requireHeld(false, "1")
		return d.InTx(t.Context(), func(d db.Driver) error { return get(d, "2") }) // part of this one
	})
	if err != nil {
		t.Errorf("commit: %v", err)
	}
	requireHeld(true, "1", "2")

	err = place.Driver.InTx(t.Context(), func(d db.Driver) error {
		within := d.InTx(t.Context(), func(d db.Driver) error { return get(d, "4") })
		return errors.Join(get(d, "3"), within, cause)
	})
	if !errors.Is(err, cause) {
		t.Errorf("%v, want the cause", err)
	}
	requireHeld(false, "3", "4")

	func() {
		defer func() { _ = recover() }()
		_ = place.Driver.InTx(t.Context(), func(d db.Driver) error { panic(get(d, "5")) })
	}()
	requireHeld(false, "5")

	cancelled, cancel := context.WithCancel(t.Context())
	err = place.Driver.InTx(cancelled, func(d db.Driver) error { err := get(d, "6"); cancel(); return errors.Join(err, cancelled.Err()) })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the end of the context", err)
	}
	requireHeld(false, "6")
	err = place.Driver.InTx(cancelled, func(db.Driver) error { t.Error("runs, although the context has ended"); return nil })
	if err == nil || db.KindOf(err) == db.KindInFlight {
		t.Errorf("%v (kind %d), want an error, and nothing unknown", err, db.KindOf(err))
	}

	// An error must not stay in a connection: all these calls must succeed at once.
	var group sync.WaitGroup
	for i := range 12 {
		group.Go(func() {
			if err := get(place.Driver, fmt.Sprint("final", i)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for i := range 12 {
		requireHeld(true, fmt.Sprint("final", i))
	}
}

// Goal: several gets in the driver's own transactions never answer a needless conflict: each gets its objects, or its answer names a
// holder. Method: many at once, in one order.
func inTxAtOnce(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	var group sync.WaitGroup
	var done atomic.Int64
	for worker := range 4 {
		group.Go(func() {
			for range 5 {
				err := place.Driver.InTx(t.Context(), func(d db.Driver) error {
					for _, id := range []string{"1", "2"} {
						result, err := d.GetApplLock(t.Context(), db.GetApplLockParams{
							ObjectType: "customer", ObjectID: id, OperatorID: fmt.Sprint("OP", worker), TTLSeconds: 60,
						})
						if err != nil || result.OkFL == db.No {
							return errors.Join(errRefused, err)
						}
					}
					for _, id := range []string{"1", "2"} {
						_, err := d.ReleaseApplLock(t.Context(), db.ReleaseApplLockParams{
							ObjectType: "customer", ObjectID: id, OperatorID: fmt.Sprint("OP", worker),
						})
						if err != nil {
							return err
						}
					}
					return nil
				})
				switch kind := db.KindOf(err); {
				case err == nil:
					done.Add(1)
				case kind == db.KindBusy: // on a busy machine the others can need more than the second for which a get waits
				case !errors.Is(err, errRefused) || kind != db.KindOther:
					t.Errorf("worker %d: %v", worker, err)
				}
			}
		})
	}
	group.Wait()
	if done.Load() == 0 {
		t.Error("no transaction got its objects")
	}
	for _, id := range []string{"1", "2"} {
		if _, err := place.Client.Inquire(t.Context(), customer(id)); !errors.Is(err, applock.ErrNotHeld) {
			t.Errorf("%s: %v, want ErrNotHeld", id, err)
		}
	}
}

var errRefused = errors.New("refused")
