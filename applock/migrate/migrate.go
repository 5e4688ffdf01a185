// Package migrate creates, updates and removes the table and the procedures that package applock works on. Programs that only lock do not
// need it. It links goose, and pgx for PostgreSQL, but no other driver.
package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/applock/applock/applock"
	_ "github.com/applock/applock/applock/internal/player" // whoever migrates can verify, which plays scenarios
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/dialects"
	"github.com/applock/applock/internal/migrate"
)

// Migration is one step of the schema.
type Migration struct {
	// Version is the number of the step, the same in every dialect.
	Version int64
	// Name is the name of the step's file.
	Name string
	// AppliedAt is the time when the step was applied, in UTC; zero while it is pending.
	AppliedAt time.Time
	// Unknown is true for a step of a newer program, which this one cannot name.
	Unknown bool
}

// NewerError means that a newer program has migrated the database. This program cannot tell what is right there: use that release or a
// later one. Locking still works.
type NewerError struct {
	// Version is the newest step in the database.
	Version int64
	// Contract is the contract's version there; 0 if it cannot be read.
	Contract int
}

// Error names the program that is needed.
func (e *NewerError) Error() string { return (*migrate.NewerError)(e).Error() }

// LiveLocksError means that live locks would be lost, or out of reach of programs. Nothing was changed.
type LiveLocksError struct {
	// Locks is their number.
	Locks int64
	// Kept is true if the tables, and so the locks, would stay, while programs may be unable to renew or release them.
	Kept bool
}

// Error states their number, and what would become of them.
func (e *LiveLocksError) Error() string { return (*migrate.LiveLocksError)(e).Error() }

// UpRequest configures Up. The zero value is usable.
type UpRequest struct {
	// DryRun only returns the steps that would be applied.
	DryRun bool
}

// UpResult is the result of Up.
type UpResult struct {
	// Steps are those that this call applied, in order.
	Steps []Migration
}

