// Package clients is package bridge with types: for the packages of the engines, of migrating and of testing, which make clients on
// drivers.
package clients

import (
	"log/slog"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/bridge"
	"github.com/applock/applock/internal/db"
)

// New returns a client on a driver, which tells hooks of the leases that it takes. A nil logger logs nothing.
func New(driver db.Driver, logger *slog.Logger, hooks lease.Hooks) *applock.Client {
	return bridge.Clients.New(driver, logger, hooks).(*applock.Client) // it is nothing else
}

// Driver returns what a client speaks to.
func Driver(client *applock.Client) db.Driver { return bridge.Clients.Driver(client) }

// Within returns a client whose operations run by another driver in the caller's transaction, or all return the error.
func Within(client *applock.Client, transaction func(db.Driver) (db.Driver, error)) *applock.Client {
	return bridge.Clients.Within(client, transaction).(*applock.Client) // it is nothing else
}

// Table returns what a client keeps its leases on, with a list of waiters of its own.
func Table(client *applock.Client) lease.Backend {
	return bridge.Leases.Table(bridge.Clients.Operations(client)).(lease.Backend) // it is nothing else
}

// Explain turns a driver's error into one of package applock, which says what to do. The driver's error stays reachable with errors.As.
func Explain(err error) error { return bridge.Clients.Explain(err) }
