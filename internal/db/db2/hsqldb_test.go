package db2_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db/db2"
	"github.com/applock/applock/internal/scenario"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/hsqldb"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/testdata"
)

// The contract on HSQLDB: the procedures through a fixed list of rewritings, the Go driver, goose's store and
// the lock of the migrators as they are. The database's time zone is not UTC.
func TestContractOnHSQLDB(t *testing.T) {
	t.Parallel()
	databases := newDatabases(t)
	contract.Exercise(t, databases.backend(t))
	t.Run("TimeIsUTC", func(t *testing.T) { timeIsUTC(t, databases) })
}

func TestHeavyContractOnHSQLDB(t *testing.T) {
	t.Parallel()
	contract.ExerciseLong(t, newDatabases(t).backend(t))
}

func newDatabases(t *testing.T) hsqldbDatabases {
	t.Helper()
	return hsqldbDatabases{bridge: hsqldb.Start(t, testdb.HSQLDB(t), "Asia/Kolkata"), control: hsqldb.MVCC}
}

func (d hsqldbDatabases) backend(t *testing.T) contract.Backend {
	t.Helper()
	return contract.Backend{
		New:    d.lender(t),
		Empty:  d.empty,
		Ways:   []string{"facade", "call", "row"},
		Levels: []sql.IsolationLevel{sql.LevelReadCommitted},
		// Java replaces what is no UTF-8 before the database sees it, and what no VARCHAR takes has the engine's own error.
		Takes: func(value string) bool {
			return strings.Contains(value, "\x00") || !utf8.ValidString(value) || len(value) > 32_000
		},
		OperatorOctets: true,
		Excluded:       notPlayed(),
	}
}

// lender returns what lends places to the subtests of t.
func (d hsqldbDatabases) lender(t *testing.T) func(t testing.TB) contract.Place {
	t.Helper()
	empty := []string{"UPDATE applock.appl_lock_fence SET fence = 0", "DROP TABLE IF EXISTS protected"}
	for _, table := range []string{"appl_lock", "appl_lock_waiter", "appl_lock_ask", "appl_lock_viewer", "appl_lock_event", "appl_lock_policy"} {
		empty = append(empty, "DELETE FROM applock."+table)
	}
	return contract.NewPlaces(t, d.place, empty...).Take
}

// notPlayed are the interleavings that HSQLDB does not play with row versions, with the reasons.
func notPlayed() map[string]string {
	const (
		noTimeout = "HSQLDB has no lock timeout"
		noClause  = "HSQLDB has no isolation clause in routines: TestRoutinesOnHSQLDB plays it with the level of the transaction"
	)
	return map[string]string{
		"get_waits_one_second":       noTimeout,
		"get_opposite_order":         noTimeout,
		"serialize_three":            "HSQLDB wakes those who wait in any order",
		"assert_after_own_release":   noClause,
		"assert_after_transfer":      noClause,
		"assert_keeps_from_transfer": noClause,
		"assert_keeps_grant":         noClause,
		"renew_passes_over_assert":   noClause,
		"transfers_pass_over_assert": noClause,
		"inbox_passes_over_ask":      "HSQLDB has no SKIP LOCKED: it waits for the row",
		"renew_against_takeover":     "it waits for what is lost elsewhere: TestRoutinesOnHSQLDB plays it",
		"ask_yield_against_release":  "HSQLDB runs the whole call again, which finds the object free: TestRoutinesOnHSQLDB plays it",
	}
}

// playedWithLocks are the interleavings that HSQLDB plays with locked tables.
func playedWithLocks() []string {
	return []string{"assert_after_own_release", "assert_after_transfer", "assert_keeps_from_transfer", "assert_keeps_grant", "assert_shared"}
}

// What the contract suite leaves open on HSQLDB, in a time zone that is UTC, so that rows can be put into the tables.
func TestRoutinesOnHSQLDB(t *testing.T) {
	t.Parallel()
	bridge := hsqldb.Start(t, testdb.HSQLDB(t), "UTC")
	for name, test := range map[string]func(t *testing.T, bridge *hsqldb.Bridge){
		"Assert":                       assertKeepsGrant,
		"AssertionNamesTheHolder":      assertionNamesTheHolder,
		"PollWritesOnceInAWhile":       pollWritesOnceInAWhile,
		"OneOfTheTwins":                oneOfTheTwins,
		"ChangeBetweenReadAndDecision": changeBetweenReadAndDecision,
		"NullKeepsWhatIsChanged":       nullKeepsWhatIsChanged,
		"TimeLeftOverMidnights":        timeLeftOverMidnights,
		"RenewalLeavesTheLostAlone":    renewalLeavesTheLostAlone,
		"RenewalRefusesDocuments":      renewalRefusesDocuments,
		"RenewalOfManyGrants":          renewalOfManyGrants,
		"RepairPutsBackWhatIsMissing":  repairPutsBackWhatIsMissing,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, bridge)
		})
	}
}

