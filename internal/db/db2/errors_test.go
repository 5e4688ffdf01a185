package db2_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/testclient"
)

const rolledBack = "The current transaction has been rolled back because of a deadlock or timeout.  Reason code "

// errorCase is an error of the client and what becomes of it.
type errorCase struct {
	name string
	err  error
	// kind is what it means as the answer to a call, atConnect what it means before there is a connection; KindOther
	// is the former again.
	kind, atConnect db.Kind
	// lost means that the connection is broken afterwards.
	lost bool
}

func answer(code int, state, message string) *db2Error {
	return &db2Error{state: state, code: code, text: fmt.Sprintf(
		"[IBM][CLI Driver][DB2/LINUXX8664] SQL%04dN  %s  SQLSTATE=%s", -code, message, state)}
}

func errorCases() []errorCase {
	lost := func(name string, err error) errorCase {
		return errorCase{name: name, err: err, kind: db.KindInFlight, atConnect: db.KindUnreachable, lost: true}
	}
	return []errorCase{
		{name: "Invalid", err: answer(-438, "LK001", `Application raised error or warning with diagnostic text: "get_appl_lock: p_object_id is".`), kind: db.KindInvalid},
		{name: "Assertion", err: answer(-438, "LK002", `... text: "assert_appl_lock: held by KIM".`), kind: db.KindAssertion},
		{name: "Contention", err: answer(-438, "LK003", `... text: "get_appl_lock: changed hands too often".`), kind: db.KindContention},
		{name: "Timeout", err: answer(-911, "40001", rolledBack+`"68".`), kind: db.KindBusy},
		{name: "Deadlock", err: answer(-911, "40001", rolledBack+`"2".`), kind: db.KindRetry},
		{name: "TimeoutOnZOS", err: answer(-913, "57033", "Unsuccessful execution caused by deadlock or timeout.  Reason code 00C9008E."), kind: db.KindBusy},
		{name: "DeadlockOnZOS", err: answer(-913, "57033", "Unsuccessful execution caused by deadlock or timeout.  Reason code 00C90088."), kind: db.KindRetry},
		{name: "NoTable", err: answer(-204, "42704", `"APPLOCK.APPL_LOCK" is an undefined name.`), kind: db.KindSchema},
		{name: "NoProcedure", err: answer(-440, "42884", `No authorized routine named "APPLOCK.GET_APPL_LOCK_ROW" was found.`), kind: db.KindSchema},
		{name: "NoPrivilege", err: answer(-551, "42501", `"ALICE" does not have the required privilege.`), kind: db.KindPrivilege},
		{name: "NoAuthority", err: answer(-552, "42502", `"ALICE" does not have the privilege to perform operation "CREATE TABLE".`), kind: db.KindPrivilege},
		{name: "MayNotGrant", err: answer(-567, "42501", "Bind authorization failure."), kind: db.KindPrivilege},
		{name: "NoCommand", err: answer(-1092, "42501", "The requested command or operation failed because the user has no authority."), kind: db.KindPrivilege},
		{name: "MayNotConnect", err: answer(-1060, "08004", `User "ALICE" does not have the CONNECT privilege.`), kind: db.KindPrivilege},
		{name: "Password", err: answer(-30082, "08001", `Security processing failed with reason "24".`), kind: db.KindAuthentication},
		{name: "PasswordOfOldServers", err: answer(-1403, "08004", "The username and/or password supplied is incorrect."), kind: db.KindAuthentication},
		{name: "NoDatabase", err: answer(-1013, "42705", "The database alias name or database name could not be found."), kind: db.KindNoDatabase},
		{name: "NoDirectory", err: answer(-1031, "58031", "The database directory cannot be found on the indicated file system."), kind: db.KindNoDatabase},
		{name: "NoDatabaseOverThere", err: answer(-30061, "08004", `The database alias or database name "SHOP" was not found at the remote node.`), kind: db.KindNoDatabase},
		{name: "NotStarted", err: answer(-1032, "57019", "No start database manager command was issued."), kind: db.KindUnreachable},
		{name: "TooManyConnections", err: answer(-1040, "57030", "The maximum number of applications is already connected to the database."), kind: db.KindUnreachable},
		{name: "TooManyAgents", err: answer(-1226, "57030", "The maximum number of coordinating agents are already started."), kind: db.KindUnreachable},
		{name: "Interrupted", err: answer(-952, "57014", "Processing was cancelled due to an interrupt."), kind: db.KindInFlight, atConnect: db.KindUnreachable},
		lost("Communication", answer(-30081, "08001", `A communication error has been detected.  Communication function detecting the error: "recv".`)),
		lost("CommunicationInStatement", answer(-30081, "40003", `A communication error has been detected.  Communication function detecting the error: "recv".`)),
		lost("Rerouted", answer(-30108, "08506", "A connection failed but has been re-established.")),
		lost("Forced", answer(-1224, "55032", "The database manager is not able to accept new requests.")),
		lost("Stopped", answer(-1229, "40504", "The current transaction has been rolled back because of a system error.")),
		lost("NoConnectionAnyMore", answer(-900, "08003", "A database connection does not exist.")),
		lost("Protocol", answer(-30080, "40003", "A communication error occurred while sending or receiving data.")),
		lost("Class08", answer(-99999, "08S01", "Communication link failure.")),
		// go_ibm_db says this of CLI0108E, too: 40003, the completion of the statement is unknown.
		lost("BadConnection", driver.ErrBadConn),
		{name: "CutOff", err: io.ErrUnexpectedEOF, kind: db.KindInFlight, atConnect: db.KindUnreachable},
		{name: "Other", err: answer(-302, "22001", "The value of a host variable is too large."), kind: db.KindOther},
	}
}

