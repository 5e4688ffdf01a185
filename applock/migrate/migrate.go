// Package migrate creates, updates and removes the table and the procedures that package applock works on. It is for
// programs that install; those that only lock do without it. It links goose, and pgx for PostgreSQL, but no other driver.
package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
	"github.com/applock/applock/internal/migrate/db2"
	"github.com/applock/applock/internal/migrate/mysql"
	"github.com/applock/applock/internal/migrate/postgres"
	"github.com/applock/applock/internal/migrate/sqlite"
)

// Migration is one step of the schema.
type Migration struct {
	// Version is the number of the step; it means the same in every dialect.
	Version int64
	// Name is that of its file.
	Name string
	// AppliedAt is when the step was applied, UTC; zero while it is pending.
	AppliedAt time.Time
	// Unknown is true for a step that the database has and this program does not know: it has no name then.
	Unknown bool
}

// NewerError means that the database has a step that this program does not know, so that it cannot tell what is right
// there: use the program of that release, or a later one. Locking goes on with older programs.
type NewerError struct {
	// Version is the newest step that the database has.
	Version int64
	// Contract is the version of the contract there; 0 when it cannot be read.
	Contract int
}

// Error says which program is wanted.
func (e *NewerError) Error() string { return (*migrate.NewerError)(e).Error() }

// LiveLocksError means that locks are live that would be lost. Nothing was changed.
type LiveLocksError struct {
	// Locks is how many.
	Locks int64
}

// Error says how many.
func (e *LiveLocksError) Error() string { return (*migrate.LiveLocksError)(e).Error() }

// UpRequest is how Up installs. Its zero value is usable.
type UpRequest struct {
	// DryRun returns the steps that would be applied, and changes nothing.
	DryRun bool
}

// UpResult is what Up has done.
type UpResult struct {
	// Steps are those that this call applied, in order; those that were there are not among them.
	Steps []Migration
}

// Up creates or updates the table and the procedures, and the file of a SQLite DSN, and returns the steps it applied. Any
// number of processes may run it on one database at once; each step is applied once. The steps are noted in the table
// appl_lock_goose, beside appl_lock, so that an application's own goose and this one do not see each other. It returns a
// *NewerError when the database is ahead of the program. It does not look whether what was applied before is still as it
// was: Status does.
func Up(ctx context.Context, client *applock.Client, request UpRequest) (UpResult, error) {
	var result UpResult
	err := run(ctx, client, "up", func(ctx context.Context, target migrate.Target) error {
		up := migrate.Up
		if request.DryRun {
			up = migrate.Pending
		}
		steps, err := up(ctx, target, migrate.Newest)
		result.Steps = migrations(steps)
		return err
	})
	return result, err
}

// DownRequest is how Down goes back. Its zero value is usable.
type DownRequest struct {
	// Force goes on where locks are live.
	Force bool
}

// DownResult is what Down has done.
type DownResult struct {
	// Steps are those that this call undid; none where none was applied.
	Steps []Migration
}

// Down undoes the newest step and returns it, or nothing when there is none. Undoing the first
// step drops the table with all its locks. While locks are live it returns a *LiveLocksError, unless it is forced; a lock
// that is taken meanwhile it does not see.
func Down(ctx context.Context, client *applock.Client, request DownRequest) (DownResult, error) {
	var result DownResult
	err := run(ctx, client, "down", func(ctx context.Context, target migrate.Target) error {
		steps, err := migrate.Down(ctx, target, request.Force)
		result.Steps = migrations(steps)
		return err
	})
	return result, err
}

// GotoRequest says to which step to go.
type GotoRequest struct {
	// Version is the newest step that shall be applied; 0 is none.
	Version int64
	// Force undoes steps where locks are live.
	Force bool
}

// GotoResult is what Goto has done.
type GotoResult struct {
	// Steps are those that this call applied, or undid, in the order in which it did; none where nothing was to do.
	Steps []Migration
	// Undone is true where it undid them.
	Undone bool
}

// Goto applies or undoes steps, as Up and Down do, until a step is the newest. On PostgreSQL and SQLite it undoes all of them or none. It
// returns ErrInvalid for one that this program does not know.
func Goto(ctx context.Context, client *applock.Client, request GotoRequest) (GotoResult, error) {
	var result GotoResult
	err := run(ctx, client, "goto", func(ctx context.Context, target migrate.Target) error {
		newest, err := migrate.NewestKnown(target.Migrations)
		if err != nil {
			return err
		}
		if request.Version < 0 || request.Version > newest {
			return &applock.InvalidError{Argument: "Version", Reason: fmt.Sprintf("must lie between 0 and %d", newest)}
		}
		steps, undone, err := migrate.Goto(ctx, target, request.Version, request.Force)
		result = GotoResult{Steps: migrations(steps), Undone: undone}
		return err
	})
	return result, err
}

