package applock_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/applocktest"
)

// Goal: the lock and the data are there together, or neither, and work is begun again where that helps, and only there. Method: work that
// fails some times with each error, then does it.
func TestInSQLTx(t *testing.T) {
	t.Parallel()
	request := applock.GetRequest{Object: applock.Object{Type: "customer", ID: "42"}, Owner: applock.Owner{Operator: "JDOE"}}
	own := errors.New("the program's own")
	for _, test := range []struct {
		name         string
		failure      error
		failures     int
		runs         int
		want         error
		grantedAfter bool
	}{
		{name: "at once", runs: 1, grantedAfter: true},
		{name: "conflict", failure: applock.ErrRetry, failures: 3, runs: 4, grantedAfter: true},
		{name: "conflict for ever", failure: applock.ErrBusy, failures: 1000, runs: 10, want: applock.ErrBusy},
		{name: "own error", failure: own, failures: 1, runs: 1, want: own},
	} {
		locks := applocktest.New(t)
		runs := 0
		err := locks.Client.InSQLTx(t.Context(), func(tx *sql.Tx, within *applock.Client) error {
			runs++
			if _, err := within.Get(t.Context(), request); err != nil {
				return err
			}
			if _, err := tx.ExecContext(t.Context(), "CREATE TABLE IF NOT EXISTS ticket (id INTEGER)"); err != nil {
				return err
			}
			if runs <= test.failures {
				return test.failure
			}
			return nil
		})
		if !errors.Is(err, test.want) || runs != test.runs {
			t.Errorf("%s: %v after %d runs, want %v after %d", test.name, err, runs, test.want, test.runs)
		}
		_, err = locks.Client.Inquire(t.Context(), request.Object)
		if granted := err == nil; granted != test.grantedAfter {
			t.Errorf("%s: granted %t, want %t", test.name, granted, test.grantedAfter)
		}
	}
}

// Goal: a transaction in a transaction, a closed client and an ended context are refused, and nothing runs.
func TestInSQLTxIsRefused(t *testing.T) {
	t.Parallel()
	locks := applocktest.New(t)
	never := func(*sql.Tx, *applock.Client) error {
		t.Error("work has run")
		return nil
	}
	err := locks.Client.InSQLTx(t.Context(), func(_ *sql.Tx, within *applock.Client) error { return within.InSQLTx(t.Context(), never) })
	if !errors.Is(err, applock.ErrInvalid) {
		t.Errorf("in a transaction: %v, want ErrInvalid", err)
	}
	if err := locks.Client.InSQLTx(t.Context(), nil); !errors.Is(err, applock.ErrInvalid) {
		t.Errorf("without work: %v, want ErrInvalid", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := locks.Client.InSQLTx(ctx, never); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := locks.Client.Close(); err != nil {
		t.Fatal(err)
	}
	if err := locks.Client.InSQLTx(t.Context(), never); !errors.Is(err, applock.ErrClosed) {
		t.Errorf("closed: %v, want ErrClosed", err)
	}
}
