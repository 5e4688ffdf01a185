//go:build linux && scale

package scale

import (
	"context"
	"fmt"
	"slices"

	"github.com/applock/applock/internal/db"
)

const (
	customer = "customer"
	// few is what an operation on one object, or a page, may read; a page has pageRows.
	few, pageRows = 1500, 100
	// batchRows is how many rows a batch of a purge removes by default.
	batchRows = 50
	month     = 30 * 86400
)

// operations are all of the contract. Those that have to look at a table may read it once.
func operations(rows int) []operation {
	return slices.Concat(gets(), changes(), leases(), people(), reads(rows), tableReads(rows))
}

func gets() []operation {
	get := func(c called, object, operator string, wanted db.Outcome) error {
		r, err := c.driver.GetApplLock(context.Background(), db.GetApplLockParams{ObjectType: customer, ObjectID: object, OperatorID: operator, TTLSeconds: 3600})
		return want(r.Outcome, wanted, err)
	}
	return []operation{
		{"get_appl_lock", "get, refused", few, false, func(_ context.Context, c called) error { return get(c, c.object(), "OTHER", db.Held) }},
		{"get_appl_lock", "get, renews", few, false, func(_ context.Context, c called) error { return get(c, c.object(), c.holder(), db.Renewed) }},
		{"get_appl_lock", "get, new object", few, false, func(_ context.Context, c called) error { return get(c, "new"+c.object(), "JDOE", db.Acquired) }},
		{"get_appl_lock", "get of 10 in a transaction", 10 * few, false, func(ctx context.Context, c called) error {
			var many []db.GetApplLockParams
			for i := range 10 {
				many = append(many, db.GetApplLockParams{ObjectType: customer, ObjectID: fmt.Sprintf("%d.%d", c.id, i), OperatorID: "JDOE", TTLSeconds: 3600})
			}
			return c.driver.InTx(ctx, func(d db.Driver) error {
				_, err := d.GetApplLocks(ctx, many)
				return err
			})
		}},
		{"get_appl_lock_permit", "permit of 3", few, false, func(ctx context.Context, c called) error {
			r, err := c.driver.GetApplLockPermit(ctx, db.GetApplLockPermitParams{
				ObjectType: customer, ObjectID: "desk" + c.object(), Permits: 3, OperatorID: "JDOE", TTLSeconds: 60,
			})
			return wantRows(r, 1, err)
		}},
		{"inquire_appl_lock", "inquire", few, false, func(ctx context.Context, c called) error {
			_, err := c.driver.InquireApplLock(ctx, db.InquireApplLockParams{ObjectType: customer, ObjectID: c.object()})
			return err
		}},
		{"assert_appl_lock", "assert", few, false, func(ctx context.Context, c called) error {
			return c.driver.AssertApplLock(ctx, db.AssertApplLockParams{ObjectType: customer, ObjectID: c.object(), OperatorID: c.holder(), Fence: int64(c.id)})
		}},
		{"serialize_appl_lock", "serialize", few, false, func(ctx context.Context, c called) error {
			return c.driver.InTx(ctx, func(d db.Driver) error {
				return d.SerializeApplLock(ctx, db.SerializeApplLockParams{ObjectType: customer, ObjectID: c.object()})
			})
		}},
		{"appl_lock_version", "version", few, false, func(ctx context.Context, c called) error {
			_, err := c.driver.ApplLockVersion(ctx)
			return err
		}},
	}
}

