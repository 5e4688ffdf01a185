package applock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testing/testdb"
)

const (
	// No index is unique: a number that is given twice shall be seen, not refused.
	createInvoices = `CREATE TABLE invoice (id INTEGER NOT NULL PRIMARY KEY, number INTEGER)`
	nextNumber     = `SELECT coalesce(max(number), 0) + 1 FROM invoice`
	setNumber      = `UPDATE invoice SET number = $1 WHERE id = $2`

	// abandonEvery is which invoices are abandoned once, after they have got a number and before the commit.
	abandonEvery = 10
)

// Goal: 20 workers give 200 invoices the numbers 1 to 200, none twice and none left out, at each isolation level,
// through pgx and through database/sql.
// Method: one transaction for each invoice calls serialize, reads max(number) + 1 and writes it. Some transactions are
// rolled back after that and done again: their numbers must not be missing. Where the database answers some of them with
// a serialization failure (40001), the worker rolls back and begins again; elsewhere there must be none. Late ones have
// read before they call serialize, and must not be let in with what they saw then.
func TestHeavyAcceptanceNumbers(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.Products(), func(t *testing.T, product string) {
		place := newRealPlace(t, product)
		for _, way := range numberingWays(product) {
			t.Run(way.name+"/"+way.level.String(), func(t *testing.T) {
				numbers := numbering{numberingWay: way, begin: way.through(t, place, way.workers, way.level)}
				numbers.check(t, place)
				if conflicts := numbers.conflicts.Load(); conflicts > 0 && !way.mayConflict {
					t.Errorf("%d serialization failures", conflicts)
				}
			})
		}
	})
}

// numberingWay is a way to number invoices.
type numberingWay struct {
	name     string
	through  func(t *testing.T, place realPlace, workers int, level sql.IsolationLevel) beginApp
	level    sql.IsolationLevel
	workers  int
	invoices int
	// readsFirst makes each transaction read before it calls serialize, too early to see all numbers.
	readsFirst bool
	// mayConflict allows serialization failures.
	mayConflict bool
}

// numberingWays returns what to test. PostgreSQL answers a transaction that has waited for its turn with a serialization
// failure unless it is at READ COMMITTED. InnoDB does not: serialize, the first statement, waits before there is a
// snapshot, and whoever is inside is alone with all rows. Nor does SQLite, whose transactions are deferred, as database/sql
// begins them. (MariaDB 11.8 does at SERIALIZABLE, where its snapshot begins with the transaction and is checked.) At
// SERIALIZABLE InnoDB's reads lock what they read: the one that is inside has a deadlock with each late one,
// so these are few.
func numberingWays(product string) []numberingWay {
	const full, fewer = 200, 100
	const committed, repeatable, serializable = sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable
	switch product {
	case onPostgres:
		return []numberingWay{
			{name: "pgx", through: numberingThroughPgx, level: committed, workers: 20, invoices: full},
			{name: "pgx", through: numberingThroughPgx, level: repeatable, workers: 20, invoices: full, mayConflict: true},
			{name: "pgx", through: numberingThroughPgx, level: serializable, workers: 20, invoices: full, mayConflict: true},
			{name: "sql", through: numberingThroughSQL, level: committed, workers: 20, invoices: full},
			{name: "sql", through: numberingThroughSQL, level: repeatable, workers: 20, invoices: fewer, mayConflict: true},
			{name: "sql", through: numberingThroughSQL, level: serializable, workers: 20, invoices: fewer, mayConflict: true},
			{name: "late", through: numberingThroughSQL, level: repeatable, workers: 20, invoices: fewer, readsFirst: true, mayConflict: true},
		}
	case onSQLite:
		return []numberingWay{
			{name: "sql", through: numberingThroughSQL, level: sql.LevelDefault, workers: 8, invoices: 50},
		}
	}
	return []numberingWay{
		{name: "sql", through: numberingThroughSQL, level: committed, workers: 20, invoices: full},
		{name: "sql", through: numberingThroughSQL, level: repeatable, workers: 20, invoices: full},
		{name: "sql", through: numberingThroughSQL, level: serializable, workers: 20, invoices: full, mayConflict: product == "mariadb"},
		{name: "late", through: numberingThroughSQL, level: repeatable, workers: 20, invoices: fewer, readsFirst: true, mayConflict: true},
		{name: "late", through: numberingThroughSQL, level: serializable, workers: 4, invoices: 50, readsFirst: true, mayConflict: true},
	}
}

func numberingThroughPgx(t *testing.T, place realPlace, workers int, level sql.IsolationLevel) beginApp {
	t.Helper()
	begin, closePool, err := place.throughPgx(t.Context(), workers, map[sql.IsolationLevel]pgx.TxIsoLevel{
		sql.LevelReadCommitted: pgx.ReadCommitted, sql.LevelRepeatableRead: pgx.RepeatableRead, sql.LevelSerializable: pgx.Serializable,
	}[level])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closePool)
	return begin
}

