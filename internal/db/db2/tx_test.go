package db2_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/internal/testing/testclient"

	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
)

const assertCallText = "CALL applock.assert_appl_lock_row(?, ?, ?, ?)"

// txServer answers every CALL with yes, and other statements as told.
func txServer(answers map[string]fakeAnswer) func(statement fakeStatement) fakeAnswer {
	return func(statement fakeStatement) fakeAnswer {
		if answer, found := answers[statement.text]; found {
			return answer
		}
		if statement.text == assertCallText {
			return fakeAnswer{columns: []string{"P_RETURN_CD"}, rows: [][]driver.Value{{[]byte("Y")}}}
		}
		return fakeAnswer{}
	}
}

func assertGrant(ctx context.Context, driver db.Driver) error {
	return driver.AssertApplLock(ctx, db.AssertApplLockParams{Fence: 1})
}

// sentIn returns what the server got, and wants all of it on one connection, and the calls in a transaction.
func sentIn(t *testing.T, server *fake) []string {
	t.Helper()
	var texts []string
	for _, statement := range server.statements() {
		texts = append(texts, statement.text)
		if statement.conn != 1 || statement.inTx != (statement.text != "BEGIN") {
			t.Errorf("%s: on connection %d, in a transaction: %t", statement.text, statement.conn, statement.inTx)
		}
	}
	return texts
}

// Goal: operations that succeed are committed together, others are rolled back, also when they panic, and what they
// said is handed on; the connection is free afterwards.
func TestInTx(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	for name, test := range map[string]struct {
		end  func() error
		want error
		last string
	}{
		"Commits":   {func() error { return nil }, nil, "COMMIT"},
		"RollsBack": {func() error { return refused }, refused, "ROLLBACK"},
		"Panics":    {func() error { panic(refused) }, refused, "ROLLBACK"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, pool := newFake(t, txServer(nil))
			pool.SetMaxOpenConns(1)
			err := func() (err error) {
				defer func() {
					if panicked, isError := recover().(error); isError {
						err = panicked
					}
				}()
				return clients.Driver(testclient.DB2(t, pool)).InTx(t.Context(), func(driver db.Driver) error {
					return errors.Join(assertGrant(t.Context(), driver), assertGrant(t.Context(), driver), test.end())
				})
			}()
			if !errors.Is(err, test.want) {
				t.Errorf("error = %v, want %v", err, test.want)
			}
			if got := sentIn(t, server); !slices.Equal(got, []string{"BEGIN", assertCallText, assertCallText, test.last}) {
				t.Errorf("sent %q, want %s in the end", got, test.last)
			}
			if err := assertGrant(t.Context(), clients.Driver(testclient.DB2(t, pool))); err != nil || server.connections != 1 {
				t.Errorf("the next call: %v, on one of %d connections", err, server.connections)
			}
		})
	}
}

// Goal: inside a caller's transaction, or another InTx, operations are a part of that one, which is not ended.
func TestInTxInsideTransaction(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	server, pool := newFake(t, txServer(nil))
	tx := begin(t, pool)
	server.statements()
	inside := clients.Driver(testclient.DB2(t, pool)).WithSQLTx(tx)
	for _, want := range []error{nil, refused} {
		err := inside.InTx(t.Context(), func(driver db.Driver) error {
			return errors.Join(assertGrant(t.Context(), driver), want)
		})
		if !errors.Is(err, want) {
			t.Errorf("error = %v, want %v", err, want)
		}
	}
	if got := sentIn(t, server); !slices.Equal(got, []string{assertCallText, assertCallText}) {
		t.Errorf("sent %q, want two calls and no end", got)
	}
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
	server.statements()
	err := clients.Driver(testclient.DB2(t, pool)).InTx(t.Context(), func(driver db.Driver) error {
		return driver.InTx(t.Context(), func(driver db.Driver) error { return assertGrant(t.Context(), driver) })
	})
	if got := sentIn(t, server); err != nil || !slices.Equal(got, []string{"BEGIN", assertCallText, "COMMIT"}) {
		t.Errorf("sent %q, %v, want one transaction", got, err)
	}
}

// Goal: a commit that fails says what is known of it, and its connection is not used again: go_ibm_db leaves it without
// autocommit. So it is with a transaction that cannot begin or be rolled back.
func TestInTxEndFails(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	for name, test := range map[string]struct {
		text   string
		cause  error
		result error
		want   db.Kind
	}{
		"Deadlock":   {"COMMIT", answer(-911, "40001", rolledBack+`"2".`), nil, db.KindRetry},
		"Timeout":    {"COMMIT", answer(-911, "40001", rolledBack+`"68".`), nil, db.KindBusy},
		"LogFull":    {"COMMIT", answer(-964, "57011", "The transaction log for the database is full."), nil, db.KindOther},
		"Lost":       {"COMMIT", answer(-30081, "08001", "A communication error has been detected."), nil, db.KindInFlight},
		"Unanswered": {"COMMIT", io.ErrUnexpectedEOF, nil, db.KindInFlight},
		"Rollback":   {"ROLLBACK", io.ErrUnexpectedEOF, refused, db.KindOther},
		"Begin":      {"BEGIN", io.ErrUnexpectedEOF, nil, db.KindUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, pool := newFake(t, txServer(map[string]fakeAnswer{test.text: {err: test.cause}}))
			err := clients.Driver(testclient.DB2(t, pool)).InTx(t.Context(), func(driver db.Driver) error {
				return errors.Join(assertGrant(t.Context(), driver), test.result)
			})
			want := test.cause
			if test.result != nil {
				want = test.result
			}
			if db.KindOf(err) != test.want || !errors.Is(err, want) {
				t.Errorf("error = %v of kind %d, want %v of kind %d", err, db.KindOf(err), want, test.want)
			}
			if stats := pool.Stats(); stats.OpenConnections != 0 || server.open() != 0 {
				t.Errorf("%d connections are in the pool, want none", stats.OpenConnections)
			}
		})
	}
	_, pool := newFake(t, nil)
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
	err := clients.Driver(testclient.DB2(t, pool)).InTx(t.Context(), func(db.Driver) error { panic("it was called") })
	if db.KindOf(err) != db.KindClosed {
		t.Errorf("without a connection: %v", err)
	}
}

