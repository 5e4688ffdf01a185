//go:build db2

package db2

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	ibm "github.com/ibmdb/go_ibm_db"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/db2/goibmdb"
)

const (
	// maxConnections is the limit of the pool that Open makes.
	maxConnections = 10

	// The client notices a dead connection only on use, so the pool keeps none for long.
	maxIdleTime = time.Minute
	maxLifetime = 30 * time.Minute

	closeTimeout = 3 * time.Second
)

// retriesVariable is an environment variable that IBM's client reads whenever it has lost a connection.
const retriesVariable = "DB2_MAX_CLIENT_CONNRETRIES"

// openPool returns a pool on IBM's client. It does not connect yet.
func openPool(dsn string, connectTimeout time.Duration) (*sql.DB, error) {
	connector, err := newConnector(dsn)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(db.ConnectWithin(connector, connectTimeout))
	pool.SetMaxOpenConns(maxConnections)
	pool.SetMaxIdleConns(maxConnections)
	pool.SetConnMaxIdleTime(maxIdleTime)
	pool.SetConnMaxLifetime(maxLifetime)
	return pool, nil
}

func newConnector(dsn string) (*connector, error) {
	text, err := connectionString(dsn)
	if err != nil {
		return nil, err
	}
	client, err := goibmdb.Driver()
	if err != nil {
		return nil, err
	}
	if err := neverSendTwice(); err != nil {
		return nil, err
	}
	return &connector{client: client, connectionString: text}, nil
}

// neverSendTwice makes the client report a lost connection. By default the client reconnects and silently repeats the statement, so that a
// repeated release would answer no. Without a configuration file only this variable prevents that, for the whole process. A value that is
// set already stays.
func neverSendTwice() error {
	if _, isSet := os.LookupEnv(retriesVariable); isSet {
		return nil
	}
	return os.Setenv(retriesVariable, "0")
}

// diagnose returns the first record of an error of go_ibm_db.
func diagnose(err error) (Diagnosis, bool) {
	var answer *ibm.Error
	if !errors.As(err, &answer) || len(answer.Diag) == 0 {
		return Diagnosis{}, false
	}
	first := answer.Diag[0]
	return Diagnosis{State: first.State, Code: first.NativeError, Text: strings.TrimSpace(first.Message)}, true
}

// connector makes connections and can stop waiting when a context ends.
type connector struct {
	client           driver.Driver
	connectionString string
}

// Driver returns go_ibm_db's driver.
func (c *connector) Driver() driver.Driver { return c.client }

// Connect returns when ctx ends. The client's attempt goes on until ConnectTimeout ends it; a late connection is closed.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	type outcome struct {
		conn driver.Conn
		err  error
	}
	opened := make(chan outcome)
	go func() {
		conn, err := c.open()
		select {
		case opened <- outcome{conn, err}:
		case <-ctx.Done():
			if err == nil {
				_ = conn.Close() // nobody waits for the error
			}
		}
	}()
	select {
	case o := <-opened:
		return o.conn, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *connector) open() (driver.Conn, error) {
	opened, err := c.client.Open(c.connectionString)
	if err != nil {
		return nil, err
	}
	inner, ok := opened.(*ibm.Conn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("go_ibm_db made a connection of an unknown type %T", opened), opened.Close())
	}
	return &conn{Conn: inner}, nil
}

// conn is go_ibm_db's connection. If a transaction cannot be ended, the connection stays without autocommit, and must not go back to the
// pool.
type conn struct {
	*ibm.Conn
	isBroken bool
}

var (
	_ driver.ConnPrepareContext = (*conn)(nil)
	_ driver.Validator          = (*conn)(nil)
)

// IsValid reports whether the connection may be used again.
func (c *conn) IsValid() bool { return !c.isBroken }

// Begin starts a transaction.
func (c *conn) Begin() (driver.Tx, error) {
	tx, err := c.Conn.Begin()
	if err != nil {
		return nil, c.checked(err)
	}
	return &transaction{tx: tx, conn: c}, nil
}

// checked records that a transaction did not begin or end properly.
func (c *conn) checked(err error) error {
	c.isBroken = c.isBroken || err != nil
	return err
}

// Close closes the connection, or stops waiting for that: the client waits until the server hangs up.
func (c *conn) Close() error { return closeWithin(closeTimeout, c.disconnect) }

func closeWithin(limit time.Duration, disconnect func() error) error {
	closed := make(chan error, 1)
	go func() { closed <- disconnect() }()
	select {
	case err := <-closed:
		return err
	case <-time.After(limit):
		return errors.New("the server does not close the connection")
	}
}

// disconnect closes the connection. The client refuses that while a transaction is open, as after a failed commit, and go_ibm_db rolls back
// only a transaction that it has begun.
func (c *conn) disconnect() error {
	err := c.Conn.Close()
	diagnosis, _ := diagnose(err)
	if !c.isBroken || !strings.HasPrefix(diagnosis.State, "25") { // invalid transaction state
		return err
	}
	tx, beginErr := c.Conn.Begin()
	if beginErr != nil {
		return err
	}
	if err := tx.Rollback(); err != nil {
		return err
	}
	return c.Conn.Close()
}

// transaction marks its connection as broken when it cannot be ended.
type transaction struct {
	tx   driver.Tx
	conn *conn
}

// Commit ends the transaction.
func (t *transaction) Commit() error { return t.conn.checked(t.tx.Commit()) }

// Rollback ends the transaction.
func (t *transaction) Rollback() error { return t.conn.checked(t.tx.Rollback()) }
