// Package mysql is the part of MySQL and MariaDB of migrating.
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
	"github.com/applock/applock/internal/migrate"
	"github.com/applock/applock/migrations"
)

// Migrations returns the dialect's goose migrations.
func Migrations() fs.FS { return migrations.Of("mysql") }

// site is a database of a server, by default that of the connection.
type site struct{ db.Handle }

func (s site) versionTable() string { return s.Qualify(migrate.VersionTable) }

// Target returns the database of a handle for goose.
func Target(handle db.Handle) (migrate.Target, error) {
	s := site{handle}
	versions, err := database.NewStore(database.DialectMySQL, s.versionTable())
	if err != nil {
		return migrate.Target{}, err
	}
	return migrate.Target{
		Handle:      handle,
		Migrations:  Migrations(),
		Versions:    versionStore{Store: inInnoDB{versions}, table: s.versionTable()},
		HasVersions: s.connectedHasVersions,
		Prepare:     s.prepare,
		Remove:      s.remove,
		Rights:      s.rights,
		Revoked:     s.revoked,
		Now:         "UTC_TIMESTAMP(6)",
		Inspect:     s.inspect,
		Obstacles:   s.inspectLacking,
		CreateView:  createView,
		ViewOwner:   s.viewOwner,
		Repeatable:  true,
		Dependents:  s.dependents(),
		Compares: []migrate.Part{
			migrate.PartSteps, migrate.PartTables, migrate.PartRoutines, migrate.PartViews, migrate.PartOwners, migrate.PartRights,
		},
		Look:          look,
		Horizon:       horizon,
		Clock:         "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))",
		Stale:         s.stale(),
		OfType:        "object_type = ?",
		SessionLocker: &migrationLock{site: s},
	}, nil
}

// versionStore writes times in UTC, whatever the session's time zone. It reads them even through a pool that does not parse times.
type versionStore struct {
	database.Store
	table string
}

// inInnoDB is goose's store whose version table is as the steps' tables are, whatever the server's defaults are.
type inInnoDB struct{ database.Store }

// CreateVersionTable implements database.Store.
func (s inInnoDB) CreateVersionTable(ctx context.Context, client migrate.Client) error {
	return s.Store.CreateVersionTable(ctx, innoDB{client})
}

type innoDB struct{ migrate.Client }

// ExecContext adds to a CREATE TABLE.
func (c innoDB) ExecContext(ctx context.Context, create string, args ...any) (sql.Result, error) {
	return c.Client.ExecContext(ctx, create+" ENGINE = InnoDB ROW_FORMAT = DYNAMIC", args...)
}

// Insert implements database.Store.
func (s versionStore) Insert(ctx context.Context, client migrate.Client, request database.InsertRequest) error {
	_, err := client.ExecContext(ctx,
		"INSERT INTO "+s.table+" (version_id, is_applied, tstamp) VALUES (?, ?, UTC_TIMESTAMP())", request.Version, true)
	return err
}

// GetMigration implements database.Store.
func (s versionStore) GetMigration(ctx context.Context, client migrate.Client, version int64) (*database.GetMigrationResult, error) {
	var applied db.Moment
	var result database.GetMigrationResult
	row := client.QueryRowContext(ctx,
		"SELECT tstamp, is_applied FROM "+s.table+" WHERE version_id = ? ORDER BY tstamp DESC LIMIT 1", version)
	err := row.Scan(&applied, &result.IsApplied)
	result.Timestamp = applied.Time
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%w: %d", database.ErrVersionNotFound, version)
	}
	return &result, err
}

func (s site) connectedHasVersions(ctx context.Context) (bool, error) {
	conn, err := s.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close() }() // returns it to the pool
	return s.hasVersions(ctx, conn)
}

// hasVersions reads the table itself. The catalogue hides it from a user without the right to read it, who would then see all steps as
// pending. It is also useless if the DSN names no database.
func (s site) hasVersions(ctx context.Context, conn *sql.Conn) (bool, error) {
	err := conn.QueryRowContext(ctx, "SELECT version_id FROM "+s.versionTable()+" LIMIT 0").Scan(new(int64))
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	err = s.Interpret(ctx, err)
	if kind := db.KindOf(err); kind == db.KindSchema || kind == db.KindNoDatabase && s.Schema != "" {
		return false, nil
	}
	return false, err
}

