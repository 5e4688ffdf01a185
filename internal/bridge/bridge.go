// Package bridge is how the packages of this module reach what package applock and package lease keep to themselves: Go has no friends.
// The standard library does the same in log/internal and log/slog/internal.
//
// Its variables are set once, each by the init of one package, and only read since. They are the only ones of their kind in this module.
// What is of a type of those packages is any here, because they import this one: package clients has the types.
package bridge

import (
	"log/slog"

	"github.com/applock/applock/internal/db"
)

// Clients is set by package applock. A client is an *applock.Client.
var Clients struct { //nolint:gochecknoglobals // the package's documentation says why
	// New makes a client, which tells its hooks, of package lease, of the leases that it takes. A nil logger logs nothing.
	New func(driver db.Driver, logger *slog.Logger, hooks any) (client any)
	// Driver returns what a client speaks to.
	Driver func(client any) db.Driver
	// Within returns a client whose operations run by another driver in a transaction, or all return the error.
	Within func(client any, transaction func(db.Driver) (db.Driver, error)) (within any)
	// Operations returns what package lease does with a client's database.
	Operations func(client any) (operations any)
	// Explain turns a driver's error into one of package applock, which says what to do. The driver's error stays reachable with errors.As.
	Explain func(err error) error
}

// Leases is set by package lease.
var Leases struct { //nolint:gochecknoglobals // as above
	// New makes the leases of a client from its operations: what package applock calls an engine.
	New func(operations any, logger *slog.Logger, hooks any) (engine any)
	// Table makes the lease.Backend that such leases are kept on.
	Table func(operations any) (backend any)
}
