package applock

import (
	"database/sql"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/applock/applock/internal/db"
)

// Client runs the operations on one database. It is safe for concurrent use, except that a client on a transaction is
// as safe as its transaction.
//
// New of the package of an engine makes one, such as [github.com/applock/applock/applock/postgres.New]; so does
// [github.com/applock/applock/applock/open.ByDSN] for any engine.
type Client struct {
	operations operations
	// lazy makes the leases; nil in a transaction, which a lease outlives.
	lazy   *lazyLeases
	events Events
}

// New returns a client on a driver. It is for the packages of the engines, which have the drivers; a nil logger logs
// nothing.
func New(driver db.Driver, logger *slog.Logger) *Client {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Client{operations: operations{driver: driver, logger: logger, closed: new(atomic.Bool)}, lazy: new(lazyLeases)}
}

// Observed is for the packages of the engines: it has events told of the leases that the client will take, and returns the client.
func (c *Client) Observed(events Events) *Client {
	c.events = events
	return c
}

// Driver is for the packages of the engines and of migrating.
func (c *Client) Driver() db.Driver { return c.operations.driver }

// Close releases the leases that are left and closes what was opened for the client, but no pool that was handed to it.
// Operations that begin later return ErrClosed. It takes 5 s at the most: connections to a server that does not answer may
// take longer to end, which the error says.
func (c *Client) Close() error {
	limit := time.After(releaseLimit)
	var leasesErr error
	if c.lazy != nil {
		leasesErr = c.lazy.close()
	}
	if c.operations.closed != nil {
		c.operations.closed.Store(true)
	}
	closed := make(chan error, 1)
	go func() { closed <- c.operations.driver.Close() }()
	select {
	case err := <-closed:
		return errors.Join(leasesErr, err)
	case <-limit:
	}
	select {
	case err := <-closed:
		return errors.Join(leasesErr, err)
	case <-time.After(closingGrace):
		return errors.Join(leasesErr, errClosing)
	}
}

// closingGrace is what connections that are in order have to end when leases have taken all of the time.
const closingGrace = 100 * time.Millisecond

var errClosing = errors.New("the server does not answer: its connections are still being closed")

// WithSQLTx returns a client whose operations run in the caller's transaction: the lock appears, moves and disappears
// exactly when the transaction commits. The transaction must be one of the client's database, of any database/sql
// driver for it; for a pgx.Tx there is [github.com/applock/applock/applock/postgres.WithTx].
func (c *Client) WithSQLTx(tx *sql.Tx) *Client {
	return c.InTx(func(driver db.Driver) (db.Driver, error) {
		if tx == nil {
			return nil, &InvalidError{Argument: "tx", Reason: "is nil"}
		}
		return driver.WithSQLTx(tx), nil
	})
}

// InTx is for the packages of the engines: it returns a client whose operations run by another driver in the caller's
// transaction, or all return the error.
func (c *Client) InTx(within func(db.Driver) (db.Driver, error)) *Client {
	driver, err := within(c.operations.driver)
	return &Client{operations: operations{driver: driver, logger: c.operations.logger, inTx: true, refusal: err}}
}

// idleCheck is how often leases without a TTL are looked at, which nothing else would tell of a loss.
const idleCheck = 30 * time.Second

// errInTx refuses a lease to a client on a transaction.
var errInTx = &InvalidError{
	Argument: "tx",
	Reason:   "a lease outlives a transaction: acquire it before the transaction begins, with the client itself",
}

// leases returns what takes and keeps the client's leases.
func (c *Client) leases() (*Leases, error) {
	if c.lazy == nil {
		return nil, errInTx
	}
	return c.lazy.get(func() *Leases {
		leases := NewLeases(&table{operations: c.operations, clientID: uniqueName()}, LeasesConfig{
			Logger: c.operations.logger,
			Events: c.events,
		})
		leases.checkIdle = idleCheck
		return leases
	})
}

// lazyLeases makes the leases of a client when they are first needed.
type lazyLeases struct {
	once   sync.Once
	leases *Leases
}

func (l *lazyLeases) get(create func() *Leases) (*Leases, error) {
	l.once.Do(func() { l.leases = create() })
	if l.leases == nil {
		return nil, ErrClosed
	}
	return l.leases, nil
}

// close closes the leases that there are, for good.
func (l *lazyLeases) close() error {
	l.once.Do(func() {})
	if l.leases == nil {
		return nil
	}
	return l.leases.Close()
}