// eachError runs a subtest with its own clock for each error.
func eachError(t *testing.T, test func(t *testing.T, c errorCase)) {
	t.Helper()
	for _, c := range errorCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test(t, c) })
		})
	}
}

// checkText requires Db2's own text, with both codes, and the client's error in the chain.
func checkText(t *testing.T, err, cause error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), cause.Error()) || !errors.Is(err, cause) {
		t.Errorf("error = %v, want %v in it", err, cause)
	}
}

// Goal: each error is of its kind, in Db2's words; a connection that is lost leaves the pool, and the next call
// connects anew. Method: each error from the statement, from the last row, and while the cursor is closed.
func TestErrorsOfCalls(t *testing.T) {
	t.Parallel()
	eachError(t, func(t *testing.T, c errorCase) {
		columns := []string{"1"}
		for place, failing := range map[string]fakeAnswer{
			"statement": {err: c.err},
			"rows":      {columns: columns, rowsErr: c.err},
			"close":     {columns: columns, closeErr: c.err},
		} {
			server, pool := newFake(t, onlyAnswer(failing))
			caller := clients.Driver(testclient.DB2(t, pool))
			err := caller.AssertApplLock(t.Context(), db.AssertApplLockParams{Fence: 1})
			if kind := db.KindOf(err); kind != c.kind {
				t.Errorf("%s: kind %d, want %d: %v", place, kind, c.kind, err)
			}
			checkText(t, err, c.err)
			wantOpen := 1
			if c.lost {
				wantOpen = 0
			}
			if open := server.open(); open != wantOpen || pool.Stats().OpenConnections != wantOpen {
				t.Errorf("%s: %d connections are open, want %d", place, open, wantOpen)
			}
			server.answer = onlyAnswer(fakeAnswer{columns: columns, rows: [][]driver.Value{{[]byte("Y")}}})
			if err := caller.AssertApplLock(t.Context(), db.AssertApplLockParams{Fence: 1}); err != nil {
				t.Errorf("%s: the next call: %v", place, err)
			}
			if want := 2 - wantOpen; server.connections != want {
				t.Errorf("%s: %d connections were made, want %d", place, server.connections, want)
			}
		}
	})
}

// Goal: before there is a connection, nothing has been sent.
func TestErrorsOfConnecting(t *testing.T) {
	t.Parallel()
	eachError(t, func(t *testing.T, c errorCase) {
		server, pool := newFake(t, nil)
		server.refusal = c.err
		err := clients.Driver(testclient.DB2(t, pool)).AssertApplLock(t.Context(), db.AssertApplLockParams{Fence: 1})
		want := c.atConnect
		if want == db.KindOther {
			want = c.kind
		}
		if kind := db.KindOf(err); kind != want {
			t.Errorf("kind %d, want %d: %v", kind, want, err)
		}
		checkText(t, err, c.err)
	})
}

