// Package migrate creates, updates and removes the table and the procedures, with goose. The packages below it have what
// is special about a dialect: its goose store, who takes turns how, and its script.
package migrate

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"

	"github.com/applock/applock/internal/db"
)

// VersionTable is goose's version table. It is ours, in the schema of appl_lock: an application that uses goose in the
// same database has goose_db_version, and neither sees the other's steps.
const VersionTable = "appl_lock_goose"

// Target is a database as goose needs it.
type Target struct {
	DB         *sql.DB
	Migrations fs.FS
	// Versions reads and writes goose's version table.
	Versions database.Store
	// HasVersions tells whether goose's version table exists.
	HasVersions func(ctx context.Context) (bool, error)
	// Prepare creates what goose needs to begin with; nil where goose does that alone.
	Prepare func(ctx context.Context) error
	// Dependents is the query for what others have made of the tables, views and routines, and would not let them go; empty where nothing does.
	Dependents string
	// Remove removes what Prepare created, or goose in its place.
	Remove func(ctx context.Context, client database.DBTxConn) error
	// UndoesDDL is true where a rollback brings back what was dropped. There a way down is one transaction, of several statements a message.
	UndoesDDL bool
	// SessionLocker keeps concurrent migrators apart; nil where the dialect relies on retries.
	SessionLocker lock.SessionLocker
	// Rights returns who may call which routine and read which view; nil where nobody is granted anything, or the catalogue is not read.
	Rights func(ctx context.Context) ([]Right, error)
	// Denied tells an account that lacks a right that the installation is another one's, and how to go on. It is empty where that is not
	// the reason, and nil where no account owns anything.
	Denied func(ctx context.Context) (string, error)
	// Interpret gives an error of DB its kind.
	Interpret func(ctx context.Context, err error) error
	// Qualify puts what the dialect needs before the name of a table.
	Qualify func(table string) string
	// LiveLocks is the query that counts the locks that are live.
	LiveLocks string
	// Split parts a block of a migration that has several statements; nil where each has one.
	Split func(block string) []string
	// Inspect compares the routines, the texts and owners of the views, and what else the dialect can tell; nil where there is
	// nothing but tables. That each view is there with its columns is known already.
	Inspect func(ctx context.Context, client database.DBTxConn, want Installation) ([]Finding, error)
	// Obstacles finds what keeps views and routines from working whatever their texts are, and has to go first; nil where nothing can.
	Obstacles func(ctx context.Context, client database.DBTxConn, want Installation) ([]Finding, error)
	// Owner is whose a repair shall make everything; empty leaves that.
	Owner string
	// CreateView returns the statements that create a view of a migration, or replace it, with its grants where the dialect keeps
	// them; nil where the view's own statements do.
	CreateView func(view *RoutineText) []string
	// ViewOwner returns the account whose rights a view has, as far as this user may see that; nil where a server tells it otherwise.
	ViewOwner func(ctx context.Context, client database.DBTxConn, view string) (string, error)
	// Repeatable is true where a step may be applied to what it has left before.
	Repeatable bool
	// Compares are the parts that Inspect can tell everything of.
	Compares []Part
	// Look tells what lies between the program and the tables; nil where that is not known how.
	Look func(ctx context.Context, conn *sql.Conn) (Surroundings, error)
	// Horizon tells who keeps the server from removing former versions of rows; nil where nobody does.
	Horizon func(ctx context.Context, conn *sql.Conn) (Horizon, error)
	// Clock is the query for the server's time, in microseconds since 1970; empty where that is this host's.
	Clock string
	// Schemas is the query for the schemas that have applock; empty where a database has but one, or not everybody may see the others.
	Schemas string
	// Stale is the query that looks at the first rows of appl_lock, at most StaleRows: how many it has seen, how many of them
	// have been free for longer than its argument, in seconds, and for how many seconds the oldest of these.
	Stale string
	// OfType is the condition that a row is about objects of a type, its argument.
	OfType string
	// Close releases what Target has opened; nil where that is nothing.
	Close func() error
}

