package applock

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/db2"
	"github.com/applock/applock/internal/db/mysql"
	"github.com/applock/applock/internal/db/postgres"
	"github.com/applock/applock/internal/db/registry"
	"github.com/applock/applock/internal/db/sqlite"
)

// Client runs the operations on one database. It is safe for concurrent use, except that a client made
// by WithTx is as safe as its transaction.
type Client struct {
	driver db.Driver
	logger *slog.Logger
	inTx   bool
	// holder makes the leases; nil in a transaction, which a lease outlives.
	holder *holder
	family *family
}

// family is what the clients share that Close closes.
type family struct {
	mutex   sync.Mutex
	holders map[string]*holder // by schema
}

// holder has the leases of the clients of one schema. They are made when they are first needed, with the logger of the
// client that needs them.
type holder struct {
	once   sync.Once
	leases *Leases
}

func newFamily() *family { return &family{holders: map[string]*holder{}} }

// holder returns that of a schema, empty for the default one.
func (f *family) holder(schema string) *holder {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	found := f.holders[schema]
	if found == nil {
		found = new(holder)
		f.holders[schema] = found
	}
	return found
}

// close closes the leases of all.
func (f *family) close() {
	f.mutex.Lock()
	holders := slices.Collect(maps.Values(f.holders))
	f.mutex.Unlock()
	for _, each := range holders {
		each.close()
	}
}

// close closes the leases that there are, for good.
func (h *holder) close() {
	h.once.Do(func() {})
	if h.leases != nil {
		h.leases.Close()
	}
}

// errInTx refuses a lease to a client made by WithTx.
var errInTx = &InvalidError{
	Argument: "tx",
	Reason:   "a lease outlives a transaction: acquire it before the transaction begins, with the client itself",
}

// leases returns what takes and keeps the client's leases.
func (c *Client) leases() (*Leases, error) {
	if c.holder == nil {
		return nil, errInTx
	}
	c.holder.once.Do(func() {
		c.holder.leases = NewLeases(&table{client: c, clientID: uniqueName()}, LeasesConfig{Logger: c.logger})
	})
	if c.holder.leases == nil {
		return nil, errClosed
	}
	return c.holder.leases, nil
}

// Config tells Open what to open.
type Config struct {
	// DSN names the database: sqlite:PATH, postgres://user@host:port/database or
	// mysql://user@host:port/database.
	DSN string
	// Schema is where the table and the procedures are; empty is the default of the dialect: applock on
	// PostgreSQL, the DSN's database on MySQL, where a schema is a database. SQLite has none.
	Schema string
	// Logger gets one debug record for each operation; nil logs nothing.
	Logger *slog.Logger
}

// Open returns a client on a connection pool of its own; Close ends it. It does not connect: the first
// operation does. It returns ErrInvalid for a DSN or a schema that cannot be used.
func Open(ctx context.Context, config Config) (*Client, error) {
	dialect, err := registry.ByDSN(config.DSN)
	if err != nil {
		return nil, fmt.Errorf("open: %w", &InvalidError{Argument: "dsn", Reason: err.Error()})
	}
	driver, err := dialect.Open(ctx, config.DSN)
	if err != nil {
		return nil, fmt.Errorf("open: %w", &InvalidError{Argument: "dsn", Reason: err.Error()})
	}
	client := newClient(driver)
	if config.Logger != nil {
		client = client.WithLogger(config.Logger)
	}
	if config.Schema == "" {
		return client, nil
	}
	withSchema, err := client.WithSchema(config.Schema)
	if err != nil {
		_ = client.Close() // nothing was sent yet; the schema is what to tell
		return nil, fmt.Errorf("open: %w", err)
	}
	return withSchema, nil
}

// NewPostgres returns a client on the caller's pool, which Close leaves open.
func NewPostgres(pool *pgxpool.Pool) *Client {
	return newClient(postgres.New(pool))
}

// NewMySQL returns a client on the caller's pool for MySQL or MariaDB, which Close leaves open. The pool's
// driver is github.com/go-sql-driver/mysql. Give it interpolateParams=true, which saves a round trip, and
// leave its loc at UTC: with another one, an hour of the year has no name there and is shown as the next.
func NewMySQL(handle *sql.DB) *Client {
	return newClient(mysql.New(handle))
}

