package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/migrations"
)

// Migrations returns the dialect's goose migrations.
func Migrations() (fs.FS, error) {
	return fs.Sub(migrations.FS, "postgres")
}

// MigrationTarget shares the pool. Goose's version table lives in the schema it is about, so that
// several schemas of one database are migrated independently.
func (d *Driver) MigrationTarget(context.Context) (db.MigrationTarget, error) {
	fsys, err := Migrations()
	if err != nil {
		return db.MigrationTarget{}, err
	}
	versions, err := database.NewStore(database.DialectPostgres, versionTable(d.schema))
	if err != nil {
		return db.MigrationTarget{}, err
	}
	conn := stdlib.OpenDBFromPool(d.pool)
	return db.MigrationTarget{
		DB:            conn,
		Migrations:    fsys,
		Versions:      versions,
		HasVersions:   func(ctx context.Context) (bool, error) { return d.hasVersions(ctx, conn) },
		Prepare:       func(ctx context.Context) error { return d.prepare(ctx, conn, versions) },
		Remove:        func(ctx context.Context) error { return d.remove(ctx, conn) },
		SessionLocker: migrationLock{schema: d.schema},
		Close:         conn.Close,
	}, nil
}

func versionTable(schema string) string {
	return schema + ".goose_db_version"
}

func (d *Driver) hasVersions(ctx context.Context, client database.DBTxConn) (bool, error) {
	var exists bool
	row := client.QueryRowContext(ctx, "SELECT to_regclass($1) IS NOT NULL", versionTable(d.schema))
	err := row.Scan(&exists)
	return exists, interpretError(err)
}

// prepare creates the schema and goose's version table in it, which goose would create before it takes
// the lock, and only in a schema that exists.
func (d *Driver) prepare(ctx context.Context, conn *sql.DB, versions database.Store) (err error) {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return interpretError(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", migrationLockKey); err != nil {
		return fmt.Errorf("wait for other migrators: %w", interpretError(err))
	}
	exists, err := d.hasVersions(ctx, tx)
	if err != nil {
		return err
	}
	if !exists {
		if err := d.createVersions(ctx, tx, versions); err != nil {
			return err
		}
	}
	return interpretError(tx.Commit())
}

func (d *Driver) createVersions(ctx context.Context, tx *sql.Tx, versions database.Store) error {
	var exists bool
	row := tx.QueryRowContext(ctx, "SELECT to_regnamespace($1) IS NOT NULL", d.schema)
	if err := row.Scan(&exists); err != nil {
		return interpretError(err)
	}
	if !exists {
		// WithSchema has checked the name, and CREATE SCHEMA takes no parameter.
		if _, err := tx.ExecContext(ctx, "CREATE SCHEMA "+d.schema); err != nil {
			return fmt.Errorf("create schema %s: %w", d.schema, interpretError(err))
		}
	}
	if err := versions.CreateVersionTable(ctx, tx); err != nil {
		return interpretError(err)
	}
	return interpretError(versions.Insert(ctx, tx, database.InsertRequest{Version: 0}))
}

// remove leaves a schema that holds anything else.
func (d *Driver) remove(ctx context.Context, conn *sql.DB) error {
	if _, err := conn.ExecContext(ctx, "DROP TABLE "+versionTable(d.schema)); err != nil {
		return interpretError(err)
	}
	_, err := conn.ExecContext(ctx, "DROP SCHEMA "+d.schema)
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.Code == "2BP01" { // dependent objects still exist
		return nil
	}
	return interpretError(err)
}

// migrationLockKey is the advisory lock of all applock migrators of a database: "applock" in ASCII.
const migrationLockKey int64 = 0x6170706c6f636b

// migrationLock makes migrators take turns on goose's own connection, and tells the migrations the
// schema there.
type migrationLock struct {
	schema string
}

var _ lock.SessionLocker = migrationLock{}

// SessionLock waits for the other migrators in the server, so that the next one starts at once.
func (l migrationLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(
		ctx,
		"SELECT set_config('applock.schema', $1, false), pg_advisory_lock($2)",
		l.schema, migrationLockKey,
	)
	if err != nil {
		return fmt.Errorf("wait for other migrators: %w", interpretError(err))
	}
	return nil
}

// SessionUnlock leaves the connection as the pool lent it.
func (l migrationLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(
		ctx,
		"SELECT set_config('applock.schema', '', false), pg_advisory_unlock($1)",
		migrationLockKey,
	)
	return interpretError(err)
}
