package applock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/applock/applock/applock"
)

// Goal: a role whose statements have less time than a row may be waited for is told that the lock is being changed, and its waiters go on. Method:
// a transaction has the row; each call that takes it, and one that waits until the transaction has ended.
func TestStatementTimeoutIsBusy(t *testing.T) {
	t.Parallel()
	place := newRealPlace(t, onPostgres)
	grant, err := place.client.Get(t.Context(), applock.GetRequest{Object: nightly, Owner: applock.Owner{Operator: "etl-7"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := place.client.Release(t.Context(), applock.ReleaseRequest{Key: grant.Key()}); err != nil {
		t.Fatal(err)
	}
	tx, err := place.handle.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(t.Context(), "SELECT 1 FROM applock.appl_lock FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	hasty := onPlace(t, place.dsn+"&options=-c%20statement_timeout%3D200")
	request := applock.AcquireRequest{Object: nightly, MaxHold: time.Minute}
	for name, call := range map[string]func(ctx context.Context) error{
		"Get": func(ctx context.Context) error {
			_, err := hasty.Get(ctx, applock.GetRequest{Object: nightly, Owner: applock.Owner{Operator: "etl-8"}})
			return err
		},
		"TryAcquire": func(ctx context.Context) error {
			_, err := hasty.TryAcquire(ctx, request)
			return err
		},
		"TryAcquireAll": func(ctx context.Context) error {
			_, err := hasty.TryAcquireAll(ctx, all(nightly))
			return err
		},
	} {
		if err := call(t.Context()); !errors.Is(err, applock.ErrBusy) {
			t.Errorf("%s: %v, want ErrBusy", name, err)
		}
	}
	acquired := make(chan error, 1)
	go func() {
		_, err := hasty.Acquire(t.Context(), request)
		acquired <- err
	}()
	select {
	case err := <-acquired:
		t.Errorf("acquire has not waited: %v", err)
	case <-time.After(time.Second):
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if err := <-acquired; err != nil {
			t.Errorf("acquire: %v", err)
		}
	}
}
