package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/internal/db/sqlite/queries"
)

// plannedRows are in each table when the statements are planned.
const plannedRows = 2000

// Goal: the primary key, or the index that a statement names, is the only way to a row, whatever the statistics say: nothing
// reads a table for each grant, each waiter or each page. Method: no statistics, those of one row, of a time before all was
// purged, and of huge tables in which no key or only the wrong one is worth anything; then what SQLite says of each statement
// that the operations run, on a new connection. A purge reads the table once to find what is old.
func TestHeavyPlansWithTheWorstStatistics(t *testing.T) {
	t.Parallel()
	const worthless = "1000000000 1000000000 1000000000"
	stale := func(locks, waiters, ofPrograms string) func(t *testing.T, handle *sql.DB) {
		return func(t *testing.T, handle *sql.DB) {
			t.Helper()
			fill(t, handle, plannedRows)
			execute(t, handle, "ANALYZE")
			execute(t, handle, "UPDATE sqlite_stat1 SET stat = CASE idx WHEN 'appl_lock' THEN ?1 WHEN 'appl_lock_waiter' THEN ?2 ELSE ?3 END",
				locks, waiters, ofPrograms)
		}
	}
	for name, prepare := range map[string]func(t *testing.T, handle *sql.DB){
		"none": func(t *testing.T, handle *sql.DB) {
			t.Helper()
			fill(t, handle, plannedRows)
		},
		"of one row": func(t *testing.T, handle *sql.DB) {
			t.Helper()
			fill(t, handle, 1)
			execute(t, handle, "ANALYZE")
			execute(t, handle, "DELETE FROM appl_lock")
			execute(t, handle, "DELETE FROM appl_lock_waiter")
			execute(t, handle, "DELETE FROM appl_lock_viewer")
			fill(t, handle, plannedRows)
		},
		"after a purge": func(t *testing.T, handle *sql.DB) {
			t.Helper()
			fill(t, handle, plannedRows)
			execute(t, handle, "ANALYZE")
			execute(t, handle, "DELETE FROM appl_lock")
			execute(t, handle, "DELETE FROM appl_lock_waiter")
			execute(t, handle, "DELETE FROM appl_lock_viewer")
		},
		"of worthless keys":         stale(worthless, worthless+" 1000000000 1000000000", "1000000000 1000000000"),
		"of one program that waits": stale("1000000000 500000000 1", "1000000000 500000000 2 1 1", "1000000000 1000000000"),
		"of another single row":     stale("1 1 1", "1 1 1 1 1", "1 1"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place := newPlace(t)
			prepare(t, place.SQL)
			requirePlans(t, reopened(t, place.DSN))
		})
	}
}

const (
	byKey          = "USING PRIMARY KEY (object_type=? AND object_id=?)"
	thePolicy      = "SEARCH p USING PRIMARY KEY (object_type=?)"
	byProgram      = "USING INDEX appl_lock_waiter_client_ix (client_id=?)"
	fromKey        = "USING PRIMARY KEY ((object_type,object_id)>(?,?) AND object_type<?)"
	fromWaiterKey  = "USING PRIMARY KEY ((object_type,object_id,operator_id,client_id)>(?,?,?,?) AND (object_type,object_id)<(?,?))"
	byWaiterKey    = "USING PRIMARY KEY (object_type=? AND object_id=?" // or more of it: an object has few waiters
	ofTheTable     = "SEARCH appl_lock "
	ofTheWaiters   = "SEARCH appl_lock_waiter "
	ofTheViewers   = "SEARCH appl_lock_viewer "
	ofTheEvents    = "SEARCH appl_lock_event "
	sorts          = "USE TEMP B-TREE"
	plannedObject  = "00007"
	plannedProgram = "p7"
)

