package db2_test

import (
	"context"
	"errors"
	"io"
	"testing"

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
			return yes()
		}
		return fakeAnswer{}
	}
}

func assertGrant(ctx context.Context, driver db.Driver) error {
	return driver.AssertApplLock(ctx, db.AssertApplLockParams{Fence: 1})
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
		if sent := server.statements(); sent[len(sent)-1].text != "ROLLBACK" {
			t.Errorf("sent %v, want ROLLBACK in the end", sent)
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