func changes() []operation {
	return []operation{
		{"release_appl_lock", "release", few, false, func(ctx context.Context, c called) error {
			r, err := c.driver.ReleaseApplLock(ctx, db.ReleaseApplLockParams{ObjectType: customer, ObjectID: c.object(), OperatorID: c.holder()})
			return want(r.Outcome, db.Released, err)
		}},
		{"transfer_appl_lock", "transfer", few, false, func(ctx context.Context, c called) error {
			r, err := c.driver.TransferApplLock(ctx, db.TransferApplLockParams{ObjectType: customer, ObjectID: c.object(), FromOperatorID: c.holder(), ToOperatorID: "ABEL"})
			return want(r.Outcome, db.Transferred, err)
		}},
		{"take_appl_lock", "take", few, false, func(ctx context.Context, c called) error {
			r, err := c.driver.TakeApplLock(ctx, db.TakeApplLockParams{
				ObjectType: customer, ObjectID: c.object(), OperatorID: "BOSS", Reason: "why", ExpectedFence: int64(c.id),
			})
			return want(r.Outcome, db.Taken, err)
		}},
		{"note_appl_lock", "note", few, false, func(ctx context.Context, c called) error {
			r, err := c.driver.NoteApplLock(ctx, db.NoteApplLockParams{ObjectType: customer, ObjectID: c.object(), OperatorID: c.holder(), Note: "why"})
			return want(r.Outcome, db.Noted, err)
		}},
		{"set_appl_lock_policy", "policy, set", few, false, func(ctx context.Context, c called) error {
			_, err := c.driver.SetApplLockPolicy(ctx, db.SetApplLockPolicyParams{
				ObjectType: fmt.Sprintf("type%d", c.number+1), TakeReasonFL: db.No, ActorID: "BOSS", HistoryLevel: "CHANGES", PresenceFL: db.Yes,
			})
			return err
		}},
		{"drop_appl_lock_policy", "policy, drop", few, false, func(ctx context.Context, c called) error {
			_, err := c.driver.DropApplLockPolicy(ctx, db.DropApplLockPolicyParams{ObjectType: fmt.Sprintf("type%d", c.number+1), ActorID: "BOSS"})
			return err
		}},
	}
}

func leases() []operation {
	renewal := func(ctx context.Context, c called, many int) error {
		var grants []db.RenewableGrant
		for id := c.id; id < c.id+many; id++ {
			grants = append(grants, db.RenewableGrant{
				ObjectType: customer, ObjectID: fmt.Sprint(id), OperatorID: operatorOf("JDOE", id, c.rows), Fence: int64(id), TTLSeconds: 3600,
			})
		}
		return c.driver.InTx(ctx, func(d db.Driver) error { // on the connection that is counted
			r, err := d.RenewApplLocks(ctx, db.RenewApplLocksParams{Grants: grants})
			return wantRows(r, many, err)
		})
	}
	return []operation{
		{"renew_appl_locks", "renew 1", few, false, func(ctx context.Context, c called) error { return renewal(ctx, c, 1) }},
		{"renew_appl_locks", "renew 100", 20 * few, false, func(ctx context.Context, c called) error { return renewal(ctx, c, 100) }},
		{"announce_appl_lock_waiter", "announce a waiter", few, false, func(ctx context.Context, c called) error {
			return c.driver.AnnounceApplLockWaiter(ctx, db.AnnounceApplLockWaiterParams{
				ObjectType: customer, ObjectID: c.object(), OperatorID: "ABEL", ClientID: "abel", WaitSeconds: 60,
			})
		}},
		{"retract_appl_lock_waiter", "retract a waiter", few, false, func(ctx context.Context, c called) error {
			return c.driver.RetractApplLockWaiter(ctx, db.RetractApplLockWaiterParams{
				ObjectType: customer, ObjectID: c.object(), OperatorID: operatorOf("ASMITH", c.id, c.rows), ClientID: operatorOf("p", c.id, c.rows),
			})
		}},
		{"poll_appl_locks", "poll of a program that awaits 20", few, false, func(ctx context.Context, c called) error {
			_, err := c.driver.PollApplLocks(ctx, db.PollApplLocksParams{ClientID: operatorOf("p", c.id, c.rows), MaxRows: pageRows})
			return err
		}},
	}
}

