package applock_test

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/mysql"
	"github.com/applock/applock/applock/postgres"
	"github.com/applock/applock/applock/sqlite"
	"github.com/applock/applock/internal/testing/testclient"
)

// cramped is a client on a pool of one connection.
type cramped struct {
	client *applock.Client
	// inTx runs work in a transaction of the client, after a get there.
	inTx func(ctx context.Context, get applock.GetRequest, work func(rows nexter)) error
}

// nexter is an answer in which more rows wait.
type nexter interface{ Next() bool }

const manyRows = "SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3"

// newCramped opens a client of a product, on PostgreSQL also one of database/sql.
func newCramped(t *testing.T, name, dsn string) cramped {
	t.Helper()
	if name == onPostgres {
		config, err := pgxpool.ParseConfig(dsn)
		if err != nil {
			t.Fatal(err)
		}
		config.MaxConns = 1
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		client := testclient.Postgres(t, pool)
		return cramped{client, func(ctx context.Context, get applock.GetRequest, work func(rows nexter)) error {
			return postgres.InTx(ctx, client, func(tx pgx.Tx, locks *applock.Client) error {
				_, err := locks.Get(ctx, get)
				rows, queryErr := tx.Query(ctx, manyRows) //nolint:sqlclosecheck // work leaves them open when it panics
				work(rows)
				return errors.Join(err, queryErr)
			})
		}}
	}
	handle, _, err := openHandle(dsn, patientWriter)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = handle.Close() })
	handle.SetMaxOpenConns(1)
	var client *applock.Client
	switch {
	case strings.HasPrefix(dsn, "postgres"):
		client, err = postgres.NewSQL(handle, postgres.Config{})
	case strings.HasPrefix(dsn, "sqlite"):
		client, err = sqlite.New(handle, sqlite.Config{})
	default:
		client, err = mysql.New(handle, mysql.Config{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return cramped{client, func(ctx context.Context, get applock.GetRequest, work func(rows nexter)) error {
		return client.InSQLTx(ctx, func(tx *sql.Tx, locks *applock.Client) error {
			_, err := locks.Get(ctx, get)
			rows, queryErr := tx.QueryContext(ctx, manyRows)
			work(rows)
			return errors.Join(err, queryErr, rows.Close(), rows.Err()) //nolint:sqlclosecheck // the same
		})
	}}
}

// leavings are the ways in which a function ends without a return.
func leavings() map[string]func() {
	return map[string]func(){"panic": func() { panic("the work's own") }, "Goexit": runtime.Goexit}
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
	for _, name := range []string{onPostgres, "database/sql " + onPostgres, onMariaDB, onMySQL, onSQLite} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			words := strings.Fields(name)
			dsn := lentDSN(t, words[len(words)-1])
			other := testclient.Open(t, dsn, "", nil)
			one := newCramped(t, name, dsn)
			object := applock.Object{Type: "order", ID: "4711"}
			owner := applock.Owner{Operator: "JDOE"}
			getting := applock.GetRequest{Object: object, Owner: owner, TTL: time.Hour}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // for a call that waits for ever
			defer cancel()
			if _, err := other.Get(ctx, applock.GetRequest{Object: applock.Object{Type: "order", ID: "listed"}, Owner: owner}); err != nil {
				t.Fatal(err)
			}
			for way, leaving := range leavings() {
				for call, run := range map[string]func() error{
					"transaction": func() error {
						return one.inTx(ctx, getting, func(nexter) { leaving() })
					},
					"rows": func() error {
						return one.inTx(ctx, getting, func(rows nexter) {
							rows.Next()
							leaving()
						})
					},
					"Do": func() error {
						return one.client.Do(ctx, applock.AcquireRequest{Object: object, MaxHold: time.Hour},
							func(context.Context, applock.Lease) error {
								leaving()
								return nil
							})
					},
					"List": func() error {
						for range one.client.List(ctx, applock.ListRequest{PageSize: 1}) {
							leaving()
						}
						return nil
					},
					"Purge": func() error {
						_, err := one.client.Purge(ctx, applock.PurgeRequest{Progress: func(int64) { leaving() }})
						return err
					},
				} {
					recovered := leave(func() { t.Errorf("%s in %s has returned %v", way, call, run()) })
					if want := map[string]any{"panic": "the work's own"}[way]; recovered != want {
						t.Errorf("%s in %s: recovered %v, want %v", way, call, recovered, want)
					}
					if _, err := one.client.Inquire(ctx, object); !errors.Is(err, applock.ErrNotHeld) {
						t.Fatalf("after a %s in %s the pool answers %v, want applock.ErrNotHeld", way, call, err)
					}
					if _, err := other.Get(ctx, getting); err != nil {
						t.Fatalf("after a %s in %s: %v", way, call, err)
					}
					if _, err := other.Release(ctx, applock.ReleaseRequest{Key: applock.Key{Object: object, Operator: owner.Operator}}); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}
