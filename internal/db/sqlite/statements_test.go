package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/contract"
)

// operation is a call with the number of statements that it runs.
type operation struct {
	name       string
	statements int
	prepared   int // of those, how many are parsed again, for a transaction
	call       func(ctx context.Context, driver db.Driver) error
}

// probes are the operations on one object, in an order that makes each of them answer as its name says. Nobody holds 500.
func probes() []operation {
	var fence int64
	get := func(operator string, outcome db.Outcome) func(context.Context, db.Driver) error {
		return func(ctx context.Context, driver db.Driver) error {
			result, err := driver.GetApplLock(ctx, db.GetApplLockParams{ObjectType: "customer", ObjectID: "500", OperatorID: operator})
			if outcome != db.Held {
				fence = result.Fence
			}
			return wanted(result.Outcome, outcome, err)
		}
	}
	release := func(operator string, outcome db.Outcome) func(context.Context, db.Driver) error {
		return func(ctx context.Context, driver db.Driver) error {
			result, err := driver.ReleaseApplLock(ctx, db.ReleaseApplLockParams{ObjectType: "customer", ObjectID: "500", OperatorID: operator})
			return wanted(result.Outcome, outcome, err)
		}
	}
	transfer := func(from string, outcome db.Outcome) func(context.Context, db.Driver) error {
		return func(ctx context.Context, driver db.Driver) error {
			result, err := driver.TransferApplLock(ctx, db.TransferApplLockParams{
				ObjectType: "customer", ObjectID: "500", FromOperatorID: from, ToOperatorID: "ASMITH",
			})
			return wanted(result.Outcome, outcome, err)
		}
	}
	note := func(operator string, outcome db.Outcome) func(context.Context, db.Driver) error {
		return func(ctx context.Context, driver db.Driver) error {
			result, err := driver.NoteApplLock(ctx, db.NoteApplLockParams{ObjectType: "customer", ObjectID: "500", OperatorID: operator, Note: "why"})
			return wanted(result.Outcome, outcome, err)
		}
	}
	take := func(expected int64, outcome db.Outcome) func(context.Context, db.Driver) error {
		return func(ctx context.Context, driver db.Driver) error {
			result, err := driver.TakeApplLock(ctx, db.TakeApplLockParams{
				ObjectType: "customer", ObjectID: "500", OperatorID: "ASMITH", Reason: "why", ExpectedFence: expected,
			})
			return wanted(result.Outcome, outcome, err)
		}
	}
	passes := func(behind int64, outcome db.Outcome) func(context.Context, db.Driver) error {
		return func(ctx context.Context, driver db.Driver) error {
			result, err := contract.Pass(ctx, driver, contract.ReleaseOf("500", fence-behind), db.GetApplLockParams{ObjectType: "customer", ObjectID: "500", OperatorID: "JDOE"})
			if outcome == db.Released {
				fence = result.Next.Fence
			}
			return wanted(result.Released, outcome, err)
		}
	}
	assert := func(kind db.Kind) func(context.Context, db.Driver) error {
		return func(ctx context.Context, driver db.Driver) error {
			err := driver.AssertApplLock(ctx, db.AssertApplLockParams{ObjectType: "customer", ObjectID: "500", OperatorID: "JDOE", Fence: fence})
			if kind == db.KindAssertion && db.KindOf(err) == kind {
				return nil
			}
			return err
		}
	}
	return []operation{
		{name: "get", statements: 2, call: get("JDOE", db.Acquired)},
		{name: "renewing get", statements: 2, call: get("JDOE", db.Renewed)},
		{name: "refused get", statements: 1, call: get("ASMITH", db.Held)},
		{name: "inquire", statements: 1, call: func(ctx context.Context, driver db.Driver) error {
			result, err := driver.InquireApplLock(ctx, db.InquireApplLockParams{ObjectType: "customer", ObjectID: "500"})
			return wanted(result.OkFL, db.Yes, err)
		}},
		{name: "note", statements: 2, call: note("JDOE", db.Noted)},
		{name: "refused note", statements: 1, call: note("ASMITH", db.Held)},
		{name: "pass", statements: 2, call: passes(0, db.Released)},
		{name: "refused pass", statements: 1, call: passes(1, db.Held)},
		{name: "assert", statements: 1, call: assert(db.KindOther)},
		{name: "refused transfer", statements: 1, call: transfer("ASMITH", db.Held)},
		{name: "transfer", statements: 5, prepared: 4, call: transfer("JDOE", db.Transferred)},
		{name: "refused take", statements: 1, call: take(1, db.Held)},
		{name: "take", statements: 5, prepared: 4, call: take(0, db.Taken)},
		{name: "refused assert", statements: 2, call: assert(db.KindAssertion)},
		{name: "refused release", statements: 1, call: release("JDOE", db.Held)},
		{name: "release", statements: 2, call: release("ASMITH", db.Released)},
		{name: "release of nothing", statements: 1, call: release("ASMITH", db.Free)},
	}
}