func numberingThroughSQL(_ *testing.T, place realPlace, workers int, level sql.IsolationLevel) beginApp {
	place.handle.SetMaxOpenConns(workers)
	return place.throughSQL(level)
}

// errAbandoned ends a transaction that the application does not want any more.
var errAbandoned = errors.New("abandoned")

// attempt is one transaction that numbers an invoice.
type attempt struct {
	id int
	// readsFirst reads before the guard, for nothing.
	readsFirst bool
	// abandon rolls back after the write.
	abandon bool
}

// run gives the invoice the next number.
func (a attempt) run(ctx context.Context, begin beginApp) error {
	tx, err := begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.rollback(ctx) }() // after the commit there is nothing to roll back
	if a.readsFirst {
		if _, err := tx.number(ctx, nextNumber); err != nil {
			return err
		}
	}
	if err := tx.locks.Serialize(ctx, applock.Object{Type: "sequence", ID: "invoice"}); err != nil {
		return err
	}
	next, err := tx.number(ctx, nextNumber)
	if err != nil {
		return err
	}
	if _, err := tx.exec(ctx, setNumber, next, a.id); err != nil {
		return err
	}
	if a.abandon {
		return errAbandoned
	}
	return tx.commit(ctx)
}

// numbering is many workers that number invoices.
type numbering struct {
	numberingWay
	begin     beginApp
	conflicts atomic.Int64
}

// check numbers all invoices of a new table and compares their numbers with 1, 2, 3 and so on.
func (n *numbering) check(t *testing.T, place realPlace) {
	t.Helper()
	createInvoiceTable(t, place, n.invoices)
	start := time.Now()
	n.run(t)
	t.Logf("%d invoices in %s, %d serialization failures", n.invoices, time.Since(start).Round(time.Millisecond), n.conflicts.Load())
	invoices := make([][]int, n.invoices+1) // by number
	for i, number := range readNumbers(t, place) {
		if number < 1 || number > n.invoices {
			t.Errorf("invoice %d has the number %d, want 1 to %d", i+1, number, n.invoices)
			continue
		}
		invoices[number] = append(invoices[number], i+1)
	}
	for number, ids := range invoices[1:] {
		if len(ids) != 1 {
			t.Errorf("number %d is given to the invoices %v, want one", number+1, ids)
		}
	}
}

// run gives the invoices to the workers and waits for them.
func (n *numbering) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	ids := make(chan int, n.invoices)
	for id := range n.invoices {
		ids <- id + 1
	}
	close(ids)
	var running sync.WaitGroup
	for range n.workers {
		running.Go(func() {
			for id := range ids {
				if err := n.number(ctx, id); err != nil {
					cancel(fmt.Errorf("invoice %d: %w", id, err))
					return
				}
			}
		})
	}
	running.Wait()
	if err := context.Cause(ctx); err != nil {
		t.Fatal(err)
	}
}

// number numbers one invoice, as often as it takes.
func (n *numbering) number(ctx context.Context, id int) error {
	if id%abandonEvery == 0 {
		err := n.retry(ctx, attempt{id: id, readsFirst: n.readsFirst, abandon: true})
		if !errors.Is(err, errAbandoned) {
			return fmt.Errorf("want it abandoned: %w", err)
		}
	}
	return n.retry(ctx, attempt{id: id, readsFirst: n.readsFirst})
}

// retry begins again after each serialization failure, a little later: one commit refuses all who wait for it.
func (n *numbering) retry(ctx context.Context, a attempt) error {
	for {
		err := a.run(ctx, n.begin)
		if sqlState(err) != "40001" {
			return err
		}
		n.conflicts.Add(1)
		time.Sleep(rand.N(time.Duration(n.workers) * time.Millisecond))
	}
}

// createInvoiceTable makes a table of invoices without numbers, with the ids from 1.
func createInvoiceTable(t *testing.T, place realPlace, invoices int) {
	t.Helper()
	ids := make([]string, invoices)
	for i := range ids {
		ids[i] = fmt.Sprintf("(%d)", i+1)
	}
	place.exec(t, "DROP TABLE IF EXISTS invoice", createInvoices, "INSERT INTO invoice (id) VALUES "+strings.Join(ids, ", "))
}

// readNumbers returns the numbers of the invoices in the order of their ids, 0 for none.
func readNumbers(t *testing.T, place realPlace) []int {
	t.Helper()
	rows, err := place.handle.QueryContext(t.Context(), "SELECT coalesce(number, 0) FROM invoice ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }() // Err tells what matters
	var numbers []int
	for rows.Next() {
		var number int
		if err := rows.Scan(&number); err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, number)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return numbers
}
