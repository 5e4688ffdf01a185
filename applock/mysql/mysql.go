// Package mysql makes clients for MySQL 8.0 and later and MariaDB 10.6 and later, on github.com/go-sql-driver/mysql. Importing it links no
// other engine.
package mysql

import (
	"database/sql"
	"fmt"
	"log/slog"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db/mysql"
)

// Config configures New. The zero value is usable.
type Config struct {
	// Schema is the database with the table and the procedures: 1 to 30 lower-case letters, digits and underscores. Empty is the database
	// of the pool's connections.
	Schema string
	// Logger gets one debug record for each operation, and the background errors of leases; nil logs nothing.
	Logger *slog.Logger
	// LeaseHooks observe leases.
	LeaseHooks lease.Hooks
}

// New returns a client on the caller's pool, which Close leaves open. It does not connect. It returns ErrInvalid for an invalid schema.
//
// A pool may be without autocommit: the client asks each connection once, and where it is off commits each call that is in no transaction of
// the program's. A transaction that the program's statements outside a [sql.Tx] have left open on the connection is committed first, as its
// next BEGIN would do. Set autocommit when you connect: a later change on a connection of the pool is not seen. Leases need a pool, so that
// each of their calls is committed; a client in a transaction has none.
//
// Give the pool interpolateParams=true, which saves a round trip, and leave its loc at UTC: a zone with summer time cannot represent one
// hour of the year, and shows it as the next.
func New(pool *sql.DB, config Config) (*applock.Client, error) {
	if pool == nil {
		return nil, fmt.Errorf("mysql: %w", &applock.InvalidError{Argument: "pool", Reason: "must not be nil"})
	}
	driver, err := mysql.New(pool, config.Schema)
	if err != nil {
		return nil, fmt.Errorf("mysql: %w", &applock.InvalidError{Argument: "Schema", Reason: fmt.Sprintf("%q: %s", config.Schema, err)})
	}
	return clients.New[*applock.Client](driver, config.Logger, config.LeaseHooks), nil
}