// DeleteType returns the statement that deletes from a table what is about objects of a type, its argument.
func (t Target) DeleteType(table string) string {
	return "DELETE FROM " + t.Qualify(table) + " WHERE " + t.OfType
}

// creating returns the statements that create a view.
func (t Target) creating(view *RoutineText) []string {
	if t.CreateView != nil {
		return t.CreateView(view)
	}
	var statements []string
	for _, statement := range view.Statements {
		statements = append(statements, strings.TrimSpace(statement.Text))
	}
	return statements
}

// Migration is one migration and when it was applied; AppliedAt is zero while it is pending.
type Migration struct {
	Version   int64
	Name      string
	AppliedAt time.Time
	// Unknown is true for one that the database has and this program has not.
	Unknown bool
}

// Newest is the version that Up leads to.
const Newest = math.MaxInt64

// Up applies the pending migrations up to a version and returns them. Any number of processes may run it on one
// database at once: each migration is applied by one of them.
func Up(ctx context.Context, target Target, to int64) ([]Migration, error) {
	provider, err := newProvider(target)
	if err != nil {
		return nil, err
	}
	if target.Prepare != nil {
		if err := target.Prepare(ctx); err != nil {
			return nil, err
		}
	}
	if err := newerThan(ctx, target); err != nil {
		return nil, err
	}
	var done []*goose.MigrationResult
	for {
		results, err := provider.UpTo(ctx, to)
		if err == nil {
			return applied(append(done, results...)), nil
		}
		// Without a session locker another process may have applied the same migration first:
		// then its version is there, and what is left is for another round.
		var partial *goose.PartialError
		if !errors.As(err, &partial) {
			return nil, err
		}
		version, versionErr := provider.GetDBVersion(ctx)
		if versionErr != nil || version < partial.Failed.Source.Version {
			return nil, err
		}
		done = append(done, partial.Applied...)
	}
}

// Pending returns what Up would apply.
func Pending(ctx context.Context, target Target, to int64) ([]Migration, error) {
	steps, err := Status(ctx, target)
	if err != nil {
		return nil, err
	}
	if err := newer(steps); err != nil {
		return nil, err
	}
	done := func(step Migration) bool { return !step.AppliedAt.IsZero() || step.Version > to }
	return slices.DeleteFunc(steps, done), nil
}

// Down undoes the newest applied migration and returns it, or nothing when there is none.
func Down(ctx context.Context, target Target, force bool) ([]Migration, error) {
	steps, err := Status(ctx, target)
	if err != nil {
		return nil, err
	}
	newest := newestOf(steps)
	if newest == 0 {
		return nil, nil
	}
	return downTo(ctx, target, newest-1, force)
}

// Goto applies or undoes migrations until a version is the newest. It returns what it has done, and whether that was
// undone.
func Goto(ctx context.Context, target Target, to int64, force bool) (done []Migration, undone bool, err error) {
	steps, err := Status(ctx, target)
	if errors.Is(err, fs.ErrNotExist) && to > 0 {
		steps, err = nil, nil // Up creates the file
	}
	if err != nil {
		return nil, false, err
	}
	switch newest := newestOf(steps); {
	case newest > to:
		done, err = downTo(ctx, target, to, force)
		return done, true, err
	case newest < to:
		done, err = Up(ctx, target, to)
	}
	return done, false, err
}

// Uninstall undoes all migrations and removes what they needed: the version table, and the schema if it
// is empty then. Whoever comes second has nothing to do.
func Uninstall(ctx context.Context, target Target, force bool) error {
	exists, err := target.HasVersions(ctx)
	if err != nil || !exists {
		return err
	}
	if err = uninstall(ctx, target, force); err == nil {
		return nil
	}
	if exists, unknown := target.HasVersions(ctx); unknown == nil && !exists {
		return nil // another process has removed it
	}
	return err
}

func uninstall(ctx context.Context, target Target, force bool) error {
	undoing, err := above(ctx, target, 0, force)
	if err != nil {
		return err
	}
	if target.UndoesDDL {
		return undo(ctx, target, undoing, target.Remove)
	}
	if _, err := stepDown(ctx, target, 0); err != nil {
		return err
	}
	return target.Remove(ctx, target.DB)
}

