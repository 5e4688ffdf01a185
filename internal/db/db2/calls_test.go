package db2_test

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
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

// Goal: a schema that cannot be named is refused, and Close leaves the caller's pool open.
func TestWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	_, pool := newFake(t, onlyAnswer(yes()))
	caller := clients.Driver(testclient.DB2(t, pool))
	if _, err := db2client.New(pool, db2client.Config{Schema: `a"b`}); !errors.Is(err, applock.ErrInvalid) {
		t.Error("a bad schema was accepted")
	}
	if err := caller.Close(); err != nil {
		t.Error(err)
	}
	if err := assertGrant(t.Context(), caller); err != nil {
		t.Errorf("the pool was closed: %v", err)
	}
}
