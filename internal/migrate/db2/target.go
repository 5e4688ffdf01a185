// Package db2 is Db2's part of migrating.
package db2

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"

	"github.com/applock/applock/internal/db"
	driver "github.com/applock/applock/internal/db/db2"
	"github.com/applock/applock/internal/migrate"
	"github.com/applock/applock/migrations"
)

// migrationTable has one row while a migrator works.
const migrationTable = "appl_lock_migration"

// Migrations returns the dialect's goose migrations.
func Migrations() fs.FS { return migrations.Of("db2") }

// site is a schema of a database.
type site struct{ db.Handle }

// Target returns the database of a handle for goose.
func Target(handle db.Handle) (migrate.Target, error) {
	s := site{handle}
	versions, err := database.NewStoreFromQuerier(s.Qualify(migrate.VersionTable), versionQueries{})
	if err != nil {
		return migrate.Target{}, err
	}
	return migrate.Target{
		Handle:        handle,
		Migrations:    Migrations(),
		Versions:      versions,
		HasVersions:   s.connectedHasVersions,
		Prepare:       s.prepare,
		Remove:        s.remove,
		Now:           now,
		Inspect:       s.inspect,
		Compares:      []migrate.Part{migrate.PartSteps},
		OfType:        "object_type = ?",
		SessionLocker: &migrationLock{site: s, owner: rand.Text()},
	}, nil
}

// versionQueries are goose's statements. None ends with ";", which Db2 refuses. Each version is unique: if two migrators choose the same
// migration, one is rolled back.
type versionQueries struct{}

func (versionQueries) CreateTable(table string) string {
	return "CREATE TABLE " + table + " (" +
		"version_id BIGINT NOT NULL, " +
		"is_applied SMALLINT NOT NULL, " +
		"tstamp TIMESTAMP NOT NULL, " +
		"CONSTRAINT appl_lock_goose_pk PRIMARY KEY (version_id))"
}

func (versionQueries) InsertVersion(table string) string {
	return "INSERT INTO " + table + " (version_id, is_applied, tstamp) VALUES (?, ?, " + now + ")"
}

func (versionQueries) DeleteVersion(table string) string {
	return "DELETE FROM " + table + " WHERE version_id = ?"
}

func (versionQueries) GetMigrationByVersion(table string) string {
	return "SELECT tstamp, is_applied FROM " + table + " WHERE version_id = ?"
}

func (versionQueries) ListMigrations(table string) string {
	return "SELECT version_id, is_applied FROM " + table + " ORDER BY version_id DESC"
}

func (versionQueries) GetLatestVersion(table string) string {
	return "SELECT MAX(version_id) FROM " + table
}

func (s site) connectedHasVersions(ctx context.Context) (exists bool, err error) {
	conn, err := s.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer func() { driver.GiveBack(conn, err) }()
	return s.exists(ctx, conn, migrate.VersionTable)
}

// exists reads the table itself, because the catalogue's tables have other names on z/OS.
func (s site) exists(ctx context.Context, conn *sql.Conn, table string) (bool, error) {
	err := driver.Rows(ctx, conn, "SELECT COUNT(*) FROM "+s.Qualify(table), nil, driver.Into(new(int64)))
	err = s.Interpret(ctx, err)
	if db.KindOf(err) == db.KindSchema {
		return false, nil
	}
	return err == nil, err
}

// prepare creates the tables for migrating, unless another migrator is faster.
func (s site) prepare(ctx context.Context, versions database.Store) (err error) {
	conn, err := s.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { driver.GiveBack(conn, err) }()
	if err := s.createMigrationTable(ctx, conn); err != nil {
		return err
	}
	err = s.create(ctx, conn, migrate.VersionTable, func() error { return versions.CreateVersionTable(ctx, conn) })
	if err != nil {
		return err
	}
	err = migrate.InsertFirst(ctx, conn, versions)
	if isDuplicate(err) {
		return nil
	}
	return s.Interpret(ctx, err)
}

func (s site) createMigrationTable(ctx context.Context, conn *sql.Conn) error {
	return s.create(ctx, conn, migrationTable, func() error {
		return migrate.Execute(ctx, conn, "CREATE TABLE "+s.Qualify(migrationTable)+" ("+
			"id INTEGER NOT NULL, "+
			"owner VARCHAR(64) NOT NULL, "+
			"expires_ts TIMESTAMP NOT NULL, "+
			"CONSTRAINT appl_lock_migration_pk PRIMARY KEY (id))")
	})
}

func (s site) create(ctx context.Context, conn *sql.Conn, table string, create func() error) error {
	exists, err := s.exists(ctx, conn, table)
	if err != nil || exists {
		return err
	}
	createErr := create()
	if createErr == nil {
		return nil
	}
	if exists, err := s.exists(ctx, conn, table); err == nil && exists {
		return nil
	}
	return s.Interpret(ctx, createErr)
}