// UninstallRequest is how Uninstall removes. Its zero value is usable.
type UninstallRequest struct {
	// Force goes on where locks are live.
	Force bool
}

// Uninstall undoes all steps and removes the version table, and the schema (on MySQL only one that was named)
// if nothing else is in it and the account may drop it. All locks are lost: while some are live it returns a *LiveLocksError, unless it is
// forced. On PostgreSQL and SQLite it is one transaction: an error means that everything is as it was. Elsewhere each statement counts by itself:
// after an error call it again. Uninstalling what is not installed is no error.
func Uninstall(ctx context.Context, client *applock.Client, request UninstallRequest) error {
	return run(ctx, client, "uninstall", func(ctx context.Context, target migrate.Target) error {
		return migrate.Uninstall(ctx, target, request.Force)
	})
}

// Part is what of an installation a finding is about.
type Part string

// The parts of an installation.
const (
	// PartSteps is what appl_lock_goose notes.
	PartSteps Part = "steps"
	// PartTables are the tables, their columns and indexes.
	PartTables Part = "tables"
	// PartRoutines are the procedures and functions, with their texts.
	PartRoutines Part = "routines"
	// PartViews are the views, with their columns and texts.
	PartViews Part = "views"
	// PartOwners are the accounts with whose rights routines run.
	PartOwners Part = "owners"
	// PartRights are the rights that nobody shall have.
	PartRights Part = "rights"
)

// Finding is something that is not as the applied steps have left it, after a restore for example.
type Finding struct {
	Part Part
	// Name is what it is about, such as "procedure get_appl_lock".
	Name string
	// Problem goes on from there, such as "is missing". It is for people.
	Problem string
	// Repairable is true for what Repair mends. Of what it does not mend, a backup may have the rest.
	Repairable bool
	// Statement is SQL that mends what somebody may have meant so: Repair leaves that to people. Empty for the others.
	Statement string
	// NeedsOwner is true for what Repair mends if its request names an Owner: the routines have the rights of an account that has too
	// many, or of one that is gone. In the second case Repairable is true as well. Repair without an Owner then makes the client's account
	// the owner, which has too many rights.
	NeedsOwner bool
}

// StatusRequest is what Status tells. Its zero value is usable.
type StatusRequest struct{}

// StatusResult is what is installed.
type StatusResult struct {
	// Steps are all that this program knows, in order, each with the time when it was applied, and those that only the
	// database has.
	Steps []Migration
	// Findings is what is not as the applied steps have left it: tables, indexes and routines that are missing or different,
	// other owners, owners with too many rights, rights that everybody has, and those of others to change a table.
	Findings []Finding
	// Compared are the parts that have been compared wholly. On Db2 and SQLite they are not all.
	Compared []Part
	// Newer is not nil where the database is ahead of this program. There are no findings then.
	Newer *NewerError
}

// Status returns all steps with the time each was applied, and what is not as they have left it. It changes nothing.
func Status(ctx context.Context, client *applock.Client, _ StatusRequest) (StatusResult, error) {
	var result StatusResult
	err := run(ctx, client, "status", func(ctx context.Context, target migrate.Target) error {
		steps, err := migrate.Status(ctx, target)
		result.Steps = migrations(steps)
		if err != nil {
			return err
		}
		found, err := migrate.Findings(ctx, target, steps)
		if errors.As(shown(err), &result.Newer) {
			result.Newer.Contract = contractOf(ctx, client)
			return nil
		}
		result.Findings = findings(found)
		for _, part := range target.Compares {
			result.Compared = append(result.Compared, Part(part))
		}
		result.Compared = append(result.Compared, PartViews)
		return err
	})
	return result, err
}

// RepairRequest is how Repair mends. Its zero value is usable.
type RepairRequest struct {
	// Owner is the account that shall own everything: a role of PostgreSQL, or NAME or NAME@HOST on MySQL and MariaDB, which has to exist
	// and to have what migrating needs. Empty leaves owners as they are, if they are one plain account. Elsewhere there are none to name.
	Owner string
}

// RepairResult is what Repair has done.
type RepairResult struct {
	// Repaired is what this call has mended, in order.
	Repaired []Finding
	// Left is what it cannot mend.
	Left []Finding
}