func people() []operation {
	answer := func(ctx context.Context, c called, word string, wanted db.Outcome) error {
		r, err := c.driver.AnswerApplLock(ctx, db.AnswerApplLockParams{
			ObjectType: customer, ObjectID: c.object(), OperatorID: c.holder(), Fence: int64(c.id), AskerID: c.asker(), Answer: word,
		})
		return want(r.Outcome, wanted, err)
	}
	return []operation{
		{"see_appl_lock", "see", few, false, func(ctx context.Context, c called) error {
			r, err := c.driver.SeeApplLock(ctx, db.SeeApplLockParams{ObjectType: customer, ObjectID: c.object(), OperatorID: "ABEL", ClientID: "abel", State: db.StateViewing})
			return wantRows(r, 2, err)
		}},
		{"ask_appl_lock", "ask", few, false, func(ctx context.Context, c called) error {
			r, err := c.driver.AskApplLock(ctx, db.AskApplLockParams{ObjectType: customer, ObjectID: c.object(), OperatorID: "ABEL", ClientID: "abel"})
			return want(r.Outcome, "ASKED", err)
		}},
		{"answer_appl_lock", "answer: later", few, false, func(ctx context.Context, c called) error { return answer(ctx, c, "LATER", "TOLD") }},
		{"answer_appl_lock", "answer: give", few, false, func(ctx context.Context, c called) error { return answer(ctx, c, "GIVE", "GIVEN") }},
		{"inbox_appl_locks", "inbox of 60", few, false, func(ctx context.Context, c called) error {
			r, err := c.driver.InboxApplLocks(ctx, db.InboxApplLocksParams{OperatorID: c.holder(), MaxRows: pageRows})
			return wantRows(r, perOperator, err)
		}},
	}
}

// reads are pages of the views, from anywhere.
func reads(rows int) []operation {
	history := func(name string, params func(c called) db.ApplLockHistoryParams) operation {
		return operation{"appl_lock_history", name, few, false, func(ctx context.Context, c called) error {
			p := params(c)
			p.MaxRows = pageRows
			r, err := c.driver.ApplLockHistory(ctx, p)
			return wantRows(r, 1, err)
		}}
	}
	return []operation{
		{"appl_lock_live", "list, a page", few, false, func(ctx context.Context, c called) error {
			r, err := c.driver.ApplLockLive(ctx, db.ApplLockLiveParams{ObjectType: customer, AfterType: customer, AfterID: c.object(), MaxRows: pageRows})
			return wantRows(r, 1, err)
		}},
		{"appl_lock_waiting", "waiters, a page", few, false, func(ctx context.Context, c called) error {
			r, err := c.driver.ApplLockWaiting(ctx, db.ListedParams{AfterType: customer, AfterID: c.object(), MaxRows: pageRows})
			return wantRows(r, 1, err)
		}},
		{"appl_lock_waiting", "waiters of an object", pageRows, false, func(ctx context.Context, c called) error {
			_, err := c.driver.ApplLockWaiting(ctx, db.ListedParams{ObjectType: customer, ObjectID: c.object(), MaxRows: pageRows})
			return err
		}},
		{"appl_lock_asking", "requests, a page", few, false, func(ctx context.Context, c called) error {
			r, err := c.driver.ApplLockAsking(ctx, db.ListedParams{AfterType: customer, AfterID: c.object(), MaxRows: pageRows})
			return wantRows(r, 1, err)
		}},
		{"appl_lock_asking", "requests for an object", pageRows, false, func(ctx context.Context, c called) error {
			_, err := c.driver.ApplLockAsking(ctx, db.ListedParams{ObjectType: customer, ObjectID: c.object(), MaxRows: pageRows})
			return err
		}},
		{"appl_lock_viewers", "viewers, a page", few, false, func(ctx context.Context, c called) error {
			r, err := c.driver.ApplLockViewers(ctx, db.ListedParams{AfterType: customer, AfterID: c.object(), MaxRows: pageRows})
			return wantRows(r, 1, err)
		}},
		{"appl_lock_viewers", "viewers of an object", pageRows, false, func(ctx context.Context, c called) error {
			r, err := c.driver.ApplLockViewers(ctx, db.ListedParams{ObjectType: customer, ObjectID: c.object(), MaxRows: pageRows})
			return wantRows(r, 1, err)
		}},
		{"appl_lock_policies", "policy, read", pageRows, false, func(ctx context.Context, c called) error {
			r, err := c.driver.ApplLockPolicies(ctx, db.ApplLockPoliciesParams{ObjectType: "type5000"})
			return wantRows(r, 1, err)
		}},
		history("history, oldest", func(c called) db.ApplLockHistoryParams {
			return db.ApplLockHistoryParams{AfterEventID: int64(rows / 2)}
		}),
		history("history, newest", func(called) db.ApplLockHistoryParams { return db.ApplLockHistoryParams{NewestFirst: true} }),
		history("history of an object", func(c called) db.ApplLockHistoryParams {
			return db.ApplLockHistoryParams{ObjectType: customer, ObjectID: c.object()}
		}),
		history("history of an operator", func(c called) db.ApplLockHistoryParams {
			return db.ApplLockHistoryParams{OperatorID: c.holder(), NewestFirst: true}
		}),
	}
}

