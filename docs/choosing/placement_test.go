// Package choosing_test runs what docs/choosing.md and docs/recipes.md show.
package choosing_test

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the database/sql driver "pgx"
	_ "modernc.org/sqlite"             // and that of SQLite

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// bank is an application with a framework of its own: execute.
type bank struct {
	product, dsn string
	db           *sql.DB
	// client has the locks in the database of the accounts, and locks are where the leases come from.
	client, locks *applock.Client
	// level is READ COMMITTED where one can choose. At the other levels some products refuse what would be lost here.
	level *sql.TxOptions
	// versioned has each write check that nobody has written since the read.
	versioned bool
	// beforeCommit is what the tests want to happen between the action and the write.
	beforeCommit func(ctx context.Context) error
}

// account is what a transaction has read.
type account struct {
	id      string
	balance int
	version int
}

// errConflict means that another transaction has changed what this one has read.
var errConflict = errors.New("the account has another version by now")

func walletLease(id string) applock.AcquireRequest {
	return applock.AcquireRequest{Object: applock.Object{Type: "wallet", ID: id}, MaxHold: 10 * time.Second}
}

// Wrong: the object is free before the transaction commits. Whoever gets it next reads the old balance.
func (b bank) depositInside(ctx context.Context, id string, amount int) error {
	return b.execute(ctx, func(ctx context.Context, tx *sql.Tx) (changed account, err error) {
		err = b.locks.Do(ctx, walletLease(id), func(ctx context.Context, _ applock.Lease) error {
			changed, err = b.read(ctx, tx, id, amount)
			return err
		})
		return changed, err
	})
}

// Right: the transaction begins when we have the lease, and has committed when we give it back.
func (b bank) depositAround(ctx context.Context, id string, amount int) error {
	return b.locks.Do(ctx, walletLease(id), func(ctx context.Context, _ applock.Lease) error {
		return b.execute(ctx, func(ctx context.Context, tx *sql.Tx) (account, error) {
			return b.read(ctx, tx, id, amount)
		})
	})
}

// Right, and safe even when the lease is lost without our noticing: the transaction begins with Assert.
func (b bank) depositFenced(ctx context.Context, id string, amount int) error {
	return b.locks.Do(ctx, walletLease(id), func(ctx context.Context, lease applock.Lease) error {
		return b.execute(ctx, func(ctx context.Context, tx *sql.Tx) (account, error) {
			err := b.client.WithSQLTx(tx).Assert(ctx, applock.Key{
				Object: lease.Object(), Operator: lease.Owner().Operator, Fence: lease.Fence(),
			})
			if err != nil {
				return account{}, err
			}
			return b.read(ctx, tx, id, amount)
		})
	})
}

// Right, and it does belong inside: serialize ends with the transaction. The connection waits, too.
func (b bank) depositSerialized(ctx context.Context, id string, amount int) error {
	return b.execute(ctx, func(ctx context.Context, tx *sql.Tx) (account, error) {
		if err := b.client.WithSQLTx(tx).Serialize(ctx, applock.Object{Type: "wallet", ID: id}); err != nil {
			return account{}, err
		}
		return b.read(ctx, tx, id, amount)
	})
}

// Optimistic: nobody waits, and whoever comes second does all of it again.
func (b bank) depositOptimistically(ctx context.Context, id string, amount int) error {
	b.versioned = true
	for {
		err := b.execute(ctx, func(ctx context.Context, tx *sql.Tx) (account, error) {
			return b.read(ctx, tx, id, amount)
		})
		if !errors.Is(err, errConflict) {
			return err
		}
	}
}