// Repair puts back what Status finds and can be put back: indexes, routines, their owner, and the rights that everybody
// shall not have. It touches no lock and grants nothing new. A named owner gets everything, and the grants stay. A routine that is as it should be it leaves alone, with its grants; one
// that is different is replaced, and on MySQL and MariaDB it gets its grants again where the client may read mysql.procs_priv, and loses them elsewhere. It may run again and again, also
// at once. Where no step is applied it returns ErrSchema.
func Repair(ctx context.Context, client *applock.Client, request RepairRequest) (RepairResult, error) {
	var result RepairResult
	err := run(ctx, client, "repair", func(ctx context.Context, target migrate.Target) error {
		if request.Owner != "" && !slices.Contains(target.Compares, migrate.PartOwners) {
			return &applock.InvalidError{Argument: "Owner", Reason: "is for PostgreSQL, MySQL and MariaDB only"}
		}
		target.Owner = request.Owner
		mended, left, err := migrate.Repair(ctx, target)
		result = RepairResult{Repaired: findings(mended), Left: findings(left)}
		if errors.Is(err, migrate.ErrNotInstalled) {
			err = fmt.Errorf("%w (%w)", applock.ErrSchema, err)
		}
		return err
	})
	return result, err
}

// contractOf returns the version of the contract in the database, 0 when it cannot be read.
func contractOf(ctx context.Context, client *applock.Client) int {
	version, err := client.Version(ctx)
	if err != nil {
		return 0
	}
	return version
}

func migrations(steps []migrate.Migration) []Migration {
	var all []Migration
	for _, step := range steps {
		all = append(all, Migration(step))
	}
	return all
}

func findings(found []migrate.Finding) []Finding {
	var all []Finding
	for _, finding := range found {
		all = append(all, Finding{
			Part: Part(finding.Part), Name: finding.Name, Problem: finding.Problem, Repairable: len(finding.Mend) > 0, Statement: finding.Statement,
			NeedsOwner: finding.NeedsOwner,
		})
	}
	return all
}

// shown returns an error as this package shows it.
func shown(err error) error {
	var newer *migrate.NewerError
	var live *migrate.LiveLocksError
	switch {
	case errors.As(err, &newer):
		return (*NewerError)(newer)
	case errors.As(err, &live):
		return (*LiveLocksError)(live)
	}
	return err
}

// run runs a command of goose on the client's database.
func run(
	ctx context.Context, client *applock.Client, name string, command func(context.Context, migrate.Target) error,
) error {
	var rights string
	err := onTarget(ctx, client, "migrate "+name, func(handle db.Handle, target migrate.Target) error {
		dialect, err := dialectOf(handle.Dialect)
		if err != nil {
			return err
		}
		err = shown(command(ctx, target))
		rights = cmp.Or(belongs(ctx, target, err), dialect.rights)
		var ahead *NewerError
		if errors.As(err, &ahead) {
			ahead.Contract = contractOf(ctx, client)
		}
		return err
	})
	if errors.Is(err, applock.ErrPrivilege) {
		err = fmt.Errorf("%w; %s", err, rights)
	}
	return err
}

// belongs says whose the installation is, to an account that may not do something because it is another one's; else it is empty.
func belongs(ctx context.Context, target migrate.Target, err error) string {
	if target.Denied == nil || db.KindOf(err) != db.KindPrivilege {
		return ""
	}
	told, unknown := target.Denied(ctx)
	if unknown != nil {
		return ""
	}
	return told
}

// ScriptRequest says which script Script returns.
type ScriptRequest struct {
	// Dialect is postgres (or postgresql), mysql (or mariadb), db2 or sqlite.
	Dialect string
	// Platform is luw (Linux, UNIX and Windows) or zos for db2; empty is luw. The others have none.
	Platform string
	// Schema is where to install; empty is the dialect's default.
	Schema string
	// From is the step that the database has, and To the one that it shall have. Zero is none; for To on the way up, and
	// for From on the way down, it is the newest.
	From, To int64
	// Down undoes steps: From is greater than To then.
	Down bool
}

// Script returns the steps on the way as SQL for the database's own command-line client, in one
// transaction where the dialect has transactions around DDL. Where the database does not have the step From, the script
// ends at its beginning with an error that says so, and nothing is changed; unlike Down it does not look for live locks.
// Script returns ErrInvalid for a dialect, platform, schema or step that cannot be.
func Script(request ScriptRequest) (string, error) {
	dialect, err := dialectOf(request.Dialect)
	if err != nil {
		return "", err
	}
	scriptFor, err := dialect.scriptFor(request.Platform)
	if err != nil {
		return "", err
	}
	way, err := dialect.way(request)
	if err != nil {
		return "", err
	}
	schema := cmp.Or(request.Schema, dialect.defaultSchema)
	script, err := scriptFor(schema, way)
	if err != nil {
		return "", &applock.InvalidError{Argument: "Schema", Reason: fmt.Sprintf("%q: %s", schema, err)}
	}
	return script, nil
}

