package applock_test

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/postgres"
	"github.com/applock/applock/internal/testing/testclient"
)

// leftTx runs work in a transaction after a get, in front of rows that nobody has read.
type leftTx func(ctx context.Context, get applock.GetRequest, work func(rows interface{ Next() bool })) error

const manyRows = "SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3"

// cramped returns a client on a pool of one connection, and its transactions.
func cramped(t *testing.T, product, dsn string) (*applock.Client, leftTx) {
	t.Helper()
	if product == onPostgres {
		config, err := pgxpool.ParseConfig(dsn)
		if err != nil {
			t.Fatal(err)
		}
		config.MaxConns = 1
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { go pool.Close() }) // it waits for a connection that is not given back
		client := testclient.Postgres(t, pool)
		return client, func(ctx context.Context, get applock.GetRequest, work func(rows interface{ Next() bool })) error {
			return postgres.InTx(ctx, client, func(tx pgx.Tx, locks *applock.Client) error {
				_, err := locks.Get(ctx, get)
				rows, queryErr := tx.Query(ctx, manyRows) //nolint:sqlclosecheck // work leaves them open when it panics
				work(rows)
				return errors.Join(err, queryErr)
			})
		}
	}
	handle, _, err := openHandle(dsn, patientWriter)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = handle.Close() })
	handle.SetMaxOpenConns(1)
	client := map[bool]func(testing.TB, *sql.DB) *applock.Client{true: testclient.SQLite, false: testclient.MySQL}[product == onSQLite](t, handle)
	return client, func(ctx context.Context, get applock.GetRequest, work func(rows interface{ Next() bool })) error {
		return client.InSQLTx(ctx, func(tx *sql.Tx, locks *applock.Client) error {
			_, err := locks.Get(ctx, get)
			rows, queryErr := tx.QueryContext(ctx, manyRows)
			work(rows)
			return errors.Join(err, queryErr, rows.Close(), rows.Err()) //nolint:sqlclosecheck // the same
		})
	}
}

// leave runs a call in which leaving happens, as net/http runs a handler: it recovers. It returns what came through.
func leave(call func()) (recovered any) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { recovered = recover() }()
		call()
	}()
	<-done
	return recovered
}

// Goal: a function of the program's that panics, or ends its goroutine, while applock calls it, leaves no transaction open, no connection
// taken and no lease held; the panic goes on with its value. Method: each such function, with a pool of one connection. Then the pool
// answers, and another session locks the object.
func TestPanicsLeaveNothing(t *testing.T) {
	t.Parallel()
	for _, product := range []string{onPostgres, onMariaDB, onMySQL, onSQLite} {
		t.Run(product, func(t *testing.T) {
			t.Parallel()
			dsn := testclient.Lent(t, product)
			other := testclient.Open(t, dsn, "", nil)
			client, inTx := cramped(t, product, dsn)
			object := applock.Object{Type: "order", ID: "4711"}
			getting := applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE"}, TTL: time.Hour}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // for a call that waits for ever
			defer cancel()
			calls := map[string]func(leaving func()) error{
				"transaction": func(leaving func()) error { return inTx(ctx, getting, func(interface{ Next() bool }) { leaving() }) },
				"rows": func(leaving func()) error {
					return inTx(ctx, getting, func(rows interface{ Next() bool }) { rows.Next(); leaving() })
				},
				"Do": func(leaving func()) error {
					return client.Do(ctx, applock.AcquireRequest{Object: object, MaxHold: time.Hour},
						func(context.Context, applock.Lease) error { leaving(); return nil })
				},
				"List": func(leaving func()) error {
					if _, err := other.Get(ctx, applock.GetRequest{Object: applock.Object{Type: "order", ID: "listed"}, Owner: getting.Owner}); err != nil {
						return err
					}
					for range client.List(ctx, applock.ListRequest{PageSize: 1}) {
						leaving()
					}
					return nil
				},
				"Purge": func(leaving func()) error {
					_, err := client.Purge(ctx, applock.PurgeRequest{Progress: func(int64) { leaving() }})
					return err
				},
			}
			for name, call := range calls {
				for want, leaving := range map[any]func(){"its own": func() { panic("its own") }, nil: runtime.Goexit} {
					if got := leave(func() { t.Errorf("%s has returned %v", name, call(leaving)) }); got != want {
						t.Errorf("%s: recovered %v, want %v", name, got, want)
					}
					if _, err := client.Inquire(ctx, object); !errors.Is(err, applock.ErrNotHeld) {
						t.Fatalf("after %s the pool answers %v, want applock.ErrNotHeld", name, err)
					}
					grant, err := other.Get(ctx, getting)
					if err != nil {
						t.Fatalf("after %s: %v", name, err)
					}
					if _, err := other.Release(ctx, applock.ReleaseRequest{Key: grant.Key()}); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}
