package applock

import (
	"cmp"
	"context"
	"fmt"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/registry"
)

// Migration is one step of the schema; AppliedAt is zero while it is pending.
type Migration = db.Migration

// MigrateUp creates or updates the table and the procedures and returns the steps it applied. Any
// number of processes may run it on one database at once; each step is applied once.
func (c *Client) MigrateUp(ctx context.Context) ([]Migration, error) {
	migrations, err := db.MigrateUp(ctx, c.driver)
	return migrations, migrateError("up", err)
}

// MigrateDown undoes the newest step and returns it, or nothing when there is none. Undoing the first
// step drops the table with all its locks.
func (c *Client) MigrateDown(ctx context.Context) ([]Migration, error) {
	migrations, err := db.MigrateDown(ctx, c.driver)
	return migrations, migrateError("down", err)
}

// Uninstall undoes all steps and removes the version table, and the schema (on MySQL only one that was named)
// if nothing else is in it. All locks are lost. Uninstalling what is not installed is no error.
func (c *Client) Uninstall(ctx context.Context) error {
	return migrateError("down", db.Uninstall(ctx, c.driver))
}

// MigrationStatus returns all steps with the time each was applied. It changes nothing.
func (c *Client) MigrationStatus(ctx context.Context) ([]Migration, error) {
	migrations, err := db.MigrationStatus(ctx, c.driver)
	return migrations, migrateError("status", err)
}

// ScriptRequest says which script MigrationScript returns.
type ScriptRequest struct {
	// Dialect is postgres, mysql, db2 or sqlite.
	Dialect string
	// Platform is luw (Linux, UNIX and Windows) or zos for db2; empty is luw. The others have none.
	Platform string
	// Schema is where to install; empty is the dialect's default.
	Schema string
}

// MigrationScript returns the steps as SQL for the database's own command-line client, in one
// transaction where the dialect has transactions around DDL. It returns ErrInvalid for a dialect, platform or
// schema that cannot be.
func MigrationScript(request ScriptRequest) (string, error) {
	dialect, err := registry.ByName(request.Dialect)
	if err != nil {
		return "", &InvalidError{Argument: "dialect", Reason: fmt.Sprintf("%q %s", request.Dialect, err)}
	}
	scriptFor, err := dialect.ScriptFor(request.Platform)
	if err != nil {
		return "", &InvalidError{Argument: "platform", Reason: fmt.Sprintf("%q %s", request.Platform, err)}
	}
	schema := cmp.Or(request.Schema, dialect.DefaultSchema)
	script, err := scriptFor(schema)
	if err != nil {
		return "", &InvalidError{Argument: "schema", Reason: fmt.Sprintf("%q: %s", schema, err)}
	}
	return script, nil
}

func migrateError(direction string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("migrate %s: %w", direction, explain(err))
}
