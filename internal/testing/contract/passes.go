package contract

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/applock/applock/internal/db"
)

// Passing is [Pass] or an equivalent of it.
type Passing func(ctx context.Context, driver db.Driver, release db.ReleaseApplLockParams, next db.GetApplLockParams) (db.PassApplLockResult, error)

// Pass calls the driver's own operation, which passes a grant on.
func Pass(ctx context.Context, driver db.Driver, release db.ReleaseApplLockParams, next db.GetApplLockParams) (db.PassApplLockResult, error) {
	return driver.(db.Passer).PassApplLock(ctx, release, next) //nolint:forcetypeassert // the caller passes only such drivers
}

// ReleaseAndGet does the same as a pass, in two calls.
func ReleaseAndGet(ctx context.Context, driver db.Driver, release db.ReleaseApplLockParams, next db.GetApplLockParams) (db.PassApplLockResult, error) {
	released, err := driver.ReleaseApplLock(ctx, release)
	result := db.PassApplLockResult{Released: released.Outcome}
	if err != nil || released.Outcome != db.Released {
		return result, err
	}
	result.Next, err = driver.GetApplLock(ctx, next)
	return result, err
}

// passed is what a turn has answered and left, but for times and fences.
type passed struct {
	result db.PassApplLockResult
	row    string
	events []string
}

// passes is about drivers that have a pass.
func passes(t *testing.T, backend Backend) {
	t.Run("IsAReleaseAndAGet", func(t *testing.T) { passIsAReleaseAndAGet(t, backend) })
	t.Run("TakesNothing", func(t *testing.T) { passTakesNothing(t, backend) })
}

// Goal: a pass is a release and a get in one: the same answer, row and events, for any next operator, and a greater fence. Method: the same
// with both, under each policy that makes a difference, even if the policy has changed by then.
func passIsAReleaseAndAGet(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	if _, passes := place.Driver.(db.Passer); !passes {
		return
	}
	for name, policies := range passPolicies() {
		for operator, next := range passNexts() {
			want := turn(t, place, policies, next, ReleaseAndGet)
			if got := turn(t, place, policies, next, Pass); !reflect.DeepEqual(got, want) {
				t.Errorf("%s, %s: a pass is\n%+v, want\n%+v", name, operator, got, want)
			}
		}
	}
}

// turn passes JDOE's grant on, under one policy when it begins and another one then.
func turn(t *testing.T, place Place, policies [2]db.SetApplLockPolicyParams, next db.GetApplLockParams, pass Passing) passed {
	t.Helper()
	forget(t, place)
	LayDown(t, place, policies[0])
	fence := TakeCustomer(t, place.Driver, "1")
	LayDown(t, place, policies[1])
	next.ObjectType, next.ObjectID = "customer", "1"
	result, err := pass(t.Context(), place.Driver, ReleaseOf("1", fence), next)
	if err != nil {
		t.Fatal(err)
	}
	row, now := rowOf(t, place)
	if result.Next.Fence != now || result.Next.Fence <= fence || result.Next.AcquiredTS.IsZero() || result.Next.ExpiresTS.IsZero() {
		t.Errorf("it answers %+v; the row has fence %d after %d", result, now, fence)
	}
	events := EventsOf(t, place.Driver, "1", fence, result.Next.Fence)
	result.Next.Fence, result.Next.AcquiredTS, result.Next.ExpiresTS = 0, db.Moment{}, db.Moment{}
	return passed{result: result, row: row, events: events}
}

// forget empties the tables of locks and events.
func forget(t *testing.T, place Place) {
	t.Helper()
	for _, table := range []string{"", "_event"} {
		if _, err := place.SQL.ExecContext(t.Context(), "DELETE FROM "+place.Table+table); err != nil {
			t.Fatal(err)
		}
	}
}

// LayDown lays down a policy for customers, or none.
func LayDown(t *testing.T, place Place, policy db.SetApplLockPolicyParams) {
	t.Helper()
	if _, err := place.SQL.ExecContext(t.Context(), "DELETE FROM "+place.Table+"_policy"); err != nil {
		t.Fatal(err)
	}
	if policy == (db.SetApplLockPolicyParams{}) {
		return
	}
	policy.ObjectType, policy.ActorID, policy.TakeReasonFL, policy.PresenceFL = "customer", "DBA", db.Yes, db.Yes
	if _, err := place.Driver.SetApplLockPolicy(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
}

// rowOf is the lock on customer:1, with how long it lasts in place of the times, and its fence.
func rowOf(t *testing.T, place Place) (row string, fence int64) {
	t.Helper()
	result, err := place.Driver.InquireApplLock(t.Context(), db.InquireApplLockParams{ObjectType: "customer", ObjectID: "1"})
	if err != nil {
		t.Fatal(err)
	}
	var history string
	err = place.SQL.QueryRowContext(t.Context(), "SELECT history_fl FROM "+place.Table).Scan(&history)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		t.Fatal(err)
	}
	lock := result.Lock
	return fmt.Sprint(result.OkFL, "|", lock.OperatorID, "|", lock.DepartmentID, "|", lock.TTLSeconds, "|", lock.ExpiresTS.Sub(lock.AcquiredTS.Time).Round(time.Millisecond),
		"|", lock.Note, "|", history), lock.Fence
}

