package choosing_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/open"
	"github.com/applock/applock/applock/sqlite"
)

// openShop returns a database with the tables of the examples, and what removes it.
func openShop(ctx context.Context) (*sql.DB, *applock.Client, func()) {
	folder, err := os.MkdirTemp("", "applock-choosing")
	if err != nil {
		log.Fatal(err)
	}
	path := filepath.Join(folder, "shop.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_txlock=immediate")
	if err != nil {
		log.Fatal(err)
	}
	client, err := sqlite.New(db, sqlite.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := migrate.Up(ctx, client, migrate.UpRequest{}); err != nil {
		log.Fatal(err)
	}
	for _, statement := range []string{
		"CREATE TABLE invoice (id INTEGER PRIMARY KEY, number INTEGER)",
		"INSERT INTO invoice (id) VALUES (1), (2), (3)",
		"CREATE TABLE counter (name TEXT PRIMARY KEY, n INTEGER NOT NULL)",
		"INSERT INTO counter (name, n) VALUES ('invoice', 0)",
		"CREATE TABLE webhook (id TEXT PRIMARY KEY, outcome TEXT NOT NULL)",
		"CREATE TABLE result (id TEXT PRIMARY KEY, content TEXT NOT NULL)",
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			log.Fatal(err)
		}
	}
	return db, client, func() {
		_ = client.Close()
		_ = db.Close()
		_ = os.RemoveAll(folder)
	}
}

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