// requirePlans lets SQLite explain each statement that runs often. It leaves out steps that neither read a table nor sort; w of a poll is
// what r has found. A read of a page sorts nothing.
func requirePlans(t *testing.T, handle *sql.DB) {
	t.Helper()
	ctx := t.Context()
	const objectType = "customer"
	for _, test := range []struct {
		name string
		run  func(q *queries.Queries) error
		want []string
	}{
		{"get, the row", func(q *queries.Queries) error {
			return errorOf(q.InquireApplLock(ctx, queries.InquireApplLockParams{ObjectType: objectType, ObjectID: plannedObject}))
		}, []string{"SEARCH l " + byKey + " LEFT-JOIN", thePolicy + " LEFT-JOIN"}},
		{"get, S1", func(q *queries.Queries) error {
			return errorOf(q.GetApplLock(ctx, queries.GetApplLockParams{ObjectType: objectType, ObjectID: plannedObject, OperatorID: "X"}))
		}, []string{ofTheTable + byKey}},
		{"get, S2", func(q *queries.Queries) error {
			return errorOf(q.GetApplLockNew(ctx, queries.GetApplLockNewParams{ObjectType: objectType, ObjectID: plannedObject, OperatorID: "X", TTLSeconds: 60}))
		}, []string{"SEARCH f USING PRIMARY KEY (slot=?)"}},
		{"release", func(q *queries.Queries) error {
			return errorOf(q.ReleaseApplLock(ctx, queries.ReleaseApplLockParams{ObjectType: objectType, ObjectID: plannedObject}))
		}, []string{ofTheTable + byKey}},
		{"renew", func(q *queries.Queries) error {
			return errorOf(q.RenewApplLock(ctx, queries.RenewApplLockParams{
				ObjectType: objectType, ObjectID: plannedObject, OperatorID: "X", Fence: 1, TTLSeconds: 60,
			}))
		}, []string{ofTheTable + byKey, thePolicy}},
		{"permit, S1", func(q *queries.Queries) error {
			return errorOf(q.GetApplLockPermitSlots(ctx, queries.GetApplLockPermitSlotsParams{
				ObjectType: objectType, ObjectID: plannedObject, Permits: 3, OperatorID: "X",
			}))
		}, []string{"SCAN a", "SCAN b", "SCAN c", ofTheTable + byKey + " LEFT-JOIN", sorts}},
		{"poll, S1", func(q *queries.Queries) error {
			return errorOf(q.PollApplLocksDue(ctx, queries.PollApplLocksDueParams{ClientID: plannedProgram}))
		}, []string{"SEARCH w " + byProgram, ofTheTable + byKey + " LEFT-JOIN"}},
		{"poll, S2", func(q *queries.Queries) error {
			return q.PollApplLocksKeep(ctx, queries.PollApplLocksKeepParams{ClientID: plannedProgram})
		}, []string{ofTheWaiters + byWaiterKey, "SEARCH w " + byProgram, ofTheTable + byKey}},
		{"poll, S3", func(q *queries.Queries) error {
			return errorOf(q.PollApplLocks(ctx, queries.PollApplLocksParams{ClientID: plannedProgram, MaxRows: 100}))
		}, []string{
			"SEARCH r " + byProgram, sorts + " FOR GROUP BY", "SCAN w", ofTheTable + byKey + " LEFT-JOIN", "SEARCH o " + byKey,
			sorts + " FOR ORDER BY",
		}},
		{"list", func(q *queries.Queries) error {
			return errorOf(q.ApplLockLive(ctx, queries.ApplLockLiveParams{AfterType: objectType, AfterID: plannedObject, MaxRows: 100}))
		}, []string{ofTheTable + fromKey}},
		{"waiters", func(q *queries.Queries) error {
			return errorOf(q.ApplLockWaiting(ctx, queries.ApplLockWaitingParams{AfterType: objectType, AfterID: plannedObject, MaxRows: 100}))
		}, []string{"SEARCH w " + fromWaiterKey, ofTheTable + byKey + " LEFT-JOIN"}},
		{"list, waited for longest", func(q *queries.Queries) error {
			return errorOf(q.ApplLockLiveWaitedFor(ctx, queries.ApplLockLiveWaitedForParams{MaxRows: 100}))
		}, []string{"SCAN w", ofTheTable + byKey + " LEFT-JOIN", "SCAN a", ofTheTable + byKey, sorts}},
		{"history", func(q *queries.Queries) error {
			return errorOf(q.ApplLockHistory(ctx, queries.ApplLockHistoryParams{MaxRows: 100}))
		}, []string{ofTheEvents + "USING INTEGER PRIMARY KEY (rowid>?)"}},
		{"history, newest first", func(q *queries.Queries) error {
			return errorOf(q.ApplLockHistoryNewest(ctx, queries.ApplLockHistoryNewestParams{MaxRows: 100}))
		}, []string{ofTheEvents + "USING INTEGER PRIMARY KEY (rowid<?)"}},
		{"history of an object", func(q *queries.Queries) error {
			return errorOf(q.ApplLockHistoryOfObject(ctx, queries.ApplLockHistoryOfObjectParams{ObjectType: objectType, ObjectID: plannedObject, MaxRows: 100}))
		}, []string{ofTheEvents + "USING INDEX appl_lock_event_object_ix (object_type=? AND object_id=? AND event_id>?)"}},
		{"history of an object, newest first", func(q *queries.Queries) error {
			return errorOf(q.ApplLockHistoryOfObjectNewest(ctx, queries.ApplLockHistoryOfObjectNewestParams{ObjectType: objectType, ObjectID: plannedObject, MaxRows: 100}))
		}, []string{ofTheEvents + "USING INDEX appl_lock_event_object_ix (object_type=? AND object_id=? AND event_id<?)"}},
		{"history of an operator", func(q *queries.Queries) error {
			return errorOf(q.ApplLockHistoryOfOperator(ctx, queries.ApplLockHistoryOfOperatorParams{OperatorID: "JDOE", MaxRows: 100}))
		}, []string{
			ofTheEvents + "USING INDEX appl_lock_event_actor_ix (actor_id=? AND event_id>?)",
			ofTheEvents + "USING INDEX appl_lock_event_from_ix (from_operator_id=? AND event_id>?)",
			ofTheEvents + "USING INDEX appl_lock_event_to_ix (to_operator_id=? AND event_id>?)",
		}},
		{"history of an operator, newest first", func(q *queries.Queries) error {
			return errorOf(q.ApplLockHistoryOfOperatorNewest(ctx, queries.ApplLockHistoryOfOperatorNewestParams{OperatorID: "JDOE", MaxRows: 100}))
		}, []string{
			ofTheEvents + "USING INDEX appl_lock_event_actor_ix (actor_id=? AND event_id<?)",
			ofTheEvents + "USING INDEX appl_lock_event_from_ix (from_operator_id=? AND event_id<?)",
			ofTheEvents + "USING INDEX appl_lock_event_to_ix (to_operator_id=? AND event_id<?)",
		}},
		{"inbox", func(q *queries.Queries) error {
			return errorOf(q.InboxApplLocks(ctx, queries.InboxApplLocksParams{OperatorID: "JDOE", MaxRows: 100}))
		}, []string{
			"SEARCH e USING INDEX appl_lock_event_from_ix (from_operator_id=? AND event_id>?)",
			"SEARCH e USING INDEX appl_lock_event_to_ix (to_operator_id=? AND event_id>?)",
			"SCAN (subquery-3)", "SEARCH w USING INDEX appl_lock_waiter_holder_ix (holder_id=?)", ofTheTable + byKey,
			"SEARCH a USING INDEX appl_lock_ask_holder_ix (holder_id=?)", ofTheTable + byKey, thePolicy,
			"SEARCH a USING INDEX appl_lock_ask_operator_ix (operator_id=?)",
			"SCAN p", sorts, "SCAN (subquery-14)", "SCAN (subquery-13)", sorts, "SCAN m", "SEARCH a", sorts,
		}},
		{"stats", func(q *queries.Queries) error {
			return errorOf(q.ApplLockStats(ctx, queries.ApplLockStatsParams{}))
		}, []string{"SCAN appl_lock", "SCAN w", "SCAN s", sorts, "SCAN appl_lock_stats", sorts}},
		{"policies", func(q *queries.Queries) error {
			return errorOf(q.ApplLockPolicies(ctx, queries.ApplLockPoliciesParams{}))
		}, []string{"SEARCH appl_lock_policy USING PRIMARY KEY (object_type>? AND object_type<?)"}},
		{"purge of waiters, what could go", func(q *queries.Queries) error {
			return errorOf(q.PurgeApplLockWaitersDue(ctx, queries.PurgeApplLockWaitersDueParams{OlderThanSeconds: 60, MaxRows: 10}))
		}, []string{"SCAN w"}},
		{"purge of waiters", func(q *queries.Queries) error {
			return q.PurgeApplLockWaiters(ctx, queries.PurgeApplLockWaitersParams{
				ObjectType: objectType, ObjectID: plannedObject, OperatorID: "X", ClientID: "p1", OlderThanSeconds: 60,
			})
		}, []string{ofTheWaiters + byWaiterKey}},
		{"see, S1", func(q *queries.Queries) error {
			return q.SeeApplLockKeep(ctx, queries.SeeApplLockKeepParams{
				ObjectType: objectType, ObjectID: plannedObject, OperatorID: "X", ClientID: "p1", State: "VIEWING",
			})
		}, []string{thePolicy}},
		{"see, S2", func(q *queries.Queries) error {
			return q.SeeApplLockLeave(ctx, queries.SeeApplLockLeaveParams{ObjectType: objectType, ObjectID: plannedObject, OperatorID: "X", ClientID: "p1"})
		}, []string{ofTheViewers + byWaiterKey}},
		{"see, S3", func(q *queries.Queries) error {
			return q.SeeApplLockBury(ctx, queries.SeeApplLockBuryParams{ObjectType: objectType, ObjectID: plannedObject})
		}, []string{ofTheViewers + byKey}},
		{"see, S4", func(q *queries.Queries) error {
			return errorOf(q.SeeApplLock(ctx, queries.SeeApplLockParams{ObjectType: objectType, ObjectID: plannedObject, OperatorID: "X"}))
		}, []string{ofTheTable + byKey, "SEARCH a " + byKey, ofTheViewers + byKey, thePolicy, "SCAN m", sorts}},
		{"viewers", func(q *queries.Queries) error {
			return errorOf(q.ApplLockViewers(ctx, queries.ApplLockViewersParams{AfterType: objectType, AfterID: plannedObject, MaxRows: 100}))
		}, []string{ofTheViewers + fromWaiterKey}},
		{"purge of viewers, what could go", func(q *queries.Queries) error {
			return errorOf(q.PurgeApplLockViewersDue(ctx, queries.PurgeApplLockViewersDueParams{OlderThanSeconds: 60, MaxRows: 10}))
		}, []string{"SCAN v"}},
		{"purge of viewers", func(q *queries.Queries) error {
			return q.PurgeApplLockViewers(ctx, queries.PurgeApplLockViewersParams{
				ObjectType: objectType, ObjectID: plannedObject, OperatorID: "X", ClientID: "p1", OlderThanSeconds: 60,
			})
		}, []string{ofTheViewers + byWaiterKey}},
		{"purge, what could go", func(q *queries.Queries) error {
			return errorOf(q.PurgeApplLocksDue(ctx, queries.PurgeApplLocksDueParams{OlderThanSeconds: 60, MaxRows: 10}))
		}, []string{"SCAN l"}},
		{"purge", func(q *queries.Queries) error {
			return errorOf(q.PurgeApplLocks(ctx, queries.PurgeApplLocksParams{ObjectType: objectType, ObjectID: plannedObject, OlderThanSeconds: 60}))
		}, []string{ofTheTable + byKey}},
		{"purge of the history, what could go", func(q *queries.Queries) error {
			return errorOf(q.PurgeApplLockHistoryNext(ctx, queries.PurgeApplLockHistoryNextParams{OlderThanSeconds: 60, MaxRows: 10}))
		}, []string{"SEARCH e USING INTEGER PRIMARY KEY (rowid>?)"}},
		{"purge of the history", func(q *queries.Queries) error {
			return errorOf(q.PurgeApplLockHistory(ctx, queries.PurgeApplLockHistoryParams{FirstEventID: 1, LastEventID: 2}))
		}, []string{ofTheEvents + "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"}},
		{"policy", func(q *queries.Queries) error {
			return errorOf(q.ApplLockPolicies(ctx, queries.ApplLockPoliciesParams{ObjectType: sql.NullString{String: objectType, Valid: true}}))
		}, []string{"SEARCH appl_lock_policy USING PRIMARY KEY (object_type>? AND object_type<?)"}},
	} {
		plans := &explaining{DBTX: handle}
		_ = test.run(queries.New(plans)) // there may be no such row; what counts is how it is looked for
		steps := slices.Compact(plans.steps)
		if !slices.EqualFunc(steps, test.want, strings.HasPrefix) {
			t.Errorf("%s goes by %q, want %q", test.name, steps, test.want)
		}
	}
}