// Up creates or updates the table and the procedures, and with SQLite the file, and returns the steps it applied. Any number of processes
// may run it on one database at once; each step is applied once. The table appl_lock_goose records the steps, separately from an
// application's own goose. Up returns a *NewerError if the database is ahead of the program. It does not check earlier steps: Status does.
func Up(ctx context.Context, client *applock.Client, request UpRequest) (UpResult, error) {
	var result UpResult
	err := run(ctx, client, "up", func(target migrate.Target) error {
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

// DownRequest configures Down. The zero value is usable.
type DownRequest struct {
	// Force continues despite live locks.
	Force bool
}

// DownResult is the result of Down.
type DownResult struct {
	// Steps are those that this call undid.
	Steps []Migration
	// Lost are the roles that accounts have lost with the procedures. Applying the steps again does not grant them.
	Lost LostRoles
}

// LostRoles are roles that accounts have lost.
type LostRoles struct {
	Roles []RoleGrant
	// Known is false if the account may not read who has which rights, as on MySQL and MariaDB without SELECT on the database mysql.
	Known bool
}

// RoleGrant is a role of an account, as in GrantRequest.
type RoleGrant struct{ To, Role string }

// losing undoes steps, and returns what roles accounts have lost by it.
func losing(ctx context.Context, target migrate.Target, undo func() error) (lost LostRoles, err error) {
	if target.Rights == nil {
		return LostRoles{Known: true}, undo()
	}
	before, unknown := target.Rights(ctx)
	if err := undo(); err != nil || unknown != nil {
		return LostRoles{}, err
	}
	after, _ := target.Rights(ctx) // nobody has any where nothing is left
	lost.Known = true
	for _, role := range migrate.Lost(before, after) {
		lost.Roles = append(lost.Roles, RoleGrant{To: role.Grantee, Role: string(role.Role)})
	}
	return lost, nil
}

// Down undoes the newest step and returns it, or nothing if no step is applied. Undoing the first step drops the table with all its locks;
// undoing another step keeps them. If locks are live it returns a *LiveLocksError, unless it is forced. The check does not see a lock taken
// after it.
func Down(ctx context.Context, client *applock.Client, request DownRequest) (DownResult, error) {
	var result DownResult
	err := run(ctx, client, "down", func(target migrate.Target) error {
		lost, err := losing(ctx, target, func() error {
			steps, err := migrate.Down(ctx, target, request.Force)
			result.Steps = migrations(steps)
			return err
		})
		result.Lost = lost
		return err
	})
	return result, err
}

// GotoRequest selects the step.
type GotoRequest struct {
	// Version is the newest step that shall be applied; 0 undoes all.
	Version int64
	// Force undoes steps despite live locks.
	Force bool
}

// GotoResult is the result of Goto.
type GotoResult struct {
	// Steps are those that this call applied or undid, in that order.
	Steps []Migration
	// Undone is true if it undid them.
	Undone bool
	// Lost is that of DownResult.
	Lost LostRoles
}

// Goto applies or undoes steps, as Up and Down do, until the given step is the newest. On PostgreSQL and SQLite it undoes all of them or
// none. It returns ErrInvalid for an unknown step.
func Goto(ctx context.Context, client *applock.Client, request GotoRequest) (GotoResult, error) {
	var result GotoResult
	err := run(ctx, client, "goto", func(target migrate.Target) error {
		newest, err := migrate.NewestKnown(target.Migrations)
		if err != nil {
			return err
		}
		if request.Version < 0 || request.Version > newest {
			return invalid("Version", "must lie between 0 and %d", newest)
		}
		lost, err := losing(ctx, target, func() error {
			steps, undone, err := migrate.Goto(ctx, target, request.Version, request.Force)
			result = GotoResult{Steps: migrations(steps), Undone: undone}
			return err
		})
		result.Lost = lost
		return err
	})
	return result, err
}

// UninstallRequest configures Uninstall. The zero value is usable.
type UninstallRequest struct {
	// Force continues despite live locks.
	Force bool
}

// UninstallResult is the result of Uninstall.
type UninstallResult struct {
	// Lost is that of DownResult.
	Lost LostRoles
}

// Uninstall undoes all steps and removes the version table. It also removes an empty schema if the account may drop it; on MySQL only a
// named one. All locks are lost: if some are live it returns a *LiveLocksError, unless it is forced. On PostgreSQL and SQLite it is one
// transaction, and an error means that nothing has changed. Elsewhere each statement is committed by itself: after an error call it again.
// Uninstalling twice is no error.
func Uninstall(ctx context.Context, client *applock.Client, request UninstallRequest) (UninstallResult, error) {
	var result UninstallResult
	err := run(ctx, client, "uninstall", func(target migrate.Target) (err error) {
		result.Lost, err = losing(ctx, target, func() error { return migrate.Uninstall(ctx, target, request.Force) })
		return err
	})
	return result, err
}

// Part is the part of an installation that a finding concerns.
type Part string

// The parts of an installation.
const (
	// PartSteps is the record of steps in appl_lock_goose.
	PartSteps Part = "steps"
	// PartTables are the tables, their columns and indexes.
	PartTables Part = "tables"
	// PartRoutines are the procedures and functions, with their texts.
	PartRoutines Part = "routines"
	// PartViews are the views, with their columns and texts.
	PartViews Part = "views"
	// PartOwners are the accounts whose rights the routines use.
	PartOwners Part = "owners"
	// PartRights are excessive rights, such as those of PUBLIC.
	PartRights Part = "rights"
)

// Finding is a deviation from what the applied steps have created, after a restore for example.
type Finding struct {
	Part Part
	// Name is the thing concerned, such as "procedure get_appl_lock".
	Name string
	// Problem continues the sentence, such as "is missing". It is for people.
	Problem string
	// Repairable is true if Repair mends it. For the others look into a backup.
	Repairable bool
	// Statement is SQL that mends a change which may be intended, so that Repair does not undo it; empty for other findings.
	Statement string
	// NeedsOwner is true if Repair mends it when its request names an Owner: the routines run as an account that has too many rights, or
	// that is gone. If it is gone, Repairable is true as well: without an Owner, Repair makes the client's account the owner, which has too
	// many rights.
	NeedsOwner bool
}

// StatusResult is the result of Status.
type StatusResult struct {
	// Steps are all that this program knows, in order, followed by those that only the database has.
	Steps []Migration
	// Findings are the deviations: missing or different tables, indexes and routines, other owners, owners with too many rights, and
	// excessive rights of PUBLIC or of others on the tables.
	Findings []Finding
	// Compared are the parts that were compared completely. On Db2 and SQLite some are missing.
	Compared []Part
	// Newer is not nil if the database is ahead of this program. There are no findings then.
	Newer *NewerError
}

// Status returns all steps with their times, and the deviations from them. It changes nothing.
func Status(ctx context.Context, client *applock.Client) (StatusResult, error) {
	var result StatusResult
	err := run(ctx, client, "status", func(target migrate.Target) error {
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

// RepairRequest configures Repair. The zero value is usable.
type RepairRequest struct {
	// Owner is the account that shall own everything: a role of PostgreSQL, or NAME or NAME@HOST on MySQL and MariaDB. It must exist and
	// have the rights for migrating. Empty keeps a single plain owner. Other products have no owners to name.
	Owner string
}

// RepairResult is the result of Repair.
type RepairResult struct {
	// Repaired are the findings that this call mended, in order.
	Repaired []Finding
	// Left are the findings that it cannot mend.
	Left []Finding
}

// Repair mends the repairable findings of Status: indexes, routines, their owner, and excessive rights of PUBLIC. It touches no lock and
// grants nothing new. A named owner gets everything, and the grants stay. Correct routines stay as they are, with their grants. A different
// routine is replaced. On MySQL and MariaDB that drops its grants; Repair restores them if the client may read mysql.procs_priv. It may be
// repeated and run concurrently. If no step is applied it returns ErrSchema.
func Repair(ctx context.Context, client *applock.Client, request RepairRequest) (RepairResult, error) {
	var result RepairResult
	err := run(ctx, client, "repair", func(target migrate.Target) error {
		if request.Owner != "" && !slices.Contains(target.Compares, migrate.PartOwners) {
			return invalid("Owner", "is for PostgreSQL, MySQL and MariaDB only")
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

// Schemas returns the schemas of a PostgreSQL database in which applock is installed. Other products have none.
func Schemas(ctx context.Context, client *applock.Client) (schemas []string, err error) {
	err = onTarget(ctx, client, "schemas", func(_ dialects.Dialect, target migrate.Target) error {
		schemas, err = migrate.Schemas(ctx, target)
		return err
	})
	return schemas, err
}

// contractOf returns the version of the contract in the database, 0 if it cannot be read.
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

// shown converts an error of internal/migrate to the public types.
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

// run runs a goose command on the client's database.
func run(ctx context.Context, client *applock.Client, name string, command func(migrate.Target) error) error {
	var rights string
	err := onTarget(ctx, client, "migrate "+name, func(dialect dialects.Dialect, target migrate.Target) error {
		err := shown(command(target))
		rights = dialect.Rights
		if name == "up" {
			rights += "; then run it again"
		}
		rights = cmp.Or(belongs(ctx, target, err), rights)
		var ahead *NewerError
		if errors.As(err, &ahead) {
			ahead.Contract = contractOf(ctx, client)
		}
		return err
	})
	if errors.Is(err, applock.ErrPrivilege) && !errors.Is(err, db.ErrFileRights) {
		err = fmt.Errorf("%w; %s", err, rights)
	}
	return err
}

// belongs names the owner of the installation if the error comes from not being it; else it is empty.
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

// ScriptRequest selects the steps of Script.
type ScriptRequest struct {
	// Dialect is postgres (or postgresql), mysql (or mariadb), db2 or sqlite.
	Dialect string
	// Platform is luw (Linux, UNIX and Windows; the default) or zos for db2. Other dialects have none.
	Platform string
	// Schema is the schema to install into; empty is the dialect's default.
	Schema string
	// From is the step that the database has, To the wanted one. A zero To means the newest on the way up and none on the way down; a zero
	// From means none on the way up and the newest on the way down.
	From, To int64
	// Down undoes steps, so From is greater than To.
	Down bool
}

// Script returns steps as SQL for the database's own command-line client, in one transaction if the dialect supports that for DDL. If the
// database does not have the step From, the script stops at its beginning with an error and changes nothing. Unlike Down it does not check
// for live locks. Script returns ErrInvalid for an invalid dialect, platform, schema or step.
func Script(request ScriptRequest) (string, error) {
	dialect, err := dialectOf(request.Dialect)
	if err != nil {
		return "", err
	}
	scriptFor, err := scriptOf(dialect, request.Platform)
	if err != nil {
		return "", err
	}
	steps, err := way(dialect, request)
	if err != nil {
		return "", err
	}
	schema, err := schemaOf(dialect, request.Schema)
	if err != nil {
		return "", err
	}
	return scriptFor(schema, steps)
}

// way returns the steps of a script.
func way(d dialects.Dialect, request ScriptRequest) (migrate.Way, error) {
	newest, err := migrate.NewestKnown(d.Migrations())
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
			return way, invalid(end.name, "must lie between 0 and %d", newest)
		}
	}
	if request.Down && way.To >= way.From {
		return way, invalid("To", "must be less than %d on the way down", way.From)
	}
	if !request.Down && way.From == newest {
		return way, invalid("From", "%d is the newest step: a database that has it needs no script", newest)
	}
	if !request.Down && way.To <= way.From {
		return way, invalid("To", "must be greater than %d on the way up", way.From)
	}
	return way, nil
}

func dialectOf(name string) (dialects.Dialect, error) {
	dialect, known := dialects.Named(name)
	if known {
		return dialect, nil
	}
	var names []string
	for _, dialect := range dialects.All() {
		names = append(names, dialect.Name)
	}
	return dialect, invalid("Dialect", "%q must be one of %s", name, strings.Join(names, ", "))
}

// schemaOf returns the schema of a request: the named one, or the dialect's default.
func schemaOf(d dialects.Dialect, name string) (string, error) {
	schema := cmp.Or(name, d.DefaultSchema)
	if schema == "" {
		return "", nil
	}
	if err := d.CheckSchema(schema); err != nil {
		return "", invalid("Schema", "%q: %s", schema, err)
	}
	return schema, nil
}

// invalid returns the error of an argument.
func invalid(argument, reason string, args ...any) error {
	return &applock.InvalidError{Argument: argument, Reason: fmt.Sprintf(reason, args...)}
}

// scriptOf returns the script of a platform, the default one for an empty name.
func scriptOf(d dialects.Dialect, platform string) (dialects.ScriptFor, error) {
	if platform == "" {
		return d.Script, nil
	}
	if script, known := d.Platforms[platform]; known {
		return script, nil
	}
	if len(d.Platforms) > 0 {
		return nil, invalid("Platform", "%q must be one of %s", platform, strings.Join(slices.Sorted(maps.Keys(d.Platforms)), ", "))
	}
	return nil, invalid("Platform", "must be empty for %[2]s, which has one script for all platforms, and not %[1]q", platform, d.Name)
}
