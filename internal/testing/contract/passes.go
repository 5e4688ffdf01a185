package contract

import (
	"context"
	"fmt"
	"testing"

	"github.com/applock/applock/internal/db"
)

// Passing is [Pass], or what does the same.
type Passing func(ctx context.Context, driver db.Driver, release db.ReleaseApplLockParams, next db.GetApplLockParams) (db.PassApplLockResult, error)

// Pass is the call of a driver that passes grants on.
func Pass(ctx context.Context, driver db.Driver, release db.ReleaseApplLockParams, next db.GetApplLockParams) (db.PassApplLockResult, error) {
	return driver.(db.Passer).PassApplLock(ctx, release, next) //nolint:forcetypeassert // it is one
}

// ReleaseAndGet is what a pass is, in two calls.
func ReleaseAndGet(ctx context.Context, driver db.Driver, release db.ReleaseApplLockParams, next db.GetApplLockParams) (db.PassApplLockResult, error) {
	released, err := driver.ReleaseApplLock(ctx, release)
	result := db.PassApplLockResult{Released: released.Outcome}
	if err != nil || released.Outcome != db.Released {
		return result, err
	}
	result.Next, err = driver.GetApplLock(ctx, next)
	return result, err
}

// PassPolicies are the pairs of policies that make a difference to a pass: when the grant begins, and when it is passed on.
func PassPolicies() map[string][2]db.SetApplLockPolicyParams {
	changes, all := db.SetApplLockPolicyParams{HistoryLevel: db.HistoryChanges}, db.SetApplLockPolicyParams{HistoryLevel: db.HistoryAll}
	bounded := db.SetApplLockPolicyParams{LongestTTLSeconds: 90, DefaultTTLSeconds: 30, HistoryLevel: db.HistoryChanges}
	return map[string][2]db.SetApplLockPolicyParams{
		"changes": {}, "all": {all, all}, "bounded": {bounded, bounded}, "all from now on": {changes, all}, "changes from now on": {all, changes},
	}
}

// PassNexts are the gets of those who may be next, without the object.
func PassNexts() map[string]db.GetApplLockParams {
	return map[string]db.GetApplLockParams{
		"another":       {OperatorID: "ASMITH", DepartmentID: "HR", TTLSeconds: 45},
		"no department": {OperatorID: "ASMITH", TTLSeconds: 7_000_000},
		"no ttl":        {OperatorID: "ASMITH"},
		"the same":      {OperatorID: "JDOE", TTLSeconds: 45},
	}
}

// ReleaseOf ends the grant of a customer that [TakeCustomer] has made, as a lease does.
func ReleaseOf(id string, fence int64) db.ReleaseApplLockParams {
	return db.ReleaseApplLockParams{ObjectType: "customer", ObjectID: id, OperatorID: "JDOE", Fence: fence, Unflushed: true}
}

// TakeCustomer has JDOE hold a customer that is free, with a note, and returns the fence.
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

// EventsOf are those of a customer, oldest first. A fence is told by which of these it is, the first being 1.
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