// excludedBut excludes all other interleavings.
func excludedBut(played ...string) map[string]string {
	excluded := map[string]string{}
	files, _ := fs.Glob(testdata.Interleavings, "interleavings/*.txt")
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
		return testclient.DB2(t, handle)
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

func (d hsqldbDatabases) place(t testing.TB) contract.Place {
	t.Helper()
	_, handle := d.open(t)
	client := testclient.DB2(t, handle)
	if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	return contract.Place{
		Client: client,
		Driver: clients.Driver(testclient.DB2(t, handle)),
		SQL:    handle,
		Table:  "applock.appl_lock",
		Executors: map[string]scenario.Executor{
			"call": callExecutor(handle, "applock"),
			"row":  rowExecutor(handle, "applock"),
		},
		Advance: func(ctx context.Context, duration time.Duration) error {
			return advance(ctx, handle, "applock", duration)
		},
		Waiting:           func(ctx context.Context) (int, error) { return d.waiting(ctx, handle) },
		Interpret:         db2.InterpretError,
		SnapshotConflicts: func(sql.IsolationLevel) bool { return false },
		KeepsView:         func(sql.IsolationLevel) bool { return false },
		ChecksView:        func(sql.IsolationLevel) bool { return false },
		RenewalsWait:      true, // on Db2 only polls do
		PurgesWait:        true,
	}
}

// waiting counts the sessions that wait, which HSQLDB shows in one way or the other.
func (d hsqldbDatabases) waiting(ctx context.Context, handle *sql.DB) (int, error) {
	waits := map[hsqldb.Control]string{hsqldb.MVCC: "THIS_WAITING_FOR <> ''", hsqldb.Locks: "LATCH_COUNT > 0"}[d.control]
	var count int
	err := handle.QueryRowContext(ctx, "SELECT COUNT(*) FROM INFORMATION_SCHEMA.SYSTEM_SESSIONS WHERE "+waits).Scan(&count)
	return count, err
}

// Goal: after a restore that has lost procedures the status names them, and repair creates them in an order that works,
// without touching a lock. Method: drop three, of which two call the third, while a lock is held; then a renewal.
func repairPutsBackWhatIsMissing(t *testing.T, bridge *hsqldb.Bridge) {
	t.Helper()
	place := hsqldbDatabases{bridge: bridge, control: hsqldb.MVCC}.place(t)
	request := applock.GetRequest{Object: applock.Object{Type: "customer", ID: "42"}, Owner: applock.Owner{Operator: "JDOE"}}
	lock, err := place.Client.Get(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	lost := []string{"get_appl_lock_row", "get_appl_lock_permit", "get_appl_lock"}
	for _, name := range lost {
		if _, err := place.SQL.ExecContext(t.Context(), "DROP PROCEDURE applock."+name); err != nil {
			t.Fatal(err)
		}
	}
	status, err := migrate.Status(t.Context(), place.Client)
	if err != nil || len(status.Findings) != len(lost) {
		t.Errorf("findings %v, %v, want %v", status.Findings, err, lost)
	}
	repaired, err := migrate.Repair(t.Context(), place.Client, migrate.RepairRequest{})
	if err != nil || len(repaired.Repaired) != len(lost) || len(repaired.Left) != 0 {
		t.Errorf("repaired %v, %v, want %v", repaired, err, lost)
	}
	again, err := migrate.Repair(t.Context(), place.Client, migrate.RepairRequest{})
	if err != nil || len(again.Repaired) != 0 {
		t.Errorf("repaired again %v, %v, want nothing", again, err)
	}
	if renewed, err := place.Client.Get(t.Context(), request); err != nil || renewed.Fence != lock.Fence {
		t.Errorf("after the repair: %v, %v, want a renewal of %v", renewed, err, lock)
	}
	var live *migrate.LiveLocksError
	if _, err := migrate.Down(t.Context(), place.Client, migrate.DownRequest{}); !errors.As(err, &live) || live.Locks != 1 {
		t.Errorf("down: %v, want a refusal for one lock", err)
	}
}
