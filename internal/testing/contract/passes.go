package contract

import (
	"context"
	"fmt"
	"testing"

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

// PassPolicies are the pairs of policies that make a difference to a pass: the one when the grant begins, and the one when it is passed
// on.
func PassPolicies() map[string][2]db.SetApplLockPolicyParams {
	changes, all := db.SetApplLockPolicyParams{HistoryLevel: db.HistoryChanges}, db.SetApplLockPolicyParams{HistoryLevel: db.HistoryAll}
	bounded := db.SetApplLockPolicyParams{LongestTTLSeconds: 90, DefaultTTLSeconds: 30, HistoryLevel: db.HistoryChanges}
	return map[string][2]db.SetApplLockPolicyParams{
		"changes": {}, "all": {all, all}, "bounded": {bounded, bounded}, "all from now on": {changes, all}, "changes from now on": {all, changes},
	}
}

// PassNexts are the gets of the possible next holders, without the object.
func PassNexts() map[string]db.GetApplLockParams {
	return map[string]db.GetApplLockParams{
		"another":       {OperatorID: "ASMITH", DepartmentID: "HR", TTLSeconds: 45},
		"no department": {OperatorID: "ASMITH", TTLSeconds: 7_000_000},
		"no ttl":        {OperatorID: "ASMITH"},
		"the same":      {OperatorID: "JDOE", TTLSeconds: 45},
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
