package migrate

import (
	"context"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
)

// SurroundingsRequest is what Surroundings tells. Its zero value is usable.
type SurroundingsRequest struct{}

// SurroundingsResult is what lies between a program and the tables.
type SurroundingsResult struct {
	// Isolation is the level of a session's transactions, as the server calls it; empty where there is one only.
	Isolation string
	// ReadOnly says why nothing can be changed here, as on a replica; empty where it can. It is for people.
	ReadOnly string
	// EndReadOnly is SQL that ends that, if there is a statement.
	EndReadOnly string
	// Between is the pooler that the connection leads through, or the cluster that it leads to; empty for neither. It is for
	// people.
	Between string
	// Ahead is how much further the server's clock is than this host's, give or take half of RoundTrip; both are
	// zero for a file, which has this host's. No lock depends on it.
	Ahead, RoundTrip time.Duration
}

// Surroundings tells what lies between the client and the tables. It changes nothing, and needs nothing to be installed. On
// Db2 it returns errors.ErrUnsupported.
func Surroundings(ctx context.Context, client *applock.Client, _ SurroundingsRequest) (SurroundingsResult, error) {
	var result SurroundingsResult
	err := onTarget(ctx, client, "surroundings", func(_ db.Handle, target migrate.Target) error {
		found, err := migrate.LookAround(ctx, target)
		result = SurroundingsResult(found)
		return err
	})
	return result, err
}

// StaleRequest says which rows are stale.
type StaleRequest struct {
	// FreeFor is for how long an object has been free, in whole seconds.
	FreeFor time.Duration
}

// StaleResult is what a purge would remove.
type StaleResult struct {
	// Looked is how many rows were looked at, the first 10,000 at most, and Rows how many of them are stale.
	Looked, Rows int64
	// Longest is how long the object of the oldest of them has been free.
	Longest time.Duration
}

// Stale looks at the first rows for those of objects that have been free for longer, as for a purge that nobody runs. The
// client has to be one that may read the table. On Db2 it returns errors.ErrUnsupported.
func Stale(ctx context.Context, client *applock.Client, request StaleRequest) (StaleResult, error) {
	var result StaleResult
	err := onTarget(ctx, client, "stale", func(_ db.Handle, target migrate.Target) error {
		found, err := migrate.LookForStale(ctx, target, request.FreeFor)
		result = StaleResult(found)
		return err
	})
	return result, err
}

// SchemasRequest is what Schemas looks for. Its zero value is usable.
type SchemasRequest struct{}

// Schemas returns the schemas of the client's database in which applock is installed. It returns none on other products than PostgreSQL.
func Schemas(ctx context.Context, client *applock.Client, _ SchemasRequest) ([]string, error) {
	var schemas []string
	err := onTarget(ctx, client, "schemas", func(_ db.Handle, target migrate.Target) error {
		var err error
		schemas, err = migrate.Schemas(ctx, target)
		return err
	})
	return schemas, err
}
