package applock

import (
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

// MigrationScript returns the steps as SQL for the database's own command-line client, in one
// transaction where the dialect has transactions around DDL. The dialect is postgres, mysql or sqlite; an
// empty schema is the dialect's default.
func MigrationScript(dialect, schema string) (string, error) {
	entry, err := registry.ByName(dialect)
	if err != nil {
		return "", &InvalidError{Argument: "dialect", Reason: fmt.Sprintf("%q %s", dialect, err)}
	}
	if schema == "" {
		schema = entry.DefaultSchema
	}
	script, err := entry.Script(schema)
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