// prepare creates the schema and goose's version table in it. goose would create them before it takes the lock. CREATE is not
// transactional, so each step may have been done before.
func (s site) prepare(ctx context.Context, versions database.Store) (err error) {
	conn, err := s.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	turn := &migrationLock{site: s}
	if err := turn.wait(ctx, conn); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, turn.SessionUnlock(context.WithoutCancel(ctx), conn)) }()
	if s.Schema != "" {
		// The constructor has validated the name, and CREATE DATABASE takes no parameter.
		if _, err := conn.ExecContext(ctx, "CREATE DATABASE IF NOT EXISTS "+s.Schema); err != nil {
			return fmt.Errorf("create database %s: %w", s.Schema, s.Interpret(ctx, err))
		}
	}
	exists, err := s.hasVersions(ctx, conn)
	if err != nil {
		return err
	}
	if !exists {
		if err := versions.CreateVersionTable(ctx, conn); err != nil {
			return s.Interpret(ctx, err)
		}
	}
	return s.Interpret(ctx, migrate.InsertFirst(ctx, conn, versions))
}

// dependents is the query for others' foreign keys to our tables. Ours have none.
func (s site) dependents() string {
	return `SELECT CONCAT('foreign key ', constraint_name, ' of table ', constraint_schema, '.', table_name)
		FROM information_schema.referential_constraints
		WHERE unique_constraint_schema = COALESCE(NULLIF('` + s.Schema + `', ''), DATABASE())
			AND referenced_table_name LIKE 'appl|_lock%' ESCAPE '|'`
}

// remove leaves the database, unless it was named as the schema and is empty.
func (s site) remove(ctx context.Context, client migrate.Client) error {
	if _, err := client.ExecContext(ctx, "DROP TABLE "+s.versionTable()); err != nil || s.Schema == "" {
		return s.Interpret(ctx, err)
	}
	used, err := migrate.Value[bool](ctx, client, `SELECT
		EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = ?)
		OR EXISTS (SELECT 1 FROM information_schema.routines WHERE routine_schema = ?)`, s.Schema, s.Schema)
	if err == nil && !used {
		_, err = client.ExecContext(ctx, "DROP DATABASE "+s.Schema)
	}
	return s.Interpret(ctx, err)
}

// migrationLock makes the migrators of a server take turns, on goose's own connection. It also selects the schema there.
type migrationLock struct {
	site
	// former is the connection's database before that.
	former sql.NullString
}

var _ lock.SessionLocker = (*migrationLock)(nil)

const (
	migrationLockName = "applock.migrate"
	// migrationLockSeconds is a day: the context ends the wait before that.
	migrationLockSeconds = 86400
)

func (l *migrationLock) wait(ctx context.Context, conn *sql.Conn) error {
	granted, err := migrate.Value[sql.NullBool](ctx, conn, "SELECT GET_LOCK(?, ?)", migrationLockName, migrationLockSeconds)
	if err != nil {
		return fmt.Errorf("wait for other migrators: %w", l.Interpret(ctx, err))
	}
	if !granted.Bool {
		return errors.New("wait for other migrators: GET_LOCK was refused")
	}
	return nil
}

// SessionLock waits in the server, so that the next migrator starts at once.
func (l *migrationLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	if err := l.wait(ctx, conn); err != nil {
		return err
	}
	if l.Schema == "" {
		return nil
	}
	if err := conn.QueryRowContext(ctx, "SELECT DATABASE()").Scan(&l.former); err != nil {
		return l.Interpret(ctx, err)
	}
	_, err := conn.ExecContext(ctx, "USE "+l.Schema)
	return l.Interpret(ctx, err)
}

// SessionUnlock restores the connection, even after a failed migration. A connection without a database stays in the schema, since MySQL
// cannot deselect it.
func (l *migrationLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	statements := []string{
		"DO RELEASE_LOCK('" + migrationLockName + "')",
		"SET SESSION sql_mode = COALESCE(@applock_sql_mode, @@SESSION.sql_mode)",
		"SET @applock_sql_mode = NULL", // the next unlock would otherwise undo the caller's setting
	}
	if l.former.Valid {
		statements = append(statements, "USE `"+strings.ReplaceAll(l.former.String, "`", "``")+"`")
	}
	return l.Interpret(ctx, migrate.Execute(ctx, conn, statements...))
}
