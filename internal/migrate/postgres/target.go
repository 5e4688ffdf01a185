// Package postgres is PostgreSQL's part of migrating.
package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
	"github.com/applock/applock/internal/pgproduct"
	"github.com/applock/applock/migrations"
)

// Migrations returns the dialect's goose migrations.
func Migrations() fs.FS { return migrations.Of("postgres") }

// site is a schema of a database.
type site struct{ db.Handle }

// Target returns the database of a handle for goose.
func Target(handle db.Handle) (migrate.Target, error) {
	versions, err := database.NewStore(database.DialectPostgres, versionTable(handle.Schema))
	if err != nil {
		return migrate.Target{}, err
	}
	if handle.DB == nil {
		pool, ok := handle.Pool.(*pgxpool.Pool)
		if !ok {
			return migrate.Target{}, fmt.Errorf("migrate a pool of type %T", handle.Pool)
		}
		handle.DB = stdlib.OpenDBFromPool(pool)
		handle.Close = handle.DB.Close
	}
	s := site{handle}
	return migrate.Target{
		Handle:        handle,
		Migrations:    Migrations(),
		Versions:      versions,
		HasVersions:   func(ctx context.Context) (bool, error) { return s.hasVersions(ctx, s.DB) },
		Prepare:       s.prepare,
		Remove:        s.remove,
		UndoesDDL:     true,
		Rights:        s.rights,
		Granted:       s.granted,
		Revoked:       s.revoked,
		Denied:        s.denied,
		SessionLocker: migrationLock{s},
		Now:           "clock_timestamp()",
		Split:         migrate.SplitPostgres,
		Inspect:       s.inspect,
		CreateView:    s.recreating,
		Compares: []migrate.Part{
			migrate.PartSteps, migrate.PartTables, migrate.PartRoutines, migrate.PartOwners, migrate.PartRights,
		},
		Look:       look,
		Horizon:    s.horizon,
		Dependents: dependents(handle.Schema),
		Schemas: `SELECT DISTINCT n.nspname
			FROM pg_proc AS p
			JOIN pg_namespace AS n ON n.oid = p.pronamespace
			WHERE p.proname = 'get_appl_lock'
			ORDER BY n.nspname`,
		Clock:  "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
		Stale:  s.stale(),
		OfType: "object_type::text = $1",
	}, nil
}

// versionTable includes the schema, so that several schemas of one database are migrated independently.
func versionTable(schema string) string { return schema + "." + migrate.VersionTable }

func (s site) hasVersions(ctx context.Context, client migrate.Client) (bool, error) {
	exists, err := migrate.Value[bool](ctx, client, "SELECT to_regclass($1) IS NOT NULL", s.Qualify(migrate.VersionTable))
	return exists, s.Interpret(ctx, err)
}

// prepare creates the schema and goose's version table in it. goose would create the table before it takes the lock, and only in an
// existing schema. prepare refuses products that only resemble PostgreSQL.
func (s site) prepare(ctx context.Context, versions database.Store) error {
	version, err := migrate.Value[string](ctx, s.DB, "SELECT version()")
	if err != nil {
		return s.Interpret(ctx, err)
	}
	if err := pgproduct.Check(version); err != nil {
		return err
	}
	return s.Interpret(ctx, migrate.InTx(ctx, s.DB, func(tx migrate.Client) error {
		if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", migrationLockKey); err != nil {
			return fmt.Errorf("wait for other migrators: %w", err)
		}
		exists, err := s.hasVersions(ctx, tx)
		if err != nil || exists {
			return err
		}
		return s.createVersions(ctx, tx, versions)
	}))
}

