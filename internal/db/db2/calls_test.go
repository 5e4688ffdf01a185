package db2_test

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	db2client "github.com/applock/applock/applock/db2"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/testclient"
)

// What a server answers is tested on servers: this file has what none can be made to do, or shows from outside.

// moment is a time to the microsecond.
func moment() time.Time { return time.Date(2026, 7, 31, 23, 59, 58, 123456000, time.UTC) }

// yes is the answer to an assertion.
func yes() fakeAnswer {
	return fakeAnswer{columns: []string{"P_OK_FL"}, rows: [][]driver.Value{{[]byte("Y")}}}
}

func onlyAnswer(answer fakeAnswer) func(fakeStatement) fakeAnswer {
	return func(fakeStatement) fakeAnswer { return answer }
}

func begin(t *testing.T, pool *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := pool.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

// Goal: a call is of the row form and qualified; values are bound, and an absent argument is a literal NULL, because the client binds NULL as
// a string; an empty text that is a value is bound.
func TestTextOfCalls(t *testing.T) {
	t.Parallel()
	server, pool := newFake(t, onlyAnswer(fakeAnswer{columns: []string{"1"}}))
	if _, err := clients.Driver(testclient.DB2In(t, pool, "other_schema")).TransferApplLock(t.Context(), db.TransferApplLockParams{
		ObjectType: "t", ObjectID: "i", FromOperatorID: "o", ToOperatorID: "p",
	}); err != nil {
		t.Error(err)
	}
	sent, want := server.statements(), []driver.Value{"t", "i", "o", "p", ""}
	if len(sent) != 1 || sent[0].text != "CALL other_schema.transfer_appl_lock_row(?, ?, ?, ?, ?, NULL, NULL, NULL)" || !slices.Equal(sent[0].args, want) {
		t.Errorf("sent %+v, want %q in it", sent, want)
	}
}

// Goal: a call of a driver made by WithTx runs in that transaction, and leaves it to the caller, also after an
// error; other calls run outside of it.
func TestCallsInTransaction(t *testing.T) {
	t.Parallel()
	server, pool := newFake(t, nil)
	var fails error
	server.answer = func(statement fakeStatement) fakeAnswer {
		if strings.HasPrefix(statement.text, "CALL") && fails != nil {
			return fakeAnswer{err: fails}
		}
		return yes()
	}
	outside := clients.Driver(testclient.DB2(t, pool))
	tx := begin(t, pool)
	inside := outside.WithSQLTx(tx)
	for _, fails = range []error{nil, &db2Error{"23505", -803, "SQL0803N"}, nil} {
		server.statements()
		insideErr, outsideErr := assertGrant(t.Context(), inside), assertGrant(t.Context(), outside)
		if (insideErr == nil) != (fails == nil) || (outsideErr == nil) != (fails == nil) {
			t.Errorf("inside: %v, outside: %v, want %v", insideErr, outsideErr, fails)
		}
		sent := server.statements()
		if len(sent) != 2 || sent[0].conn != 1 || !sent[0].inTx || sent[1].conn != 2 || sent[1].inTx {
			t.Errorf("sent %+v, want it in the transaction and outside of it", sent)
		}
		if used := pool.Stats().InUse; used != 1 {
			t.Errorf("%d connections are in use, want the transaction's", used)
		}
	}
	if err := errors.Join(inside.Close(), tx.Commit()); err != nil {
		t.Errorf("the transaction was not the caller's to end: %v", err)
	}
}

// Goal: a connection is given back after every kind of answer, and serves the next call. Method: a pool of one.
func TestConnectionIsGivenBack(t *testing.T) {
	t.Parallel()
	failure := &db2Error{"23505", -803, "SQL0803N"}
	for name, answer := range map[string]fakeAnswer{
		"Refused":      {err: failure},
		"NoResultSet":  {},
		"RowsFail":     {columns: []string{"1"}, rowsErr: failure},
		"CloseFails":   {columns: []string{"1"}, closeErr: failure},
		"WrongColumns": {columns: []string{"1", "2", "3", "4", "5"}, rows: [][]driver.Value{make([]driver.Value, 5)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, pool := newFake(t, onlyAnswer(answer))
			server.lenient = name == "WrongColumns"
			pool.SetMaxOpenConns(1)
			caller := clients.Driver(testclient.DB2(t, pool))
			if err := assertGrant(t.Context(), caller); err == nil {
				t.Error("no error")
			}
			server.answer = onlyAnswer(yes())
			if err := assertGrant(t.Context(), caller); err != nil || server.connections != 1 {
				t.Errorf("the next call: %v, %d connections were made, want one", err, server.connections)
			}
		})
	}
}

// Goal: a transaction of another client is refused, and so is a schema that cannot be named; Close leaves the
// caller's pool open.
func TestWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	server, pool := newFake(t, onlyAnswer(yes()))
	caller := clients.Driver(testclient.DB2(t, pool))
	if _, err := db2client.New(pool, db2client.Config{Schema: `a"b`}); !errors.Is(err, applock.ErrInvalid) {
		t.Error("a bad schema was accepted")
	}
	if sent := server.statements(); len(sent) != 0 {
		t.Errorf("sent %v", sent)
	}
	if err := caller.Close(); err != nil {
		t.Error(err)
	}
	if err := assertGrant(t.Context(), caller); err != nil {
		t.Errorf("the pool was closed: %v", err)
	}
}