func wanted[T comparable](got, want T, err error) error {
	if err == nil && got != want {
		err = fmt.Errorf("it answers %v, want %v", got, want)
	}
	return err
}

// Goal: a statement is parsed once for a connection, and an operation runs as few statements as are recorded here. Method: a
// driver below that counts what it is given to prepare and to run, once everything has been called before.
func TestStatementsArePreparedOnce(t *testing.T) {
	t.Parallel()
	recorder, handle, driver := recorded(t)
	operations := append(probes(), others()...)
	for round := range 3 {
		for _, operation := range operations {
			recorder.forget()
			if err := operation.call(t.Context(), driver); err != nil {
				t.Errorf("%s: %v", operation.name, err)
			}
			prepared, ran := recorder.counts()
			if ran != operation.statements {
				t.Errorf("%s runs %d statements, want %d: %s", operation.name, ran, operation.statements, recorder)
			}
			if round > 0 && prepared > operation.prepared {
				t.Errorf("%s prepares %d statements once more, want %d: %s", operation.name, prepared, operation.prepared, recorder)
			}
		}
	}
	if open := handle.Stats().OpenConnections; open != 1 {
		t.Errorf("%d connections: the counts are not of one", open)
	}
}

// Goal: nothing that was prepared outlives its connection or the driver, which both go on meanwhile. Method: count what is open:
// on connections that the pool does not keep, in transactions, after Close of the driver, and in calls after that.
func TestNothingPreparedIsLeftOpen(t *testing.T) {
	t.Parallel()
	recorder, handle, driver := recorded(t)
	run := func() {
		t.Helper()
		for _, operation := range append(probes(), others()...) {
			if err := operation.call(t.Context(), driver); err != nil {
				t.Errorf("%s: %v", operation.name, err)
			}
		}
	}
	run()
	kept := recorder.open()
	if kept == 0 {
		t.Error("nothing is prepared: this test shows nothing")
	}
	run()
	if open := recorder.open(); open != kept {
		t.Errorf("%d statements are open once everything has been called again, want %d", open, kept)
	}
	handle.SetMaxIdleConns(0)
	run()
	if open := recorder.open(); open != 0 {
		t.Errorf("%d statements are open without a connection", open)
	}
	handle.SetMaxIdleConns(1)
	run()
	if err := driver.Close(); err != nil {
		t.Error(err)
	}
	if open := recorder.open(); open != 0 {
		t.Errorf("%d statements are open after Close", open)
	}
	run()
	if open := recorder.open(); open != 0 {
		t.Errorf("%d statements are open that were made after Close", open)
	}
}

// Goal: the end of a context ends the wait for a connection, also for what is prepared already, and no statement that runs: so
// nothing is ever unknown. Method: the only connection is taken; and a context that ends when SQLite is given the last
// statement of an operation, which then answers as ever.
func TestContextEndsTheWaitAndNoStatement(t *testing.T) {
	t.Parallel()
	recorder, handle, driver := recorded(t)
	operations := append(probes(), others()...)
	refusedWithoutConnection := func() {
		taken, err := handle.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = taken.Close() }()
		for _, operation := range operations {
			recorder.forget()
			ctx, cancel := context.WithCancel(t.Context())
			before := handle.Stats().WaitCount
			answer := make(chan error)
			go func() { answer <- operation.call(ctx, driver) }()
			for handle.Stats().WaitCount == before {
				runtime.Gosched()
			}
			cancel()
			if err := <-answer; !errors.Is(err, context.Canceled) || db.KindOf(err) != db.KindPool {
				t.Errorf("%s without a connection: %v (kind %d), want that nothing was sent", operation.name, err, db.KindOf(err))
			}
			if _, ran := recorder.counts(); ran > 0 {
				t.Errorf("%s runs without a connection: %s", operation.name, recorder)
			}
		}
	}
	refusedWithoutConnection()
	for range 2 {
		for _, operation := range operations {
			ctx, cancel := context.WithCancel(t.Context())
			recorder.forget()
			recorder.before(operation.statements, cancel)
			if err := operation.call(ctx, driver); err != nil {
				t.Errorf("%s, whose context ends with its last statement: %v", operation.name, err)
			}
			if ctx.Err() == nil {
				t.Errorf("%s has ended before its context: %s", operation.name, recorder)
			}
			cancel()
		}
	}
	refusedWithoutConnection()
}