// A person holds a lock for days, across log-outs and restarts. Programs are kept out by it, too.
func Example_edit() {
	ctx := context.Background()
	_, client, remove := openShop(ctx)
	defer remove()

	fmt.Println(edit(ctx, client, "42", applock.Owner{Operator: "JDOE", Department: "CS"}))
	err := edit(ctx, client, "42", applock.Owner{Operator: "ASMITH", Department: "CS"})
	fmt.Println(errors.Is(err, applock.ErrHeld), strings.HasPrefix(err.Error(), "JDOE of CS is working on it"))
	_, err = client.TryAcquire(ctx, applock.AcquireRequest{
		Object: applock.Object{Type: "customer", ID: "42"}, MaxHold: time.Minute,
	})
	fmt.Println(errors.Is(err, applock.ErrHeld))
	// Output:
	// <nil>
	// true true
	// true
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

// With the context of the outer block the inner one on the same object re-enters.
func Example_block() {
	ctx := context.Background()
	_, locks, remove := openShop(ctx)
	defer remove()

	err := block(ctx, locks, "import", "prices", func(ctx context.Context) error {
		return block(ctx, locks, "import", "prices", func(context.Context) error {
			fmt.Println("importing")
			return errors.New("line 7 has no price")
		})
	})
	fmt.Println(err)
	_, err = locks.Inquire(ctx, applock.Object{Type: "import", ID: "prices"})
	fmt.Println(errors.Is(err, applock.ErrNotHeld))
	// Output:
	// importing
	// line 7 has no price
	// true
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

// Two nodes start the job at the same time.
func Example_reconcile() {
	ctx := context.Background()
	db, one, remove := openShop(ctx)
	defer remove()
	other, err := sqlite.New(db, sqlite.Config{})
	if err != nil {
		log.Fatal(err)
	}

	err = reconcile(ctx, one, func(context.Context) error {
		fmt.Println("the first node works")
		return reconcile(ctx, other, func(context.Context) error {
			fmt.Println("the second node works")
			return nil
		})
	})
	fmt.Println(err)
	// Output:
	// the first node works
	// <nil>
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

// Two candidates, of whom the second follows when the first gives up; somebody looks on.
func Example_lead() {
	db, one, remove := openShop(context.Background())
	defer remove()
	other, err := sqlite.New(db, sqlite.Config{})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	leaders := make(chan string, 8)
	go func() { _ = observe(ctx, one, func(leader string) { leaders <- leader }) }()
	<-leaders // nobody
	done := make(chan struct{})
	work := func(ctx context.Context, _ applock.Lease) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	first, resign := context.WithCancel(ctx)
	go func() { _ = lead(first, one, "node-1", work) }()
	fmt.Println(<-leaders, "leads")
	go func() {
		_ = lead(ctx, other, "node-2", work)
		close(done)
	}()
	resign()
	for leader := range leaders {
		if leader != "" { // nobody, for a moment
			fmt.Println(leader, "leads")
			break
		}
	}
	cancel()
	<-done
	// Output:
	// node-1 leads
	// node-2 leads
}

// Goal: the job is not skipped without a word when nobody can tell whether another node has it. Method: a server that accepts
// connections and says nothing, one that is not there, and a client that has been closed.
func TestReconcileInAnOutage(t *testing.T) {
	t.Parallel()
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	for name, address := range map[string]string{"Silent": silent.Addr().String(), "Gone": "127.0.0.1:1", "Closed": "127.0.0.1:1"} {
		for _, engine := range []string{"postgres", "mysql"} {
			client, err := open.ByDSN(t.Context(), engine+"://app@"+address+"/shop", open.Config{})
			if err != nil {
				t.Fatal(err)
			}
			want := context.DeadlineExceeded
			switch name {
			case "Gone":
				want = applock.ErrUnreachable
			case "Closed":
				want = applock.ErrClosed
				_ = client.Close()
			}
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			err = reconcile(ctx, client, func(context.Context) error { return nil })
			cancel()
			if errors.Is(err, applock.ErrHeld) || !errors.Is(err, want) {
				t.Errorf("%s, %s: %v, want %v, and not ErrHeld", name, engine, err, want)
			}
			_ = client.Close() // for the second time, or of a server that does not answer
		}
	}
}

var errUnclear = errors.New("it has been begun, and whoever did is gone: ask the provider, do not repeat it")

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

// The provider delivers each event twice. One of the calls is cut off.
func Example_charge() {
	ctx := context.Background()
	db, locks, remove := openShop(ctx)
	defer remove()

	for _, event := range []string{"evt_1", "evt_1", "evt_2", "evt_2"} {
		err := charge(ctx, db, locks, event, func(context.Context) error {
			fmt.Println("charging for", event)
			if event == "evt_2" {
				return errors.New("no answer")
			}
			return nil
		})
		fmt.Println(event, err)
	}
	// Output:
	// charging for evt_1
	// evt_1 <nil>
	// evt_1 <nil>
	// charging for evt_2
	// evt_2 no answer
	// evt_2 it has been begun, and whoever did is gone: ask the provider, do not repeat it
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

// announced tells when somebody asks for a lease.
type announced struct {
	lease.Locker
	asked chan struct{}
}

func (a announced) Do(ctx context.Context, request applock.AcquireRequest, work func(ctx context.Context, lease applock.Lease) error) error {
	close(a.asked)
	return a.Locker.Do(ctx, request, work)
}

// A second caller, in another program, wants the same PDF while the first one is making it.
func Example_result() {
	ctx := context.Background()
	db, one, remove := openShop(ctx)
	defer remove()
	client, err := sqlite.New(db, sqlite.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	other := announced{Locker: client, asked: make(chan struct{})}

	const key = "invoice-7.pdf, template 3"
	second := make(chan string)
	first, err := result(ctx, db, one, key, func(context.Context) (string, error) {
		fmt.Println("the first makes it")
		go func() {
			content, err := result(ctx, db, other, key, func(context.Context) (string, error) {
				fmt.Println("the second makes it, too")
				return "", nil
			})
			second <- fmt.Sprintf("the second has %q, %v", content, err)
		}()
		<-other.asked // it has found nothing, and waits
		return "%PDF", nil
	})
	fmt.Printf("the first has %q, %v\n", first, err)
	fmt.Println(<-second)
	third, err := result(ctx, db, other, key, nil)
	fmt.Printf("the third has %q, %v\n", third, err)
	// Output:
	// the first makes it
	// the first has "%PDF", <nil>
	// the second has "%PDF", <nil>
	// the third has "%PDF", <nil>
}

// An error is not shared: the next caller computes.
func Example_result_failure() {
	ctx := context.Background()
	db, locks, remove := openShop(ctx)
	defer remove()

	busy := func(context.Context) (string, error) { return "", errors.New("the model is busy") }
	idle := func(context.Context) (string, error) { return "short", nil }
	for _, compute := range []func(ctx context.Context) (string, error){busy, idle, busy} {
		content, err := result(ctx, db, locks, "summary of 7", compute)
		fmt.Printf("%q, %v\n", content, err)
	}
	// Output:
	// "", the model is busy
	// "short", <nil>
	// "short", <nil>
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

// Invoice 2 gets a number in a transaction that is rolled back.
func Example_number() {
	ctx := context.Background()
	db, client, remove := openShop(ctx)
	defer remove()

	fmt.Println(numberInvoices(ctx, db, func(tx *sql.Tx, invoice int) error { return number(ctx, client, tx, invoice) }))
	// Output:
	// 1: 1, 2: none, 3: 2
}

func Example_count() {
	ctx := context.Background()
	db, _, remove := openShop(ctx)
	defer remove()

	fmt.Println(numberInvoices(ctx, db, func(tx *sql.Tx, invoice int) error { return count(ctx, tx, invoice) }))
	// Output:
	// 1: 1, 2: none, 3: 2
}

// numberInvoices numbers three invoices, rolls the second one back, and returns the numbers.
func numberInvoices(ctx context.Context, db *sql.DB, number func(tx *sql.Tx, invoice int) error) string {
	for _, invoice := range []int{1, 2, 3} {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			log.Fatal(err)
		}
		if err := number(tx, invoice); err != nil {
			log.Fatal(err)
		}
		end := tx.Commit
		if invoice == 2 {
			end = tx.Rollback
		}
		if err := end(); err != nil {
			log.Fatal(err)
		}
	}
	var numbers string
	row := db.QueryRowContext(ctx, "SELECT group_concat(id || ': ' || coalesce(number, 'none'), ', ') FROM invoice")
	if err := row.Scan(&numbers); err != nil {
		log.Fatal(err)
	}
	return numbers
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

// A supervisor ends the lease during the second batch. Renew is called here so as not to wait for the next renewal.
func Example_rebuild() {
	ctx := context.Background()
	_, client, remove := openShop(ctx)
	defer remove()

	err := rebuild(ctx, client, []string{"a-h", "i-p", "q-z"}, func(ctx context.Context, lease applock.Lease, batch string) error {
		fmt.Println("writing", batch, "with a fence:", lease.Fence() > 0)
		if batch == "i-p" {
			released, err := client.Release(ctx, applock.ReleaseRequest{Key: applock.Key{Object: lease.Object(), Operator: lease.Owner().Operator}})
			fmt.Println("the supervisor:", released, err)
			fmt.Println("the lease:", errors.Is(lease.Renew(ctx), applock.ErrLost))
		}
		return nil
	})
	fmt.Println(errors.Is(err, applock.ErrLost), strings.HasPrefix(err.Error(), "before batch q-z"))
	// Output:
	// writing a-h with a fence: true
	// writing i-p with a fence: true
	// the supervisor: RELEASED <nil>
	// the lease: true
	// true true
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

// Two wallets of three are in use.
func Example_move() {
	ctx := context.Background()
	_, client, remove := openShop(ctx)
	defer remove()

	err := move(ctx, client, "W1", "W2", func(context.Context) error {
		err := move(ctx, client, "W3", "W1", func(context.Context) error { return nil })
		var conflict *applock.ConflictError
		fmt.Println(errors.As(err, &conflict))
		for _, held := range conflict.Conflicts {
			fmt.Println(held.Object)
		}
		return nil
	})
	fmt.Println(err)
	_, err = client.Inquire(ctx, applock.Object{Type: "wallet", ID: "W3"})
	fmt.Println(errors.Is(err, applock.ErrNotHeld))
	// Output:
	// true
	// wallet:W1
	// <nil>
	// true
}
