// Package sqlite makes clients for an embedded SQLite file, on modernc.org/sqlite, in pure Go. A program that imports it
// links no other engine.
//
// The file needs the table first: call migrate.Up of applock/migrate once before anything else, or run
// "applockctl migrate up". No operation makes it.
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

// Config is how New makes a client. Its zero value is usable. SQLite has no schemas.
type Config struct {
	// Logger gets one debug record for each operation, and what goes wrong with leases in the background; nil logs
	// nothing.
	Logger *slog.Logger
	// LeaseHooks are told of leases.
	LeaseHooks lease.Hooks
}

// New returns a client on the caller's handle, which Close leaves open. Give the handle a busy timeout, because SQLite
// has one writer at a time, and a write-ahead log, so that readers never wait:
//
//	sql.Open("sqlite", "file:applock.db?_pragma=busy_timeout(50)&_pragma=journal_mode(WAL)")
//
// Leave synchronous at FULL, which it is if nothing is said: a commit then waits for the disk. With NORMAL it does not, and a
// power failure can undo the locks of the last moments; the crash of a program undoes nothing either way.
//
// The client keeps what it has prepared, on each connection of the handle, until one of the two is closed: make one client for a
// handle, and not one for each call.
//
// It always succeeds; the error is for the form that all engines share.
func New(handle *sql.DB, config Config) (*applock.Client, error) {
	if handle == nil {
		return nil, fmt.Errorf("sqlite: %w", &applock.InvalidError{Argument: "handle", Reason: "must not be nil"})
	}
	return clients.New(sqlite.New(handle), config.Logger, config.LeaseHooks), nil
}