// Goal: a transaction that Db2 has rolled back is never committed in part, even if the operations ignore the error. Method: the first call
// ends with it, the next ones succeed.
func TestInTxIsUndone(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]db.Kind{`"68".`: db.KindBusy, `"2".`: db.KindRetry} {
		calls := 0
		server, pool := newFake(t, func(statement fakeStatement) fakeAnswer {
			if statement.text == assertCallText {
				if calls++; calls == 2 {
					return fakeAnswer{err: answer(-911, "40001", rolledBack+reason)}
				}
			}
			return txServer(nil)(statement)
		})
		err := clients.Driver(testclient.DB2(t, pool)).InTx(t.Context(), func(driver db.Driver) error {
			for range 3 {
				_ = assertGrant(t.Context(), driver)
			}
			return nil
		})
		if db.KindOf(err) != want {
			t.Errorf("error = %v of kind %d, want kind %d", err, db.KindOf(err), want)
		}
		if got := sentIn(t, server); got[len(got)-1] != "ROLLBACK" {
			t.Errorf("sent %q, want ROLLBACK in the end", got)
		}
	}
	// The transaction of a caller is the caller's, and has nothing to do with it.
	_, pool := newFake(t, txServer(map[string]fakeAnswer{assertCallText: {err: answer(-911, "40001", rolledBack+`"68".`)}}))
	tx := begin(t, pool)
	err := clients.Driver(testclient.DB2(t, pool)).InTx(t.Context(), func(driver db.Driver) error {
		_ = assertGrant(t.Context(), driver.WithSQLTx(tx))
		return nil
	})
	if err != nil {
		t.Errorf("for the sake of another transaction: %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
}

// Goal: InTx returns when its context ends, wherever that is; only during the commit is the outcome unknown. What goes
// on ends when the server answers, and nothing is committed that was not to be. Method: a server that takes its time
// at one statement, and the bubble's clock.
func TestInTxContextEnds(t *testing.T) {
	t.Parallel()
	for at, test := range map[string]struct {
		want db.Kind
		last string
	}{
		assertCallText: {db.KindInFlight, "ROLLBACK"},
		"COMMIT":       {db.KindInFlight, "COMMIT"},
	} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				proceed := make(chan struct{})
				server, pool := newFake(t, func(statement fakeStatement) fakeAnswer {
					if statement.text == at {
						<-proceed
					}
					return txServer(nil)(statement)
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				begun := time.Now()
				err := clients.Driver(testclient.DB2(t, pool)).InTx(ctx, func(driver db.Driver) error { return assertGrant(ctx, driver) })
				if waited := time.Since(begun); waited != time.Second || !errors.Is(err, context.DeadlineExceeded) || db.KindOf(err) != test.want {
					t.Errorf("error = %v of kind %d after %s", err, db.KindOf(err), waited)
				}
				close(proceed)
				synctest.Wait()
				if got := sentIn(t, server); got[len(got)-1] != test.last {
					t.Errorf("sent %q, want %s in the end", got, test.last)
				}
				if stats := pool.Stats(); stats.InUse != 0 || stats.OpenConnections != 1 {
					t.Errorf("pool %+v, want one connection, not in use", stats)
				}
			})
		})
	}
	server, pool := newFake(t, txServer(nil))
	ctx, cancel := context.WithCancel(t.Context())
	err := clients.Driver(testclient.DB2(t, pool)).InTx(ctx, func(driver db.Driver) error {
		defer cancel()
		return assertGrant(ctx, driver)
	})
	if !errors.Is(err, context.Canceled) || db.KindOf(err) != db.KindOther {
		t.Errorf("ended before the commit: %v", err)
	}
	rolledBack := func() bool { return pool.Stats().InUse == 0 }
	if !eventually(rolledBack) || !slices.Equal(sentIn(t, server), []string{"BEGIN", assertCallText, "ROLLBACK"}) {
		t.Error("it was not rolled back")
	}
	err = clients.Driver(testclient.DB2(t, pool)).InTx(ctx, func(db.Driver) error { panic("it was called") })
	if got := server.statements(); !errors.Is(err, context.Canceled) || db.KindOf(err) != db.KindOther || len(got) != 0 {
		t.Errorf("ended before: %v, sent %v", err, got)
	}
}

// Goal: Db2 tells of no releases.
func TestListen(t *testing.T) {
	t.Parallel()
	_, pool := newFake(t, nil)
	if listener, err := clients.Driver(testclient.DB2(t, pool)).Listen(t.Context()); !errors.Is(err, db.ErrNoListen) || listener != nil {
		t.Errorf("%v, %v, want %v", listener, err, db.ErrNoListen)
	}
}
