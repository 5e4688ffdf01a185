package contract

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/open"
)

func customer(id any) applock.Object {
	return applock.Object{Type: "customer", ID: fmt.Sprint(id)}
}

// mustGet takes the lock or ends the test.
func mustGet(t testing.TB, client *applock.Client, object applock.Object, operator string) applock.Grant {
	t.Helper()
	grant, err := client.Get(t.Context(), applock.GetRequest{Object: object, Owner: applock.Owner{Operator: operator}})
	if err != nil {
		t.Fatal(err)
	}
	return grant
}

// begin opens a transaction that is rolled back at the end of the test unless it has ended before.
func begin(t testing.TB, place Place) *sql.Tx {
	t.Helper()
	tx, err := place.SQL.BeginTx(context.WithoutCancel(t.Context()), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

// Goal: migrating is complete, repeatable, reversible, and safe when many processes do it at once.
// Method: the steps one after the other; then 20 clients on one empty database.
func migrations(t *testing.T, backend Backend) {
	t.Run("UpDownStatus", func(t *testing.T) {
		t.Parallel()
		client := backend.Empty(t)()
		ctx := t.Context()
		requireStatus(t, client, 0)
		if _, err := client.Inquire(ctx, applock.InquireRequest{Object: customer(1)}); !errors.Is(err, applock.ErrSchema) {
			t.Errorf("inquire before migrating: %v, want ErrSchema", err)
		}
		if server, err := client.Ping(ctx); err != nil || server.Product == "" {
			t.Errorf("ping before migrating: %v, %v", server, err)
		}
		if _, err := client.Version(ctx); !errors.Is(err, applock.ErrSchema) {
			t.Errorf("version before migrating: %v, want ErrSchema", err)
		}
		done, err := migrate.Up(ctx, client, migrate.UpRequest{})
		if err != nil || len(done.Steps) == 0 {
			t.Fatalf("migrate up: %v, %v", done, err)
		}
		requireStatus(t, client, len(done.Steps))
		if version, err := client.Version(ctx); err != nil || version.Contract != applock.ContractVersion {
			t.Errorf("version: %d, %v, want %d", version.Contract, err, applock.ContractVersion)
		}
		if again, err := migrate.Up(ctx, client, migrate.UpRequest{}); err != nil || len(again.Steps) != 0 {
			t.Errorf("migrate up again: %v, %v, want nothing to do", again, err)
		}
		for range done.Steps {
			if undone, err := migrate.Down(ctx, client, migrate.DownRequest{Force: true}); err != nil || len(undone.Steps) != 1 {
				t.Fatalf("migrate down: %v, %v", undone, err)
			}
		}
		requireStatus(t, client, 0)
		if undone, err := migrate.Down(ctx, client, migrate.DownRequest{Force: true}); err != nil || len(undone.Steps) != 0 {
			t.Errorf("migrate down at the bottom: %v, %v, want nothing to do", undone, err)
		}
		if _, err := migrate.Up(ctx, client, migrate.UpRequest{}); err != nil {
			t.Errorf("migrate up after down: %v", err)
		}
	})
	t.Run("TwentyAtOnce", func(t *testing.T) {
		t.Parallel()
		open := backend.Empty(t)
		var group sync.WaitGroup
		applied := make(chan int, 20)
		for range 20 {
			client := open()
			group.Go(func() {
				done, err := migrate.Up(t.Context(), client, migrate.UpRequest{})
				if err != nil {
					t.Errorf("migrate up: %v", err)
				}
				applied <- len(done.Steps)
			})
		}
		group.Wait()
		close(applied)
		total := 0
		for steps := range applied {
			total += steps
		}
		client := open()
		if status, err := migrate.Status(t.Context(), client, migrate.StatusRequest{}); err != nil || len(status.Steps) != total {
			t.Errorf("%d migrations were applied, %v, want each of %d once", total, err, len(status.Steps))
		}
		requireStatus(t, client, total)
		mustGet(t, client, customer(1), "JDOE")
	})
	t.Run("LocksSurviveUp", func(t *testing.T) {
		t.Parallel()
		place := backend.New(t)
		grant := mustGet(t, place.Client, customer(1), "JDOE")
		if _, err := migrate.Up(t.Context(), place.Client, migrate.UpRequest{}); err != nil {
			t.Fatal(err)
		}
		lock, err := place.Client.Inquire(t.Context(), applock.InquireRequest{Object: customer(1)})
		if err != nil || lock.Fence != grant.Fence {
			t.Errorf("inquire: %v, %v, want fence %d", lock, err, grant.Fence)
		}
	})
	t.Run("Uninstall", func(t *testing.T) {
		t.Parallel()
		client := backend.New(t).Client
		ctx := t.Context()
		for range 2 { // the second one finds nothing to remove
			if err := migrate.Uninstall(ctx, client, migrate.UninstallRequest{Force: true}); err != nil {
				t.Fatal(err)
			}
			if _, err := client.Inquire(ctx, applock.InquireRequest{Object: customer(1)}); !errors.Is(err, applock.ErrSchema) {
				t.Errorf("inquire after uninstall: %v, want ErrSchema", err)
			}
		}
		if _, err := migrate.Up(ctx, client, migrate.UpRequest{}); err != nil {
			t.Error(err)
		}
	})
}

// requireStatus wants the first applied migrations to have a time and the others none.
func requireStatus(t *testing.T, client *applock.Client, applied int) {
	t.Helper()
	status, err := migrate.Status(t.Context(), client, migrate.StatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for i, migration := range status.Steps {
		if migration.Version != int64(i+1) || migration.AppliedAt.IsZero() != (i >= applied) {
			t.Errorf("status of migration %d: %+v, with %d applied", i+1, migration, applied)
		}
	}
	if len(status.Steps) < applied {
		t.Errorf("status has %d migrations, %d were applied", len(status.Steps), applied)
	}
}

// Goal: inside a caller's transaction the lock appears, moves and disappears exactly with it.
// Method: each changing operation in a transaction that rolls back, then in one that commits.
func transactions(t *testing.T, backend Backend) {
	t.Run("Rollback", func(t *testing.T) {
		t.Parallel()
		place := backend.New(t)
		ctx := t.Context()
		held := mustGet(t, place.Client, customer("held"), "JDOE")

		tx := begin(t, place)
		client := place.Client.WithSQLTx(tx)
		mustGet(t, client, customer("new"), "JDOE")
		if released, err := client.Release(ctx, applock.ReleaseRequest{Object: customer("held"), Operator: "JDOE"}); err != nil || released.Outcome != applock.OutcomeReleased {
			t.Fatalf("release: %v, %v", released, err)
		}
		if _, err := client.Inquire(ctx, applock.InquireRequest{Object: customer("held")}); !errors.Is(err, applock.ErrNotHeld) {
			t.Errorf("inquire in the transaction: %v, want ErrNotHeld", err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}

		if _, err := place.Client.Inquire(ctx, applock.InquireRequest{Object: customer("new")}); !errors.Is(err, applock.ErrNotHeld) {
			t.Errorf("inquire of the new lock: %v, want ErrNotHeld", err)
		}
		if lock, err := place.Client.Inquire(ctx, applock.InquireRequest{Object: customer("held")}); err != nil || lock.Fence != held.Fence {
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
		if _, err := place.Client.Inquire(ctx, applock.InquireRequest{Object: customer(1)}); !errors.Is(err, applock.ErrNotHeld) {
			t.Errorf("inquire before the commit: %v, want ErrNotHeld", err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if lock, err := place.Client.Inquire(ctx, applock.InquireRequest{Object: customer(1)}); err != nil || lock.Owner.Operator != "ASMITH" || lock.Fence != moved.Fence {
			t.Errorf("inquire after the commit: %v, %v, want ASMITH and fence %d", lock, err, moved.Fence)
		}
	})
	t.Run("SerializeNeedsOne", func(t *testing.T) {
		t.Parallel()
		place := backend.New(t)
		if err := place.Client.Serialize(t.Context(), applock.SerializeRequest{Object: customer(1)}); !errors.Is(err, applock.ErrInvalid) {
			t.Errorf("serialize without a transaction: %v, want ErrInvalid", err)
		}
		tx := begin(t, place)
		for range 2 { // again in the same transaction: at once
			if err := place.Client.WithSQLTx(tx).Serialize(t.Context(), applock.SerializeRequest{Object: customer(1)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		requireRows(t, place, 0)
	})
}

// requireRows counts the rows of the table, live or not.
func requireRows(t *testing.T, place Place, want int) {
	t.Helper()
	var rows int
	if err := place.SQL.QueryRowContext(t.Context(), "SELECT count(*) FROM "+place.Table).Scan(&rows); err != nil || rows != want {
		t.Errorf("%d rows, %v, want %d", rows, err, want)
	}
}

// Goal: nobody ever holds what somebody else holds. Method: 50 workers take one lock in turn and do
// count = count + 1 in two statements that lose updates as soon as two of them run at once.
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
	release := applock.ReleaseRequest{Object: request.Object, Operator: operator, Fence: grant.Fence}
	released, err := place.Client.Release(ctx, release)
	for errors.Is(err, applock.ErrBusy) {
		released, err = place.Client.Release(ctx, release)
	}
	if err == nil && released.Outcome != applock.OutcomeReleased {
		err = errors.New("the lock was gone before its release")
	}
	return err
}

// Goal: a fence is greater for every later grant of the same object, also when the clock has been set
// back. Method: fences from the future are put into the table, as the clock would have left them.
func fences(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	ctx := t.Context()
	first := mustGet(t, place.Client, customer(1), "JDOE")
	future := int64(first.Fence) + int64(48*time.Hour/time.Microsecond)
	if _, err := place.SQL.ExecContext(ctx, fmt.Sprintf("UPDATE %s SET fence = %d", place.Table, future)); err != nil {
		t.Fatal(err)
	}
	// The grant begins in the future, too: a renewal is one all the same.
	if err := place.Advance(ctx, -time.Hour); err != nil {
		t.Fatal(err)
	}
	if renewed := mustGet(t, place.Client, customer(1), "JDOE"); int64(renewed.Fence) != future || renewed.Outcome != applock.OutcomeRenewed {
		t.Errorf("renewed: %v, want a renewal of fence %d", renewed, future)
	}
	moved, err := place.Client.Transfer(ctx, applock.TransferRequest{Object: customer(1), From: "JDOE", To: applock.Owner{Operator: "ASMITH"}})
	if err != nil || int64(moved.Fence) != future+1 {
		t.Errorf("transferred fence %d, %v, want %d", moved.Fence, err, future+1)
	}
	if _, err := place.Client.Release(ctx, applock.ReleaseRequest{Object: customer(1), Operator: "ASMITH"}); err != nil {
		t.Fatal(err)
	}
	// A row whose fence lies in the future stays, however long it has been free: else the next fence
	// would be the smaller time of now.
	if err := place.Advance(ctx, 40*24*time.Hour); err != nil {
		t.Fatal(err)
	}
	if purged, err := place.Client.Purge(ctx, applock.PurgeRequest{}); err != nil || purged.Purged != 0 {
		t.Errorf("purged %d, %v, want 0", purged.Purged, err)
	}
	if again := mustGet(t, place.Client, customer(1), "JDOE"); int64(again.Fence) != future+2 {
		t.Errorf("fence after release %d, want %d", again.Fence, future+2)
	}
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

// Goal: a purge goes on in batches until nothing is left and tells how far it is.
// Method: 25 free rows and a live one, in batches of 10.
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
	if err != nil || purged.Purged != 25 || fmt.Sprint(progress) != "[10 20 25]" {
		t.Errorf("purged %d with progress %v, %v, want 25 with [10 20 25]", purged.Purged, progress, err)
	}
	requireRows(t, place, 1)
}

// Goal: expiry is the database's clock and needs nobody's help. Method: really wait for a lock of one
// second to end; the only test that sleeps.
func clock(t *testing.T, backend Backend) {
	t.Parallel()
	client := backend.New(t).Client
	ctx := t.Context()
	request := applock.GetRequest{Object: customer(1), Owner: applock.Owner{Operator: "JDOE"}, TTL: time.Second}
	first, err := client.Get(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	other := applock.GetRequest{Object: customer(1), Owner: applock.Owner{Operator: "ASMITH"}}
	second, err := client.Get(ctx, other)
	for errors.Is(err, applock.ErrHeld) {
		time.Sleep(20 * time.Millisecond)
		second, err = client.Get(ctx, other)
	}
	if err != nil || second.Fence <= first.Fence {
		t.Fatalf("take-over: %v, %v, want a fence above %d", second, err, first.Fence)
	}
	lock, err := client.Inquire(ctx, applock.InquireRequest{Object: customer(1)})
	if err != nil || lock.AcquiredAt.Before(first.ExpiresAt) {
		t.Errorf("taken over at %s, %v, before the end at %s", lock.AcquiredAt, err, first.ExpiresAt)
	}
	if now := lock.AcquiredAt.UnixMicro(); int64(second.Fence) < now {
		t.Errorf("fence %d after the take-over, want at least the time, %d: a purge would let it go back", second.Fence, now)
	}
}

// Goal: what was released stays so when the clock is set back, for the former holder and for everybody else, and the fence grows;
// what is old enough goes with the next purge, and nothing else. Method: an hour passes backwards; then a month passes.
func clockSetBack(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	client, ctx := place.Client, t.Context()
	first := mustGet(t, client, customer(1), "JDOE")
	if _, err := client.Release(ctx, applock.ReleaseRequest{Object: customer(1), Operator: "JDOE"}); err != nil {
		t.Fatal(err)
	}
	if err := place.Advance(ctx, -time.Hour); err != nil {
		t.Fatal(err)
	}
	if lock, err := client.Inquire(ctx, applock.InquireRequest{Object: customer(1)}); !errors.Is(err, applock.ErrNotHeld) {
		t.Errorf("a released object, the clock set back: %v, %v, want ErrNotHeld", lock, err)
	}
	for lock, err := range client.List(ctx, applock.ListRequest{}) {
		t.Errorf("a released object, the clock set back: listed as %v, %v", lock, err)
	}
	assertion := applock.AssertRequest{Object: customer(1), Operator: "JDOE", Fence: first.Fence}
	if err := client.Assert(ctx, assertion); !errors.Is(err, applock.ErrLost) {
		t.Errorf("the grant that was released, the clock set back: %v, want ErrLost", err)
	}
	if second := mustGet(t, client, customer(1), "ASMITH"); second.Fence <= first.Fence {
		t.Errorf("fence %d behind %d", second.Fence, first.Fence)
	}
	if _, err := client.Release(ctx, applock.ReleaseRequest{Object: customer(1), Operator: "ASMITH"}); err != nil {
		t.Fatal(err)
	}
	for _, passed := range []struct {
		long time.Duration
		want int64
	}{{0, 0}, {31 * 24 * time.Hour, 1}} {
		if err := place.Advance(ctx, passed.long); err != nil {
			t.Fatal(err)
		}
		if result, err := client.Purge(ctx, applock.PurgeRequest{}); err != nil || result.Purged != passed.want {
			t.Errorf("purge after %s: %d, %v, want %d", passed.long, result.Purged, err, passed.want)
		}
	}
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
	if _, err := client.Inquire(cancelled, applock.InquireRequest{Object: customer(1)}); !errors.Is(err, context.Canceled) || errors.Is(err, applock.ErrOutcomeUnknown) {
		t.Errorf("cancelled inquire: %v, want context.Canceled and no unknown outcome", err)
	}
	grant := mustGet(t, client, customer(1), "JDOE")
	if again := mustGet(t, client, customer(1), "JDOE"); again.Fence != grant.Fence || again.Outcome != applock.OutcomeRenewed {
		t.Errorf("get again: %v, want a renewal of fence %d", again, grant.Fence)
	}
}

// maxConnections is how many connections a place's pool may have.
const maxConnections = 12

// Goal: a call that got no connection has sent nothing: nothing is unknown about it, the error tells why, and a closed
// pool is told from a server that is away. Method: a pool whose connections are all taken, until the context ends; a
// client and a pool that have been closed.
func nothingSent(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	t.Run("ExhaustedPool", func(t *testing.T) {
		client := applock.New(place.Driver, nil)
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
			ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, impatient)
			err := call(ctx)
			cancel()
			if errors.Is(err, applock.ErrOutcomeUnknown) || !errors.Is(err, applock.ErrUnreachable) ||
				!errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, impatient) {
				t.Errorf("%s: %v, want ErrUnreachable with the end of the context and its cause", name, err)
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
		client := applock.New(place.Driver, nil)
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
		requireClosed(t, client, client.Driver().Close)
	})
}

// calls are operations of all kinds: those that change something and those that do not, of one row, of many and of none.
func calls(client *applock.Client) map[string]func(ctx context.Context) error {
	jdoe := applock.Owner{Operator: "JDOE"}
	return map[string]func(ctx context.Context) error{
		"get": func(ctx context.Context) error {
			_, err := client.Get(ctx, applock.GetRequest{Object: customer(1), Owner: jdoe})
			return err
		},
		"release": func(ctx context.Context) error {
			_, err := client.Release(ctx, applock.ReleaseRequest{Object: customer(1), Operator: "JDOE"})
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
			_, err := client.Inquire(ctx, applock.InquireRequest{Object: customer(1)})
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
			return client.Assert(ctx, applock.AssertRequest{Object: customer(1), Operator: "JDOE", Fence: 1})
		},
		"version": func(ctx context.Context) error {
			_, err := client.Version(ctx)
			return err
		},
	}
}