// Goal: every statement of an operation on one object finds its row by the primary key, in a thousand rows as in a million; lists and
// purges take the rows as they come and sort nothing. Method: EXPLAIN QUERY PLAN of what SQLite is given, and the pages that it
// looks at: recorded figures, which grow with the depth of the tree (a million rows are some 10,000 pages).
func TestHeavyEachStatementIsOneProbe(t *testing.T) {
	t.Parallel()
	recorder, handle, driver := recorded(t)
	for _, size := range []struct{ rows, pages int }{{1000, 8}, {1_000_000, 13}} {
		lockMany(t, handle, "more", size.rows)
		for _, operation := range append(probes(), others()...) {
			recorder.forget()
			if err := operation.call(t.Context(), driver); err != nil {
				t.Errorf("%s: %v", operation.name, err)
			}
			for _, statement := range slices.Clone(recorder.ran) {
				plan := planOf(t, handle, statement)
				isRange := strings.Contains(operation.name, "list") || operation.name == "purge"
				if isRange && strings.Contains(plan, "TEMP B-TREE") {
					t.Errorf("%s sorts: %s", operation.name, plan)
				}
				if isRange || slices.Contains([]string{"poll", "stats", "inbox", "see", "policies", "permit", "transfers", "releases"}, operation.name) {
					continue // its plan is of those who wait or look, of all there are, of all slots, of all types, or of a page: not of one row
				}
				if !oneProbe.MatchString(plan) || statement.pages > size.pages {
					t.Errorf("%s looks at %d pages of %d rows, want at most %d: %s", operation.name, statement.pages, size.rows, size.pages, plan)
				}
			}
		}
	}
}

// oneProbe is a plan that looks at no row but by the whole primary key: that of a statement that changes what it finds, of an INSERT
// with the time, with or without what is there, or of none (BEGIN). A read and a renewal look at the policy of the type, too, and a
// new row at the greatest fence purged. An event looks at the last number.
var oneProbe = regexp.MustCompile(`^(CO-ROUTINE t; SCAN CONSTANT ROW; SCAN t|SCALAR SUBQUERY 1; SEARCH e)?(; )?` +
	`(SEARCH \w+ USING PRIMARY KEY \(object_type=\? AND object_id=\?( AND operator_id=\? AND client_id=\?)?\)( LEFT-JOIN)?)?` +
	`(; SEARCH p USING PRIMARY KEY \(object_type=\?\) LEFT-JOIN)?` +
	`(; SCALAR SUBQUERY \d; SEARCH (p USING PRIMARY KEY \(object_type=\?\)|f USING PRIMARY KEY \(slot=\?\)))*$`)

func planOf(t *testing.T, handle *sql.DB, statement ranStatement) string {
	t.Helper()
	args := make([]any, len(statement.args))
	for i, arg := range statement.args {
		args[i] = arg.Value
	}
	rows, err := handle.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+statement.text, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var steps []string
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(steps, "; ")
}

