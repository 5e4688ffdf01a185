package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/testing/testclient"

	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
)

// plainDriver returns a driver on a caller's handle without any of our settings, on a file that is migrated.
func plainDriver(t *testing.T, options string) (*sql.DB, db.Driver) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plain.db")
	handle, err := sql.Open("sqlite", "file:"+path+options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = handle.Close() })
	client := testclient.SQLite(t, handle)
	if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	return handle, clients.Driver(client)
}

func get(ctx context.Context, driver db.Driver, id, operator string) error {
	_, err := driver.GetApplLock(ctx, db.GetApplLockParams{ObjectType: "customer", ObjectID: id, OperatorID: operator, TTLSeconds: 60})
	return err
}

// Goal: several gets in a transaction of the driver's own, which read and then write, never find that another one has
// written in between, whatever the caller's handle does by default. Method: two at a time that read first, and the same
// with the handle's own transactions, which do find that.
func TestInTxIsTheWriterFromItsBeginning(t *testing.T) {
	t.Parallel()
	handle, driver := plainDriver(t, "?_pragma=journal_mode(WAL)")
	both := func(inTx func(operations func(db.Driver) error) error) error {
		var begun, group sync.WaitGroup
		begun.Add(2)
		errs := make([]error, 2)
		for i := range errs {
			group.Go(func() {
				errs[i] = inTx(func(d db.Driver) error {
					_, err := d.InquireApplLock(t.Context(), db.InquireApplLockParams{ObjectType: "customer", ObjectID: "1"})
					begun.Done()
					if i == 0 { // the first one to write, and to commit
						return errors.Join(err, get(t.Context(), d, "1", "JDOE"))
					}
					waitAtMost(&begun, 200*time.Millisecond)
					return errors.Join(err, get(t.Context(), d, "2", "JDOE"))
				})
			})
		}
		group.Wait()
		return errors.Join(errs...)
	}
	if err := both(func(operations func(db.Driver) error) error { return driver.InTx(t.Context(), operations) }); err != nil {
		t.Errorf("the driver's transactions: %v", err)
	}
	var txs []*sql.Tx
	for range 2 {
		tx, err := handle.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		_, err = driver.WithSQLTx(tx).InquireApplLock(t.Context(), db.InquireApplLockParams{ObjectType: "customer", ObjectID: "1"})
		if err != nil {
			t.Fatal(err)
		}
		txs = append(txs, tx)
	}
	if err := errors.Join(get(t.Context(), driver.WithSQLTx(txs[0]), "1", "JDOE"), txs[0].Commit()); err != nil {
		t.Fatal(err)
	}
	err := get(t.Context(), driver.WithSQLTx(txs[1]), "2", "JDOE")
	if err == nil {
		t.Error("deferred transactions have no conflict: this test shows nothing")
	}
}

// waitAtMost returns when the group is done, or not: one of the driver's transactions begins after the other one.
func waitAtMost(group *sync.WaitGroup, limit time.Duration) {
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(limit):
	}
}

// Goal: without a write-ahead log a reader delays the commit and does not undo it; the end of the context does.
// Method: an open read, which ends or does not.
func TestInTxCommitWaitsForReaders(t *testing.T) {
	t.Parallel()
	handle, driver := plainDriver(t, "")
	read := func() *sql.Rows {
		rows, err := handle.QueryContext(context.WithoutCancel(t.Context()), "SELECT 1 FROM appl_lock_goose")
		if err != nil || !rows.Next() {
			t.Fatalf("%v, %v", err, rows.Err())
		}
		return rows
	}
	rows := read() //nolint:rowserrcheck // one row is read, the rest is only kept open
	time.AfterFunc(200*time.Millisecond, func() { _ = rows.Close() })
	if err := driver.InTx(t.Context(), func(d db.Driver) error { return get(t.Context(), d, "1", "JDOE") }); err != nil {
		t.Errorf("with a reader that ends: %v", err)
	}
	requireHolder(t, driver, "1", "JDOE")

	rows = read() //nolint:rowserrcheck // as above
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := driver.InTx(ctx, func(d db.Driver) error { return get(t.Context(), d, "2", "JDOE") })
	if !errors.Is(err, context.DeadlineExceeded) || db.KindOf(err) != db.KindBusy {
		t.Errorf("with a reader that stays: %v (kind %d), want the end of the context and busy", err, db.KindOf(err))
	}
	if err := rows.Close(); err != nil {
		t.Error(err)
	}
	requireHolder(t, driver, "2", "")
	if err := get(t.Context(), driver, "3", "JDOE"); err != nil {
		t.Errorf("the next operation: %v", err)
	}
}

// requireHolder requires that the operator holds the customer, or nobody for an empty one.
func requireHolder(t *testing.T, driver db.Driver, id, operator string) {
	t.Helper()
	result, err := driver.InquireApplLock(t.Context(), db.InquireApplLockParams{ObjectType: "customer", ObjectID: id})
	if err != nil || result.Lock.OperatorID != operator {
		t.Errorf("%s is held by %q, %v, want %q", id, result.Lock.OperatorID, err, operator)
	}
}