func isDuplicate(err error) bool {
	diagnosis, answered := driver.AnswerOf(err)
	return answered && diagnosis.State == "23505"
}

// remove leaves the schema: only an administrator may drop it, and an empty one does no harm.
func (s site) remove(ctx context.Context, client migrate.Client) error {
	return s.Interpret(ctx, migrate.Execute(ctx, client,
		"DROP TABLE "+s.Qualify(migrate.VersionTable), "DROP TABLE "+s.Qualify(migrationTable)))
}

const (
	// migrationSeconds is how long a crashed migrator blocks the others.
	migrationSeconds = "300"
	migrationPause   = 200 * time.Millisecond
)

// migrationLock makes migrators take turns. The owner of the row in migrationTable migrates, for at most migrationSeconds. Db2 has no lock
// that belongs to a session, and a transaction's lock would block the migrations' own transactions. It also sets the schema of goose's
// connection.
type migrationLock struct {
	site
	owner string
	// former are the connection's schema and path before that.
	former registers
}

// registers resolve unqualified names on a connection: CURRENT SCHEMA those of tables, CURRENT PATH those of procedures.
type registers struct {
	schema, path string
}

func (r registers) statements() []string {
	return []string{"SET CURRENT SCHEMA = " + r.schema, "SET CURRENT PATH = " + r.path}
}

// EnterSchema returns the statements that make unqualified names on a connection refer to a schema.
func EnterSchema(schema string) []string {
	return registers{schema: schema, path: "SYSTEM PATH, " + schema}.statements()
}

var _ lock.SessionLocker = (*migrationLock)(nil)

const now = "CURRENT TIMESTAMP - CURRENT TIMEZONE"

// SessionLock waits for the other migrators.
func (l *migrationLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	// A database that was migrated by the printed script has no such table.
	if err := l.createMigrationTable(ctx, conn); err != nil {
		return err
	}
	for {
		taken, err := l.take(ctx, conn)
		if err != nil {
			err = fmt.Errorf("wait for other migrators: %w", l.Interpret(ctx, err))
		} else if taken {
			err = l.enterSchema(ctx, conn)
		}
		if err != nil {
			// The turn may have been taken even if the client reports the end of the context. goose ends it only after a success.
			_ = l.SessionUnlock(context.WithoutCancel(ctx), conn) // if that fails, the turn expires
			return err
		}
		if taken {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for other migrators: %w", ctx.Err())
		case <-time.After(migrationPause):
		}
	}
}

func (l *migrationLock) take(ctx context.Context, conn *sql.Conn) (bool, error) {
	table := l.Qualify(migrationTable)
	if err := migrate.Execute(ctx, conn, "DELETE FROM "+table+" WHERE expires_ts < "+now); err != nil {
		return false, err
	}
	insert := "INSERT INTO " + table + " (id, owner, expires_ts) VALUES (1, ?, " + now + " + (" + migrationSeconds + ") SECOND)" //nolint:gosec // names and numbers of ours
	_, err := conn.ExecContext(ctx, insert, l.owner)
	if isDuplicate(err) {
		return false, nil
	}
	return err == nil, err
}

// enterSchema makes the migrations' unqualified names refer to the schema.
func (l *migrationLock) enterSchema(ctx context.Context, conn *sql.Conn) error {
	row := conn.QueryRowContext(ctx, "SELECT CURRENT SCHEMA, CURRENT PATH FROM SYSIBM.SYSDUMMY1")
	if err := row.Scan(&l.former.schema, &l.former.path); err != nil {
		return l.Interpret(ctx, err)
	}
	l.former.schema = `"` + strings.TrimRight(l.former.schema, " ") + `"` // the path has quotes
	return l.Interpret(ctx, migrate.Execute(ctx, conn, EnterSchema(l.Schema)...))
}

// SessionUnlock restores the connection and ends the turn. If the connection fails, it is closed and the turn ended on another one.
func (l *migrationLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	if err := l.leave(ctx, conn); err == nil {
		return nil
	}
	driver.Discard(conn) // waits for the end of the connection's transaction
	return l.Interpret(ctx, l.end(ctx, l.DB))
}

func (l *migrationLock) end(ctx context.Context, client migrate.Client) error {
	_, err := client.ExecContext(ctx, "DELETE FROM "+l.Qualify(migrationTable)+" WHERE owner = ?", l.owner)
	return err
}

// leave ends the turn in a transaction of its own. That is refused while a migration's transaction is still being rolled back, in the
// background after the end of a context. Without its own transaction the end of the turn would be rolled back, too.
func (l *migrationLock) leave(ctx context.Context, conn *sql.Conn) error {
	if l.former != (registers{}) {
		if err := migrate.Execute(ctx, conn, l.former.statements()...); err != nil {
			return err
		}
	}
	return migrate.InTx(ctx, conn, func(tx migrate.Client) error { return l.end(ctx, tx) })
}
