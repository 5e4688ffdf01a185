package mysql_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// Goal: the work of a call that ended with an error does not take effect later, and the connection's next call is in its own transaction. A
// procedure's handlers do not run after a fatal error, such as a full disk, nor after a KILL: its transaction stays open, and the session
// goes on in it. Method: a transfer whose event cannot be written, because the table has lost its file, and one that is killed while it
// waits for the row; then a get on the pool's one connection, and each statement that begins a transaction there, which would commit the
// rest.
func TestNoTransactionIsLeft(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(t *testing.T, place contract.Place, transfer func() error, session string) error{
		"fatal":  transferWithoutFile,
		"killed": transferKilled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, product string) {
				t.Helper()
				place := newPlace(t, product)
				handle := oneConnection(t, place.DSN, nil)
				own := clients.Driver(testclient.MySQL(t, handle))
				if err := getIn(t, own, "1"); err != nil {
					t.Fatal(err)
				}
				transfer := func() error {
					_, err := own.TransferApplLock(context.WithoutCancel(t.Context()), db.TransferApplLockParams{
						ObjectType: "customer", ObjectID: "1", FromOperatorID: "JDOE", ToOperatorID: "MMILLER", TTLSeconds: 60,
					})
					return err
				}
				if err := fail(t, place, transfer, value(t, handle, "SELECT CONNECTION_ID()")); err == nil {
					t.Fatal("transferred")
				}
				if err := getIn(t, own, "2"); err != nil {
					t.Fatal(err)
				}
				requireHeld(t, place.Driver, "2", true)
				inDefaultTx(t, handle, func(*sql.Tx) {})
				held, err := place.Driver.InquireApplLock(t.Context(), db.InquireApplLockParams{ObjectType: "customer", ObjectID: "1"})
				if err != nil || held.Lock.OperatorID != "JDOE" {
					t.Errorf("after a transfer that was answered by an error: %+v, %v, want JDOE", held, err)
				}
			})
		})
	}
}

func transferWithoutFile(t *testing.T, place contract.Place, transfer func() error, _ string) error {
	t.Helper()
	mustQuery(t, testdb.OpenMySQL(t, place.DSN, nil), "ALTER TABLE appl_lock_event DISCARD TABLESPACE")
	return transfer()
}

// refreshed is how long nobody may look at innodb_trx until it is fresh.
const refreshed = 150 * time.Millisecond

// transferKilled kills the transfer as it waits for the object's row.
func transferKilled(t *testing.T, place contract.Place, transfer func() error, session string) error {
	t.Helper()
	return killedBehind(t, place, "SELECT * FROM appl_lock WHERE object_id = '1' FOR UPDATE", transfer, session)
}

// killedBehind kills a call as it waits for what a transaction has locked, once more if that comes too late.
func killedBehind(t *testing.T, place contract.Place, lock string, call func() error, session string) error {
	t.Helper()
	handle := testdb.OpenMySQL(t, place.DSN, nil)
	waiting := "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT' AND trx_mysql_thread_id = " + session
	var err error
	inDefaultTx(t, handle, func(tx *sql.Tx) {
		mustQuery(t, tx, lock)
		for !isKilled(err) {
			answered := make(chan error, 1)
			go func() { answered <- call() }()
			for isAnswered := false; !isAnswered; {
				if value(t, handle, waiting) != "0" {
					mustQuery(t, handle, fmt.Sprint("KILL QUERY ", session))
				}
				select {
				case err = <-answered:
					isAnswered = true
				case <-time.After(refreshed):
				}
			}
		}
	})
	return err
}

func isKilled(err error) bool { return db.KindOf(err) == db.KindInFlight }
