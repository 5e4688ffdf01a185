package choosing_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/testing/testclient"
)

var errUnclear = errors.New("it has been begun, and whoever did is gone: ask the provider, do not repeat it")

// edit is called when an operator opens a customer, and again at each save: that renews the lock.
func edit(ctx context.Context, client *applock.Client, customer string, operator applock.Owner) error {
	_, err := client.Get(ctx, applock.GetRequest{
		Object: applock.Object{Type: "customer", ID: customer},
		Owner:  operator,
		TTL:    3 * 24 * time.Hour,
	})
	var held *applock.HeldError
	if errors.As(err, &held) {
		return fmt.Errorf("%s of %s is working on it: %w", held.Holder.Owner.Operator, held.Holder.Owner.Department, err)
	}
	return err
}

// block is the advisory-lock helper of an ORM: it takes the lock, runs, and releases, also on errors and panics.
func block(ctx context.Context, locks lease.Locker, objectType, id string, run func(ctx context.Context) error) error {
	return locks.Do(ctx, applock.AcquireRequest{
		Object:  applock.Object{Type: objectType, ID: id},
		MaxHold: time.Minute,
	}, func(ctx context.Context, _ applock.Lease) error {
		return run(ctx)
	})
}

// reconcile is started by cron on each node. One of them does the work; on the others there is nothing to do.
func reconcile(ctx context.Context, locks lease.Locker, work func(ctx context.Context) error) error {
	ran, err := locks.TryDo(ctx, applock.AcquireRequest{
		Object:  applock.Object{Type: "job", ID: "reconcile"},
		MaxHold: 2 * time.Hour,
		TTL:     30 * time.Second,
	}, func(ctx context.Context, _ applock.Lease) error {
		return work(ctx)
	})
	if !ran && errors.Is(err, applock.ErrHeld) {
		return nil
	}
	return err
}

// lead has one of several candidates lead, until ctx ends. When a leader crashes, the next one follows within 15 s; when it is
// started again under its own name before, at once, and whatever its predecessor still does is fenced off.
func lead(ctx context.Context, locks lease.Locker, candidate string, work func(ctx context.Context, lease applock.Lease) error) error {
	for ctx.Err() == nil {
		err := locks.Do(ctx, applock.AcquireRequest{
			Object:  applock.Object{Type: "leader", ID: "billing"},
			Owner:   applock.Owner{Operator: candidate},
			MaxHold: 24 * time.Hour,
			TTL:     15 * time.Second,
		}, work)
		if err != nil && !errors.Is(err, applock.ErrLost) {
			return err
		}
	}
	return context.Cause(ctx)
}