// Goal: the façade repeats a call that a deadlock has undone, but no wait that was cut off, and nothing in a transaction. An outcome is unknown
// only outside of one, where the call may have changed something.
func TestErrorsThroughFacade(t *testing.T) {
	t.Parallel()
	object := applock.Object{Type: "customer", ID: "1"}
	get := func(ctx context.Context, client *applock.Client) error {
		_, err := client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE"}})
		return err
	}
	inquire := func(ctx context.Context, client *applock.Client) error {
		_, err := client.Inquire(ctx, object)
		return err
	}
	deadlock, timeout := answer(-911, "40001", rolledBack+`"2".`), answer(-911, "40001", rolledBack+`"68".`)
	for name, test := range map[string]struct {
		err                         error
		call                        func(ctx context.Context, client *applock.Client) error
		inTx, isRepeated, isUnknown bool
	}{
		"Deadlock":     {deadlock, get, false, true, false},
		"DeadlockInTx": {deadlock, get, true, false, false},
		"Timeout":      {timeout, get, false, false, false},
		"CutOff":       {io.ErrUnexpectedEOF, get, false, false, true},
		"CutOffInTx":   {io.ErrUnexpectedEOF, get, true, false, false},
		"CutOffRead":   {io.ErrUnexpectedEOF, inquire, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server, pool := newFake(t, txServer(nil))
				client := testclient.DB2(t, pool)
				if test.inTx {
					tx := begin(t, pool)
					defer func() { _ = tx.Rollback() }() // on a server that refuses all
					client = client.WithSQLTx(tx)
				}
				server.statements()
				server.answer = onlyAnswer(fakeAnswer{err: test.err})
				err := test.call(t.Context(), client)
				checkText(t, err, test.err)
				if calls := len(server.statements()); (calls > 1) != test.isRepeated || errors.Is(err, applock.ErrOutcomeUnknown) != test.isUnknown {
					t.Errorf("called %d times: %v", calls, err)
				}
			})
		})
	}
}

// Goal: a call, and InTx, return when their context ends, and nobody knows what became of them. What goes on ends when the server answers:
// nothing is committed that was not to be, and the connection goes back to the pool, or is closed if it is lost. Method: a server that takes
// its time at one statement, and the bubble's clock; the bubble does not end before the last goroutine.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	inTx := func(ctx context.Context, driver db.Driver) error {
		return driver.InTx(ctx, func(driver db.Driver) error { return assertGrant(ctx, driver) })
	}
	for name, test := range map[string]struct {
		call func(ctx context.Context, driver db.Driver) error
		// at is where the server takes its time, answer what it says then, last the last that it gets.
		at       string
		answer   fakeAnswer
		last     string
		wantOpen int
	}{
		"Call":     {assertGrant, assertCallText, yes(), assertCallText, 1},
		"LostCall": {assertGrant, assertCallText, fakeAnswer{err: answer(-30081, "08001", "")}, assertCallText, 0},
		"CallInTx": {inTx, assertCallText, yes(), "ROLLBACK", 1},
		"Commit":   {inTx, "COMMIT", fakeAnswer{}, "COMMIT", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				proceed := make(chan struct{})
				server, pool := newFake(t, func(statement fakeStatement) fakeAnswer {
					if statement.text == test.at {
						<-proceed
						return test.answer
					}
					return txServer(nil)(statement)
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				begun := time.Now()
				err := test.call(ctx, clients.Driver(testclient.DB2(t, pool)))
				if waited := time.Since(begun); waited != time.Second || !errors.Is(err, context.DeadlineExceeded) || db.KindOf(err) != db.KindInFlight {
					t.Errorf("error = %v of kind %d after %s", err, db.KindOf(err), waited)
				}
				close(proceed)
				synctest.Wait()
				if sent := server.statements(); sent[len(sent)-1].text != test.last {
					t.Errorf("sent %v, want %s in the end", sent, test.last)
				}
				if stats := pool.Stats(); stats.InUse != 0 || stats.OpenConnections != test.wantOpen || server.open() != test.wantOpen {
					t.Errorf("pool %+v, want %d connections, none in use", stats, test.wantOpen)
				}
			})
		})
	}
}

// Goal: a context that has ended before the call sends nothing, and there is nothing unknown about that. Method:
// on a pool without connections, in a transaction, and before a commit.
func TestContextEndedBefore(t *testing.T) {
	t.Parallel()
	server, pool := newFake(t, onlyAnswer(fakeAnswer{}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	outside := clients.Driver(testclient.DB2(t, pool))
	err := assertGrant(ctx, outside)
	if !errors.Is(err, context.Canceled) || db.KindOf(err) == db.KindInFlight || server.connections != 0 {
		t.Errorf("error = %v, %d connections were made", err, server.connections)
	}
	tx := begin(t, pool)
	server.statements()
	for range 20 { // a select takes either of two that are ready
		err = assertGrant(ctx, outside.WithSQLTx(tx))
		if sent := server.statements(); !errors.Is(err, context.Canceled) || db.KindOf(err) == db.KindInFlight || len(sent) != 0 {
			t.Fatalf("in a transaction: error = %v, sent %v", err, sent)
		}
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	server.answer = txServer(nil)
	err = outside.InTx(ctx, func(driver db.Driver) error {
		defer cancel()
		return assertGrant(ctx, driver)
	})
	isFree := eventually(func() bool { return pool.Stats().InUse == 0 })
	if sent := server.statements(); !isFree || !errors.Is(err, context.Canceled) || db.KindOf(err) != db.KindOther || sent[len(sent)-1].text != "ROLLBACK" {
		t.Errorf("before a commit: %v, sent %v", err, sent)
	}
}
