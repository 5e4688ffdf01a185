// Package postgres makes clients for PostgreSQL 14 and later, on a pool of pgx or on one of database/sql. A program that imports it links no
// other engine.
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

// Config tells New and NewSQL where the locks are. Its zero value is usable.
type Config struct {
	// Schema is where the table and the procedures are: 1 to 30 lower-case letters, digits and underscores. Empty is
	// applock.
	Schema string
	// Logger gets one debug record for each operation, and what goes wrong with leases in the background; nil logs
	// nothing.
	Logger *slog.Logger
	// LeaseHooks are told of leases.
	LeaseHooks lease.Hooks
	// FlushReleases has the release of a lease wait until it is on disk, as get, Client.Release and every commit of the caller
	// always do. Without it the release of a lease, where it is a transaction of its own, does not (synchronous_commit = off for
	// this one commit): that is one flush less in each cycle, and the next holder begins as much earlier. If the server crashes
	// in the fraction of a second before the release is written, the object stays locked until the TTL or MaxHold of the lease
	// ends, as after a crash of its holder. Nobody ever has it beside another one: a get that has found it free is written
	// after the release, or not at all.
	FlushReleases bool
}

// New returns a client on the caller's pool, which Close leaves open. It does not connect. It returns ErrInvalid for a
// schema that cannot be.
//
// Behind a pooler that shares sessions between transactions, the pool must not prepare statements unless the pooler keeps track of them.
// PgBouncer in transaction mode does so from 1.24 on, and from 1.21 on with max_prepared_statements. Elsewhere write
// default_query_exec_mode=exec in the DSN, or set ConnConfig.DefaultQueryExecMode to [pgx.QueryExecModeExec]. Without it calls fail
// with SQLSTATE 42P05 or 26000, and nothing has happened.
func New(pool *pgxpool.Pool, config Config) (*applock.Client, error) {
	if pool == nil {
		return nil, fmt.Errorf("postgres: %w", &applock.InvalidError{Argument: "pool", Reason: "must not be nil"})
	}
	driver, err := postgres.New(pool, config.Schema)
	return client(driver, err, config)
}

// NewSQL is New for programs that have a *sql.DB, also by way of ent or gorm: of github.com/jackc/pgx/v5/stdlib, or of another driver for
// PostgreSQL whose errors have a method SQLState, as those of lib/pq.
//
// All operations and leases are the same. database/sql has no LISTEN, so a waiter asks for the lock in turns, as on the other databases. If the pool has a limit, up to two of its connections, and at most half, are kept for renewals.
// Transactions are those of [applock.Client.InSQLTx] and [applock.Client.WithSQLTx].
//
// Behind a pooler, what New says of pgx holds here, too.
func NewSQL(pool *sql.DB, config Config) (*applock.Client, error) {
	if pool == nil {
		return nil, fmt.Errorf("postgres: %w", &applock.InvalidError{Argument: "pool", Reason: "must not be nil"})
	}
	driver, err := postgres.NewSQL(pool, config.Schema)
	return client(driver, err, config)
}

// client returns a client on a driver, which is nil if the schema cannot be.
func client(driver *postgres.Driver, err error, config Config) (*applock.Client, error) {
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", &applock.InvalidError{Argument: "Schema", Reason: fmt.Sprintf("%q: %s", config.Schema, err)})
	}
	return clients.New(driver.Flushed(config.FlushReleases), config.Logger, config.LeaseHooks), nil
}

// WithTx returns a client whose operations run in the caller's transaction: the lock appears, moves and disappears
// exactly when the transaction commits. Each operation returns ErrInvalid where the client is not one of PostgreSQL.
func WithTx(client *applock.Client, tx pgx.Tx) *applock.Client {
	return clients.Within(client, func(driver db.Driver) (db.Driver, error) {
		ours, ok := driver.(*postgres.Driver)
		if !ok {
			return nil, &applock.InvalidError{Argument: "tx", Reason: "is one of PostgreSQL, and the client is not"}
		}
		if tx == nil {
			return nil, &applock.InvalidError{Argument: "tx", Reason: "is nil"}
		}
		return ours.WithTx(tx), nil
	})
}
