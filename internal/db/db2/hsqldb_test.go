package db2_test

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db/db2"
	"github.com/applock/applock/internal/db/dbtest"
	"github.com/applock/applock/internal/hsqldb"
	"github.com/applock/applock/internal/testdb"
	"github.com/applock/applock/testdata"
)

// The contract on HSQLDB: the procedures through a fixed list of rewritings, the Go driver, goose's store and
// the lock of the migrators as they are. The database's time zone is not UTC.
func TestContractOnHSQLDB(t *testing.T) {
	t.Parallel()
	bridge := hsqldb.Start(t, testdb.HSQLDB(t), "Asia/Kolkata")
	databases := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}
	const (
		noTimeout = "HSQLDB has no lock timeout"
		noClause  = "HSQLDB has no isolation clause in routines: TestAssertOnHSQLDB plays it with the level of the transaction"
	)
	dbtest.Exercise(t, dbtest.Backend{
		New:    databases.place,
		Empty:  databases.empty,
		Ways:   []string{"facade", "call", "row"},
		Levels: []sql.IsolationLevel{sql.LevelReadCommitted},
		Excluded: map[string]string{
			"get_waits_one_second":       noTimeout,
			"get_opposite_order":         noTimeout,
			"serialize_three":            "HSQLDB wakes those who wait in any order",
			"assert_after_own_release":   noClause,
			"assert_after_transfer":      noClause,
			"assert_keeps_from_transfer": noClause,
			"assert_keeps_grant":         noClause,
		},
	})
}

// Goal: assert judges what it has locked, and keeps it so. Method: HSQLDB locks tables, and its level does
// what the isolation clause of the statement does on Db2.
func TestAssertOnHSQLDB(t *testing.T) {
	t.Parallel()
	bridge := hsqldb.Start(t, testdb.HSQLDB(t), "UTC")
	databases := hsqldbDatabases{bridge: bridge, control: hsqldb.Locks}
	dbtest.Interleavings(t, dbtest.Backend{
		New:      databases.place,
		Levels:   []sql.IsolationLevel{sql.LevelRepeatableRead},
		Excluded: excludedBut("assert_after_own_release", "assert_after_transfer", "assert_keeps_from_transfer", "assert_keeps_grant", "assert_shared"),
	})
}

// Goal: times and fences are UTC, whatever the database's zone is. Method: compare with the clock of this
// machine, which is also the database's.
func TestTimeIsUTC(t *testing.T) {
	t.Parallel()
	bridge := hsqldb.Start(t, testdb.HSQLDB(t), "Asia/Kolkata")
	client := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}.place(t).Client
	object := applock.Object{Type: "customer", ID: "42"}
	before := time.Now().Add(-time.Second)
	grant, err := client.Get(t.Context(), applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE"}, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	lock, err := client.Inquire(t.Context(), object)
	if err != nil {
		t.Fatal(err)
	}
	after := time.Now().Add(time.Second)
	for what, moment := range map[string]time.Time{
		"expires_ts":  grant.ExpiresAt.Add(-time.Hour),
		"acquired_ts": lock.AcquiredAt,
		"fence":       time.UnixMicro(int64(grant.Fence)),
	} {
		if moment.Before(before) || moment.After(after) {
			t.Errorf("%s tells %s, want now, %s", what, moment.UTC(), after.UTC())
		}
	}
}