// execute is what frameworks do: it begins a transaction, has the action say what is to change, writes that, and commits.
func (b bank) execute(ctx context.Context, action func(ctx context.Context, tx *sql.Tx) (account, error)) error {
	tx, err := b.db.BeginTx(ctx, b.level)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after the commit there is nothing to roll back
	changed, err := action(ctx, tx)
	if err != nil {
		return err
	}
	if b.beforeCommit != nil {
		if err := b.beforeCommit(ctx); err != nil {
			return err
		}
	}
	statement, args := "UPDATE account SET balance = $1, version = $2 WHERE id = $3", []any{changed.balance, changed.version + 1, changed.id}
	if b.versioned {
		statement, args = statement+" AND version = $4", append(args, changed.version)
	}
	result, err := tx.ExecContext(ctx, b.bound(statement), args...)
	if err != nil {
		return err
	}
	if rows, err := result.RowsAffected(); b.versioned && (err != nil || rows == 0) {
		return errors.Join(errConflict, err)
	}
	return tx.Commit()
}

// read returns the account with the amount added, which is what a deposit is going to write.
func (b bank) read(ctx context.Context, tx *sql.Tx, id string, amount int) (account, error) {
	read := account{id: id}
	row := tx.QueryRowContext(ctx, b.bound("SELECT balance, version FROM account WHERE id = $1"), id)
	err := row.Scan(&read.balance, &read.version)
	read.balance += amount
	return read, err
}

// bound returns a statement with the placeholders of the product.
func (b bank) bound(statement string) string {
	if b.product != "postgres" {
		return regexp.MustCompile(`\$\d`).ReplaceAllString(statement, "?")
	}
	return statement
}

const (
	wallet   = "W1"
	deposits = 10
)

// newBank returns a bank with an empty wallet, in a database of its own, where the locks are, too.
func newBank(t *testing.T, product string) bank {
	t.Helper()
	var b bank
	switch product {
	case "postgres":
		b = openBank(t, product, testclient.InstalledPostgres(t))
	case "sqlite":
		b = openBank(t, product, "sqlite:"+testclient.InstalledSQLite(t))
	case "galera":
		b = openBank(t, product, testdb.Galera(t))
		if _, err := migrate.Up(t.Context(), b.client, migrate.UpRequest{}); err != nil {
			t.Fatal(err)
		}
	default:
		b = openBank(t, product, testclient.InstalledMySQL(t, product))
	}
	execute(t, b.db, "CREATE TABLE account (id VARCHAR(64) NOT NULL PRIMARY KEY, balance INTEGER NOT NULL, version INTEGER NOT NULL)",
		"INSERT INTO account (id, balance, version) VALUES ('"+wallet+"', 0, 0)")
	return b
}

func openBank(t *testing.T, product, dsn string) bank {
	t.Helper()
	client := testclient.Open(t, dsn, "", nil)
	b := bank{product: product, dsn: dsn, client: client, locks: client, level: &sql.TxOptions{Isolation: sql.LevelReadCommitted}}
	switch product {
	case "postgres":
		b.db = open(t, "pgx", dsn)
	case "sqlite":
		b.level = nil
		b.db = open(t, "sqlite", "file:"+strings.TrimPrefix(dsn, "sqlite:")+"?_pragma=busy_timeout(60000)&_txlock=immediate")
	default:
		b.db = testdb.OpenMySQL(t, dsn, nil)
	}
	return b
}

func open(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal("the DSN cannot be parsed")
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func execute(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// deposited is what became of ten deposits of 1 at the same time.
type deposited struct{ committed, conflicts, balance int }

// depositTogether makes ten deposits of 1 at the same time.
func (b bank) depositTogether(t *testing.T, deposit func(ctx context.Context, id string, amount int) error) deposited {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	errs := make([]error, deposits)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() { errs[i] = deposit(ctx, wallet, 1) })
	}
	group.Wait()
	var got deposited
	for _, err := range errs {
		rolledBack, found := errors.AsType[*mysql.MySQLError](err)
		switch {
		case err == nil:
			got.committed++
		case errors.Is(err, errConflict), found && rolledBack.Number == 1213: // which on Galera may come at the commit
			got.conflicts++
		default:
			t.Error(err)
		}
	}
	row := b.db.QueryRowContext(t.Context(), b.bound("SELECT balance FROM account WHERE id = $1"), wallet)
	if err := row.Scan(&got.balance); err != nil {
		t.Fatal(err)
	}
	return got
}

