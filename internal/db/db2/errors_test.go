package db2_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
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
		server.refuse(c.err)
		err := clients.Driver(testclient.DB2(t, pool)).AssertApplLock(t.Context(), db.AssertApplLockParams{Fence: 1})
		want := c.atConnect
		if want == db.KindOther {
			want = c.kind
		}
		if kind := db.KindOf(err); kind != want {
			t.Errorf("kind %d, want %d: %v", kind, want, err)
		}
		checkText(t, err, c.err)
		if _, err := getThroughFacade(t.Context(), testclient.DB2(t, pool)); errors.Is(err, applock.ErrOutcomeUnknown) {
			t.Errorf("error = %v, but nothing was sent", err)
		}
	})
}

func getRequest() applock.GetRequest {
	return applock.GetRequest{Object: applock.Object{Type: "customer", ID: "1"}, Owner: applock.Owner{Operator: "JDOE"}}
}

func getThroughFacade(ctx context.Context, client *applock.Client) (applock.Grant, error) {
	return client.Get(ctx, getRequest())
}

// checkSentinels requires that an error is exactly these errors of the façade.
func checkSentinels(t *testing.T, err error, want ...error) {
	t.Helper()
	for _, sentinel := range []error{
		applock.ErrHeld, applock.ErrNotHeld, applock.ErrLost, applock.ErrInvalid, applock.ErrOutcomeUnknown, applock.ErrSchema,
	} {
		wanted := slices.Contains(want, sentinel)
		if errors.Is(err, sentinel) != wanted {
			t.Errorf("error = %v: is %q: %t, want %t", err, sentinel, !wanted, wanted)
		}
	}
}

// Goal: through package applock each error is the sentinel of its kind, says what to do, and names what Db2 said.
// The call is repeated if Db2 says that nothing has happened, but not a wait that was cut off; and not in a
// transaction, where there is no unknown outcome either.
func TestErrorsThroughFacade(t *testing.T) {
	t.Parallel()
	sentinels := map[db.Kind][]error{
		db.KindInvalid:   {applock.ErrInvalid},
		db.KindAssertion: {applock.ErrLost, applock.ErrNotHeld},
		db.KindSchema:    {applock.ErrSchema},
		db.KindInFlight:  {applock.ErrOutcomeUnknown},
	}
	advice := map[db.Kind]string{
		db.KindContention:     "call again",
		db.KindBusy:           "try again",
		db.KindRetry:          "begin again",
		db.KindPrivilege:      "a privilege is missing",
		db.KindAuthentication: "the password",
		db.KindNoDatabase:     "no such database",
		db.KindUnreachable:    "cannot reach the database",
		db.KindSchema:         "applockctl migrate up",
	}
	eachError(t, func(t *testing.T, c errorCase) {
		server, pool := newFake(t, onlyAnswer(fakeAnswer{err: c.err}))
		client := testclient.DB2(t, pool)
		_, err := getThroughFacade(t.Context(), client)
		checkText(t, err, c.err)
		checkSentinels(t, err, sentinels[c.kind]...)
		if !strings.Contains(err.Error(), advice[c.kind]) {
			t.Errorf("error = %v, want %q in it", err, advice[c.kind])
		}
		calls := len(server.statements())
		if repeated := calls > 1; repeated != (c.kind == db.KindContention || c.kind == db.KindRetry) {
			t.Errorf("called %d times", calls)
		}

		server.answer = func(statement fakeStatement) fakeAnswer {
			if strings.HasPrefix(statement.text, "CALL") {
				return fakeAnswer{err: c.err}
			}
			return fakeAnswer{}
		}
		tx := begin(t, pool)
		server.statements()
		_, err = getThroughFacade(t.Context(), client.WithSQLTx(tx))
		checkText(t, err, c.err)
		if calls := len(server.statements()); calls != 1 || errors.Is(err, applock.ErrOutcomeUnknown) {
			t.Errorf("in a transaction: called %d times, %v", calls, err)
		}
		_ = tx.Rollback() // on a connection that may be lost
	})
}

// Goal: a deadlock outside a transaction is nobody's business: the call is repeated until it is answered.
func TestDeadlockIsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, pool := newFake(t, nil)
		server.answer = func(fakeStatement) fakeAnswer {
			if server.works() == 1 && len(server.log) < 3 {
				return fakeAnswer{err: answer(-911, "40001", rolledBack+`"2".`)}
			}
			return fakeAnswer{
				columns: []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"},
				rows:    [][]driver.Value{{"N", "HELD", "KIM", "CS", int64(0), moment(), moment(), int64(60), ""}},
			}
		}
		_, err := getThroughFacade(t.Context(), testclient.DB2(t, pool))
		var held *applock.HeldError
		if !errors.As(err, &held) || held.Holder.Owner.Operator != "KIM" || held.Holder.Owner.Department != "CS" ||
			!held.Holder.AcquiredAt.Equal(moment()) || !held.Holder.ExpiresAt.Equal(moment()) || held.Holder.Left != time.Minute {
			t.Errorf("error = %v, want KIM to hold it", err)
		}
		checkSentinels(t, err, applock.ErrHeld)
		if calls := len(server.statements()); calls != 3 || server.connections != 1 {
			t.Errorf("called %d times on %d connections, want 3 on one", calls, server.connections)
		}
	})
}

// slowServer answers on command.
type slowServer struct {
	answer  fakeAnswer
	proceed chan struct{}
}

func (s *slowServer) run(fakeStatement) fakeAnswer {
	<-s.proceed
	return s.answer
}

