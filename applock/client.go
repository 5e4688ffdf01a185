package applock

import (
	"context"
	"database/sql"
	"errors"
	"sync"
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
	lazy *lazyEngine
}

// engine takes and keeps the leases of a client; package lease has it. Package applock does not import that one, so that it may be
// understood, and imported, without.
type engine interface {
	// These are the methods of Client with their names.
	Acquire(ctx context.Context, request AcquireRequest) (Lease, error)
	TryAcquire(ctx context.Context, request AcquireRequest) (Lease, error)
	Do(ctx context.Context, request AcquireRequest, work func(ctx context.Context, lease Lease) error) error
	TryDo(ctx context.Context, request AcquireRequest, work func(ctx context.Context, lease Lease) error) (ran bool, err error)
	AcquireAll(ctx context.Context, request AcquireAllRequest) (LeaseSet, error)
	TryAcquireAll(ctx context.Context, request AcquireAllRequest) (LeaseSet, error)
	// Wait makes a call that gets an object, at once and then in turn with those who wait for it, for maxWait.
	Wait(ctx context.Context, object Object, owner Owner, maxWait time.Duration, get func(ctx context.Context) error) error
	// Close ends all leases. It takes 5 s at the most.
	Close() error
}

// errNoClient refuses calls of a client that nobody has made.
var errNoClient = &InvalidError{Argument: "client", Reason: "is nil or empty: make one with New of an engine's package, or with open.ByDSN"}

// ops returns the operations. Those of a nil or an empty client refuse every call.
func (c *Client) ops() operations {
	if c == nil {
		return operations{}
	}
	return c.operations
}

// Close releases the remaining leases and closes what was opened for the client, but no pool that the caller passed. Later operations
// return ErrClosed. It takes at most 5 s; if connections to a silent server take longer to end, the error says so. An acquisition without
// an answer (ErrOutcomeUnknown) that reaches the server after Close stays locked until it expires.
func (c *Client) Close() error {
	if c.ops().driver == nil {
		return errNoClient
	}
	limit := time.After(closeLimit)
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

// closeLimit bounds Close.
const closeLimit = 5 * time.Second

// closingGrace is what connections that are in order have to end when leases have taken all of the time.
const closingGrace = 100 * time.Millisecond

var errClosing = errors.New("the server does not answer: its connections are still being closed")

// WithSQLTx returns a client whose operations run in the caller's transaction: the lock appears, moves and disappears exactly when the
// transaction commits. The transaction must be in the client's database, with any database/sql driver; for a pgx.Tx use
// github.com/applock/applock/applock/postgres.WithTx.
func (c *Client) WithSQLTx(tx *sql.Tx) *Client {
	return c.within(func(driver db.Driver) (db.Driver, error) {
		if tx == nil {
			return nil, &InvalidError{Argument: "tx", Reason: "is nil"}
		}
		return driver.WithSQLTx(tx), nil
	})
}

// within returns a client whose operations run by another driver in the caller's transaction, or all return the error.
func (c *Client) within(transaction func(db.Driver) (db.Driver, error)) *Client {
	o := c.ops()
	if o.driver == nil {
		return &Client{}
	}
	driver, err := transaction(o.driver)
	return &Client{operations: operations{driver: driver, logger: o.logger, inTx: true, refusal: err}}
}

// errInTx refuses a lease to a client on a transaction.
var errInTx = &InvalidError{
	Argument: "tx",
	Reason:   "would end before the lease: acquire the lease with the client itself, before the transaction begins",
}

// leases returns what takes and keeps the client's leases.
func (c *Client) leases() (engine, error) {
	switch o := c.ops(); {
	case o.driver == nil && o.refusal == nil:
		return nil, errNoClient
	case c.lazy == nil:
		return nil, errInTx
	}
	return c.lazy.get()
}

// lazyEngine makes the leases of a client when they are first needed.
type lazyEngine struct {
	create func() engine

	once   sync.Once
	leases engine
}

func (l *lazyEngine) get() (engine, error) {
	l.once.Do(func() { l.leases = l.create() })
	if l.leases == nil {
		return nil, ErrClosed
	}
	return l.leases, nil
}

// close closes the leases that there are, for good.
func (l *lazyEngine) close() error {
	l.once.Do(func() {})
	if l.leases == nil {
		return nil
	}
	return l.leases.Close()
}