// Goal: SQLite's limits are reported as such: no messages, and no table for an operation yet. Method: a file of the former contract.
func TestFormerContract(t *testing.T) {
	t.Parallel()
	handle, driver := plainDriver(t, "")
	if _, err := driver.Listen(t.Context()); !errors.Is(err, db.ErrNoListen) {
		t.Errorf("listen: %v, want db.ErrNoListen", err)
	}
	if _, err := handle.ExecContext(t.Context(), "DROP TABLE appl_lock_waiter"); err != nil {
		t.Fatal(err)
	}
	if err := get(t.Context(), driver, "1", "JDOE"); err != nil {
		t.Errorf("get: %v", err)
	}
	announce := db.AnnounceApplLockWaiterParams{ObjectType: "customer", ObjectID: "1", OperatorID: "JDOE", ClientID: "p1"}
	if err := driver.AnnounceApplLockWaiter(t.Context(), announce); db.KindOf(err) != db.KindSchema {
		t.Errorf("announce: %v (kind %d), want a missing schema", err, db.KindOf(err))
	}
	if _, err := driver.ApplLockVersion(t.Context()); db.KindOf(err) != db.KindSchema {
		t.Errorf("version: %v (kind %d), want a missing schema", err, db.KindOf(err))
	}
}

// Goal: polling normally writes nothing, and so never waits for a writer. Method: an open write transaction; when it is time to keep a
// waiter listed, a poll does wait.
func TestPollDoesNotWait(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	announce := db.AnnounceApplLockWaiterParams{ObjectType: "customer", ObjectID: "1", OperatorID: "JDOE", ClientID: "p1"}
	if err := place.Driver.AnnounceApplLockWaiter(t.Context(), announce); err != nil {
		t.Fatal(err)
	}
	poll := func() (string, error) {
		awaited, err := place.Driver.PollApplLocks(t.Context(), db.PollApplLocksParams{ClientID: "p1", MaxRows: 10})
		var ids []string
		for _, object := range awaited {
			ids = append(ids, object.ObjectID)
		}
		return strings.Join(ids, " "), err
	}
	beside := func(work func()) {
		tx, err := place.SQL.BeginTx(context.WithoutCancel(t.Context()), nil) // immediate: it is the writer now
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		work()
	}
	beside(func() {
		if ids, err := poll(); err != nil || ids != "1" {
			t.Errorf("poll beside a writer: %q, %v, want 1", ids, err)
		}
	})
	if err := place.Advance(t.Context(), 31*time.Second); err != nil {
		t.Fatal(err)
	}
	beside(func() {
		if _, err := poll(); db.KindOf(err) != db.KindBusy {
			t.Errorf("poll that must write, beside a writer: %v, want busy", err)
		}
	})
	if ids, err := poll(); err != nil || ids != "1" {
		t.Errorf("poll after the writer: %q, %v, want 1", ids, err)
	}
}

// Goal: however many wait for the file's writer, they use one connection, and a refusal waits for none of them. Method: a handle
// of three connections; one is the writer, many releases wait for it, and gets are refused meanwhile.
func TestWritersQueueBeforeTheyConnect(t *testing.T) {
	t.Parallel()
	handle, driver := plainDriver(t, "?_pragma=journal_mode(WAL)")
	if err := get(t.Context(), driver, "1", "JDOE"); err != nil {
		t.Fatal(err)
	}
	handle.SetMaxOpenConns(3)
	writer, err := handle.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	waiting, cancel := context.WithCancel(t.Context())
	var begun, group sync.WaitGroup
	for range 20 {
		begun.Add(1)
		group.Go(func() {
			begun.Done()
			_, _ = driver.ReleaseApplLock(waiting, db.ReleaseApplLockParams{ObjectType: "customer", ObjectID: "1", OperatorID: "JDOE"})
		})
	}
	begun.Wait()
	limited, stop := context.WithTimeout(t.Context(), time.Minute) // for hangs
	defer stop()
	for range 100 {
		result, err := driver.GetApplLock(limited, db.GetApplLockParams{ObjectType: "customer", ObjectID: "1", OperatorID: "ASMITH"})
		if err != nil || result.Outcome != db.Held {
			t.Errorf("get: %s, %v, want a refusal", result.Outcome, err)
			break
		}
	}
	cancel()
	group.Wait()
	if _, err := writer.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	_ = writer.Close()
}

// Goal: a call that waits for the file and one that waits for a connection never wait for each other. Method: a transaction and then a
// release want the only connection, while another process has the file; it releases the file when the connection is taken.
func TestWaitersForTheFileAndForConnections(t *testing.T) {
	t.Parallel()
	handle, driver := plainDriver(t, "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(60000)")
	if err := get(t.Context(), driver, "1", "JDOE"); err != nil {
		t.Fatal(err)
	}
	var path string
	if err := handle.QueryRowContext(t.Context(), "SELECT file FROM pragma_database_list").Scan(&path); err != nil {
		t.Fatal(err)
	}
	other, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	if _, err := other.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	handle.SetMaxOpenConns(1)
	only, err := handle.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // for hangs
	defer cancel()
	errs := make(chan error, 2)
	before := handle.Stats().WaitCount
	go func() { errs <- driver.InTx(ctx, func(d db.Driver) error { return get(ctx, d, "2", "JDOE") }) }()
	for handle.Stats().WaitCount == before {
		runtime.Gosched()
	}
	go func() {
		_, err := driver.ReleaseApplLock(ctx, db.ReleaseApplLockParams{ObjectType: "customer", ObjectID: "1", OperatorID: "JDOE"})
		errs <- err
	}()
	for range 10_000 { // it queues up before it wants the connection; if it wants that first, it is seen here
		if handle.Stats().WaitCount > before+1 {
			break
		}
		runtime.Gosched()
	}
	_ = only.Close()
	for range 100_000 { // the transaction tries to begin meanwhile
		runtime.Gosched()
	}
	if _, err := other.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