func errorOf[T any](_ T, err error) error { return err }

// explaining lets SQLite explain each statement before it runs.
type explaining struct {
	queries.DBTX
	steps []string
}

func (e *explaining) explain(ctx context.Context, query string, args []any) {
	rows, err := e.DBTX.QueryContext(ctx, "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		e.steps = append(e.steps, err.Error())
		return
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var step string
		if err := rows.Scan(new(int), new(int), new(int), &step); err != nil {
			step = err.Error()
		}
		reads := strings.HasPrefix(step, "SEARCH ") || strings.HasPrefix(step, "SCAN ") || strings.HasPrefix(step, sorts)
		if reads && step != "SCAN CONSTANT ROW" && step != "SCAN t" {
			e.steps = append(e.steps, step)
		}
	}
	if err := rows.Err(); err != nil {
		e.steps = append(e.steps, err.Error())
	}
}

func (e *explaining) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	e.explain(ctx, query, args)
	return e.DBTX.ExecContext(ctx, query, args...)
}

func (e *explaining) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	e.explain(ctx, query, args)
	return e.DBTX.QueryContext(ctx, query, args...)
}

func (e *explaining) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	e.explain(ctx, query, args)
	return e.DBTX.QueryRowContext(ctx, query, args...)
}

// fill inserts that many live locks, with waiters of twenty programs, and viewers.
func fill(t *testing.T, handle *sql.DB, rows int) {
	t.Helper()
	const numbers = "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?) "
	const later = "unixepoch() * 1000000 + 86400000000"
	execute(t, handle, fmt.Sprintf(numbers+
		"INSERT INTO appl_lock SELECT 'customer', printf('%%05d', i), 'JDOE', '', 1, 1, 1, 60, %s, '', 'N', NULL FROM n", later), rows)
	execute(t, handle, fmt.Sprintf(numbers+
		"INSERT INTO appl_lock_waiter SELECT 'customer', printf('%%05d', i), 'ASMITH', '', 'p' || (i %% 20), 1, NULL, %s, 'H' || (i %% 20) FROM n", later), rows)
	execute(t, handle, fmt.Sprintf(numbers+
		"INSERT INTO appl_lock_viewer SELECT 'customer', printf('%%05d', i), 'BROWN', '', 'tab', 'VIEWING', 1, 1, %s FROM n", later), rows)
}

func execute(t *testing.T, handle *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := handle.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// reopened returns a handle whose connections read the statistics as they are now.
func reopened(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	handle, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(dsn, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = handle.Close() })
	return handle
}