// way returns where a script leads.
func (d dialect) way(request ScriptRequest) (migrate.Way, error) {
	fsys, err := d.migrations()
	if err != nil {
		return migrate.Way{}, err
	}
	newest, err := migrate.NewestKnown(fsys)
	if err != nil {
		return migrate.Way{}, err
	}
	way := migrate.Way{From: request.From, To: request.To}
	if request.Down {
		way.From = cmp.Or(way.From, newest)
	} else {
		way.To = cmp.Or(way.To, newest)
	}
	for _, end := range []struct {
		name string
		step int64
	}{{"From", way.From}, {"To", way.To}} {
		if end.step < 0 || end.step > newest {
			return way, &applock.InvalidError{Argument: end.name, Reason: fmt.Sprintf("must lie between 0 and %d", newest)}
		}
	}
	if request.Down && way.To >= way.From {
		return way, &applock.InvalidError{Argument: "To", Reason: fmt.Sprintf("must be less than %d on the way down", way.From)}
	}
	if !request.Down && way.To <= way.From {
		return way, &applock.InvalidError{Argument: "To", Reason: fmt.Sprintf("must be greater than %d on the way up", way.From)}
	}
	return way, nil
}

// dialect is what migrating has to know about one.
type dialect struct {
	name string
	// alias is another name, which people expect.
	alias         string
	defaultSchema string
	migrations    func() (fs.FS, error)
	target        func(db.Handle) (migrate.Target, error)
	// rights says what the account needs that migrates.
	rights string
	// granter says what the account needs that grants; empty where the owner may.
	granter string
	script  scriptFor
	// grants returns statements that give a role's rights; nil where nobody is granted anything.
	grants func(schema string, role db.Role, to string) ([]string, error)
	// revokes returns statements that take all rights from somebody who has these; nil where that is not known how.
	revokes func(schema, from string, rights []migrate.Right) ([]string, error)
	// guards makes triggers that assert; nil where there are none.
	guards *guards
	// platforms has the scripts of a dialect that differs from platform to platform.
	platforms map[string]scriptFor
}

// scriptFor returns SQL that leads a schema a way.
type scriptFor func(schema string, way migrate.Way) (string, error)

func dialects() []dialect {
	return []dialect{
		{
			name: "postgres", alias: "postgresql", defaultSchema: db.DefaultSchema,
			migrations: postgres.Migrations, target: postgres.Target, script: postgres.Script, grants: postgres.Grants, revokes: postgres.Revokes,
			guards: &guards{names: postgres.Names, up: postgres.Guard, down: postgres.Unguard},
			rights: "the account that migrates owns what it has installed, and needs CREATE on the database to install",
		},
		{
			name: "mysql", alias: "mariadb",
			migrations: mysql.Migrations, target: mysql.Target, script: mysql.Script, grants: mysql.Grants, revokes: mysql.Revokes,
			guards: &guards{names: mysql.Names, up: mysql.Guard, down: mysql.Unguard},
			rights: "the account that migrates needs SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, CREATE VIEW, SHOW VIEW," +
				" CREATE ROUTINE, ALTER ROUTINE and EXECUTE on the database",
			granter: "who grants needs GRANT OPTION, as administrators have, and the account that migrates need not",
		},
		{
			name: "db2", defaultSchema: db.DefaultSchema,
			migrations: db2.Migrations, target: db2.Target, script: db2.Script, grants: db2.Grants,
			platforms: map[string]scriptFor{"luw": db2.Script, "zos": db2.ScriptZOS},
			rights: "the account that migrates owns what it has installed, and must be able to create tables on the database" +
				" and routines in the schema to install",
		},
		{
			name: "sqlite", migrations: sqlite.Migrations, target: sqlite.Target, script: sqlite.Script,
			rights: "the account that migrates must be able to write the file and its directory",
		},
	}
}

func dialectOf(name string) (dialect, error) {
	var names []string
	for _, dialect := range dialects() {
		if name == dialect.name || name != "" && name == dialect.alias {
			return dialect, nil
		}
		names = append(names, dialect.name)
	}
	reason := fmt.Sprintf("%q must be one of %s", name, strings.Join(names, ", "))
	return dialect{}, &applock.InvalidError{Argument: "Dialect", Reason: reason}
}

// scriptFor returns the script of a platform, the usual one when the name is empty.
func (d dialect) scriptFor(platform string) (scriptFor, error) {
	if platform == "" {
		return d.script, nil
	}
	if script, known := d.platforms[platform]; known {
		return script, nil
	}
	reason := fmt.Sprintf("%q is not for %s, which is the same on all", platform, d.name)
	if len(d.platforms) > 0 {
		reason = fmt.Sprintf("%q must be one of %s", platform, strings.Join(slices.Sorted(maps.Keys(d.platforms)), ", "))
	}
	return nil, &applock.InvalidError{Argument: "Platform", Reason: reason}
}