// allHaveRead makes the worst of it, each time: nobody goes on before all deposits have read.
func allHaveRead() func(ctx context.Context) error {
	var calls atomic.Int32
	all := make(chan struct{})
	return func(ctx context.Context) error {
		if calls.Add(1) == deposits {
			close(all)
		}
		select {
		case <-all:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Goal: a lease inside the transaction does not protect it. Method: ten deposits at the same time, all of which have read
// before the first commits. Each had the lease when it read. Nine updates are lost or, with a check of the version, nine deposits fail,
// and succeed when they are repeated.
func TestHeavyPlacementInside(t *testing.T) {
	for _, product := range []string{"postgres", "mariadb", "mysql"} { // on SQLite a transaction that has read has the whole file
		t.Run(product, func(t *testing.T) {
			b := newBank(t, product)
			b.beforeCommit = allHaveRead()
			if got, want := b.depositTogether(t, b.depositInside), (deposited{committed: deposits, balance: 1}); got != want {
				t.Errorf("inside: %+v, want %+v", got, want)
			}
			b.versioned, b.beforeCommit = true, allHaveRead()
			if got, want := b.depositTogether(t, b.depositInside), (deposited{1, deposits - 1, 2}); got != want {
				t.Errorf("inside, with versions: %+v, want %+v", got, want)
			}
			b.beforeCommit = allHaveRead()
			if got, want := b.depositTogether(t, b.depositOptimistically), (deposited{committed: deposits, balance: 2 + deposits}); got != want {
				t.Errorf("repeated: %+v, want %+v", got, want)
			}
		})
	}
}

// Goal: around the transaction a lease protects it, and so does serialize inside. Method: ten deposits at the same time.
// Between its read and its commit each of them looks whether it is alone.
func TestHeavyPlacementAround(t *testing.T) {
	for _, product := range []string{"postgres", "sqlite", "mariadb", "mysql"} {
		t.Run(product, func(t *testing.T) {
			b := newBank(t, product)
			var inside atomic.Int32
			b.beforeCommit = func(context.Context) error {
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d deposits are between read and commit", n)
				}
				time.Sleep(time.Millisecond)
				inside.Add(-1)
				return nil
			}
			for i, deposit := range []func(ctx context.Context, id string, amount int) error{b.depositAround, b.depositFenced, b.depositSerialized} {
				want := deposited{committed: deposits, balance: (i + 1) * deposits}
				if got := b.depositTogether(t, deposit); got != want {
					t.Errorf("way %d: %+v, want %+v", i, got, want)
				}
			}
		})
	}
}

// Goal: on a Galera cluster a lease protects what is written on any node, and serialize does so by a rollback. Method: ten
// deposits at the same time, half of them on each of two nodes.
func TestHeavyPlacementOnGalera(t *testing.T) {
	here := newBank(t, "galera")
	there := openBank(t, "galera", testdb.GaleraPeer(t, here.dsn))
	// A node may be behind the other one, except for who asks it to catch up first.
	onlooker := here
	onlooker.db = testdb.OpenMySQL(t, here.dsn, func(config *mysql.Config) { config.Params = map[string]string{"wsrep_sync_wait": "1"} })
	alternately := func(one, other func(ctx context.Context, id string, amount int) error) deposited {
		var turn atomic.Int32
		return onlooker.depositTogether(t, func(ctx context.Context, id string, amount int) error {
			if turn.Add(1)%2 == 0 {
				return other(ctx, id, amount)
			}
			return one(ctx, id, amount)
		})
	}
	if got, want := alternately(here.depositAround, there.depositAround), (deposited{committed: deposits, balance: deposits}); got != want {
		t.Errorf("with leases: %+v, want %+v", got, want)
	}
	got := alternately(here.depositSerialized, there.depositSerialized)
	if got.committed == 0 || got.balance != deposits+got.committed {
		t.Errorf("serialized: %+v, want a balance of %d and one for each that has committed", got, deposits)
	}
}
