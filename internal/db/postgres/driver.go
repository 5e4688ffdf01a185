// Package postgres is the driver for PostgreSQL 14 and later, on pgx.
//
// Each operation is one round trip: the row form of the procedure, called by the query of the same name
// in queries/postgres.
package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/postgres/queries"
)

// DefaultSchema is where the migrations install the table and the procedures.
const DefaultSchema = "applock"

// Driver runs the operations through a pgx pool or in a caller's transaction.
type Driver struct {
	pool   *pgxpool.Pool
	client queries.DBTX
	schema string
	// inTx is true when client is a caller's transaction.
	inTx  bool
	close func()
}

var _ db.Driver = (*Driver)(nil)

// New returns a driver on the caller's pool, which stays the caller's to close.
func New(pool *pgxpool.Pool) *Driver {
	return &Driver{pool: pool, client: pool, schema: DefaultSchema, close: func() {}}
}

// Open returns a driver on a pool of its own. It does not connect yet.
func Open(ctx context.Context, dsn string) (db.Driver, error) {
	if !db.IsURL(dsn) {
		return nil, errNotDSN
	}
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, parseError(dsn, err)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	driver := New(pool)
	driver.close = pool.Close
	return driver, nil
}

// parseError passes on what pgx says, unless that could repeat a piece of the password.
func parseError(dsn string, err error) error {
	parsed, urlErr := url.Parse(dsn)
	if urlErr == nil {
		password, _ := parsed.User.Password()
		if password == "" && !parsed.Query().Has("password") {
			return err
		}
	}
	return errNotDSN
}

var errNotDSN = errors.New("is not postgres://USER:PASSWORD@HOST:PORT/DATABASE with known options; " +
	"write special characters of the password as %XX, such as @ as %40 and / as %2F")

// Close closes the pool if Open made it.
func (d *Driver) Close() error {
	d.close()
	return nil
}

// WithTx accepts a pgx.Tx, and a *sql.Tx of a database/sql driver for PostgreSQL.
func (d *Driver) WithTx(tx any) (db.Driver, error) {
	var client queries.DBTX
	switch tx := tx.(type) {
	case pgx.Tx:
		client = tx
	case *sql.Tx:
		client = sqlTx{tx: tx}
	default:
		return nil, fmt.Errorf("%w: %T, want pgx.Tx or *sql.Tx", db.ErrTxType, tx)
	}
	return d.in(client), nil
}

// in returns a driver whose operations run in a transaction.
func (d *Driver) in(tx queries.DBTX) *Driver {
	return &Driver{pool: d.pool, client: tx, schema: d.schema, inTx: true, close: func() {}}
}

// WithSchema shares the pool of d.
func (d *Driver) WithSchema(schema string) (db.Driver, error) {
	if err := db.CheckSchema(schema); err != nil {
		return nil, err
	}
	return &Driver{pool: d.pool, client: d.client, schema: schema, inTx: d.inTx, close: d.close}, nil
}

func (d *Driver) queries() *queries.Queries {
	return queries.New(schemaClient{client: d.client, schema: d.schema})
}

// utc returns the zero time for NULL.
func utc(timestamp pgtype.Timestamptz) time.Time {
	if !timestamp.Valid {
		return time.Time{}
	}
	return timestamp.Time.UTC()
}

// anyIfEmpty returns NULL for an empty filter.
func anyIfEmpty(filter string) pgtype.Text {
	return pgtype.Text{String: filter, Valid: filter != ""}
}