// tableReads look for what no index has.
func tableReads(rows int) []operation {
	table := 2 * rows
	return []operation{
		{"appl_lock_live", "list of an operator", table, true, func(ctx context.Context, c called) error {
			_, err := c.driver.ApplLockLive(ctx, db.ApplLockLiveParams{OperatorID: c.holder(), MaxRows: pageRows})
			return err
		}},
		{"transfer_appl_locks", "transfer all of an operator", table, true, func(ctx context.Context, c called) error {
			_, err := c.driver.TransferApplLocks(ctx, db.TransferApplLocksParams{FromOperatorID: c.holder(), ToOperatorID: "ABEL", MaxRows: pageRows})
			return err
		}},
		{"release_appl_locks", "release all of an operator", table, true, func(ctx context.Context, c called) error {
			_, err := c.driver.ReleaseApplLocks(ctx, db.ReleaseApplLocksParams{OperatorID: c.holder(), ActorID: "BOSS", MaxRows: pageRows})
			return err
		}},
		{"appl_lock_stats", "stats", 4 * table, true, func(ctx context.Context, c called) error {
			r, err := c.driver.ApplLockStats(ctx, db.ApplLockStatsParams{})
			return wantRows(r, 1, err)
		}},
		{"appl_lock_policies", "policies, all 10,000", 8 * 10_000, true, func(ctx context.Context, c called) error {
			r, err := c.driver.ApplLockPolicies(ctx, db.ApplLockPoliciesParams{})
			return wantRows(r, 9000, err)
		}},
		{"purge_appl_locks", "purge, nothing to remove", 3 * table, true, func(ctx context.Context, c called) error {
			_, err := c.driver.PurgeApplLocks(ctx, db.PurgeParams{OlderThanSeconds: month, MaxRows: batchRows})
			return err
		}},
		{"purge_appl_lock_history", "purge of the history, nothing to remove", few, false, func(ctx context.Context, c called) error {
			_, err := c.driver.PurgeApplLockHistory(ctx, db.PurgeParams{OlderThanSeconds: month, MaxRows: 1000})
			return err
		}},
	}
}

// fullPurge is a batch that finds what it may remove: it reads no other table.
func fullPurge() operation {
	return operation{"purge_appl_locks", "purge, a batch of 50", 10 * few, false, func(ctx context.Context, c called) error {
		r, err := c.driver.PurgeApplLocks(ctx, db.PurgeParams{OlderThanSeconds: month, MaxRows: batchRows})
		if err == nil && r.Purged != batchRows {
			return fmt.Errorf("%d rows are purged, want %d", r.Purged, batchRows)
		}
		return err
	}}
}
