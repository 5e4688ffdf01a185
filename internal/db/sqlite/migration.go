package sqlite

import (
	"context"
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

// MigrationTarget shares the handle. Goose has no locker for SQLite: of several migrators one wins each
// migration, and db.MigrateUp lets the others go on from there.
func (d *Driver) MigrationTarget(context.Context) (db.MigrationTarget, error) {
	fsys, err := Migrations()
	if err != nil {
		return db.MigrationTarget{}, err
	}
	return db.MigrationTarget{
		DB:         d.handle,
		Dialect:    database.DialectSQLite3,
		TableName:  versionTable,
		Migrations: fsys,
		HasVersions: func(ctx context.Context) (bool, error) {
			exists, err := d.hasTable(ctx, versionTable)
			return exists, d.interpretError(ctx, err)
		},
		Remove: func(ctx context.Context) error {
			_, err := d.handle.ExecContext(ctx, "DROP TABLE "+versionTable)
			return d.interpretError(ctx, err)
		},
		Close: func() error { return nil },
	}, nil
}
