// Package postgres makes clients for PostgreSQL 14 and later, on a pool of pgx or of database/sql. Importing it links no other engine.
package postgres

import (
	"database/sql"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres"
)

// Config configures New and NewSQL. The zero value is usable.
type Config struct {
	// Schema contains the table and the procedures: 1 to 30 lower-case letters, digits and underscores. Empty is applock.
	Schema string
	// Logger gets one debug record for each operation, and the background errors of leases; nil logs nothing.
	Logger *slog.Logger
	// LeaseHooks observe leases.
	LeaseHooks lease.Hooks
	// FlushReleases makes the release of a lease wait until it is on disk, as all other commits do. By default, a lease that is released in
	// a transaction of its own does not wait (synchronous_commit = off for this commit), so the next holder starts sooner. If the server
	// crashes before the release is written, within a fraction of a second, the object stays locked until the TTL or MaxHold ends, as after
	// a crash of its holder. Two holders are impossible in either case: a get that has seen the release is written after it.
	FlushReleases bool
}

// New returns a client on the caller's pool, which Close leaves open. It does not connect. It returns ErrInvalid for an invalid schema.
//
// Behind a pooler that shares sessions between transactions, the pool must not prepare statements unless the pooler keeps track of them.
// PgBouncer in transaction mode does so from 1.24 on, and from 1.21 on with max_prepared_statements. Elsewhere write
// default_query_exec_mode=exec in the DSN, or set ConnConfig.DefaultQueryExecMode to [pgx.QueryExecModeExec]. Otherwise calls fail
// with SQLSTATE 42P05 or 26000, and change nothing.
func New(pool *pgxpool.Pool, config Config) (*applock.Client, error) {
	if pool == nil {
		return nil, fmt.Errorf("postgres: %w", &applock.InvalidError{Argument: "pool", Reason: "must not be nil"})
	}
	driver, err := postgres.New(pool, config.Schema)
	return client(driver, err, config)
}

// NewSQL is New for programs with a *sql.DB, also with ent or gorm. Its driver is github.com/jackc/pgx/v5/stdlib, or another one for
// PostgreSQL whose errors have a method SQLState, such as lib/pq.
//
// All operations and leases are the same, with one exception: waiters get no notification of a release, and poll as on the other databases.
// If the pool has a limit, renewals reserve up to two of its connections, at most half. Transactions are those of [applock.Client.InSQLTx]
// and [applock.Client.WithSQLTx].
//
// Behind a pooler, configure pgx as for New.
func NewSQL(pool *sql.DB, config Config) (*applock.Client, error) {
	if pool == nil {
		return nil, fmt.Errorf("postgres: %w", &applock.InvalidError{Argument: "pool", Reason: "must not be nil"})
	}
	driver, err := postgres.NewSQL(pool, config.Schema)
	return client(driver, err, config)
}

// client returns a client on a driver, or err if it is not nil.
func client(driver *postgres.Driver, err error, config Config) (*applock.Client, error) {
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", &applock.InvalidError{Argument: "Schema", Reason: fmt.Sprintf("%q: %s", config.Schema, err)})
	}
	return clients.New[*applock.Client](driver.Flushed(config.FlushReleases), config.Logger, config.LeaseHooks), nil
}

// WithTx returns a client whose operations run in the caller's transaction, and take effect when it commits. Each operation returns
// ErrInvalid if the client is not one of PostgreSQL.
func WithTx(client *applock.Client, tx pgx.Tx) *applock.Client {
	return clients.Within(client, func(driver db.Driver) (db.Driver, error) {
		ours, ok := driver.(*postgres.Driver)
		if !ok {
			return nil, &applock.InvalidError{Argument: "tx", Reason: "is a transaction of PostgreSQL, and the client is not of PostgreSQL"}
		}
		if tx == nil {
			return nil, &applock.InvalidError{Argument: "tx", Reason: "is nil"}
		}
		return ours.WithTx(tx), nil
	})
}
