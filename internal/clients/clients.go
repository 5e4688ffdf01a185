// Package clients gives the packages of this module access to internals of packages applock and lease, since Go has no friends. The standard
// library does the same in log/internal and log/slog/internal.
//
// Its variables are set once, each by the init of one package, and only read since. They are the only ones of their kind in this module.
// Types of applock and lease appear as any, or as a type parameter, because those packages import this one, which imports neither.
package clients

import (
	"context"
	"log/slog"

	"github.com/applock/applock/internal/db"
)

// OfApplock is set by package applock. A client is an *applock.Client.
var OfApplock struct { //nolint:gochecknoglobals // the package's documentation says why
	New        func(driver db.Driver, logger *slog.Logger, hooks any) (client any)
	Driver     func(client any) db.Driver
	Within     func(client any, transaction func(db.Driver) (db.Driver, error)) (within any)
	Operations func(client any) (operations any)
	Explain    func(err error) error
	// Checked takes an AcquireRequest or an AcquireAllRequest.
	Checked func(ctx context.Context, request any) (checked any, err error)
	Lost    func(object any, cause error) error
}

// OfLease is set by package lease.
var OfLease struct { //nolint:gochecknoglobals // as above
	// New makes the leases of a client from its operations: an engine, in the words of package applock.
	New func(operations any, logger *slog.Logger, hooks any) (engine any)
	// Table makes the lease.Backend of such leases.
	Table func(operations any) (backend any)
}

// New returns an *applock.Client on a driver, which calls hooks, of type lease.Hooks, for its leases. A nil logger logs nothing.
func New[Client any](driver db.Driver, logger *slog.Logger, hooks any) Client {
	return OfApplock.New(driver, logger, hooks).(Client)
}

// Driver returns the driver of an *applock.Client.
func Driver(client any) db.Driver { return OfApplock.Driver(client) }

// Within returns an *applock.Client whose operations use another driver in the caller's transaction. If transaction fails, all operations
// return its error.
func Within[Client any](client Client, transaction func(db.Driver) (db.Driver, error)) Client {
	return OfApplock.Within(client, transaction).(Client)
}

// Table returns the lease.Backend of the leases of an *applock.Client, with a waiting list of its own.
func Table[Backend any](client any) Backend {
	return OfLease.Table(OfApplock.Operations(client)).(Backend)
}

// Explain turns a driver's error into one of package applock, with advice. errors.As still finds the driver's error.
func Explain(err error) error { return OfApplock.Explain(err) }

// Checked returns an applock.AcquireRequest or AcquireAllRequest as it is taken: trimmed, and with the objects in the order of their types and
// ids. It returns an *applock.InvalidError for what is refused before anything is sent, as a nil ctx.
func Checked[Request any](ctx context.Context, request Request) (Request, error) {
	checked, err := OfApplock.Checked(ctx, request)
	return checked.(Request), err
}

// Lost returns the *applock.LostError of an applock.Object. It removes ErrHeld from a cause that names the new holder.
func Lost(object any, cause error) error { return OfApplock.Lost(object, cause) }

// Player is set by the player of scenarios, applock/internal/player. An executor is a scenario.Executor.
var Player func(client any) (executor any) //nolint:gochecknoglobals // as above

// Through returns the scenario.Executor that calls through an *applock.Client, in a program that has package migrate.
func Through[Executor any](client any) Executor { return Player(client).(Executor) }
