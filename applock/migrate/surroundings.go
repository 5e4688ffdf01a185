package migrate

import (
	"context"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
)

// SurroundingsRequest is empty today.
type SurroundingsRequest struct{}

// SurroundingsResult describes the server, and what stands between it and the program.
type SurroundingsResult struct {
	// Isolation is the level of a session's transactions, in the server's words; empty if there is only one.
	Isolation string
	// ReadOnly is the reason why nothing can be changed, as on a replica; empty if changes are possible. It is for people.
	ReadOnly string
	// EndReadOnly is SQL that ends it, if there is a statement.
	EndReadOnly string
	// Between is the pooler in front of the server, or the cluster that the server belongs to; empty for neither. It is for people.
	Between string
	// Ahead is how far the server's clock is ahead of this host's, within half of RoundTrip. Both are zero for a file. No lock depends on
	// it.
	Ahead, RoundTrip time.Duration
}

// Surroundings describes the server, and what stands between it and the client. It changes nothing, and works before an installation. On
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

// StaleRequest defines stale rows.
type StaleRequest struct {
	// FreeFor is how long the object has been free, in whole seconds.
	FreeFor time.Duration
}

// StaleResult is the result of Stale.
type StaleResult struct {
	// Looked is the number of rows read, at most 10,000, and Rows the number of stale ones.
	Looked, Rows int64
	// Longest is how long the oldest of them has been free.
	Longest time.Duration
}

// Stale counts the rows whose objects have long been free, among the first 10,000. Many mean that no purge runs. The client must have the
// right to read the table. On Db2 it returns errors.ErrUnsupported.
func Stale(ctx context.Context, client *applock.Client, request StaleRequest) (StaleResult, error) {
	var result StaleResult
	err := onTarget(ctx, client, "stale", func(_ db.Handle, target migrate.Target) error {
		found, err := migrate.LookForStale(ctx, target, request.FreeFor)
		result = StaleResult(found)
		return err
	})
	return result, err
}

// SchemasRequest is empty today.
type SchemasRequest struct{}

// Schemas returns the schemas of a PostgreSQL database in which applock is installed. Other products have none.
func Schemas(ctx context.Context, client *applock.Client, _ SchemasRequest) ([]string, error) {
	var schemas []string
	err := onTarget(ctx, client, "schemas", func(_ db.Handle, target migrate.Target) error {
		var err error
		schemas, err = migrate.Schemas(ctx, target)
		return err
	})
	return schemas, err
}
