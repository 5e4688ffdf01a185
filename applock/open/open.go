// Package open makes clients by DSN, for programs that learn only when they run which engine they speak to. It links all
// of them; the packages postgres, mysql, db2 and sqlite beside it link one each.
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

// Config is how ByDSN opens. Its zero value is usable.
type Config struct {
	// Schema is where the table and the procedures are: 1 to 30 lower-case letters, digits and underscores. Empty is
	// the dialect's default: applock on PostgreSQL and Db2, the DSN's database on MySQL, where a schema is a database.
	// SQLite has none.
	Schema string
	// Logger gets one debug record for each operation, and what goes wrong with leases in the background; nil logs
	// nothing.
	Logger *slog.Logger
	// LeaseHooks are told of leases.
	LeaseHooks lease.Hooks
	// FlushReleases has the release of a lease wait until it is on disk, on PostgreSQL: see the Config of applock/postgres.
	// Elsewhere it always does as every commit there.
	FlushReleases bool
	// ConnectTimeout is how long one attempt to connect may take, until the server has let the client in. Zero leaves that
	// to the DSN and to the contexts of the operations. A migration needs it most: it waits for other migrators as long as
	// its context allows.
	ConnectTimeout time.Duration
}

// ByDSN returns a client on a connection pool of its own; Close ends it. The DSN is sqlite:PATH,
// postgres://USER:PASSWORD@HOST:PORT/DATABASE, mysql://USER:PASSWORD@HOST:PORT/DATABASE, the form of
// github.com/go-sql-driver/mysql, or db2://USER:PASSWORD@HOST:PORT/DATABASE in a program that was built with the tag
// db2. It does not connect: the first operation does, and it creates nothing: migrate.Up of the package beside it makes
// the table, the procedures, and on SQLite the file, without which operations answer ErrSchema. It returns ErrInvalid for
// a DSN or a schema that cannot be used, without repeating the DSN, which may hold a password, and for a ConnectTimeout
// below zero.
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
	return clients.New(driver, config.Logger, config.LeaseHooks), nil
}

// Dialect is what is to know about an engine before there is a connection.
type Dialect struct {
	// Name is the dialect's name.
	Name string
	// Schemes are the words before the colon of its DSNs.
	Schemes []string
	// DefaultSchema is where the table and the procedures are unless a schema is named; empty where that is the
	// database of the DSN.
	DefaultSchema string
	// Embedded is true where the database is a file.
	Embedded bool

	// recognizes tells its DSNs without a scheme, nil where there are none.
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

func openSQLite(_ context.Context, dsn string, _ Config) (db.Driver, error) { return sqlite.Open(dsn) }

// DialectOf returns the dialect that a DSN's scheme names. It returns ErrInvalid where none does, without repeating the
// DSN, which may hold a password.
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
