package contract

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/open"
	"github.com/applock/applock/internal/clients"
)

func customer(id any) applock.Object {
	return applock.Object{Type: "customer", ID: fmt.Sprint(id)}
}

// mustGet gets the lock or ends the test.
func mustGet(t testing.TB, client *applock.Client, object applock.Object, operator string) applock.Grant {
	t.Helper()
	grant, err := client.Get(t.Context(), applock.GetRequest{Object: object, Owner: applock.Owner{Operator: operator}})
	if err != nil {
		t.Fatal(err)
	}
	return grant
}

// begin opens a transaction and rolls it back at the end of the test, unless it has ended before.
func begin(t testing.TB, place Place) *sql.Tx {
	t.Helper()
	tx, err := place.SQL.BeginTx(context.WithoutCancel(t.Context()), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

// Goal: inside a caller's transaction the lock appears, moves and disappears exactly with it. Method: each changing operation in a
// transaction that rolls back, then in one that commits.
func transactions(t *testing.T, backend Backend) {
	t.Run("Rollback", func(t *testing.T) {
		t.Parallel()
		place := backend.New(t)
		ctx := t.Context()
		held := mustGet(t, place.Client, customer("held"), "JDOE")

		tx := begin(t, place)
		client := place.Client.WithSQLTx(tx)
		mustGet(t, client, customer("new"), "JDOE")
		if released, err := client.Release(ctx, applock.ReleaseRequest{Key: applock.Key{Object: customer("held"), Operator: "JDOE"}}); err != nil || released != applock.OutcomeReleased {
			t.Fatalf("release: %v, %v", released, err)
		}
		if _, err := client.Inquire(ctx, customer("held")); !errors.Is(err, applock.ErrNotHeld) {
			t.Errorf("inquire in the transaction: %v, want ErrNotHeld", err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}

		if _, err := place.Client.Inquire(ctx, customer("new")); !errors.Is(err, applock.ErrNotHeld) {
			t.Errorf("inquire of the new lock: %v, want ErrNotHeld", err)
		}
		if lock, err := place.Client.Inquire(ctx, customer("held")); err != nil || lock.Fence != held.Fence {
			t.Errorf("inquire of the old lock: %v, %v, want fence %d", lock, err, held.Fence)
		}
	})
	t.Run("Commit", func(t *testing.T) {
		t.Parallel()
		place := backend.New(t)
		ctx := t.Context()
		tx := begin(t, place)
		client := place.Client.WithSQLTx(tx)
		grant := mustGet(t, client, customer(1), "JDOE")
		mustGet(t, client, customer(2), "JDOE")
		moved, err := client.Transfer(ctx, applock.TransferRequest{Object: customer(1), From: "JDOE", To: applock.Owner{Operator: "ASMITH"}})
		if err != nil || moved.Fence <= grant.Fence {
			t.Fatalf("transfer: %v, %v, want a fence above %d", moved, err, grant.Fence)
		}
		if _, err := place.Client.Inquire(ctx, customer(1)); !errors.Is(err, applock.ErrNotHeld) {
			t.Errorf("inquire before the commit: %v, want ErrNotHeld", err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if lock, err := place.Client.Inquire(ctx, customer(1)); err != nil || lock.Owner.Operator != "ASMITH" || lock.Fence != moved.Fence {
			t.Errorf("inquire after the commit: %v, %v, want ASMITH and fence %d", lock, err, moved.Fence)
		}
	})
	t.Run("SerializeNeedsOne", func(t *testing.T) {
		t.Parallel()
		place := backend.New(t)
		if err := place.Client.Serialize(t.Context(), customer(1)); !errors.Is(err, applock.ErrInvalid) {
			t.Errorf("serialize without a transaction: %v, want ErrInvalid", err)
		}
		tx := begin(t, place)
		for range 2 { // again in the same transaction: at once
			if err := place.Client.WithSQLTx(tx).Serialize(t.Context(), customer(1)); err != nil {
				t.Fatal(err)
			}
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		requireRows(t, place, 0)
	})
}

// requireRows compares the number of rows of the table, live or not.
func requireRows(t *testing.T, place Place, want int) {
	t.Helper()
	var rows int
	if err := place.SQL.QueryRowContext(t.Context(), "SELECT count(*) FROM "+place.Table).Scan(&rows); err != nil || rows != want {
		t.Errorf("%d rows, %v, want %d", rows, err, want)
	}
}

// Goal: two operators never hold the same lock at once. Method: 50 workers take one lock in turn and do count = count + 1 in two
// statements, which lose updates as soon as two workers run them at once.
func contention(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	createProtected(t, place)
	const workers = 50
	turns := 4
	if backend.OneWriter {
		turns = 1 // they wait for the file as well as for the lock
	}
	var group sync.WaitGroup
	for worker := range workers {
		operator := fmt.Sprintf("WORKER%d", worker)
		group.Go(func() {
			for range turns {
				if err := takeTurn(t.Context(), place, operator); err != nil {
					t.Errorf("%s: %v", operator, err)
					return
				}
			}
		})
	}
	group.Wait()
	var value int
	if err := place.SQL.QueryRowContext(t.Context(), "SELECT value FROM protected").Scan(&value); err != nil || value != workers*turns {
		t.Errorf("count %d, %v, want %d", value, err, workers*turns)
	}
	requireRows(t, place, 1)
}

func takeTurn(ctx context.Context, place Place, operator string) error {
	request := applock.GetRequest{Object: customer("hot"), Owner: applock.Owner{Operator: operator}, TTL: time.Minute}
	grant, err := place.Client.Get(ctx, request)
	for errors.Is(err, applock.ErrHeld) || errors.Is(err, applock.ErrBusy) { // busy: a second in the queue of the row
		time.Sleep(5 * time.Millisecond)
		grant, err = place.Client.Get(ctx, request)
	}
	if err != nil {
		return err
	}
	var value int
	if err := place.SQL.QueryRowContext(ctx, "SELECT value FROM protected").Scan(&value); err != nil {
		return err
	}
	if _, err := place.SQL.ExecContext(ctx, fmt.Sprintf("UPDATE protected SET value = %d", value+1)); err != nil {
		return err
	}
	release := applock.ReleaseRequest{Key: applock.Key{Object: request.Object, Operator: operator, Fence: grant.Fence}}
	released, err := place.Client.Release(ctx, release)
	for errors.Is(err, applock.ErrBusy) {
		released, err = place.Client.Release(ctx, release)
	}
	if err == nil && released != applock.OutcomeReleased {
		err = errors.New("the lock was gone before its release")
	}
	return err
}

// Goal: a list gives every live lock once and in order, however many pages it takes.
// Method: 25 locks with pages of 1, 7, 25, 26 and the default; the caller may stop early.
func lists(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	const count = 25
	for i := range count {
		mustGet(t, place.Client, customer(fmt.Sprintf("%03d", i)), "JDOE")
	}
	for _, pageSize := range []int{1, 7, count, count + 1, 0} {
		next := 0
		for lock, err := range place.Client.List(t.Context(), applock.ListRequest{PageSize: pageSize}) {
			if err != nil {
				t.Fatal(err)
			}
			if want := customer(fmt.Sprintf("%03d", next)); lock.Object != want {
				t.Fatalf("page size %d: lock %d is %s, want %s", pageSize, next, lock.Object, want)
			}
			next++
		}
		if next != count {
			t.Errorf("page size %d: %d locks, want %d", pageSize, next, count)
		}
	}
	for range place.Client.List(t.Context(), applock.ListRequest{PageSize: 1}) {
		break
	}
}

// Goal: a purge goes on in batches until nothing is left and reports its progress. Method: 25 free rows and a live one, in batches of 10.
func purges(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	ctx := t.Context()
	for i := range 25 {
		mustGet(t, place.Client, customer(i), "JDOE")
	}
	if err := place.Advance(ctx, 40*24*time.Hour); err != nil {
		t.Fatal(err)
	}
	mustGet(t, place.Client, customer("live"), "JDOE")
	var progress []int64
	purged, err := place.Client.Purge(ctx, applock.PurgeRequest{
		Batch:    10,
		Progress: func(purged int64) { progress = append(progress, purged) },
	})
	if err != nil || purged != 25 || fmt.Sprint(progress) != "[10 20 25]" {
		t.Errorf("purged %d with progress %v, %v, want 25 with [10 20 25]", purged, progress, err)
	}
	requireRows(t, place, 1)
}

// Goal: a call that is cancelled before it begins changes nothing and says so; repeating is safe.
// Method: a context that has ended, then the same calls again.
func cancellation(t *testing.T, backend Backend) {
	t.Parallel()
	client := backend.New(t).Client
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	request := applock.GetRequest{Object: customer(1), Owner: applock.Owner{Operator: "JDOE"}}
	if _, err := client.Get(cancelled, request); !errors.Is(err, context.Canceled) || errors.Is(err, applock.ErrOutcomeUnknown) {
		t.Errorf("cancelled get: %v, want context.Canceled and no unknown outcome: nothing was sent", err)
	}
	if _, err := client.Inquire(cancelled, customer(1)); !errors.Is(err, context.Canceled) || errors.Is(err, applock.ErrOutcomeUnknown) {
		t.Errorf("cancelled inquire: %v, want context.Canceled and no unknown outcome", err)
	}
	grant := mustGet(t, client, customer(1), "JDOE")
	if again := mustGet(t, client, customer(1), "JDOE"); again.Fence != grant.Fence || again.Outcome != applock.OutcomeRenewed {
		t.Errorf("get again: %v, want a renewal of fence %d", again, grant.Fence)
	}
}

// maxConnections is how many connections a place's pool may have.
const maxConnections = 12

// ended makes a call whose context ends while it waits for a connection. On a busy machine a context can end before the call begins to wait:
// then the call says no more than that, and gets more time.
func ended(t *testing.T, call func(ctx context.Context) error, cause error) error {
	t.Helper()
	for limit := 20 * time.Millisecond; ; limit *= 2 {
		ctx, cancel := context.WithTimeoutCause(t.Context(), limit, cause)
		err := call(ctx)
		cancel()
		if errors.Is(err, applock.ErrUnreachable) || limit > 10*time.Second {
			return err
		}
	}
}

// Goal: a call that got no connection has sent nothing, so its outcome is known. The error gives the reason, and distinguishes a closed
// pool from an unreachable server. Method: a pool whose connections are all taken, until the context ends; a client and a pool that have
// been closed.
func nothingSent(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	t.Run("ExhaustedPool", func(t *testing.T) {
		client := clients.New[*applock.Client](place.Driver, nil, lease.Hooks{})
		place.SQL.SetMaxOpenConns(maxConnections)
		t.Cleanup(func() { place.SQL.SetMaxOpenConns(0) })
		for range maxConnections {
			conn, err := place.SQL.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
		}
		impatient := errors.New("the caller is impatient")
		for name, call := range calls(client) {
			err := ended(t, call, impatient)
			if errors.Is(err, applock.ErrOutcomeUnknown) || !errors.Is(err, applock.ErrUnreachable) ||
				!errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, impatient) {
				t.Errorf("%s: %v, want ErrUnreachable with the end of the context and its cause", name, err)
			}
			if !strings.Contains(fmt.Sprint(err), "no connection of the pool was free") {
				t.Errorf("%s: %v, want a word on the pool", name, err)
			}
		}
	})
	requireClosed := func(t *testing.T, client *applock.Client, closing func() error) {
		t.Helper()
		if err := closing(); err != nil {
			t.Fatal(err)
		}
		for name, call := range calls(client) {
			if err := call(t.Context()); !errors.Is(err, applock.ErrClosed) || errors.Is(err, applock.ErrOutcomeUnknown) {
				t.Errorf("%s: %v, want ErrClosed", name, err)
			}
		}
	}
	t.Run("ClosedClient", func(t *testing.T) {
		client := clients.New[*applock.Client](place.Driver, nil, lease.Hooks{})
		requireClosed(t, client, client.Close)
	})
	if place.DSN == "" {
		return
	}
	t.Run("ClosedPool", func(t *testing.T) {
		client, err := open.ByDSN(t.Context(), place.DSN, open.Config{})
		if err != nil {
			t.Fatal(err)
		}
		requireClosed(t, client, clients.Driver(client).Close)
	})
}

// calls are operations of all kinds: changing and reading ones, of one row, of many and of none.
func calls(client *applock.Client) map[string]func(ctx context.Context) error {
	jdoe := applock.Owner{Operator: "JDOE"}
	return map[string]func(ctx context.Context) error{
		"get": func(ctx context.Context) error {
			_, err := client.Get(ctx, applock.GetRequest{Object: customer(1), Owner: jdoe})
			return err
		},
		"release": func(ctx context.Context) error {
			_, err := client.Release(ctx, applock.ReleaseRequest{Key: applock.Key{Object: customer(1), Operator: "JDOE"}})
			return err
		},
		"transfer": func(ctx context.Context) error {
			_, err := client.Transfer(ctx, applock.TransferRequest{Object: customer(1), From: "ASMITH", To: jdoe})
			return err
		},
		"purge": func(ctx context.Context) error {
			_, err := client.Purge(ctx, applock.PurgeRequest{OlderThan: time.Hour})
			return err
		},
		"inquire": func(ctx context.Context) error {
			_, err := client.Inquire(ctx, customer(1))
			return err
		},
		"list": func(ctx context.Context) error {
			for _, err := range client.List(ctx, applock.ListRequest{}) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"assert": func(ctx context.Context) error {
			return client.Assert(ctx, applock.Key{Object: customer(1), Operator: "JDOE", Fence: 1})
		},
		"version": func(ctx context.Context) error {
			_, err := client.Version(ctx)
			return err
		},
	}
}