// NewDB2 returns a client on the caller's pool for Db2, which Close leaves open. The pool's driver is
// github.com/ibmdb/go_ibm_db, and the program is built with the tag db2, which has the errors of that driver
// understood. It keeps dead connections in the pool: the client discards those it meets; bound the life of
// the others with SetConnMaxIdleTime, and set DB2_MAX_CLIENT_CONNRETRIES=0 in the environment, or IBM's client
// repeats statements whose answer was lost. A context that ends during a call ends the wait for it, not the call.
func NewDB2(handle *sql.DB) *Client {
	return newClient(db2.New(handle))
}

// NewSQLite returns a client on the caller's handle, which Close leaves open. The handle's driver is
// modernc.org/sqlite; give it a busy timeout, because SQLite has one writer at a time.
func NewSQLite(handle *sql.DB) *Client {
	return newClient(sqlite.New(handle))
}

func newClient(driver db.Driver) *Client {
	clients := newFamily()
	return &Client{driver: driver, logger: slog.New(slog.DiscardHandler), holder: clients.holder(""), family: clients}
}

// Close releases the leases that are left and closes what Open opened.
func (c *Client) Close() error {
	c.family.close()
	return c.driver.Close()
}

// WithTx returns a client whose operations run in the caller's transaction: the lock appears, moves and
// disappears exactly when the transaction commits. tx is a pgx.Tx or a *sql.Tx on PostgreSQL and a
// *sql.Tx elsewhere; with anything else each operation returns ErrInvalid.
func (c *Client) WithTx(tx any) *Client {
	driver, err := c.driver.WithTx(tx)
	if err != nil {
		driver = refusing{err: &InvalidError{Argument: "tx", Reason: err.Error()}}
	}
	return &Client{driver: driver, logger: c.logger, inTx: true, family: newFamily()}
}

// WithSchema returns a client for the locks in another schema of the same database (on MySQL in another
// database of the same server). It returns
// ErrInvalid for a name that is not 1 to 30 lower-case letters, digits and underscores, and where the
// dialect has no schemas. Close of either client ends both.
func (c *Client) WithSchema(schema string) (*Client, error) {
	driver, err := c.driver.WithSchema(schema)
	if err != nil {
		return nil, &InvalidError{Argument: "schema", Reason: fmt.Sprintf("%q: %s", schema, err)}
	}
	inSchema := &Client{driver: driver, logger: c.logger, inTx: c.inTx, family: c.family}
	if !c.inTx {
		inSchema.holder = c.family.holder(schema)
	}
	return inSchema, nil
}

// WithLogger returns a client that logs one debug record for each operation. It shares its leases with the former
// client; what goes wrong with them in the background is logged by the first of both that takes one.
func (c *Client) WithLogger(logger *slog.Logger) *Client {
	logging := *c
	logging.logger = logger
	return &logging
}

// readError is the error of an operation that changes nothing.
func (c *Client) readError(err error) error { return explain(err) }

// changeError is the error of an operation that changes something. Outside a transaction a call that
// was sent may have taken effect; inside one it has not before the commit.
func (c *Client) changeError(err error) error {
	if db.KindOf(err) == db.KindInFlight && !c.inTx {
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
	return explain(err)
}

const (
	// repetitions bounds how often a call is repeated that says that nothing has happened.
	repetitions = 100
	// repetitionPause grows by itself with each repetition, up to ten times of it: 1 s in all.
	repetitionPause = time.Millisecond
)

// settle repeats an operation while it answers that nothing has happened and that it may be called again:
// the object changed hands during the call, an upgrade is replacing the procedure (LK003), or the database
// has rolled the call back for another one's sake. In a transaction only the caller can begin again.
func settle[T any](ctx context.Context, c *Client, operation func() (T, error)) (T, error) {
	for repetition := 1; ; repetition++ {
		result, err := operation()
		kind := db.KindOf(err)
		if c.inTx || repetition > repetitions || kind != db.KindContention && kind != db.KindRetry {
			return result, err
		}
		select {
		case <-ctx.Done():
			return result, err
		case <-time.After(time.Duration(min(repetition, 10)) * repetitionPause):
		}
	}
}

func (c *Client) log(ctx context.Context, operation string, attributes ...slog.Attr) {
	c.logger.LogAttrs(ctx, slog.LevelDebug, operation, attributes...)
}
