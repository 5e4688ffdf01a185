package mysql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/applock/applock/internal/testing/testclient"

	client "github.com/go-sql-driver/mysql"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql"
)

// commits is a connector whose connections answer COMMIT in another way.
type commits struct {
	driver.Connector
	answer func(ctx context.Context, conn clientConn) error
}

// clientConn is what database/sql asks of the client's connection.
type clientConn interface {
	driver.Conn
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.SessionResetter
	driver.Validator
}

type commitConn struct {
	clientConn
	answer func(ctx context.Context, conn clientConn) error
}

// Connect implements driver.Connector.
func (c commits) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return commitConn{clientConn: conn.(clientConn), answer: c.answer}, nil
}

// ExecContext implements driver.ExecerContext.
func (c commitConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if strings.HasPrefix(query, "COMMIT") {
		return driver.ResultNoRows, c.answer(ctx, c.clientConn)
	}
	return c.clientConn.ExecContext(ctx, query, args)
}

// Goal: the end of a transaction of the driver's own says what has happened. Method: commits whose answer is lost,
// which are refused as a Galera cluster does, and which are not answered in time.
func TestHeavyCommitIsInterpreted(t *testing.T) {
	t.Parallel()
	exec := func(ctx context.Context, conn clientConn, statement string) error {
		_, err := conn.ExecContext(ctx, statement, nil)
		return err
	}
	conflict := &client.MySQLError{Number: 1213, SQLState: [5]byte([]byte("40001")), Message: "Deadlock found when trying to get lock"}
	for name, want := range map[string]struct {
		answer func(ctx context.Context, conn clientConn) error
		kind   db.Kind
		held   bool
	}{
		"lost": {func(ctx context.Context, conn clientConn) error {
			return errors.Join(exec(ctx, conn, "COMMIT"), conn.Close(), client.ErrInvalidConn)
		}, db.KindInFlight, true},
		"conflict": {func(ctx context.Context, conn clientConn) error {
			return errors.Join(exec(ctx, conn, "ROLLBACK"), conflict)
		}, db.KindRetry, false},
		"refused": {func(context.Context, clientConn) error {
			return &client.MySQLError{Number: 1180, Message: "Got error during COMMIT"}
		}, db.KindOther, false},
		"late": {func(ctx context.Context, _ clientConn) error {
			<-ctx.Done()
			return ctx.Err()
		}, db.KindInFlight, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, product string) {
				t.Helper()
				place := lentPlace(t, product)
				config, err := mysql.ParseDSN(place.DSN)
				if err != nil {
					t.Fatal(err)
				}
				connector, err := client.NewConnector(config)
				if err != nil {
					t.Fatal(err)
				}
				handle := sql.OpenDB(commits{connector, want.answer})
				defer func() { _ = handle.Close() }()
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				err = clients.Driver(testclient.MySQL(t, handle)).InTx(ctx, func(d db.Driver) error { return getIn(t, d, "1") })
				if err == nil || db.KindOf(err) != want.kind {
					t.Errorf("%v (kind %d), want kind %d", err, db.KindOf(err), want.kind)
				}
				requireHeld(t, place.Driver, "1", want.held)
			})
		})
	}
}

// Goal: a transaction of the driver's own leaves the session's time limits as they were. Method: a pool of one connection with limits of its
// own; one transaction is committed, one is rolled back.
func TestInTxPutsTimeLimitsBack(t *testing.T) {
	t.Parallel()
	const limits, own = "SELECT CONCAT_WS(',', @@wait_timeout, @@net_write_timeout)", "1234,123"
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		handle := oneConnection(t, newPlace(t, product).DSN, nil)
		mustQuery(t, handle, "SET SESSION wait_timeout = 1234, SESSION net_write_timeout = 123")
		for _, want := range []error{nil, errors.New("refused")} {
			err := clients.Driver(testclient.MySQL(t, handle)).InTx(t.Context(), func(db.Driver) error { return want })
			if !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
			var left string
			if err := handle.QueryRowContext(t.Context(), limits).Scan(&left); err != nil || left != own {
				t.Errorf("after a transaction with %v: %s, %v, want %s", want, left, err, own)
			}
		}
	})
}

// Goal: a transaction of the driver's own is one of READ COMMITTED on one connection, whatever the session's default,
// which it leaves alone. Method: a pool of one connection at SERIALIZABLE; an operation sees what another
// connection has committed since the first one.
func TestInTxIsReadCommitted(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		handle := oneConnection(t, place.DSN, nil)
		mustQuery(t, handle, "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE")
		own := clients.Driver(testclient.MySQL(t, handle))
		err := own.InTx(t.Context(), func(d db.Driver) error {
			requireHeld(t, d, "1", false)
			if err := getIn(t, place.Driver, "1"); err != nil {
				return err
			}
			requireHeld(t, d, "1", true)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		inDefaultTx(t, handle, func(tx *sql.Tx) {
			mustQuery(t, tx, "CALL inquire_appl_lock_row('customer', '1')") // locks, at SERIALIZABLE
			if got := releaseKind(t, place.Driver); got != db.KindBusy {
				t.Errorf("release beside a transaction at SERIALIZABLE: kind %d, want %d", got, db.KindBusy)
			}
		})
	})
}