// others are the operations on many objects, on those who wait, and on none.
func others() []operation {
	const beginAndCommit = 2
	grants := make([]db.RenewableGrant, 10)
	for i := range grants {
		grants[i] = db.RenewableGrant{ObjectType: "customer", ObjectID: strconv.Itoa(i + 1), OperatorID: "JDOE", Fence: int64(i + 1), TTLSeconds: 60}
	}
	waiter := db.AnnounceApplLockWaiterParams{ObjectType: "customer", ObjectID: "1", OperatorID: "ASMITH", ClientID: "p1"}
	permit := db.GetApplLockPermitParams{ObjectType: "room", ObjectID: "desk", Permits: 1, OperatorID: "JDOE"}
	return []operation{
		{name: "permit", statements: 1 + beginAndCommit + 3, prepared: beginAndCommit + 3, call: func(ctx context.Context, driver db.Driver) error {
			answers, err := driver.GetApplLockPermit(ctx, permit)
			if err != nil {
				return err
			}
			if answers[0].Outcome == db.Renewed { // it is called twice
				return nil
			}
			return wanted(answers[0].Outcome, db.Acquired, nil)
		}},
		{name: "renew", statements: beginAndCommit + len(grants), prepared: beginAndCommit + 1, call: func(ctx context.Context, driver db.Driver) error {
			answers, err := driver.RenewApplLocks(ctx, db.RenewApplLocksParams{Grants: grants})
			if err != nil {
				return err
			}
			for _, answer := range answers {
				err = errors.Join(err, wanted(answer.Outcome, db.Renewed, nil))
			}
			return err
		}},
		{name: "announce", statements: 1, call: func(ctx context.Context, driver db.Driver) error {
			return driver.AnnounceApplLockWaiter(ctx, waiter)
		}},
		{name: "poll", statements: 2, call: func(ctx context.Context, driver db.Driver) error {
			awaited, err := driver.PollApplLocks(ctx, db.PollApplLocksParams{ClientID: waiter.ClientID, MaxRows: 10})
			return wanted(len(awaited), 1, err)
		}},
		{name: "list of waiters", statements: 1, call: func(ctx context.Context, driver db.Driver) error {
			waiters, err := driver.ApplLockWaiting(ctx, db.ListedParams{MaxRows: 10})
			return wanted(len(waiters), 1, err)
		}},
		{name: "transfers", statements: beginAndCommit + 1 + 2*3, prepared: beginAndCommit + 1 + 3, call: func(ctx context.Context, driver db.Driver) error {
			answers, err := driver.TransferApplLocks(ctx, db.TransferApplLocksParams{
				FromOperatorID: "JDOE", ToOperatorID: "JDOE", AfterType: "customer", AfterID: "7", MaxRows: 2,
			})
			return wanted(len(answers), 2, err)
		}},
		{name: "releases", statements: beginAndCommit + 1 + 3, prepared: beginAndCommit + 1 + 3, call: func(ctx context.Context, driver db.Driver) error {
			answers, err := driver.ReleaseApplLocks(ctx, db.ReleaseApplLocksParams{
				OperatorID: "JDOE", Reason: "ill", AfterType: "customer", AfterID: "8", MaxRows: 1,
			})
			return wanted(len(answers), 1, err)
		}},
		{name: "ask", statements: 2, call: func(ctx context.Context, driver db.Driver) error {
			answer, err := driver.AskApplLock(ctx, db.AskApplLockParams{ObjectType: "customer", ObjectID: "6", OperatorID: "BROWN", ClientID: "tab"})
			return wanted(answer.Outcome, db.Asked, err)
		}},
		{name: "list of askers", statements: 1, call: func(ctx context.Context, driver db.Driver) error {
			askers, err := driver.ApplLockAsking(ctx, db.ListedParams{MaxRows: 10})
			return wanted(len(askers), 1, err)
		}},
		{name: "answer without an asker", statements: 2, call: func(ctx context.Context, driver db.Driver) error {
			lock, err := driver.InquireApplLock(ctx, db.InquireApplLockParams{ObjectType: "customer", ObjectID: "6"})
			if err != nil {
				return err
			}
			answer, err := driver.AnswerApplLock(ctx, db.AnswerApplLockParams{
				ObjectType: "customer", ObjectID: "6", OperatorID: lock.Lock.OperatorID, Fence: 1, AskerID: "BROWN", Answer: "NO",
			})
			return wanted(answer.Outcome, db.Held, err)
		}},
		{name: "stats", statements: 1, call: func(ctx context.Context, driver db.Driver) error {
			stats, err := driver.ApplLockStats(ctx, db.ApplLockStatsParams{ObjectType: waiter.ObjectType})
			return wanted(len(stats), 1, err)
		}},
		{name: "inbox", statements: 1, call: func(ctx context.Context, driver db.Driver) error {
			_, err := driver.InboxApplLocks(ctx, db.InboxApplLocksParams{OperatorID: "NOBODY", MaxRows: 10})
			return err
		}},
		{name: "see", statements: beginAndCommit + 3, prepared: beginAndCommit + 3, call: func(ctx context.Context, driver db.Driver) error {
			present, err := driver.SeeApplLock(ctx, looksAt("7", "ASMITH"))
			return wanted(len(present), 1, err)
		}},
		{name: "list of viewers", statements: 1, call: func(ctx context.Context, driver db.Driver) error {
			viewers, err := driver.ApplLockViewers(ctx, db.ListedParams{AfterType: "customer", AfterID: "6", MaxRows: 10})
			return wanted(len(viewers), 1, err)
		}},
		{name: "policies", statements: 1, call: func(ctx context.Context, driver db.Driver) error {
			policies, err := driver.ApplLockPolicies(ctx, db.ApplLockPoliciesParams{})
			return wanted(len(policies), 0, err)
		}},
		{name: "retract", statements: 1, call: func(ctx context.Context, driver db.Driver) error {
			return driver.RetractApplLockWaiter(ctx, db.RetractApplLockWaiterParams{
				ObjectType: waiter.ObjectType, ObjectID: waiter.ObjectID, OperatorID: waiter.OperatorID, ClientID: waiter.ClientID,
			})
		}},
		{name: "list", statements: 1, call: func(ctx context.Context, driver db.Driver) error {
			locks, err := driver.ApplLockLive(ctx, db.ApplLockLiveParams{AfterType: "customer", AfterID: "5", MaxRows: 10})
			return wanted(len(locks), 10, err)
		}},
		{name: "purge", statements: 4, call: func(ctx context.Context, driver db.Driver) error {
			result, err := driver.PurgeApplLocks(ctx, db.PurgeParams{OlderThanSeconds: 1 << 30, MaxRows: 10})
			return wanted(result.Purged, 0, err)
		}},
	}
}
