package applock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	driver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/mysql"
	"github.com/applock/applock/applock/postgres"
)

// Goal: many objects are taken by a few round trips, and refused by a few. Method: a thousand objects, and what the client sent
// meanwhile: on PostgreSQL by the tracer of pgx, on MySQL and MariaDB as its one session counts it.
func TestAcquireAllSendsFewStatements(t *testing.T) {
	t.Parallel()
	const objects, allowed = 1000, 8
	for _, product := range []string{onPostgres, onMariaDB, onMySQL} {
		t.Run(product, func(t *testing.T) {
			t.Parallel()
			dsn := leasePlace(t, product)
			client, sent := counted(t, dsn)
			var wanted []applock.Object
			for i := range objects {
				wanted = append(wanted, account(fmt.Sprintf("%04d", i)))
			}
			busy, err := onPlace(t, dsn).AcquireAll(t.Context(), all(account("0000"), account("0999")))
			if err != nil {
				t.Fatal(err)
			}
			before := sent()
			_, err = client.TryAcquireAll(t.Context(), all(wanted...))
			var conflict *applock.ConflictError
			if count := sent() - before; !errors.As(err, &conflict) || len(conflict.Conflicts) != 2 || count > allowed {
				t.Errorf("refused by %d statements with %v, want two conflicts by %d at the most", count, err, allowed)
			}
			if err := busy.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			before = sent()
			set, err := client.AcquireAll(t.Context(), all(wanted...))
			if err != nil {
				t.Fatal(err)
			}
			if count := sent() - before; len(set.Leases) != objects || count > allowed {
				t.Errorf("%d leases by %d statements, want %d by %d at the most", len(set.Leases), count, objects, allowed)
			}
		})
	}
}

// counted returns a client on a pool of its own, and how many statements it has sent so far.
func counted(t *testing.T, dsn string) (client *applock.Client, sent func() int64) {
	t.Helper()
	if strings.HasPrefix(dsn, "mysql:") {
		pool, err := openMySQL(dsn, func(config *driver.Config) { config.ParseTime, config.InterpolateParams = true, true })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = pool.Close() })
		pool.SetMaxOpenConns(1)
		client, err = mysql.New(pool, mysql.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		return client, func() (questions int64) {
			if err := pool.QueryRowContext(t.Context(), "SHOW SESSION STATUS LIKE 'Questions'").Scan(new(string), &questions); err != nil {
				t.Fatal(err)
			}
			return questions
		}
	}
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	statements := new(statementCount)
	config.ConnConfig.Tracer = statements
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	client, err = postgres.New(pool, postgres.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client, statements.sent.Load
}

// statementCount counts what pgx sends.
type statementCount struct{ sent atomic.Int64 }

func (c *statementCount) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.sent.Add(1)
	return ctx
}

func (c *statementCount) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