// downTo undoes all migrations above a version and returns them, the newest first.
func downTo(ctx context.Context, target Target, to int64, force bool) ([]Migration, error) {
	undoing, err := above(ctx, target, to, force)
	if err != nil || len(undoing) == 0 {
		return nil, err
	}
	if !target.UndoesDDL {
		return stepDown(ctx, target, to)
	}
	if err := undo(ctx, target, undoing, nil); err != nil {
		return nil, err
	}
	return undoing, nil
}

// above returns the applied migrations above a version, the newest first. Unless it is forced it refuses while there are locks that would be
// lost; it refuses, too, where something of others would be.
func above(ctx context.Context, target Target, version int64, force bool) ([]Migration, error) {
	steps, err := Status(ctx, target)
	if err != nil {
		return nil, err
	}
	if err := newer(steps); err != nil {
		return nil, err
	}
	var undoing []Migration
	for _, step := range slices.Backward(steps) {
		if step.Version > version && !step.AppliedAt.IsZero() {
			undoing = append(undoing, Migration{Version: step.Version, Name: step.Name})
		}
	}
	if len(undoing) == 0 {
		return nil, nil
	}
	if !force {
		if err := refuseLive(ctx, target); err != nil {
			return nil, err
		}
	}
	if version == 0 {
		err = refuseDependents(ctx, target)
	}
	return undoing, err
}

// stepDown undoes all migrations above a version, each by itself. What an earlier process has left undone is done then.
func stepDown(ctx context.Context, target Target, to int64) ([]Migration, error) {
	provider, err := newProvider(target)
	if err != nil {
		return nil, err
	}
	results, err := provider.DownTo(ctx, to)
	if err != nil {
		return nil, err
	}
	return applied(results), nil
}

// undo undoes migrations in one transaction, which ends with what follows unless that is nil. It changes nothing if it fails.
func undo(ctx context.Context, target Target, undoing []Migration, follows func(context.Context, database.DBTxConn) error) error {
	return onConn(ctx, target, func(conn *sql.Conn) error {
		return target.Interpret(ctx, undoOn(ctx, conn, target, undoing, follows))
	})
}

func undoOn(
	ctx context.Context, conn *sql.Conn, target Target, undoing []Migration, follows func(context.Context, database.DBTxConn) error,
) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit there is nothing to roll back
	for _, migration := range undoing {
		if err := undoIn(ctx, tx, target, migration); err != nil {
			return fmt.Errorf("nothing was undone: %s: %w", migration.Name, err)
		}
	}
	if follows != nil {
		if err := follows(ctx, tx); err != nil {
			return fmt.Errorf("nothing was undone: %w", err)
		}
	}
	return tx.Commit()
}

// undoIn undoes one migration. The note goes first: on SQLite a transaction that begins with a change waits for its turn.
func undoIn(ctx context.Context, tx *sql.Tx, target Target, migration Migration) error {
	if err := target.Versions.Delete(ctx, tx, migration.Version); err != nil {
		return err
	}
	text, err := fs.ReadFile(target.Migrations, migration.Name)
	if err != nil {
		return err
	}
	_, down, _ := strings.Cut(string(text), downAnnotation)
	_, err = tx.ExecContext(ctx, down)
	return err
}

// onConn works on a connection of the pool while other migrators wait.
func onConn(ctx context.Context, target Target, work func(conn *sql.Conn) error) (err error) {
	conn, err := target.DB.Conn(ctx)
	if err != nil {
		return db.NotSent(ctx, target.Interpret(ctx, err))
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if target.SessionLocker == nil {
		return work(conn)
	}
	if err := target.SessionLocker.SessionLock(ctx, conn); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.SessionLocker.SessionUnlock(context.WithoutCancel(ctx), conn)) }()
	return work(conn)
}

// refuseDependents names what would keep the last step from being undone when the others are undone already.
func refuseDependents(ctx context.Context, target Target) error {
	if target.Dependents == "" {
		return nil
	}
	dependents, err := sortedNames(ctx, target, target.Dependents)
	if err != nil || len(dependents) == 0 {
		return err
	}
	return fmt.Errorf("%w: %s", ErrDependents, strings.Join(dependents, ", "))
}