// Goal: when a context ends during a call, the call returns at once and nobody knows what became of it. What goes on
// ends when the server answers: the connection goes back to the pool, or is closed if it is lost. Method: a server
// that takes its time, and the bubble's clock; the bubble does not end before the last goroutine.
func TestContextEndsDuringCall(t *testing.T) {
	t.Parallel()
	contexts := map[error]func(ctx context.Context) (context.Context, context.CancelFunc){
		context.Canceled: func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		},
		context.DeadlineExceeded: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		},
	}
	for cause, endingIn := range contexts {
		for name, answered := range map[string]struct {
			answer   fakeAnswer
			wantOpen int
		}{
			"answered": {answer: fakeAnswer{columns: []string{"1"}}, wantOpen: 1},
			"refused":  {answer: fakeAnswer{err: answer(-204, "42704", "")}, wantOpen: 1},
			"lost":     {answer: fakeAnswer{err: answer(-30081, "08001", "")}},
		} {
			t.Run(cause.Error()+", "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					slow := &slowServer{answer: answered.answer, proceed: make(chan struct{})}
					server, pool := newFake(t, slow.run)
					ctx, cancel := endingIn(t.Context())
					defer cancel()
					begun := time.Now()
					result, err := clients.Driver(testclient.DB2(t, pool)).InquireApplLock(ctx, db.InquireApplLockParams{ObjectType: "t", ObjectID: "i"})
					if waited := time.Since(begun); waited != time.Second || server.works() != 1 {
						t.Errorf("returned after %s, want 1s; the server works on %d statements", waited, server.works())
					}
					if !errors.Is(err, cause) || db.KindOf(err) != db.KindInFlight || result != (db.InquireApplLockResult{}) {
						t.Errorf("result %+v, %v, want nothing and %v in flight", result, err, cause)
					}
					close(slow.proceed)
					synctest.Wait()
					if stats := pool.Stats(); stats.InUse != 0 || stats.OpenConnections != answered.wantOpen || server.open() != answered.wantOpen {
						t.Errorf("pool %+v, want %d connections, none in use", stats, answered.wantOpen)
					}
				})
			})
		}
	}
}

// Goal: the façade tells of an unknown outcome where a call may have changed something, and only there.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	ofObject, object := applock.Owner{Operator: "JDOE"}, getRequest().Object
	for name, test := range map[string]struct {
		call    func(ctx context.Context, client *applock.Client) error
		unknown bool
	}{
		"Get": {func(ctx context.Context, client *applock.Client) error {
			_, err := getThroughFacade(ctx, client)
			return err
		}, true},
		"Release": {func(ctx context.Context, client *applock.Client) error {
			_, err := client.Release(ctx, applock.ReleaseRequest{Key: applock.Key{Object: object, Operator: "JDOE"}})
			return err
		}, true},
		"Transfer": {func(ctx context.Context, client *applock.Client) error {
			_, err := client.Transfer(ctx, applock.TransferRequest{Object: object, From: "ASMITH", To: ofObject})
			return err
		}, true},
		"Purge": {func(ctx context.Context, client *applock.Client) error {
			_, err := client.Purge(ctx, applock.PurgeRequest{})
			return err
		}, true},
		"Inquire": {func(ctx context.Context, client *applock.Client) error {
			_, err := client.Inquire(ctx, object)
			return err
		}, false},
		"Assert": {func(ctx context.Context, client *applock.Client) error {
			return client.Assert(ctx, applock.Key{Object: object, Operator: "JDOE", Fence: 1})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				slow := &slowServer{answer: fakeAnswer{columns: []string{"1"}}, proceed: make(chan struct{})}
				_, pool := newFake(t, slow.run)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				err := test.call(ctx, testclient.DB2(t, pool))
				if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, applock.ErrOutcomeUnknown) != test.unknown {
					t.Errorf("error = %v, want an unknown outcome: %t", err, test.unknown)
				}
				close(slow.proceed)
				synctest.Wait()
			})
		})
	}
}

// Goal: in a transaction the call returns as soon, but its outcome is known: nothing before the commit. The
// transaction can be rolled back when the server has answered.
func TestContextEndsInTransaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := &slowServer{answer: fakeAnswer{columns: []string{"1"}}, proceed: make(chan struct{})}
		server, pool := newFake(t, nil)
		server.answer = func(statement fakeStatement) fakeAnswer {
			if strings.HasPrefix(statement.text, "CALL") {
				return slow.run(statement)
			}
			return fakeAnswer{}
		}
		tx := begin(t, pool)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := getThroughFacade(ctx, testclient.DB2(t, pool).WithSQLTx(tx))
		if !errors.Is(err, context.DeadlineExceeded) || db.KindOf(err) != db.KindInFlight || server.works() != 1 {
			t.Errorf("error = %v, the server works on %d statements", err, server.works())
		}
		checkSentinels(t, err)
		close(slow.proceed)
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
		if stats := pool.Stats(); stats.InUse != 0 || stats.OpenConnections != 1 {
			t.Errorf("pool %+v, want one connection, not in use", stats)
		}
	})
}

// Goal: a context that has ended before the call sends nothing, and there is nothing unknown about that. Method:
// on a pool without connections and in a transaction; through the façade, too.
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
	if _, err := getThroughFacade(ctx, testclient.DB2(t, pool)); !errors.Is(err, context.Canceled) || errors.Is(err, applock.ErrOutcomeUnknown) {
		t.Errorf("through the façade: %v", err)
	}
}
