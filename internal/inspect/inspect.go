// Package inspect looks at a server for the program that verifies an installation: what stands in the way of locks there.
package inspect

import (
	"context"
	"fmt"
	"time"

	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/dialects"
	"github.com/applock/applock/internal/migrate"
)

// Holder is a session or a similar thing that keeps the server from removing old versions of rows.
type Holder = migrate.Holder

// HeldRows are the holders, and what the server keeps for them.
type HeldRows = migrate.Horizon

// Surroundings describe the server, and what stands between it and the program.
type Surroundings = migrate.Surroundings

// StaleLocks count rows whose objects have long been free.
type StaleLocks = migrate.StaleLocks

// EventCount is how many events of a kind the history has.
type EventCount = migrate.EventCount

// LookForHolders returns the sessions and the like that keep the server from removing old versions of rows. It changes nothing. Its error is
// ErrPrivilege of package applock unless the account is in pg_monitor on PostgreSQL, or has PROCESS on MySQL and MariaDB. On SQLite and Db2 it
// is errors.ErrUnsupported.
func LookForHolders(ctx context.Context, driver db.Driver) (HeldRows, error) {
	return ask(ctx, driver, "horizon", migrate.LookForHolders)
}

// LookAround describes the server, and what stands between it and the program. It changes nothing, and works before an installation. On Db2
// its error is errors.ErrUnsupported.
func LookAround(ctx context.Context, driver db.Driver) (Surroundings, error) {
	return ask(ctx, driver, "surroundings", migrate.LookAround)
}

// LookForStale counts the rows whose objects have been free for freeFor, in whole seconds, among the first 10,000. Many mean that no purge
// runs. The account must have the right to read the table. On Db2 its error is errors.ErrUnsupported.
func LookForStale(ctx context.Context, driver db.Driver, freeFor time.Duration) (StaleLocks, error) {
	return ask(ctx, driver, "stale", func(ctx context.Context, target migrate.Target) (StaleLocks, error) {
		return migrate.LookForStale(ctx, target, freeFor)
	})
}

// CountEvents counts the history by the kind of its events. It reads the whole history; the account needs the right to the view
// appl_lock_history.
func CountEvents(ctx context.Context, driver db.Driver) ([]EventCount, error) {
	return ask(ctx, driver, "events", migrate.CountEvents)
}

// ask asks the driver's database, and explains an error.
func ask[T any](
	ctx context.Context, driver db.Driver, name string, question func(context.Context, migrate.Target) (T, error),
) (answer T, err error) {
	err = dialects.OnTarget(ctx, driver, func(_ dialects.Dialect, target migrate.Target) error {
		answer, err = question(ctx, target)
		return err
	})
	if err != nil {
		return answer, fmt.Errorf("%s: %w", name, clients.Explain(err))
	}
	return answer, nil
}
