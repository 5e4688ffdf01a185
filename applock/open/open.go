// Package open makes clients by DSN, for programs that choose the engine at run time. It links all engines; the packages postgres, mysql,
// db2 and sqlite link one each.
package open

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/db2"
	"github.com/applock/applock/internal/db/mysql"
	"github.com/applock/applock/internal/db/postgres"
	"github.com/applock/applock/internal/db/sqlite"
)

// Config configures ByDSN. The zero value is usable.
type Config struct {
	// Schema contains the table and the procedures: 1 to 30 lower-case letters, digits and underscores. Empty is the dialect's default:
	// applock on PostgreSQL and Db2, the DSN's database on MySQL, where a schema is a database. SQLite has none.
	Schema string
	// Logger gets one debug record for each operation, and the background errors of leases; nil logs nothing.
	Logger *slog.Logger
	// LeaseHooks observe leases.
	LeaseHooks lease.Hooks
	// FlushReleases makes the release of a lease wait until it is on disk, on PostgreSQL: see the Config of applock/postgres. On other
	// products it always does.
	FlushReleases bool
	// ConnectTimeout bounds one attempt to connect, including the sign-in. Zero leaves it to the DSN and to the contexts of the operations.
	// Set it for migrations: their context must allow for a long wait for other migrators. On SQLite, where nothing connects, a call waits as
	// long as this for other writers of the file, and at least 5 s.
	ConnectTimeout time.Duration
}

// ByDSN returns a client on a connection pool of its own, which Close closes. The DSN is sqlite:PATH,
// postgres://USER:PASSWORD@HOST:PORT/DATABASE, mysql://USER:PASSWORD@HOST:PORT/DATABASE, the form of github.com/go-sql-driver/mysql, or
// db2://USER:PASSWORD@HOST:PORT/DATABASE in a program built with the tag db2.
//
// ByDSN does not connect; the first operation does. It creates nothing: migrate.Up creates the table, the procedures, and on SQLite the
// file. Until then operations return ErrSchema. ByDSN returns ErrInvalid for an unusable DSN or schema, and for a negative ConnectTimeout.
// The error does not repeat the DSN, which may contain a password.
func ByDSN(ctx context.Context, dsn string, config Config) (*applock.Client, error) {
	dialect, err := DialectOf(dsn)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	if err := dialect.checkSchema(config.Schema); err != nil {
		return nil, fmt.Errorf("open: %w", &applock.InvalidError{Argument: "Schema", Reason: fmt.Sprintf("%q: %s", config.Schema, err)})
	}
	if config.ConnectTimeout < 0 {
		return nil, fmt.Errorf("open: %w", &applock.InvalidError{Argument: "ConnectTimeout", Reason: "must not be negative"})
	}
	driver, err := dialect.open(ctx, dsn, config)
	if err != nil {
		return nil, fmt.Errorf("open: %w", &applock.InvalidError{Argument: "dsn", Reason: err.Error()})
	}
	return clients.New[*applock.Client](driver, config.Logger, config.LeaseHooks), nil
}

// Dialect describes an engine without a connection.
type Dialect struct {
	// Name is the dialect's name.
	Name string
	// Schemes are the words before the colon of its DSNs.
	Schemes []string
	// DefaultSchema is the schema if none is named; empty if that is the database of the DSN.
	DefaultSchema string
	// Embedded is true if the database is a file.
	Embedded bool

	// recognizes reports whether a DSN without a scheme is one of this engine; nil if all have a scheme.
	recognizes func(dsn string) bool
	open       func(ctx context.Context, dsn string, config Config) (db.Driver, error)
}

func (d Dialect) checkSchema(schema string) error {
	if schema == "" {
		return nil
	}
	if d.Embedded {
		return db.ErrNoSchemas
	}
	return db.CheckSchema(schema)
}

// Dialects returns all dialects, the reference first.
func Dialects() []Dialect {
	return []Dialect{
		{
			Name:          "postgres",
			Schemes:       []string{"postgres", "postgresql"},
			DefaultSchema: db.DefaultSchema,
			open:          openPostgres,
		},
		{
			Name:       "mysql",
			Schemes:    mysql.Schemes(),
			recognizes: mysql.Recognizes,
			open:       openMySQL,
		},
		{
			Name:          "db2",
			Schemes:       []string{"db2"},
			DefaultSchema: db.DefaultSchema,
			open:          openDB2,
		},
		{
			Name:     "sqlite",
			Schemes:  []string{"sqlite"},
			Embedded: true,
			open:     openSQLite,
		},
	}
}

func openPostgres(ctx context.Context, dsn string, config Config) (db.Driver, error) {
	pool, err := postgres.Open(ctx, dsn, config.ConnectTimeout)
	if err != nil {
		return nil, err
	}
	driver, err := postgres.New(pool, config.Schema)
	if err != nil {
		return nil, err
	}
	return driver.Flushed(config.FlushReleases).Owned(), nil
}

func openMySQL(_ context.Context, dsn string, config Config) (db.Driver, error) {
	pool, err := mysql.Open(dsn, config.ConnectTimeout)
	if err != nil {
		return nil, err
	}
	driver, err := mysql.New(pool, config.Schema)
	if err != nil {
		return nil, err
	}
	return driver.Owned(), nil
}

func openDB2(_ context.Context, dsn string, config Config) (db.Driver, error) {
	pool, err := db2.Open(dsn, config.ConnectTimeout)
	if err != nil {
		return nil, err
	}
	driver, err := db2.New(pool, config.Schema)
	if err != nil {
		return nil, err
	}
	return driver.Owned(), nil
}

func openSQLite(_ context.Context, dsn string, config Config) (db.Driver, error) {
	driver, err := sqlite.Open(dsn)
	if err != nil {
		return nil, err
	}
	return driver.Patient(config.ConnectTimeout), nil
}

// DialectOf returns the dialect of a DSN. It returns ErrInvalid for an unknown scheme, without repeating the DSN, which may contain a
// password.
func DialectOf(dsn string) (Dialect, error) {
	scheme, _, found := strings.Cut(dsn, ":")
	dialects := Dialects()
	if found {
		for _, dialect := range dialects {
			if slices.Contains(dialect.Schemes, scheme) {
				return dialect, nil
			}
		}
	}
	for _, dialect := range dialects {
		if dialect.recognizes != nil && dialect.recognizes(dsn) {
			return dialect, nil
		}
	}
	return Dialect{}, &applock.InvalidError{Argument: "dsn", Reason: "must begin with " + strings.Join(schemes(dialects), ", ")}
}

func schemes(dialects []Dialect) []string {
	var all []string
	for _, dialect := range dialects {
		for _, scheme := range dialect.Schemes {
			all = append(all, scheme+":")
		}
	}
	return all
}
