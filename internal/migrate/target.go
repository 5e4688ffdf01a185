// Package migrate creates, updates and removes the table and the procedures, with goose. Its subpackages have the dialects' parts: the
// goose store, the lock between migrators, and the script.
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

// VersionTable is goose's version table for our steps, in the schema of appl_lock. An application's own goose uses goose_db_version, so the
// two stay separate.
const VersionTable = "appl_lock_goose"

// Target is a database as goose needs it.
type Target struct {
	db.Handle
	Migrations fs.FS
	// Versions reads and writes goose's version table.
	Versions database.Store
	// HasVersions reports whether goose's version table exists.
	HasVersions func(ctx context.Context) (bool, error)
	// Prepare creates what goose requires, with its version table.
	Prepare func(ctx context.Context, versions database.Store) error
	// Dependents is the query for others' objects that depend on ours and prevent their removal; empty if nothing can.
	Dependents string
	// Remove removes what Prepare has created.
	Remove func(ctx context.Context, client Client) error
	// UndoesDDL is true if a rollback restores dropped objects. Then a way down is one transaction, with several statements per message.
	UndoesDDL bool
	// SessionLocker separates concurrent migrators; nil if the dialect relies on retries.
	SessionLocker lock.SessionLocker
	// Rights returns the rights on routines and views; nil if the dialect has none, or its catalogue is not read.
	Rights func(ctx context.Context) ([]Right, error)
	// Granted and Revoked return an error if a GRANT or REVOKE, which have not failed, have not had their effect; nil where they fail.
	Granted func(ctx context.Context, client Client, role db.Role, to string) error
	Revoked func(ctx context.Context, client Client, from string) error
	// Denied explains a missing right to an account that does not own the installation. It returns an empty text if that is not the reason.
	// It is nil if accounts own nothing.
	Denied func(ctx context.Context) (string, error)
	// Now is the server's time as an expression.
	Now string
	// Split divides a block of several statements; nil if no block has several.
	Split func(block string) []string
	// Inspect compares the routines, the texts and owners of the views, and what else the dialect supports. The views and their columns have
	// been checked before.
	Inspect func(ctx context.Context, client Client, want Installation) ([]Finding, error)
	// Obstacles finds what breaks views and routines whatever their texts, so it must be mended first; nil if nothing can.
	Obstacles func(ctx context.Context, client Client, want Installation) ([]Finding, error)
	// Owner is the wanted owner of a repair; empty keeps the owners.
	Owner string
	// CreateView returns the statements that create or replace a view of a migration, with its grants if the dialect keeps them; nil if the
	// view's own statements suffice.
	CreateView func(view *RoutineText) []string
	// ViewOwner returns the account whose rights a view uses, if this user may see it; nil if the server reports it otherwise.
	ViewOwner func(ctx context.Context, client Client, view string) (string, error)
	// Repeatable is true if a step may be applied again to its own result.
	Repeatable bool
	// Compares are the parts that Inspect compares completely.
	Compares []Part
	// Look returns the surroundings; nil if the dialect has no query for them.
	Look func(ctx context.Context, conn *sql.Conn) (Surroundings, error)
	// Horizon returns the holders of old versions of rows; nil if there are none on this product.
	Horizon func(ctx context.Context, conn *sql.Conn) (Horizon, error)
	// Clock is the query for the server's time, in microseconds since 1970; empty if the server uses this host's clock.
	Clock string
	// Schemas is the query for the schemas with applock; empty if a database has one schema, or others are hidden.
	Schemas string
	// Stale is the query over the first StaleRows rows of appl_lock. It returns the number read, the number free for longer than its
	// argument in seconds, and the seconds of the oldest.
	Stale string
	// OfType is the condition for rows about objects of a type, its argument.
	OfType string
}

// DeleteType deletes all rows about objects of a type, each table's in a transaction of its own.
func (t Target) DeleteType(ctx context.Context, objectType string) error {
	for _, table := range []string{"appl_lock", "appl_lock_waiter", "appl_lock_ask", "appl_lock_viewer", "appl_lock_event", "appl_lock_policy"} {
		err := InTx(ctx, t.DB, func(client Client) error {
			_, err := client.ExecContext(ctx, "DELETE FROM "+t.Qualify(table)+" WHERE "+t.OfType, objectType)
			return err
		})
		if err != nil {
			return t.Interpret(ctx, err)
		}
	}
	return nil
}

// creating returns the statements that create a view.
func (t Target) creating(view *RoutineText) []string {
	if t.CreateView != nil {
		return t.CreateView(view)
	}
	return view.Texts()
}

// Migration is one migration and when it was applied; AppliedAt is zero while it is pending.
type Migration struct {
	Version   int64
	Name      string
	AppliedAt time.Time
	// Unknown is true for a migration that only the database has.
	Unknown bool
}

// Newest is the version for applying all migrations.
const Newest = math.MaxInt64