// Goal: a refused assertion names the holder and his fence. Method: its message.
func TestAssertionNamesTheHolder(t *testing.T) {
	t.Parallel()
	bridge := hsqldb.Start(t, testdb.HSQLDB(t), "UTC")
	place := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}.place(t)
	const call = "CALL applock.assert_appl_lock('customer', '42', 'ASMITH', 1)"
	_, err := place.SQL.ExecContext(t.Context(), call)
	if diagnosis, _ := db2.AnswerOf(err); diagnosis.State != "LK002" || diagnosis.Text != "assert_appl_lock: nobody holds it" {
		t.Errorf("of a free object: %+v", diagnosis)
	}
	grant, err := place.Client.Get(t.Context(), applock.GetRequest{
		Object: applock.Object{Type: "customer", ID: "42"}, Owner: applock.Owner{Operator: "JDOE"},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = place.SQL.ExecContext(t.Context(), call)
	want := fmt.Sprintf("assert_appl_lock: held with fence %d by JDOE", grant.Fence)
	if diagnosis, _ := db2.AnswerOf(err); diagnosis.State != "LK002" || diagnosis.Text != want {
		t.Errorf("of a held object: %+v, want %q", diagnosis, want)
	}
}

// Goal: a decision changes its own row only. Method: twins that differ in nothing but type or id; the operations
// change one of them.
func TestDecisionsChangeOneRow(t *testing.T) {
	t.Parallel()
	bridge := hsqldb.Start(t, testdb.HSQLDB(t), "UTC")
	for _, call := range []string{
		"CALL applock.get_appl_lock_row('a', '1', 'JDOE', '', 7200)",
		"CALL applock.release_appl_lock_row('a', '1', 'JDOE', NULL)",
		"CALL applock.transfer_appl_lock_row('a', '1', 'JDOE', 'ASMITH', '', NULL)",
	} {
		place := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}.place(t)
		for _, object := range []string{"'a', '1'", "'a', '2'", "'b', '1'"} {
			_, err := place.SQL.ExecContext(t.Context(), "INSERT INTO applock.appl_lock VALUES ("+object+", 'JDOE', '', 1, "+
				"TIMESTAMP '2026-01-01 00:00:00', TIMESTAMP '2026-01-01 00:00:00', TIMESTAMP '2099-01-01 00:00:00')")
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := query(t.Context(), place.SQL, call); err != nil {
			t.Fatal(err)
		}
		rows, err := query(t.Context(), place.SQL, "SELECT object_type, object_id FROM applock.appl_lock "+
			"WHERE expires_ts <> TIMESTAMP '2099-01-01 00:00:00'")
		if err != nil || len(rows) != 1 || rows[0]["object_type"] != "a" || rows[0]["object_id"] != "1" {
			t.Errorf("%s changed %v, %v", call, rows, err)
		}
	}
}

// Goal: a purge counts what it removes, row by row. Method: twins that differ only in type or id, one at a time.
func TestPurgeRemovesOneRowAtATime(t *testing.T) {
	t.Parallel()
	bridge := hsqldb.Start(t, testdb.HSQLDB(t), "UTC")
	place := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}.place(t)
	objects := []string{"'a', '1'", "'a', '2'", "'b', '1'"}
	for _, object := range objects {
		_, err := place.SQL.ExecContext(t.Context(), "INSERT INTO applock.appl_lock VALUES ("+object+", 'JDOE', '', 1, "+
			"TIMESTAMP '2026-01-01 00:00:00', TIMESTAMP '2026-01-01 00:00:00', TIMESTAMP '2026-01-02 00:00:00')")
		if err != nil {
			t.Fatal(err)
		}
	}
	for left := len(objects) - 1; left >= 0; left-- {
		answer, err := query(t.Context(), place.SQL, "CALL applock.purge_appl_locks_row(60, 1)")
		if err != nil || answer[0]["p_purged"] != int64(1) {
			t.Errorf("purge: %v, %v, want 1", answer, err)
		}
		rows, err := query(t.Context(), place.SQL, "SELECT object_type FROM applock.appl_lock")
		if err != nil || len(rows) != left {
			t.Errorf("%d rows are left, %v, want %d", len(rows), err, left)
		}
	}
}

// excludedBut excludes all other interleavings.
func excludedBut(played ...string) map[string]string {
	excluded := map[string]string{}
	files, _ := fs.Glob(testdata.FS, "interleavings/*.txt")
	for _, file := range files {
		name := strings.TrimSuffix(path.Base(file), ".txt")
		if !slices.Contains(played, name) {
			excluded[name] = "TestContractOnHSQLDB plays it"
		}
	}
	return excluded
}

// hsqldbDatabases makes databases in the memory of a bridge.
type hsqldbDatabases struct {
	bridge  *hsqldb.Bridge
	control hsqldb.Control
}

func (d hsqldbDatabases) empty(t testing.TB) func() *applock.Client {
	t.Helper()
	name, _ := d.open(t)
	return func() *applock.Client {
		handle := d.bridge.Again(name)
		t.Cleanup(func() { _ = handle.Close() })
		return applock.NewDB2(handle)
	}
}

var databaseNumber atomic.Int64

func (d hsqldbDatabases) open(t testing.TB) (string, *sql.DB) {
	t.Helper()
	name := fmt.Sprintf("test%d", databaseNumber.Add(1))
	handle, err := d.bridge.Open(t.Context(), name, d.control)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = handle.Close() })
	return name, handle
}

func (d hsqldbDatabases) place(t testing.TB) dbtest.Place {
	t.Helper()
	_, handle := d.open(t)
	client := applock.NewDB2(handle)
	if _, err := client.MigrateUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	return dbtest.Place{
		Client: client,
		SQL:    handle,
		Table:  "applock.appl_lock",
		Executors: map[string]dbtest.Executor{
			"facade": dbtest.Facade(client),
			"call":   callExecutor(handle, "applock"),
			"row":    rowExecutor(handle, "applock"),
		},
		Advance: func(ctx context.Context, duration time.Duration) error {
			return advance(ctx, handle, "applock", duration)
		},
		Waiting:           func(ctx context.Context) (int, error) { return d.waiting(ctx, handle) },
		Interpret:         db2.InterpretError,
		SnapshotConflicts: func(sql.IsolationLevel) bool { return false },
		KeepsView:         func(sql.IsolationLevel) bool { return false },
		ChecksView:        func(sql.IsolationLevel) bool { return false },
		PurgesWait:        true,
		RepeatsCalls:      d.control == hsqldb.MVCC,
	}
}

// waiting counts the sessions that wait, which HSQLDB shows in one way or the other.
func (d hsqldbDatabases) waiting(ctx context.Context, handle *sql.DB) (int, error) {
	waits := map[hsqldb.Control]string{hsqldb.MVCC: "THIS_WAITING_FOR <> ''", hsqldb.Locks: "LATCH_COUNT > 0"}[d.control]
	var count int
	err := handle.QueryRowContext(ctx, "SELECT COUNT(*) FROM INFORMATION_SCHEMA.SYSTEM_SESSIONS WHERE "+waits).Scan(&count)
	return count, err
}
