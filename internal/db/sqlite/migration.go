package sqlite

import (
	"context"
	"database/sql"
	"io/fs"

	"github.com/pressly/goose/v3/database"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/migrations"
)

// versionTable is goose's own default, so that plain goose and this package see the same versions.
const versionTable = "goose_db_version"

// Migrations returns the dialect's goose migrations.
func Migrations() (fs.FS, error) {
	return fs.Sub(migrations.FS, "sqlite")
}

// MigrationTarget opens a handle of its own if the driver opened the file, else it shares the caller's. Goose has no locker for SQLite: of several migrators one wins each migration, and db.MigrateUp lets the others
// go on from there.
func (d *Driver) MigrationTarget(context.Context) (db.MigrationTarget, error) {
	fsys, err := Migrations()
	if err != nil {
		return db.MigrationTarget{}, err
	}
	versions, err := database.NewStore(database.DialectSQLite3, versionTable)
	if err != nil {
		return db.MigrationTarget{}, err
	}
	handle, closeHandle := d.handle, func() error { return nil }
	if d.migrators != nil {
		if handle, err = d.migrators(); err != nil {
			return db.MigrationTarget{}, err
		}
		closeHandle = handle.Close
	}
	return db.MigrationTarget{
		DB:         handle,
		Migrations: fsys,
		Versions:   versions,
		HasVersions: func(ctx context.Context) (bool, error) {
			exists, err := hasTable(ctx, handle, versionTable)
			return exists, d.interpretError(ctx, err)
		},
		Prepare: func(ctx context.Context) error { return d.prepare(ctx, handle, versions) },
		Remove: func(ctx context.Context) error {
			_, err := handle.ExecContext(ctx, "DROP TABLE "+versionTable)
			return d.interpretError(ctx, err)
		},
		Close: closeHandle,
	}, nil
}

// prepare makes a version that is there for the second time an error, so that of two migrators that have
// chosen the same migration one is rolled back.
func (d *Driver) prepare(ctx context.Context, handle *sql.DB, versions database.Store) error {
	if err := createVersions(ctx, handle, versions); err != nil {
		// Another migrator may have been faster.
		if exists, hasErr := hasTable(ctx, handle, versionTable); hasErr != nil || !exists {
			return d.interpretError(ctx, err)
		}
	}
	_, err := handle.ExecContext(ctx,
		"CREATE UNIQUE INDEX IF NOT EXISTS goose_db_version_uk ON "+versionTable+" (version_id)")
	return d.interpretError(ctx, err)
}

func createVersions(ctx context.Context, handle *sql.DB, versions database.Store) (err error) {
	exists, err := hasTable(ctx, handle, versionTable)
	if err != nil || exists {
		return err
	}
	tx, err := handle.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback() // the first error tells more
		}
	}()
	if err := versions.CreateVersionTable(ctx, tx); err != nil {
		return err
	}
	if err := versions.Insert(ctx, tx, database.InsertRequest{Version: 0}); err != nil {
		return err
	}
	return tx.Commit()
}
