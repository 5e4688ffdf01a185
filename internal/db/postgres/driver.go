// Package postgres is the driver for PostgreSQL 14 and later, on pgx.
//
// Each operation is one round trip: the row form of the procedure, called by the query of the same name
// in queries/postgres.
package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// Driver runs the operations through a pool of pgx or of database/sql, or in a caller's transaction.
type Driver struct {
	pool pool
	// tx is the caller's transaction or that of InTx, and nil outside one.
	tx         queries.DBTX
	statements *db.Statements
	schema     string
	owned      bool
	// flushed makes every release wait for the disk.
	flushed bool
}

var (
	_ db.Driver = (*Driver)(nil)
	_ db.Passer = (*Driver)(nil)
)

// New returns a driver on the caller's pool, which the caller closes. An empty schema is the default one.
func New(pool *pgxpool.Pool, schema string) (*Driver, error) {
	driver, err := in(schema)
	if err != nil {
		return nil, err
	}
	driver.pool = newPGXPool(pool, driver.statements.Rewritten(flushed))
	return driver, nil
}

// NewSQL is New for a database/sql pool.
func NewSQL(pool *sql.DB, schema string) (*Driver, error) {
	driver, err := in(schema)
	if err != nil {
		return nil, err
	}
	driver.pool = newSQLPool(pool, driver.statements.Rewritten(flushed))
	return driver, nil
}

// in returns a driver without a pool.
func in(schema string) (*Driver, error) {
	schema = cmp.Or(schema, db.DefaultSchema)
	if err := db.CheckSchema(schema); err != nil {
		return nil, err
	}
	return &Driver{schema: schema, statements: db.NewStatements(schema)}, nil
}

// Open returns a new pool for a DSN. It does not connect yet. ConnectTimeout limits an attempt to connect; zero leaves that to the DSN.
func Open(ctx context.Context, dsn string, connectTimeout time.Duration) (*pgxpool.Pool, error) {
	if !db.IsURL(dsn) {
		return nil, errNotDSN
	}
	if err := checkOptions(dsn); err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, parseError(dsn, err)
	}
	if ofDSN := config.ConnConfig.ConnectTimeout; ofDSN == 0 || connectTimeout > 0 && connectTimeout < ofDSN {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	if config.ConnConfig.RuntimeParams["client_encoding"] == "" { // what pgx sends; the server's default is the database's encoding
		config.ConnConfig.RuntimeParams["client_encoding"] = "UTF8"
	}
	return pgxpool.NewWithConfig(ctx, config)
}

// Flushed returns a driver whose releases wait for the disk, even if the caller asks for an unflushed one.
func (d *Driver) Flushed(flushed bool) *Driver {
	same := *d
	same.flushed = flushed
	return &same
}

// Owned makes Close close the pool.
func (d *Driver) Owned() *Driver {
	owned := *d
	owned.owned = true
	return &owned
}

// parseError returns pgx's reason without the DSN, unless the reason could quote a piece of the password.
func parseError(dsn string, err error) error {
	parsed, urlErr := db.ParseURL(dsn)
	if urlErr != nil || parsed.User == nil && strings.Contains(parsed.Host, ":") {
		return errNotDSN
	}
	if _, queryErr := url.ParseQuery(parsed.RawQuery); queryErr != nil {
		return errNotDSN
	}
	text := err.Error()
	end := strings.LastIndex(text, "`: ") // of the DSN
	if end < 0 {
		return errNotDSN
	}
	return db.WithoutPassword(parsed, errors.New(text[end+len("`: "):]), errNotDSN)
}

// checkOptions refuses a misspelt option. pgx would send it to the server as a setting, and connect without TLS meanwhile.
func checkOptions(dsn string) error {
	parsed, err := url.Parse(dsn)
	if err != nil {
		return errNotDSN
	}
	for option := range parsed.Query() {
		plain := strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(option))
		for _, known := range []string{
			"sslmode", "sslrootcert", "sslcert", "sslkey", "connect_timeout", "application_name", "target_session_attrs", "passfile", "servicefile",
		} {
			if plain == strings.ReplaceAll(known, "_", "") && option != known {
				return fmt.Errorf("has the unknown option %s: write %s", option, known)
			}
		}
	}
	return nil
}

var errNotDSN = errors.New("is not postgres://USER:PASSWORD@HOST:PORT/DATABASE with known options; " +
	"write special characters of the password as %XX, such as @ as %40 and / as %2F, and an IPv6 address as [::1]")

// Close closes the pool if it is Owned, and the connections of the renewals.
func (d *Driver) Close() error {
	if d.tx != nil {
		return nil
	}
	d.pool.close()
	if d.owned {
		return d.pool.closePool()
	}
	return nil
}

// WithTx returns a driver whose operations run in the caller's transaction.
func (d *Driver) WithTx(tx pgx.Tx) *Driver {
	return d.within(pgxClient{client: tx, statements: d.statements})
}

// WithSQLTx accepts the transaction of any database/sql driver for PostgreSQL.
func (d *Driver) WithSQLTx(tx *sql.Tx) db.Driver { return d.within(sqlClient{tx, d.statements}) }

// within returns a driver whose operations run in a transaction.
func (d *Driver) within(tx queries.DBTX) *Driver {
	return &Driver{pool: d.pool, tx: tx, statements: d.statements, schema: d.schema}
}

// Handle returns the pool.
func (d *Driver) Handle() (db.Handle, error) {
	handle := db.Handle{
		Dialect:   "postgres",
		Schema:    d.schema,
		Interpret: func(_ context.Context, err error) error { return interpretError(err) },
		Close:     func() error { return nil },
	}
	d.pool.in(&handle)
	return handle, nil
}

// nullIfEmpty returns NULL for an empty text.
func nullIfEmpty(text string) pgtype.Text {
	return pgtype.Text{String: text, Valid: text != ""}
}

// nullIfNil returns NULL for an absent filter. An empty text is a filter.
func nullIfNil(text *string) pgtype.Text {
	if text == nil {
		return pgtype.Text{}
	}
	return pgtype.Text{String: *text, Valid: true}
}

// yesOrNull returns Y, or NULL for false.
func yesOrNull(asked bool) pgtype.Text {
	return pgtype.Text{String: db.Yes, Valid: asked}
}

// numberOrNull returns NULL for an absent number. Zero is a number.
func numberOrNull(number *int64) pgtype.Int8 {
	if number == nil {
		return pgtype.Int8{}
	}
	return pgtype.Int8{Int64: *number, Valid: true}
}

// nullIfZero returns NULL for zero.
func nullIfZero(number int64) pgtype.Int8 {
	return pgtype.Int8{Int64: number, Valid: number != 0}
}
