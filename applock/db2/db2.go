// Package db2 makes clients for Db2 11.5 and later on Linux, UNIX and Windows, on github.com/ibmdb/go_ibm_db. The tag db2, which needs cgo
// and IBM's client, is necessary to classify that driver's errors.
package db2

import (
	"database/sql"
	"fmt"
	"log/slog"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db/db2"
)

// Config configures New. The zero value is usable.
type Config struct {
	// Schema contains the table and the procedures: 1 to 30 lower-case letters, digits and underscores. Empty is applock.
	Schema string
	// Logger gets one debug record for each operation, and the background errors of leases; nil logs nothing.
	Logger *slog.Logger
	// LeaseHooks observe leases.
	LeaseHooks lease.Hooks
}

// New returns a client on the caller's pool, which Close leaves open. It does not connect. It returns ErrInvalid for an invalid schema.
//
// go_ibm_db keeps dead connections in the pool; the client discards those it meets. Limit the life of the others by SetConnMaxIdleTime. Set
// DB2_MAX_CLIENT_CONNRETRIES=0 in the environment, or IBM's client repeats statements whose answer was lost. When a context ends during a
// call, the client stops waiting, but the call goes on.
func New(pool *sql.DB, config Config) (*applock.Client, error) {
	if pool == nil {
		return nil, fmt.Errorf("db2: %w", &applock.InvalidError{Argument: "pool", Reason: "must not be nil"})
	}
	driver, err := db2.New(pool, config.Schema)
	if err != nil {
		return nil, fmt.Errorf("db2: %w", &applock.InvalidError{Argument: "Schema", Reason: fmt.Sprintf("%q: %s", config.Schema, err)})
	}
	return clients.New[*applock.Client](driver, config.Logger, config.LeaseHooks), nil
}
