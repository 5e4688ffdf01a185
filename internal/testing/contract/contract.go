// Package contract is the contract of the operations as a library of tests. Each dialect runs all of it from a test file of some twenty
// lines.
package contract

import (
	"context"
	"database/sql"
	"io/fs"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/scenario"
)

// Backend is a dialect under test.
type Backend struct {
	// New returns an empty, migrated place for locks that no other test uses, and removes it when the test ends.
	New func(t testing.TB) Place
	// Empty returns a place that has never been migrated, and removes it when the test ends. Each call of the returned function opens
	// another client on it, as another process would.
	Empty func(t testing.TB) func() *applock.Client
	// Ways names the ways of calling in Place.Executors.
	Ways []string
	// Levels are the isolation levels that the interleavings run at. If there are none, the interleavings are skipped.
	Levels []sql.IsolationLevel
	// Excluded are interleavings that the backend cannot play, with the reason.
	Excluded map[string]string
	// Takes reports whether the tests leave out a text, because the engine accepts as text what the façade does not, such as NUL, or
	// refuses the text itself. Nil leaves out none.
	Takes func(value string) bool
	// OperatorOctets is true where the limit of an operator is one of bytes.
	OperatorOctets bool
	// JSONGrants is true where p_grants is JSON text. ConvertsJSON is true where the engine converts values of other JSON types to text.
	JSONGrants, ConvertsJSON bool
	// Slack is how much sooner than its ttl a lock may end that was got behind another transaction.
	Slack time.Duration
	// OneWriter is true where all writers of a database wait for each other.
	OneWriter bool
}

// Place is where locks are kept, with the ways to call the operations there.
type Place struct {
	Client *applock.Client
	// Driver is the driver below Client, for the operations that the façade does not export.
	Driver db.Driver
	// DSN opens the same place again.
	DSN string
	// SQL is a handle on the same place, for transactions and for the tests' own tables. It shares Client's pool, which has at most
	// maxConnections connections.
	SQL *sql.DB
	// Table is the name of appl_lock as SQL must write it.
	Table string
	// Executors has the ways of calling by name, except "facade", which is Client with Driver below it.
	Executors map[string]scenario.Executor
	// Advance moves the timestamps of all rows of all tables into the past, released_ts too, as if that time had passed.
	Advance func(ctx context.Context, duration time.Duration) error
	// Waiting counts the sessions of this place that wait for another session; interleavings need it.
	Waiting func(ctx context.Context) (int, error)
	// Interpret gives a bare SQL error the kind that the driver would give it.
	Interpret func(err error) error
	// SnapshotConflicts reports whether, at that level, a write fails if its row has changed since the transaction's snapshot. Elsewhere
	// the write continues with the new version.
	SnapshotConflicts func(level sql.IsolationLevel) bool
	// KeepsView reports whether all plain reads of a transaction see the same moment at that level.
	KeepsView func(level sql.IsolationLevel) bool
	// ChecksView reports whether locking a row fails at that level if the row has changed since the view was fixed.
	ChecksView func(level sql.IsolationLevel) bool
	// RefusalsLock is true where a refused call locks the row, and so waits for another session that has locked it.
	RefusalsLock bool
	// RenewalsWait is true where renewals, transfers and releases of many locks, and so polls, wait for a row that another transaction
	// has locked. PollsWait is true where only polls wait. Elsewhere they skip the row.
	RenewalsWait, PollsWait bool
	// PurgesWait is true where a purge waits for a transaction that is changing one of its rows.
	PurgesWait bool
}

// eachFile parses all files of testdata of one kind and calls use with each name and content.
func eachFile[T any](t *testing.T, files fs.FS, parse func(text string) (T, error), use func(name string, parsed T)) {
	t.Helper()
	names, err := fs.Glob(files, "*/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range names {
		text, err := fs.ReadFile(files, file)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parse(string(text))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		use(strings.TrimSuffix(path.Base(file), ".txt"), parsed)
	}
}

// Exercise runs the contract but for what ExerciseLong has.
func Exercise(t *testing.T, backend Backend) {
	t.Helper()
	t.Run("Scenarios", func(t *testing.T) { Scenarios(t, backend) })
	t.Run("Interleavings", func(t *testing.T) { Interleavings(t, backend) })
	t.Run("Migrations", func(t *testing.T) { migrations(t, backend) })
	t.Run("Transactions", func(t *testing.T) { transactions(t, backend) })
	t.Run("Permits", func(t *testing.T) { permits(t, backend) })
	t.Run("Contention", func(t *testing.T) { contention(t, backend) })
	t.Run("TwoGetsNoRow", func(t *testing.T) { twoGetsNoRow(t, backend) })
	t.Run("Fences", func(t *testing.T) { fences(t, backend) })
	t.Run("FencesAfterPurge", func(t *testing.T) { fencesAfterPurge(t, backend) })
	t.Run("Views", func(t *testing.T) { views(t, backend) })
	t.Run("Lists", func(t *testing.T) { lists(t, backend) })
	t.Run("SelectedAfter", func(t *testing.T) { selectedAfter(t, backend) })
	t.Run("SelectedTimes", func(t *testing.T) { selectedTimes(t, backend) })
	t.Run("Purges", func(t *testing.T) { purges(t, backend) })
	t.Run("Waiters", func(t *testing.T) { waiters(t, backend) })
	t.Run("WaitingAtOnce", func(t *testing.T) { waitingAtOnce(t, backend) })
	t.Run("InboxPositions", func(t *testing.T) { positions(t, backend) })
	t.Run("InTx", func(t *testing.T) { inTx(t, backend) })
	t.Run("InTxAtOnce", func(t *testing.T) { inTxAtOnce(t, backend) })
	t.Run("TimeLeft", func(t *testing.T) { timeLeft(t, backend) })
	t.Run("Clock", func(t *testing.T) { clock(t, backend) })
	t.Run("ClockInTransaction", func(t *testing.T) { clockInTransaction(t, backend) })
	t.Run("RollbackEndsAWait", func(t *testing.T) { rollbackEndsAWait(t, backend) })
	t.Run("ClockSetBack", func(t *testing.T) { clockSetBack(t, backend) })
	t.Run("StandingTime", func(t *testing.T) { standingTime(t, backend) })
	t.Run("Cancellation", func(t *testing.T) { cancellation(t, backend) })
	t.Run("RenewalsNeverShorten", func(t *testing.T) { renewalsNeverShorten(t, backend) })
	t.Run("RenewalsActOnce", func(t *testing.T) { renewalsActOnce(t, backend) })
	t.Run("RenewedThenTaken", func(t *testing.T) { renewedThenTaken(t, backend) })
	t.Run("Passes", func(t *testing.T) { passes(t, backend) })
	t.Run("NothingSent", func(t *testing.T) { nothingSent(t, backend) })
}

// ExerciseLong runs the rest of the contract: thousands of arguments of each operation, and desks of many people.
func ExerciseLong(t *testing.T, backend Backend) {
	t.Helper()
	t.Run("Desks", func(t *testing.T) { desks(t, backend) })
	t.Run("DesksAtOnce", func(t *testing.T) { desksAtOnce(t, backend) })
	t.Run("HostileArguments", func(t *testing.T) { hostileArguments(t, backend) })
	t.Run("RandomArguments", func(t *testing.T) { randomArguments(t, backend) })
	t.Run("HostileGrants", func(t *testing.T) { hostileGrants(t, backend) })
	t.Run("SelectedKeys", func(t *testing.T) { selectedKeys(t, backend) })
}