func (s site) createVersions(ctx context.Context, tx migrate.Client, versions database.Store) error {
	exists, err := migrate.Value[bool](ctx, tx, "SELECT to_regnamespace($1) IS NOT NULL", s.Schema)
	if err != nil {
		return err
	}
	if !exists {
		// The constructor has validated the name, and CREATE SCHEMA takes no parameter.
		if err := migrate.Execute(ctx, tx, "CREATE SCHEMA "+s.Schema); err != nil {
			return fmt.Errorf("create schema %s: %w", s.Schema, err)
		}
	}
	return migrate.CreateVersions(ctx, tx, versions)
}

// dependents is the query for objects that depend on the tables, views, types and routines of a schema, and are neither of them nor part of
// them.
func dependents(schema string) string {
	return `WITH ours AS (
			SELECT 'pg_class'::regclass AS classid, c.oid
			FROM pg_class AS c
			WHERE c.relnamespace = to_regnamespace('` + schema + `') AND c.relname LIKE 'appl\_lock%'
			UNION ALL
			SELECT 'pg_proc'::regclass, p.oid
			FROM pg_proc AS p
			WHERE p.pronamespace = to_regnamespace('` + schema + `') AND p.proname LIKE '%appl\_lock%'
			UNION ALL
			SELECT 'pg_type'::regclass, t.oid
			FROM pg_type AS t
			WHERE t.typnamespace = to_regnamespace('` + schema + `') AND t.typname LIKE '%appl\_lock%'
		),
		parts AS (
			SELECT o.classid, o.oid FROM ours AS o
			UNION ALL
			SELECT 'pg_rewrite'::regclass, r.oid FROM pg_rewrite AS r WHERE r.ev_class IN (SELECT o.oid FROM ours AS o)
			UNION ALL
			SELECT 'pg_trigger'::regclass, t.oid FROM pg_trigger AS t WHERE t.tgrelid IN (SELECT o.oid FROM ours AS o)
			UNION ALL
			SELECT 'pg_constraint'::regclass, c.oid FROM pg_constraint AS c WHERE c.conrelid IN (SELECT o.oid FROM ours AS o)
			UNION ALL
			SELECT 'pg_attrdef'::regclass, a.oid FROM pg_attrdef AS a WHERE a.adrelid IN (SELECT o.oid FROM ours AS o)
		)
		SELECT DISTINCT regexp_replace(pg_describe_object(d.classid, d.objid, 0), '^rule _RETURN on ', '') AS dependent
		FROM pg_depend AS d
		JOIN ours AS o ON o.classid = d.refclassid AND o.oid = d.refobjid
		WHERE d.deptype = 'n' AND (d.classid, d.objid) NOT IN (SELECT p.classid, p.oid FROM parts AS p)
		ORDER BY dependent`
}

// remove leaves a schema that contains anything else, or belongs to another account.
func (s site) remove(ctx context.Context, client migrate.Client) error {
	// A block can fail without aborting the transaction. The constructor has validated the name.
	return migrate.Execute(ctx, client, "DROP TABLE "+s.Qualify(migrate.VersionTable), `DO $$
		BEGIN
			DROP SCHEMA `+s.Schema+`;
		EXCEPTION WHEN dependent_objects_still_exist OR insufficient_privilege THEN
			NULL;
		END
		$$`)
}

// migrationLockKey is the advisory lock of all applock migrators of a database: "applock" in ASCII.
const migrationLockKey int64 = 0x6170706c6f636b

// migrationLock makes migrators take turns on goose's own connection, and sets the schema there.
type migrationLock struct{ site }

var _ lock.SessionLocker = migrationLock{}

// SessionLock waits in the server, so that the next migrator starts at once.
func (l migrationLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT set_config('applock.schema', $1, false), pg_advisory_lock($2)", l.Schema, migrationLockKey)
	if err != nil {
		return fmt.Errorf("wait for other migrators: %w", l.Interpret(ctx, err))
	}
	return nil
}

// SessionUnlock restores the connection.
func (l migrationLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT set_config('applock.schema', '', false), pg_advisory_unlock($1)", migrationLockKey)
	return l.Interpret(ctx, err)
}