// Goal: the driver that InTx passes to its operations is unusable after them: it reaches neither the pool nor another caller's transaction.
// Method: keep it.
func TestInTxDriverEnds(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		var kept db.Driver
		if err := place.Driver.InTx(t.Context(), func(d db.Driver) error { kept = d; return nil }); err != nil {
			t.Fatal(err)
		}
		if err := getIn(t, kept, "1"); err == nil {
			t.Error("the driver is used after its transaction without an error")
		}
		requireHeld(t, place.Driver, "1", false)
	})
}

// Goal: a connection that cannot be rolled back does not go back to the pool, and its transaction ends with it. Method:
// an operation whose connection is killed, in a pool of one connection.
func TestInTxDropsBrokenConnections(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		handle := oneConnection(t, place.DSN, nil)
		id := value(t, handle, "SELECT CONNECTION_ID()")
		cause := errors.New("cause")
		err := clients.Driver(testclient.MySQL(t, handle)).InTx(t.Context(), func(d db.Driver) error {
			if err := getIn(t, d, "1"); err != nil {
				return err
			}
			mustQuery(t, place.SQL, "KILL CONNECTION "+id)
			return cause
		})
		if !errors.Is(err, cause) {
			t.Errorf("%v, want the cause", err)
		}
		if again := value(t, handle, "SELECT CONNECTION_ID()"); again == id {
			t.Errorf("connection %s is in use again", id)
		}
		if err := getIn(t, clients.Driver(testclient.MySQL(t, handle)), "1"); err != nil {
			t.Errorf("get afterwards: %v", err)
		}
	})
}

func getIn(t *testing.T, d db.Driver, id string) error {
	t.Helper()
	result, err := d.GetApplLock(t.Context(), db.GetApplLockParams{ObjectType: "customer", ObjectID: id, OperatorID: "JDOE", TTLSeconds: 60})
	if err == nil && result.OkFL != db.Yes {
		err = fmt.Errorf("get %s: %+v", id, result)
	}
	return err
}

func requireHeld(t *testing.T, d db.Driver, id string, want bool) {
	t.Helper()
	result, err := d.InquireApplLock(t.Context(), db.InquireApplLockParams{ObjectType: "customer", ObjectID: id})
	if err != nil || (result.OkFL == db.Yes) != want {
		t.Errorf("inquire %s: %+v, %v, want held %t", id, result, err, want)
	}
}

// inDefaultTx runs work in a transaction at the session's level, and rolls it back.
func inDefaultTx(t *testing.T, handle *sql.DB, work func(tx *sql.Tx)) {
	t.Helper()
	tx, err := handle.BeginTx(context.WithoutCancel(t.Context()), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }() // work has said what goes wrong
	work(tx)
}

// releaseKind releases a lock of getIn's and returns the kind of the error.
func releaseKind(t *testing.T, d db.Driver) db.Kind {
	t.Helper()
	_, err := d.ReleaseApplLock(t.Context(), db.ReleaseApplLockParams{ObjectType: "customer", ObjectID: "1", OperatorID: "JDOE"})
	return db.KindOf(err)
}

// Goal: two transactions that would deadlock both end, each with its lock and its data. Method: both change two rows of the application's in
// the opposite order, and meet after the first; the server rolls one back (1213), and InSQLTx begins it again.
func TestInSQLTxAfterADeadlock(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := newPlace(t, product)
		mustQuery(t, place.SQL, "CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL)")
		mustQuery(t, place.SQL, "INSERT INTO account VALUES (1, 0), (2, 0)")
		var meeting, group sync.WaitGroup
		meeting.Add(2)
		var runs atomic.Int64
		for i, order := range [][]int{{1, 2}, {2, 1}} {
			group.Go(func() {
				meet := sync.OnceFunc(func() { meeting.Done(); meeting.Wait() })
				err := place.Client.InSQLTx(t.Context(), func(tx *sql.Tx, locks *applock.Client) error {
					runs.Add(1)
					for _, id := range order {
						if _, err := tx.ExecContext(t.Context(), "UPDATE account SET balance = balance + 1 WHERE id = ?", id); err != nil {
							return err
						}
						meet()
					}
					_, err := locks.Get(t.Context(), applock.GetRequest{
						Object: applock.Object{Type: "transfer", ID: strconv.Itoa(i)}, Owner: applock.Owner{Operator: "JDOE"},
					})
					return err
				})
				if err != nil {
					t.Errorf("%v: %v", order, err)
				}
			})
		}
		group.Wait()
		if got := value(t, place.SQL, "SELECT CONCAT(SUM(balance), ' ', (SELECT COUNT(*) FROM appl_lock_live)) FROM account"); got != "4 2" || runs.Load() < 3 {
			t.Errorf("balances and locks %s after %d runs, want 4 2 after at least 3", got, runs.Load())
		}
	})
}
