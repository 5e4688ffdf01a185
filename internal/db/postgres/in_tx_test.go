package postgres_test

import (
	"database/sql"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/postgres"
	"github.com/applock/applock/internal/testing/testclient"
)

// Goal: two transactions that would deadlock, and two that no order would have made, all end, each with its lock and its data. Method: both
// change two rows of the application's in the opposite order, and meet after the first; or both read at SERIALIZABLE what the other one
// changes, and meet before they commit. InTx begins one of them again, and so does InSQLTx on a pool of database/sql.
func TestInTxBeginsAgain(t *testing.T) {
	t.Parallel()
	for name, statements := range map[string][2][]string{
		"deadlock": {
			{"UPDATE account SET balance = balance + 1 WHERE id = 1", "UPDATE account SET balance = balance + 1 WHERE id = 2"},
			{"UPDATE account SET balance = balance + 1 WHERE id = 2", "UPDATE account SET balance = balance + 1 WHERE id = 1"},
		},
		"serialization": {
			{"SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SELECT sum(balance) FROM account", "UPDATE account SET balance = balance + 2 WHERE id = 1"},
			{"SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SELECT sum(balance) FROM account", "UPDATE account SET balance = balance + 2 WHERE id = 2"},
		},
	} {
		eachWay(t, name, func(t *testing.T, pool *pgxpool.Pool, inTx transactor) {
			call(t, pool, "CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL)")
			call(t, pool, "INSERT INTO account VALUES (1, 0), (2, 0)")
			var meeting, group sync.WaitGroup
			meeting.Add(2)
			var runs atomic.Int64
			for i, work := range statements {
				group.Go(func() {
					meet := sync.OnceFunc(func() { meeting.Done(); meeting.Wait() })
					err := inTx(func(run func(statement string) error, locks *applock.Client) error {
						runs.Add(1)
						for _, statement := range work {
							if err := run(statement); err != nil {
								return err
							}
							meet()
						}
						_, err := locks.Get(t.Context(), applock.GetRequest{
							Object: applock.Object{Type: "transfer", ID: strconv.Itoa(i)}, Owner: applock.Owner{Operator: "JDOE"},
						})
						return err
					})
					if err != nil {
						t.Errorf("%d: %v", i, err)
					}
				})
			}
			group.Wait()
			var balance, held int
			row := pool.QueryRow(t.Context(), "SELECT sum(balance), (SELECT count(*) FROM applock.appl_lock_live) FROM account")
			if err := row.Scan(&balance, &held); err != nil || balance != 4 || held != 2 || runs.Load() < 3 {
				t.Errorf("balance %d, %d locks, %d runs, %v: want 4, 2, at least 3", balance, held, runs.Load(), err)
			}
		})
	}
}

// transactor runs work in a transaction, whose statements it runs.
type transactor func(work func(run func(statement string) error, locks *applock.Client) error) error

// eachWay runs a test with the transactions of pgx, and with those of database/sql, each in a database of its own.
func eachWay(t *testing.T, name string, test func(t *testing.T, pool *pgxpool.Pool, inTx transactor)) {
	t.Helper()
	t.Run(name+"/pgx", func(t *testing.T) {
		t.Parallel()
		dsn := testclient.InstalledPostgres(t)
		pool := newPool(t, dsn)
		client := testclient.Postgres(t, pool)
		test(t, pool, func(work func(func(string) error, *applock.Client) error) error {
			return postgres.InTx(t.Context(), client, func(tx pgx.Tx, locks *applock.Client) error {
				return work(func(statement string) error {
					_, err := tx.Exec(t.Context(), statement)
					return err
				}, locks)
			})
		})
	})
	t.Run(name+"/sql", func(t *testing.T) {
		t.Parallel()
		place := placeBySQL(t)
		client, dsn := place.Client, place.DSN
		test(t, newPool(t, dsn), func(work func(func(string) error, *applock.Client) error) error {
			return client.InSQLTx(t.Context(), func(tx *sql.Tx, locks *applock.Client) error {
				return work(func(statement string) error {
					_, err := tx.ExecContext(t.Context(), statement)
					return err
				}, locks)
			})
		})
	})
}