// observe calls changed with who leads, and when that is another one; with nobody, it is empty.
func observe(ctx context.Context, client *applock.Client, changed func(leader string)) error {
	last := applock.Fence(-1)
	for {
		lock, err := client.Inquire(ctx, applock.Object{Type: "leader", ID: "billing"})
		if err != nil && !errors.Is(err, applock.ErrNotHeld) {
			return err
		}
		if lock.Fence != last {
			last = lock.Fence
			changed(lock.Owner.Operator)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
}

// charge calls the provider at most once for each event. The record before the call is what makes it so, also when the
// lease is lost; the lease has a second delivery of the event wait for the outcome of the first.
func charge(ctx context.Context, db *sql.DB, locks lease.Locker, event string, call func(ctx context.Context) error) error {
	return locks.Do(ctx, applock.AcquireRequest{
		Object:  applock.Object{Type: "webhook", ID: event},
		MaxHold: time.Minute,
	}, func(ctx context.Context, _ applock.Lease) error {
		var outcome string
		err := db.QueryRowContext(ctx, "SELECT outcome FROM webhook WHERE id = $1", event).Scan(&outcome)
		switch {
		case err == nil && outcome == "begun":
			return errUnclear
		case err == nil:
			return nil
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		if _, err := db.ExecContext(ctx, "INSERT INTO webhook (id, outcome) VALUES ($1, 'begun')", event); err != nil {
			return err
		}
		if err := call(ctx); err != nil {
			return err
		}
		_, err = db.ExecContext(ctx, "UPDATE webhook SET outcome = 'charged' WHERE id = $1", event)
		return err
	})
}

// result returns what compute makes of a key. The first caller computes and stores it; the others wait for the lease, look
// again, and find it.
func result(ctx context.Context, db *sql.DB, locks lease.Locker, key string, compute func(ctx context.Context) (string, error)) (string, error) {
	content, err := stored(ctx, db, key)
	if !errors.Is(err, sql.ErrNoRows) {
		return content, err
	}
	err = locks.Do(ctx, applock.AcquireRequest{
		Object:  applock.Object{Type: "result", ID: key},
		MaxHold: 10 * time.Minute,
		TTL:     30 * time.Second,
	}, func(ctx context.Context, _ applock.Lease) error {
		if content, err = stored(ctx, db, key); !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if content, err = compute(ctx); err != nil {
			return err
		}
		_, err = db.ExecContext(ctx, "INSERT INTO result (id, content) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING", key, content)
		return err
	})
	return content, err
}

// stored returns a result that somebody has computed, or sql.ErrNoRows.
func stored(ctx context.Context, db *sql.DB, key string) (content string, err error) {
	err = db.QueryRowContext(ctx, "SELECT content FROM result WHERE id = $1", key).Scan(&content)
	return content, err
}

// number gives an invoice the next number, in the transaction that needs it: if that is rolled back, the number is the next
// one's, and there is no gap.
func number(ctx context.Context, client *applock.Client, tx *sql.Tx, invoice int) error {
	if err := client.WithSQLTx(tx).Serialize(ctx, applock.Object{Type: "sequence", ID: "invoice"}); err != nil {
		return err
	}
	var next int
	if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(number), 0) + 1 FROM invoice").Scan(&next); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "UPDATE invoice SET number = $1 WHERE id = $2", next, invoice)
	return err
}

// count does the same where the application counts, and no lock is needed: the row of the counter keeps the others waiting
// until the transaction ends, and a rollback takes the number back.
func count(ctx context.Context, tx *sql.Tx, invoice int) error {
	var next int
	if err := tx.QueryRowContext(ctx, "UPDATE counter SET n = n + 1 WHERE name = 'invoice' RETURNING n").Scan(&next); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "UPDATE invoice SET number = $1 WHERE id = $2", next, invoice)
	return err
}

// rebuild works for hours. A crashed node frees the object in 30 s; a node that has lost it stops at the next batch.
func rebuild(
	ctx context.Context, locks lease.Locker, batches []string,
	write func(ctx context.Context, lease applock.Lease, batch string) error,
) error {
	return locks.Do(ctx, applock.AcquireRequest{
		Object:  applock.Object{Type: "index", ID: "customers"},
		MaxHold: 6 * time.Hour,
		TTL:     30 * time.Second,
	}, func(ctx context.Context, lease applock.Lease) error {
		for _, batch := range batches {
			if err := context.Cause(ctx); err != nil {
				return fmt.Errorf("before batch %s: %w", batch, err)
			}
			if err := write(ctx, lease, batch); err != nil {
				return err
			}
		}
		return nil
	})
}

// move takes both wallets, or tells who has them. Two that move money between the same wallets cannot lock each other out.
func move(ctx context.Context, client *applock.Client, from, to string, work func(ctx context.Context) error) (err error) {
	set, err := client.TryAcquireAll(ctx, applock.AcquireAllRequest{
		Objects: []applock.Object{{Type: "wallet", ID: from}, {Type: "wallet", ID: to}},
		MaxHold: 10 * time.Second,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Release(ctx)) }()
	return work(set.Context())
}

// openShop returns a database with the tables of the recipes, and clients of two programs.
func openShop(t *testing.T) (*sql.DB, *applock.Client, *applock.Client) {
	t.Helper()
	path := testclient.InstalledSQLite(t)
	db := open(t, "sqlite", "file:"+filepath.ToSlash(path)+"?_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_txlock=immediate")
	execute(t, db, "CREATE TABLE invoice (id INTEGER PRIMARY KEY, number INTEGER)", "INSERT INTO invoice (id) VALUES (1), (2), (3)",
		"CREATE TABLE counter (name TEXT PRIMARY KEY, n INTEGER NOT NULL)", "INSERT INTO counter (name, n) VALUES ('invoice', 0)",
		"CREATE TABLE webhook (id TEXT PRIMARY KEY, outcome TEXT NOT NULL)", "CREATE TABLE result (id TEXT PRIMARY KEY, content TEXT NOT NULL)")
	return db, testclient.Open(t, "sqlite:"+path, "", nil), testclient.Open(t, "sqlite:"+path, "", nil)
}

// Goal: each function of the pages does what its comment says. Method: its two cases, on SQLite.
func TestRecipes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(ctx context.Context, t *testing.T){
		"edit": testEdit, "block": testBlock, "reconcile": testReconcile, "lead": testLead, "charge": testCharge, "result": testResult,
		"number": testNumber, "rebuild": testRebuild, "move": testMove,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t.Context(), t)
		})
	}
}

