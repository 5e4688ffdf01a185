// Package sqlite is SQLite's part of migrating.
package sqlite

import (
	"context"
	"io/fs"

	"github.com/pressly/goose/v3/database"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
	"github.com/applock/applock/migrations"
)

// Migrations returns the dialect's goose migrations.
func Migrations() fs.FS { return migrations.Of("sqlite") }

// site is a database file.
type site struct{ db.Handle }

// Target returns the database of a handle for goose, which has no locker for SQLite. Of several migrators one succeeds with each migration,
// and migrate.Up lets the others continue behind it.
func Target(handle db.Handle) (migrate.Target, error) {
	versions, err := database.NewStore(database.DialectSQLite3, migrate.VersionTable)
	if err != nil {
		return migrate.Target{}, err
	}
	s := site{handle}
	return migrate.Target{
		Handle:      handle,
		Migrations:  Migrations(),
		Versions:    versions,
		HasVersions: s.hasVersions,
		Prepare:     s.prepare,
		Now:         now,
		Inspect:     s.inspect,
		CreateView:  createView,
		Compares:    []migrate.Part{migrate.PartSteps, migrate.PartTables},
		Look:        s.look,
		Stale:       stale(),
		OfType:      "object_type = ?",
		UndoesDDL:   true,
		Remove: func(ctx context.Context, client migrate.Client) error {
			_, err := client.ExecContext(ctx, "DROP TABLE "+migrate.VersionTable)
			return err
		},
	}, nil
}

// now is the time in microseconds since 1970.
const now = "CAST(unixepoch('subsec') * 1000000 AS INTEGER)"

func (s site) hasVersions(ctx context.Context) (bool, error) {
	const query = "SELECT count(*) > 0 FROM sqlite_schema WHERE type = 'table' AND name = ?"
	exists, err := migrate.Value[bool](ctx, s.DB, query, migrate.VersionTable)
	return exists, s.Interpret(ctx, err)
}

// prepare creates the file if necessary. It makes versions unique: if two migrators choose the same migration, one is rolled back.
func (s site) prepare(ctx context.Context, versions database.Store) error {
	if s.Create != nil {
		if err := s.Create(ctx); err != nil {
			return err
		}
	}
	if err := s.createVersions(ctx, versions); err != nil {
		// Another migrator may have been faster.
		if exists, hasErr := s.hasVersions(ctx); hasErr != nil || !exists {
			return s.Interpret(ctx, err)
		}
	}
	_, err := s.DB.ExecContext(ctx,
		"CREATE UNIQUE INDEX IF NOT EXISTS appl_lock_goose_uk ON "+migrate.VersionTable+" (version_id)")
	return s.Interpret(ctx, err)
}

func (s site) createVersions(ctx context.Context, versions database.Store) error {
	exists, err := s.hasVersions(ctx)
	if err != nil || exists {
		return err
	}
	return migrate.InTx(ctx, s.DB, func(tx migrate.Client) error { return migrate.CreateVersions(ctx, tx, versions) })
}