// Up applies the pending migrations up to a version and returns them. Any number of processes may run it on one database at once: each
// migration is applied by one of them.
func Up(ctx context.Context, target Target, to int64) ([]Migration, error) {
	provider, err := newProvider(target)
	if err != nil {
		return nil, err
	}
	if err := target.Prepare(ctx, target.Versions); err != nil {
		return nil, err
	}
	if err := adopt(ctx, target); err != nil {
		return nil, err
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
		// Without a session locker, another process may have applied the same migration first. The next round continues behind it.
		var partial *goose.PartialError
		if !errors.As(err, &partial) {
			return nil, err
		}
		version, versionErr := provider.GetDBVersion(ctx)
		if versionErr != nil || version < partial.Failed.Source.Version {
			return nil, fmt.Errorf("%s: %w", path.Base(partial.Failed.Source.Path), target.Interpret(ctx, partial.Err))
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

// Down undoes the newest applied migration and returns it, or nothing if none is applied.
func Down(ctx context.Context, target Target, force bool) ([]Migration, error) {
	steps, err := Status(ctx, target)
	if err != nil {
		return nil, err
	}
	newest := newestOf(steps)
	if newest == 0 {
		return nil, nil
	}
	return downTo(ctx, target, newest-1, force, nil)
}

// Goto applies or undoes migrations until a version is the newest. It returns those, and whether they were undone.
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
		done, err = downTo(ctx, target, to, force, nil)
		return done, true, err
	case newest < to:
		done, err = Up(ctx, target, to)
	}
	return done, false, err
}

// Uninstall undoes all migrations and removes the version table, and the schema if it is empty then. A second, concurrent call finds
// nothing to do.
func Uninstall(ctx context.Context, target Target, force bool) error {
	exists, err := target.HasVersions(ctx)
	if err != nil || !exists {
		return err
	}
	if _, err = downTo(ctx, target, 0, force, target.Remove); err == nil {
		return nil
	}
	if exists, unknown := target.HasVersions(ctx); unknown == nil && !exists {
		return nil // another process has removed it
	}
	return err
}

// downTo undoes all migrations above a version and returns them, the newest first. It ends with follows unless that is nil.
func downTo(
	ctx context.Context, target Target, to int64, force bool, follows func(context.Context, Client) error,
) ([]Migration, error) {
	undoing, err := above(ctx, target, to, force)
	if err != nil || len(undoing) == 0 && follows == nil {
		return nil, err
	}
	if target.UndoesDDL {
		if err := undo(ctx, target, undoing, follows); err != nil {
			if named := refuseDependents(ctx, target); errors.Is(named, ErrDependents) {
				return nil, fmt.Errorf("%w (%w)", named, err)
			}
			return nil, err
		}
		return undoing, nil
	}
	undone, err := stepDown(ctx, target, to)
	if err == nil && follows != nil {
		err = follows(ctx, target.DB)
	}
	return undone, err
}

// above returns the applied migrations above a version, the newest first. Unless forced, it refuses while locks are live. It always refuses
// if others' objects depend on ours.
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
		if err := refuseLive(ctx, target, version); err != nil {
			return nil, err
		}
	}
	if version == 0 {
		err = refuseDependents(ctx, target)
	}
	return undoing, err
}

// stepDown undoes all migrations above a version, one by one. It completes what an earlier process has left half done.
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

// undo undoes migrations in one transaction, which ends with follows unless that is nil. If it fails, nothing has changed.
func undo(ctx context.Context, target Target, undoing []Migration, follows func(context.Context, Client) error) error {
	all := func(tx Client) error {
		for _, migration := range undoing {
			if err := undoIn(ctx, tx, target, migration); err != nil {
				return fmt.Errorf("nothing was undone: %s: %w", migration.Name, err)
			}
		}
		if follows == nil {
			return nil
		}
		if err := follows(ctx, tx); err != nil {
			return fmt.Errorf("nothing was undone: %w", err)
		}
		return nil
	}
	return onConn(ctx, target, func(conn *sql.Conn) error { return target.Interpret(ctx, InTx(ctx, conn, all)) })
}

// undoIn undoes one migration. The version's row is deleted first: on SQLite a transaction that begins with a write waits for its turn.
func undoIn(ctx context.Context, tx Client, target Target, migration Migration) error {
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

// onConn works on a connection of the pool, and makes other migrators wait.
func onConn(ctx context.Context, target Target, work func(conn *sql.Conn) error) (err error) {
	conn, err := target.Conn(ctx)
	if err != nil {
		return err
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

// refuseDependents names the objects that would block the last step after the others have been undone.
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

// ErrDependents means that others' objects depend on what is to be removed. Nothing has been undone.
var ErrDependents = errors.New("nothing was undone: drop these objects first, which depend on applock's")

// LiveLocksError means that live locks would be lost, or out of reach of programs.
type LiveLocksError struct {
	Locks int64
	// Kept is true if the tables, and so the locks, would stay.
	Kept bool
}

// Error states their number, and what would become of them.
func (e *LiveLocksError) Error() string {
	live := fmt.Sprintf("%d locks are live", e.Locks)
	if e.Locks == 1 {
		live = "1 lock is live"
	}
	if e.Kept {
		return live + ", and programs may be unable to renew or release live locks until the steps are applied again"
	}
	return live + " and would be lost"
}

// refuseLive refuses to undo the steps above a version while locks are live. Only the first step has the tables.
func refuseLive(ctx context.Context, target Target, version int64) error {
	var locks int64
	query := "SELECT COUNT(*) FROM " + target.Qualify("appl_lock") + " WHERE released_ts IS NULL AND expires_ts > " + target.Now
	if err := target.DB.QueryRowContext(ctx, query).Scan(&locks); err != nil {
		return fmt.Errorf("count the live locks: %w", target.Interpret(ctx, err))
	}
	if locks > 0 {
		return &LiveLocksError{Locks: locks, Kept: version > 0}
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

// Status returns all migrations in order, with the time each was applied, and those that only the database has. It changes nothing, not
// even in a database without applock.
func Status(ctx context.Context, target Target) ([]Migration, error) {
	provider, err := newProvider(target)
	if err != nil {
		return nil, err
	}
	return status(ctx, provider, target)
}

// Findings returns the deviations from the applied migrations. It returns an error if the database has an unknown one, since it cannot tell
// then. It changes nothing.
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
	known, err := Known(migrations)
	return known[len(known)-1], err
}