func testEdit(ctx context.Context, t *testing.T) {
	_, client, _ := openShop(t)
	if err := edit(ctx, client, "42", applock.Owner{Operator: "JDOE", Department: "CS"}); err != nil {
		t.Fatal(err)
	}
	err := edit(ctx, client, "42", applock.Owner{Operator: "ASMITH", Department: "CS"})
	if !errors.Is(err, applock.ErrHeld) || !strings.HasPrefix(err.Error(), "JDOE of CS is working on it") {
		t.Errorf("somebody else: %v", err)
	}
}

func testBlock(ctx context.Context, t *testing.T) {
	_, locks, _ := openShop(t)
	bad := errors.New("line 7 has no price")
	err := block(ctx, locks, "import", "prices", func(ctx context.Context) error {
		return block(ctx, locks, "import", "prices", func(context.Context) error { return bad }) // re-enters
	})
	_, free := locks.Inquire(ctx, applock.Object{Type: "import", ID: "prices"})
	if !errors.Is(err, bad) || !errors.Is(free, applock.ErrNotHeld) {
		t.Errorf("%v, and then %v", err, free)
	}
}

func testReconcile(ctx context.Context, t *testing.T) {
	_, one, other := openShop(t)
	ran := false
	err := reconcile(ctx, one, func(context.Context) error {
		ran = true
		return reconcile(ctx, other, func(context.Context) error { return errors.New("the second node works, too") })
	})
	if err != nil || !ran {
		t.Errorf("%t, %v", ran, err)
	}
}

func testLead(ctx context.Context, t *testing.T) {
	_, one, other := openShop(t)
	ctx, cancel := context.WithCancel(ctx)
	first, resign := context.WithCancel(ctx)
	defer resign()
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	leaders := make(chan string, 8)
	group.Go(func() { _ = observe(ctx, one, func(leader string) { leaders <- leader }) })
	candidate := func(ctx context.Context, locks *applock.Client, name string) {
		group.Go(func() {
			_ = lead(ctx, locks, name, func(ctx context.Context, _ applock.Lease) error {
				<-ctx.Done()
				return context.Cause(ctx)
			})
		})
	}
	await := func(want string) {
		for leader := range leaders {
			if leader != "" {
				if leader != want {
					t.Errorf("%s leads, want %s", leader, want)
				}
				return
			}
		}
	}
	candidate(first, one, "node-1")
	await("node-1")
	candidate(ctx, other, "node-2")
	resign()
	await("node-2")
}

