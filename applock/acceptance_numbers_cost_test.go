package applock_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/applock"
)

const (
	// costCallers number invoices at the same time, each so many in its turn.
	costCallers = 8
	costEach    = 50

	createCounter  = `CREATE TABLE counter (name VARCHAR(64) NOT NULL PRIMARY KEY, n INTEGER NOT NULL)`
	createNumbered = `CREATE TABLE numbered (number INTEGER NOT NULL)`
	// The index is not unique: a number that is given twice shall be seen.
	indexNumbered = `CREATE INDEX numbered_number ON numbered (number)`
)

// costWay gives the next number, in the transaction that needs it.
type costWay struct {
	name string
	next func(ctx context.Context, place realPlace, tx *sql.Tx) (int, error)
}

// costWays returns what to compare. MySQL and MariaDB have no UPDATE ... RETURNING, but answer an UPDATE with what
// last_insert_id was set to, which is one statement, too.
func costWays() []costWay {
	return []costWay{
		{"update", func(ctx context.Context, place realPlace, tx *sql.Tx) (n int, err error) {
			if place.realDialect == dialectPostgres {
				err = tx.QueryRowContext(ctx, "UPDATE counter SET n = n + 1 WHERE name = $1 RETURNING n", "invoice").Scan(&n)
				return n, err
			}
			result, err := tx.ExecContext(ctx, "UPDATE counter SET n = last_insert_id(n + 1) WHERE name = ?", "invoice")
			if err != nil {
				return 0, err
			}
			last, err := result.LastInsertId()
			return int(last), err
		}},
		{"serialize-counter", func(ctx context.Context, place realPlace, tx *sql.Tx) (n int, err error) {
			if err := place.serializeInvoice(ctx, tx); err != nil {
				return 0, err
			}
			row := tx.QueryRowContext(ctx, place.bound("SELECT n + 1 FROM counter WHERE name = $1"), "invoice")
			if err := row.Scan(&n); err != nil {
				return 0, err
			}
			_, err = tx.ExecContext(ctx, place.bound("UPDATE counter SET n = $1 WHERE name = $2"), n, "invoice")
			return n, err
		}},
		{"serialize-max", func(ctx context.Context, place realPlace, tx *sql.Tx) (n int, err error) {
			if err := place.serializeInvoice(ctx, tx); err != nil {
				return 0, err
			}
			err = tx.QueryRowContext(ctx, "SELECT coalesce(max(number), 0) + 1 FROM numbered").Scan(&n)
			return n, err
		}},
	}
}

func (p realPlace) serializeInvoice(ctx context.Context, tx *sql.Tx) error {
	object := applock.Object{Type: "sequence", ID: "invoice"}
	return p.client.WithSQLTx(tx).Serialize(ctx, object)
}

// Goal: what each way to gapless numbers costs; docs/recipes.md has the figures. Method: 8 callers number and insert, each
// transaction for itself; the ways take turns within one run, so that a busy machine is busy for all. Each turn ends with a
// look whether the numbers are without gaps.
func BenchmarkNumbers(b *testing.B) {
	for _, product := range []string{onPostgres, onMariaDB, onMySQL} {
		b.Run(product, func(b *testing.B) {
			place := newRealPlace(b, product)
			place.handle.SetMaxOpenConns(costCallers)
			place.exec(b, createCounter, createNumbered, indexNumbered)
			took := map[string]time.Duration{}
			for b.Loop() {
				for _, way := range costWays() {
					took[way.name] += place.number(b, way)
				}
			}
			for name, duration := range took {
				b.ReportMetric(float64(b.N*costCallers*costEach)/duration.Seconds(), name+"/s")
			}
		})
	}
}

// number has all callers number their invoices, and returns how long that took.
func (p realPlace) number(b *testing.B, way costWay) time.Duration {
	b.Helper()
	p.exec(b, "DELETE FROM counter", "DELETE FROM numbered", "INSERT INTO counter (name, n) VALUES ('invoice', 0)")
	errs := make([]error, costCallers)
	began := time.Now()
	var running sync.WaitGroup
	for i := range errs {
		running.Go(func() {
			for range costEach {
				if errs[i] = p.numberOne(b.Context(), way); errs[i] != nil {
					return
				}
			}
		})
	}
	running.Wait()
	took := time.Since(began)
	for _, err := range errs {
		if err != nil {
			b.Fatalf("%s: %v", way.name, err)
		}
	}
	const all = costCallers * costEach
	for _, what := range []string{"count(*)", "count(DISTINCT number)", "max(number)"} {
		if got := p.count(b, "SELECT "+what+" FROM numbered"); got != all {
			b.Fatalf("%s: %s is %d, want %d", way.name, what, got, all)
		}
	}
	return took
}

func (p realPlace) numberOne(ctx context.Context, way costWay) error {
	tx, err := p.handle.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after the commit there is nothing to roll back
	number, err := way.next(ctx, p, tx)
	if err != nil {
		return fmt.Errorf("the next number: %w", err)
	}
	if _, err := tx.ExecContext(ctx, p.bound("INSERT INTO numbered (number) VALUES ($1)"), number); err != nil {
		return err
	}
	return tx.Commit()
}
