// Package migrate creates, updates and removes the table and the procedures, with goose. The packages below it have what
// is special about a dialect: its goose store, who takes turns how, and its script.
package migrate

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"path"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"
)

// VersionTable is goose's version table. It is ours, in the schema of appl_lock: an application that uses goose in the
// same database has goose_db_version, and neither sees the other's steps.
const VersionTable = "appl_lock_goose"

// Target is a database as goose needs it.
type Target struct {
	DB         *sql.DB
	Migrations fs.FS
	// Versions reads and writes goose's version table.
	Versions database.Store
	// HasVersions tells whether goose's version table exists.
	HasVersions func(ctx context.Context) (bool, error)
	// Prepare creates what goose needs to begin with; nil where goose does that alone.
	Prepare func(ctx context.Context) error
	// Remove removes what Prepare created, or goose in its place.
	Remove func(ctx context.Context) error
	// SessionLocker keeps concurrent migrators apart; nil where the dialect relies on retries.
	SessionLocker lock.SessionLocker
	// Rights returns who may call what; nil where nobody is granted anything, or the catalogue is not read.
	Rights func(ctx context.Context) ([]Right, error)
	// Close releases what Target has opened; nil where that is nothing.
	Close func() error
}

// Migration is one migration and when it was applied; AppliedAt is zero while it is pending.
type Migration struct {
	Version   int64
	Name      string
	AppliedAt time.Time
}

// Up applies all pending migrations and returns them. Any number of processes may run it on one
// database at once: each migration is applied by one of them.
func Up(ctx context.Context, target Target) ([]Migration, error) {
	provider, err := newProvider(target)
	if err != nil {
		return nil, err
	}
	if target.Prepare != nil {
		if err := target.Prepare(ctx); err != nil {
			return nil, err
		}
	}
	var done []*goose.MigrationResult
	for {
		results, err := provider.Up(ctx)
		if err == nil {
			return applied(append(done, results...)), nil
		}
		// Without a session locker another process may have applied the same migration first:
		// then its version is there, and what is left is for another round.
		var partial *goose.PartialError
		if !errors.As(err, &partial) {
			return nil, err
		}
		version, versionErr := provider.GetDBVersion(ctx)
		if versionErr != nil || version < partial.Failed.Source.Version {
			return nil, err
		}
		done = append(done, partial.Applied...)
	}
}

// Down undoes the newest applied migration and returns it, or nothing when there is none.
func Down(ctx context.Context, target Target) ([]Migration, error) {
	provider, err := newProvider(target)
	if err != nil {
		return nil, err
	}
	migrations, err := status(ctx, provider, target)
	if err != nil || migrations[0].AppliedAt.IsZero() {
		return nil, err
	}
	result, err := provider.Down(ctx)
	if errors.Is(err, goose.ErrNoNextVersion) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return applied([]*goose.MigrationResult{result}), nil
}

// Uninstall undoes all migrations and removes what they needed: the version table, and the schema if it
// is empty then.
func Uninstall(ctx context.Context, target Target) error {
	provider, err := newProvider(target)
	if err != nil {
		return err
	}
	exists, err := target.HasVersions(ctx)
	if err != nil || !exists {
		return err
	}
	if _, err := provider.DownTo(ctx, 0); err != nil {
		return err
	}
	return target.Remove(ctx)
}

// Status returns all migrations in order, with the time each was applied. It changes nothing,
// not even in a database that has never been migrated.
func Status(ctx context.Context, target Target) ([]Migration, error) {
	provider, err := newProvider(target)
	if err != nil {
		return nil, err
	}
	return status(ctx, provider, target)
}

func status(ctx context.Context, provider *goose.Provider, target Target) ([]Migration, error) {
	exists, err := target.HasVersions(ctx)
	if err != nil {
		return nil, err
	}
	var migrations []Migration
	for _, source := range provider.ListSources() {
		entry := migration(source)
		if exists {
			result, err := target.Versions.GetMigration(ctx, target.DB, source.Version)
			if err != nil && !errors.Is(err, database.ErrVersionNotFound) {
				return nil, err
			}
			if err == nil {
				entry.AppliedAt = result.Timestamp.UTC()
			}
		}
		migrations = append(migrations, entry)
	}
	return migrations, nil
}

func newProvider(target Target) (*goose.Provider, error) {
	options := []goose.ProviderOption{goose.WithStore(target.Versions), goose.WithDisableGlobalRegistry(true)}
	if target.SessionLocker != nil {
		options = append(options, goose.WithSessionLocker(target.SessionLocker))
	}
	return goose.NewProvider(goose.DialectCustom, target.DB, target.Migrations, options...)
}

func applied(results []*goose.MigrationResult) []Migration {
	migrations := make([]Migration, len(results))
	for i, result := range results {
		migrations[i] = migration(result.Source)
	}
	return migrations
}

func migration(source *goose.Source) Migration {
	return Migration{Version: source.Version, Name: path.Base(source.Path)}
}
