package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/migrations"
)

// versionTable is goose's own default, so that plain goose and this package see the same versions.
const versionTable = "goose_db_version"

// Migrations returns the dialect's goose migrations.
func Migrations() (fs.FS, error) {
	return fs.Sub(migrations.FS, "mysql")
}

// MigrationTarget shares the pool. Goose's version table lives in the schema it is about.
func (d *Driver) MigrationTarget(context.Context) (db.MigrationTarget, error) {
	fsys, err := Migrations()
	if err != nil {
		return db.MigrationTarget{}, err
	}
	versions, err := database.NewStore(database.DialectMySQL, d.qualify(versionTable))
	if err != nil {
		return db.MigrationTarget{}, err
	}
	versions = versionStore{Store: versions, table: d.qualify(versionTable)}
	return db.MigrationTarget{
		DB:            d.handle,
		Migrations:    fsys,
		Versions:      versions,
		HasVersions:   d.connectedHasVersions,
		Prepare:       func(ctx context.Context) error { return d.prepare(ctx, versions) },
		Remove:        d.remove,
		SessionLocker: &migrationLock{driver: d},
		Close:         func() error { return nil },
	}, nil
}

// versionStore writes times in UTC, whatever the session's time zone, and reads them also through a pool
// that does not parse times.
type versionStore struct {
	database.Store
	table string
}

// Insert implements database.Store.
func (s versionStore) Insert(ctx context.Context, client database.DBTxConn, request database.InsertRequest) error {
	_, err := client.ExecContext(ctx,
		"INSERT INTO "+s.table+" (version_id, is_applied, tstamp) VALUES (?, ?, UTC_TIMESTAMP())", request.Version, true)
	return err
}

// GetMigration implements database.Store.
func (s versionStore) GetMigration(ctx context.Context, client database.DBTxConn, version int64) (*database.GetMigrationResult, error) {
	var result database.GetMigrationResult
	row := client.QueryRowContext(ctx,
		"SELECT tstamp, is_applied FROM "+s.table+" WHERE version_id = ? ORDER BY tstamp DESC LIMIT 1", version)
	err := row.Scan(db.UTC(&result.Timestamp), &result.IsApplied)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%w: %d", database.ErrVersionNotFound, version)
	}
	return &result, err
}

func (d *Driver) connectedHasVersions(ctx context.Context) (bool, error) {
	conn, err := d.handle.Conn(ctx)
	if err != nil {
		return false, connectError(err)
	}
	defer func() { _ = conn.Close() }() // gives it back to the pool
	return d.hasVersions(ctx, conn)
}

// hasVersions asks the table itself: the catalogue hides it from a user who may not read it, to whom all
// steps would look pending, and finds it nowhere when the DSN names no database.
func (d *Driver) hasVersions(ctx context.Context, conn *sql.Conn) (bool, error) {
	err := conn.QueryRowContext(ctx, "SELECT version_id FROM "+d.qualify(versionTable)+" LIMIT 0").Scan(new(int64))
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	err = interpretError(err)
	if kind := db.KindOf(err); kind == db.KindSchema || kind == db.KindNoDatabase && d.schema != "" {
		return false, nil
	}
	return false, err
}

// prepare creates the schema and goose's version table in it, which goose would do before it takes the
// lock. Each step may have been done before: there are no transactions around CREATE.
func (d *Driver) prepare(ctx context.Context, versions database.Store) (err error) {
	conn, err := d.handle.Conn(ctx)
	if err != nil {
		return connectError(err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	turn := &migrationLock{driver: d}
	if err := turn.wait(ctx, conn); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, turn.SessionUnlock(context.WithoutCancel(ctx), conn)) }()
	if d.schema != "" {
		// WithSchema has checked the name, and CREATE DATABASE takes no parameter.
		if _, err := conn.ExecContext(ctx, "CREATE DATABASE IF NOT EXISTS "+d.schema); err != nil {
			return fmt.Errorf("create database %s: %w", d.schema, interpretError(err))
		}
	}
	exists, err := d.hasVersions(ctx, conn)
	if err != nil {
		return err
	}
	if !exists {
		if err := versions.CreateVersionTable(ctx, conn); err != nil {
			return interpretError(err)
		}
	}
	_, err = versions.GetLatestVersion(ctx, conn)
	if errors.Is(err, database.ErrVersionNotFound) {
		err = versions.Insert(ctx, conn, database.InsertRequest{Version: 0})
	}
	return interpretError(err)
}

// remove leaves the database, unless it was given as the schema and holds nothing else.
func (d *Driver) remove(ctx context.Context) error {
	if _, err := d.handle.ExecContext(ctx, "DROP TABLE "+d.qualify(versionTable)); err != nil || d.schema == "" {
		return interpretError(err)
	}
	var used bool
	row := d.handle.QueryRowContext(ctx, `SELECT
		EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = ?)
		OR EXISTS (SELECT 1 FROM information_schema.routines WHERE routine_schema = ?)`, d.schema, d.schema)
	if err := row.Scan(&used); err != nil || used {
		return interpretError(err)
	}
	_, err := d.handle.ExecContext(ctx, "DROP DATABASE "+d.schema)
	return interpretError(err)
}

// migrationLock makes migrators of the whole server take turns on goose's own connection, which it also
// connects to the schema.
type migrationLock struct {
	driver *Driver
	// former is the database that the connection had before.
	former sql.NullString
}

var _ lock.SessionLocker = (*migrationLock)(nil)

const (
	migrationLockName = "applock.migrate"
	// migrationLockSeconds is a day: the context ends the wait before that.
	migrationLockSeconds = 86400
)

func (l *migrationLock) wait(ctx context.Context, conn *sql.Conn) error {
	var granted sql.NullBool
	row := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, ?)", migrationLockName, migrationLockSeconds)
	if err := row.Scan(&granted); err != nil {
		return fmt.Errorf("wait for other migrators: %w", interpretError(err))
	}
	if !granted.Bool {
		return errors.New("wait for other migrators: GET_LOCK was refused")
	}
	return nil
}

// SessionLock waits for the other migrators in the server, so that the next one starts at once.
func (l *migrationLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	if err := l.wait(ctx, conn); err != nil {
		return err
	}
	if l.driver.schema == "" {
		return nil
	}
	if err := conn.QueryRowContext(ctx, "SELECT DATABASE()").Scan(&l.former); err != nil {
		return interpretError(err)
	}
	_, err := conn.ExecContext(ctx, "USE "+l.driver.schema)
	return interpretError(err)
}

// SessionUnlock leaves the connection as the pool lent it, also when a migration has failed half-way. Only
// one without a database stays in the schema: there is no way back to none.
func (l *migrationLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	statements := []string{
		"DO RELEASE_LOCK('" + migrationLockName + "')",
		"SET SESSION sql_mode = COALESCE(@applock_sql_mode, @@SESSION.sql_mode)",
		"SET @applock_sql_mode = NULL", // or else the next unlock would undo what the caller sets meanwhile
	}
	if l.former.Valid {
		statements = append(statements, "USE `"+strings.ReplaceAll(l.former.String, "`", "``")+"`")
	}
	for _, statement := range statements {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return interpretError(err)
		}
	}
	return nil
}
