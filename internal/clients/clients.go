// Package clients is package bridge with types, for the packages that make clients on drivers: engines, migration and tests.
package clients

import (
	"log/slog"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/bridge"
	"github.com/applock/applock/internal/db"
)

// New returns a client on a driver, which calls hooks for its leases. A nil logger logs nothing.
func New(driver db.Driver, logger *slog.Logger, hooks lease.Hooks) *applock.Client {
	return bridge.Clients.New(driver, logger, hooks).(*applock.Client) // always of this type
}

// Driver returns the driver of a client.
func Driver(client *applock.Client) db.Driver { return bridge.Clients.Driver(client) }

// Within returns a client whose operations use another driver in the caller's transaction. If transaction fails, all operations return its
// error.
func Within(client *applock.Client, transaction func(db.Driver) (db.Driver, error)) *applock.Client {
	return bridge.Clients.Within(client, transaction).(*applock.Client) // always of this type
}

// Table returns the backend of a client's leases, with a waiting list of its own.
func Table(client *applock.Client) lease.Backend {
	return bridge.Leases.Table(bridge.Clients.Operations(client)).(lease.Backend) // always of this type
}

// Explain turns a driver's error into one of package applock, with advice. errors.As still finds the driver's error.
func Explain(err error) error { return bridge.Clients.Explain(err) }
