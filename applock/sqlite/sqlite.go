// Package sqlite makes clients for an embedded SQLite file, on modernc.org/sqlite, in pure Go. Importing it links no other engine.
//
// The file needs the table first: call migrate.Up of applock/migrate, or run "applockctl migrate up". No operation creates it.
package sqlite

import (
	"database/sql"
	"fmt"
	"log/slog"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db/sqlite"
)

// Config configures New. The zero value is usable. SQLite has no schemas.
type Config struct {
	// Logger gets one debug record for each operation, and the background errors of leases; nil logs nothing.
	Logger *slog.Logger
	// LeaseHooks observe leases.
	LeaseHooks lease.Hooks
}

// New returns a client on the caller's handle, which Close leaves open. Give the handle a busy timeout, because SQLite has one writer at a
// time, and a write-ahead log, so that readers never wait:
//
//	sql.Open("sqlite", "file:applock.db?_pragma=busy_timeout(50)&_pragma=journal_mode(WAL)")
//
// Leave synchronous at FULL, the default: a commit then waits for the disk. With NORMAL a power failure can undo the last locks. A crash of
// the program undoes nothing in either case.
//
// The client keeps prepared statements on each connection until the client or the handle is closed. Make one client per handle, not one per
// call.
//
// New always succeeds. It returns an error because the other engines do.
func New(handle *sql.DB, config Config) (*applock.Client, error) {
	if handle == nil {
		return nil, fmt.Errorf("sqlite: %w", &applock.InvalidError{Argument: "handle", Reason: "must not be nil"})
	}
	return clients.New[*applock.Client](sqlite.New(handle), config.Logger, config.LeaseHooks), nil
}