// ErrDependents means that something of others needs what is to be removed. Nothing has been undone.
var ErrDependents = errors.New("nothing was undone, because this depends on it and has to be dropped first")

// LiveLocksError means that locks are live that would be lost.
type LiveLocksError struct {
	Locks int64
}

// Error says how many.
func (e *LiveLocksError) Error() string {
	if e.Locks == 1 {
		return "1 lock is live and would be lost"
	}
	return fmt.Sprintf("%d locks are live and would be lost", e.Locks)
}

func refuseLive(ctx context.Context, target Target) error {
	var locks int64
	if err := target.DB.QueryRowContext(ctx, target.LiveLocks).Scan(&locks); err != nil {
		return fmt.Errorf("count the live locks: %w", target.Interpret(ctx, err))
	}
	if locks > 0 {
		return &LiveLocksError{Locks: locks}
	}
	return nil
}

// newestOf returns the newest applied version, or 0.
func newestOf(steps []Migration) (newest int64) {
	for _, step := range steps {
		if !step.AppliedAt.IsZero() {
			newest = max(newest, step.Version)
		}
	}
	return newest
}

// Status returns all migrations in order, with the time each was applied, also those that only the database has. It
// changes nothing, not even in a database that has never been migrated.
func Status(ctx context.Context, target Target) ([]Migration, error) {
	provider, err := newProvider(target)
	if err != nil {
		return nil, err
	}
	return status(ctx, provider, target)
}

// Findings returns what is not as the applied migrations have left it, and an error where the database has one that this
// program does not know: then it cannot tell. It changes nothing.
func Findings(ctx context.Context, target Target, steps []Migration) ([]Finding, error) {
	if err := newerOfOurs(steps); err != nil {
		return nil, err
	}
	return inspect(ctx, target, target.DB, steps)
}

func status(ctx context.Context, provider *goose.Provider, target Target) ([]Migration, error) {
	var migrations []Migration
	for _, source := range provider.ListSources() {
		migrations = append(migrations, migration(source))
	}
	exists, err := target.HasVersions(ctx)
	if err != nil || !exists {
		return migrations, err
	}
	there, err := target.Versions.ListMigrations(ctx, target.DB)
	if err != nil {
		return nil, target.Interpret(ctx, err)
	}
	newestKnown := migrations[len(migrations)-1].Version
	for _, version := range slices.Backward(there) {
		if version.Version > newestKnown && version.IsApplied {
			migrations = append(migrations, Migration{Version: version.Version, Unknown: true})
		}
	}
	slices.SortStableFunc(migrations, func(a, b Migration) int { return cmp.Compare(a.Version, b.Version) })
	migrations = slices.CompactFunc(migrations, func(a, b Migration) bool { return a.Version == b.Version })
	for i := range migrations {
		result, err := target.Versions.GetMigration(ctx, target.DB, migrations[i].Version)
		if err != nil && !errors.Is(err, database.ErrVersionNotFound) {
			return nil, target.Interpret(ctx, err)
		}
		if err == nil {
			migrations[i].AppliedAt = result.Timestamp.UTC()
		}
	}
	return migrations, nil
}

func newProvider(target Target) (*goose.Provider, error) {
	options := []goose.ProviderOption{goose.WithStore(target.Versions), goose.WithDisableGlobalRegistry(true)}
	if target.SessionLocker != nil {
		options = append(options, goose.WithSessionLocker(target.SessionLocker))
	}
	return goose.NewProvider(goose.DialectCustom, target.DB, target.Migrations, options...)
}

func applied(results []*goose.MigrationResult) []Migration {
	migrations := make([]Migration, len(results))
	for i, result := range results {
		migrations[i] = migration(result.Source)
	}
	return migrations
}

func migration(source *goose.Source) Migration {
	return Migration{Version: source.Version, Name: path.Base(source.Path)}
}

// NewestKnown returns the version of the newest migration of a dialect.
func NewestKnown(migrations fs.FS) (int64, error) {
	files, err := files(migrations)
	if err != nil {
		return 0, err
	}
	return files[len(files)-1].version, nil
}
