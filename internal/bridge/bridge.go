// Package bridge gives the packages of this module access to internals of packages applock and lease, since Go has no friends. The standard
// library does the same in log/internal and log/slog/internal.
//
// Its variables are set once, each by the init of one package, and only read since. They are the only ones of their kind in this module.
// Types of applock and lease appear as any, because those packages import this one. Package clients has the types.
package bridge

import (
	"log/slog"

	"github.com/applock/applock/internal/db"
)

// Clients is set by package applock. A client is an *applock.Client.
var Clients struct { //nolint:gochecknoglobals // the package's documentation says why
	// New makes a client, which calls hooks, of package lease, for its leases. A nil logger logs nothing.
	New func(driver db.Driver, logger *slog.Logger, hooks any) (client any)
	// Driver returns the driver of a client.
	Driver func(client any) db.Driver
	// Within returns a client whose operations use another driver in a transaction. If transaction fails, all operations return its error.
	Within func(client any, transaction func(db.Driver) (db.Driver, error)) (within any)
	// Operations returns the operations of a client that package lease uses.
	Operations func(client any) (operations any)
	// Explain turns a driver's error into one of package applock, with advice. errors.As still finds the driver's error.
	Explain func(err error) error
}

// Leases is set by package lease.
var Leases struct { //nolint:gochecknoglobals // as above
	// New makes the leases of a client from its operations: an engine, in the words of package applock.
	New func(operations any, logger *slog.Logger, hooks any) (engine any)
	// Table makes the lease.Backend of such leases.
	Table func(operations any) (backend any)
}
