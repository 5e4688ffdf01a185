// Package migrate creates, updates and removes the table and the procedures that package applock works on. It is for
// programs that install; those that only lock do without it. It links goose, and pgx for PostgreSQL, but no other driver.
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
}

// UpRequest is how Up installs. Its zero value is usable.
type UpRequest struct{}

// UpResult is what Up has done.
type UpResult struct {
	// Steps are those that this call applied, in order; those that were there are not among them.
	Steps []Migration
}

// Up creates or updates the table and the procedures, and the file of a SQLite DSN, and returns the steps it applied. Any
// number of processes may run it on one database at once; each step is applied once. The steps are noted in the table
// appl_lock_goose, beside appl_lock, so that an application's own goose and this one do not see each other.
func Up(ctx context.Context, client *applock.Client, _ UpRequest) (UpResult, error) {
	steps, err := run(ctx, client, "up", migrate.Up)
	return UpResult{Steps: steps}, err
}

// DownRequest is how Down goes back. Its zero value is usable.
type DownRequest struct{}

// DownResult is what Down has done.
type DownResult struct {
	// Steps are those that this call undid; none where none was applied.
	Steps []Migration
}

// Down undoes the newest step and returns it, or nothing when there is none. Undoing the first
// step drops the table with all its locks.
func Down(ctx context.Context, client *applock.Client, _ DownRequest) (DownResult, error) {
	steps, err := run(ctx, client, "down", migrate.Down)
	return DownResult{Steps: steps}, err
}

// UninstallRequest is how Uninstall removes. Its zero value is usable.
type UninstallRequest struct{}

// Uninstall undoes all steps and removes the version table, and the schema (on MySQL only one that was named)
// if nothing else is in it. All locks are lost. Uninstalling what is not installed is no error.
func Uninstall(ctx context.Context, client *applock.Client, _ UninstallRequest) error {
	_, err := run(ctx, client, "down", func(ctx context.Context, target migrate.Target) ([]migrate.Migration, error) {
		return nil, migrate.Uninstall(ctx, target)
	})
	return err
}

// StatusRequest is what Status tells. Its zero value is usable.
type StatusRequest struct{}

// StatusResult is what is installed.
type StatusResult struct {
	// Steps are all that this program knows, in order, each with the time when it was applied.
	Steps []Migration
}

// Status returns all steps with the time each was applied. It changes nothing.
func Status(ctx context.Context, client *applock.Client, _ StatusRequest) (StatusResult, error) {
	steps, err := run(ctx, client, "status", migrate.Status)
	return StatusResult{Steps: steps}, err
}

// run runs a command of goose on the client's database.
func run(
	ctx context.Context, client *applock.Client, name string,
	command func(context.Context, migrate.Target) ([]migrate.Migration, error),
) (done []Migration, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("migrate %s: %w", name, applock.Explain(err))
		}
	}()
	handle, err := client.Driver().Handle()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, handle.Close()) }()
	dialect, err := dialectOf(handle.Dialect)
	if err != nil {
		return nil, err
	}
	target, err := dialect.target(handle)
	if err != nil {
		return nil, err
	}
	if target.Close != nil {
		defer func() { err = errors.Join(err, target.Close()) }()
	}
	migrations, err := command(ctx, target)
	for _, migration := range migrations {
		done = append(done, Migration(migration))
	}
	return done, err
}

// ScriptRequest says which script Script returns.
type ScriptRequest struct {
	// Dialect is postgres, mysql, db2 or sqlite.
	Dialect string
	// Platform is luw (Linux, UNIX and Windows) or zos for db2; empty is luw. The others have none.
	Platform string
	// Schema is where to install; empty is the dialect's default.
	Schema string
}

// Script returns the steps as SQL for the database's own command-line client, in one
// transaction where the dialect has transactions around DDL. It returns ErrInvalid for a dialect, platform or
// schema that cannot be.
func Script(request ScriptRequest) (string, error) {
	dialect, err := dialectOf(request.Dialect)
	if err != nil {
		return "", err
	}
	scriptFor, err := dialect.scriptFor(request.Platform)
	if err != nil {
		return "", err
	}
	schema := cmp.Or(request.Schema, dialect.defaultSchema)
	script, err := scriptFor(schema)
	if err != nil {
		return "", &applock.InvalidError{Argument: "Schema", Reason: fmt.Sprintf("%q: %s", schema, err)}
	}
	return script, nil
}

// dialect is what migrating has to know about one.
type dialect struct {
	name          string
	defaultSchema string
	target        func(db.Handle) (migrate.Target, error)
	script        scriptFor
	// grants returns statements that give a role's rights; nil where nobody is granted anything.
	grants func(schema string, role db.Role, to string) ([]string, error)
	// platforms has the scripts of a dialect that differs from platform to platform.
	platforms map[string]scriptFor
}

// scriptFor returns SQL that installs into a schema.
type scriptFor func(schema string) (string, error)

func dialects() []dialect {
	return []dialect{
		{name: "postgres", defaultSchema: db.DefaultSchema, target: postgres.Target, script: postgres.Script, grants: postgres.Grants},
		{name: "mysql", target: mysql.Target, script: mysql.Script, grants: mysql.Grants},
		{
			name: "db2", defaultSchema: db.DefaultSchema, target: db2.Target, script: db2.Script,
			grants:    db2.Grants,
			platforms: map[string]scriptFor{"luw": db2.Script, "zos": db2.ScriptZOS},
		},
		{name: "sqlite", target: sqlite.Target, script: sqlite.Script},
	}
}

func dialectOf(name string) (dialect, error) {
	var names []string
	for _, dialect := range dialects() {
		if dialect.name == name {
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