// Goal: a pass takes nothing unless the grant that it names is live. Method: what may have become of that grant; the answer and the row are
// those of a release alone.
func passTakesNothing(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	if _, passes := place.Driver.(db.Passer); !passes {
		return
	}
	next := db.GetApplLockParams{ObjectType: "customer", ObjectID: "1", OperatorID: "ASMITH", TTLSeconds: 45}
	update := func(assignments string) func() error {
		return func() error {
			_, err := place.SQL.ExecContext(t.Context(), "UPDATE "+place.Table+" SET "+assignments)
			return err
		}
	}
	for name, test := range map[string]struct {
		become func() error
		behind int64
	}{
		"an older fence":  {func() error { return nil }, 1},
		"a greater fence": {func() error { return nil }, -1},
		"released":        {update("released_ts = lock_ts"), 0},
		"expired":         {func() error { return place.Advance(t.Context(), time.Hour) }, 0},
		"another's":       {update("operator_id = 'BOSS'"), 0},
		"passed already":  {update("fence = fence + 1"), 0},
		"purged":          {func() error { forget(t, place); return nil }, 0},
	} {
		try := func(pass Passing) (db.PassApplLockResult, string) {
			forget(t, place)
			fence := TakeCustomer(t, place.Driver, "1")
			if err := test.become(); err != nil {
				t.Fatal(err)
			}
			result, err := pass(t.Context(), place.Driver, ReleaseOf("1", fence-test.behind), next)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			row, _ := rowOf(t, place)
			return result, row
		}
		wantResult, wantRow := try(ReleaseAndGet)
		if wantResult.Released == db.Released {
			t.Fatalf("%s is released: this shows nothing", name)
		}
		if result, row := try(Pass); result != wantResult || row != wantRow {
			t.Errorf("%s: %+v, the row is %s; want %+v, %s", name, result, row, wantResult, wantRow)
		}
	}
}

// passPolicies are the pairs of policies that make a difference to a pass: the one when the grant begins, and the one when it is passed
// on.
func passPolicies() map[string][2]db.SetApplLockPolicyParams {
	changes, all := db.SetApplLockPolicyParams{HistoryLevel: db.HistoryChanges}, db.SetApplLockPolicyParams{HistoryLevel: db.HistoryAll}
	bounded := db.SetApplLockPolicyParams{LongestTTLSeconds: 90, DefaultTTLSeconds: 30, HistoryLevel: db.HistoryChanges}
	return map[string][2]db.SetApplLockPolicyParams{
		"changes": {}, "all": {all, all}, "bounded": {bounded, bounded}, "all from now on": {changes, all}, "changes from now on": {all, changes},
	}
}

// passNexts are the gets of the possible next holders, without the object.
func passNexts() map[string]db.GetApplLockParams {
	return map[string]db.GetApplLockParams{
		"another":       {OperatorID: "ASMITH", DepartmentID: "HR", TTLSeconds: 45},
		"no department": {OperatorID: "ASMITH", TTLSeconds: 7_000_000},
		"no ttl":        {OperatorID: "ASMITH"},
		"the same":      {OperatorID: "JDOE", TTLSeconds: 45},
		"blanks behind": {OperatorID: "ASMITH  ", DepartmentID: "HR ", TTLSeconds: 45},
	}
}

// ReleaseOf ends a grant that [TakeCustomer] has made, as a lease does.
func ReleaseOf(id string, fence int64) db.ReleaseApplLockParams {
	return db.ReleaseApplLockParams{ObjectType: "customer", ObjectID: id, OperatorID: "JDOE", Fence: fence, Unflushed: true}
}

// TakeCustomer gets a free customer for JDOE, with a note, and returns the fence.
func TakeCustomer(t *testing.T, driver db.Driver, id string) int64 {
	t.Helper()
	grant, err := driver.GetApplLock(t.Context(), db.GetApplLockParams{
		ObjectType: "customer", ObjectID: id, OperatorID: "JDOE", DepartmentID: "CS", TTLSeconds: 60,
	})
	if err != nil || grant.Outcome != db.Acquired {
		t.Fatalf("get: %+v, %v", grant, err)
	}
	_, err = driver.NoteApplLock(t.Context(), db.NoteApplLockParams{ObjectType: "customer", ObjectID: id, OperatorID: "JDOE", Note: "why"})
	if err != nil {
		t.Fatal(err)
	}
	return grant.Fence
}

// EventsOf returns the events of a customer, oldest first. It writes a fence as its number in fences, counted from 1.
func EventsOf(t *testing.T, driver db.Driver, id string, fences ...int64) (told []string) {
	t.Helper()
	events, err := driver.ApplLockHistory(t.Context(), db.ApplLockHistoryParams{ObjectType: "customer", ObjectID: id, MaxRows: 100})
	if err != nil {
		t.Fatal(err)
	}
	known := map[int64]int{}
	for i, fence := range fences {
		known[fence] = i + 1
	}
	for _, event := range events {
		told = append(told, fmt.Sprintf("%s by %s: %s|%s|%d -> %s|%s|%d %s", event.Event, event.ActorID, event.FromOperatorID,
			event.FromDepartmentID, known[event.FromFence], event.ToOperatorID, event.ToDepartmentID, known[event.ToFence], event.Reason))
	}
	return told
}