func testCharge(ctx context.Context, t *testing.T) {
	db, locks, _ := openShop(t)
	cut := errors.New("no answer")
	calls := 0
	for i, want := range []error{nil, nil, cut, errUnclear} { // the provider delivers each event twice
		err := charge(ctx, db, locks, fmt.Sprint("evt_", i/2), func(context.Context) error {
			calls++
			return want
		})
		if !errors.Is(err, want) {
			t.Errorf("delivery %d: %v, want %v", i, err, want)
		}
	}
	if calls != 2 {
		t.Errorf("%d calls, want one for each event", calls)
	}
}

func testResult(ctx context.Context, t *testing.T) {
	db, one, other := openShop(t)
	busy := errors.New("the model is busy")
	if _, err := result(ctx, db, one, "summary", func(context.Context) (string, error) { return "", busy }); !errors.Is(err, busy) {
		t.Errorf("an error: %v", err)
	}
	var computed atomic.Int32
	var group sync.WaitGroup
	for _, locks := range []*applock.Client{one, other} {
		group.Go(func() {
			content, err := result(ctx, db, locks, "summary", func(context.Context) (string, error) {
				computed.Add(1)
				return "short", nil
			})
			if content != "short" || err != nil {
				t.Errorf("%q, %v", content, err)
			}
		})
	}
	group.Wait()
	if n := computed.Load(); n != 1 {
		t.Errorf("it was computed %d times after the error", n)
	}
}

// testNumber numbers three invoices, and rolls the second one back.
func testNumber(ctx context.Context, t *testing.T) {
	for way, give := range map[string]func(client *applock.Client, tx *sql.Tx, invoice int) error{
		"number": func(client *applock.Client, tx *sql.Tx, invoice int) error { return number(ctx, client, tx, invoice) },
		"count":  func(_ *applock.Client, tx *sql.Tx, invoice int) error { return count(ctx, tx, invoice) },
	} {
		db, client, _ := openShop(t)
		for invoice := range 3 {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			end := map[bool]func() error{true: tx.Rollback, false: tx.Commit}[invoice == 1]
			if err := errors.Join(give(client, tx, invoice+1), end()); err != nil {
				t.Fatal(err)
			}
		}
		var numbers string
		row := db.QueryRowContext(ctx, "SELECT group_concat(id || ': ' || coalesce(number, 'none'), ', ') FROM invoice")
		if err := row.Scan(&numbers); err != nil || numbers != "1: 1, 2: none, 3: 2" {
			t.Errorf("%s: %s, %v", way, numbers, err)
		}
	}
}

func testRebuild(ctx context.Context, t *testing.T) {
	_, client, _ := openShop(t)
	var written []string
	err := rebuild(ctx, client, []string{"a-h", "i-p", "q-z"}, func(ctx context.Context, lease applock.Lease, batch string) error {
		if written = append(written, batch); batch == "i-p" { // a supervisor ends the lease, and it hears of that
			key := applock.Key{Object: lease.Object(), Operator: lease.Owner().Operator}
			_, err := client.Release(ctx, applock.ReleaseRequest{Key: key})
			if lost := lease.Renew(ctx); err != nil || !errors.Is(lost, applock.ErrLost) {
				t.Errorf("release %v, renew %v", err, lost)
			}
		}
		return nil
	})
	if !errors.Is(err, applock.ErrLost) || len(written) != 2 {
		t.Errorf("written %v, %v", written, err)
	}
}

func testMove(ctx context.Context, t *testing.T) {
	_, client, _ := openShop(t)
	err := move(ctx, client, "W1", "W2", func(context.Context) error {
		err := move(ctx, client, "W3", "W1", func(context.Context) error { return nil })
		if conflict, found := errors.AsType[*applock.ConflictError](err); !found || len(conflict.Conflicts) != 1 {
			t.Errorf("of wallets that are in use: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
