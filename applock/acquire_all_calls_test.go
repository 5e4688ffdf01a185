package applock_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/mysql"
	"github.com/applock/applock/applock/postgres"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// Goal: many objects are taken by a few round trips, refused by a few, and released by a few. Method: a thousand objects, and what the client sent
// meanwhile: on PostgreSQL by the tracer of pgx, on MySQL and MariaDB as its one session counts it.
func TestAcquireAllSendsFewStatements(t *testing.T) {
	t.Parallel()
	const objects, allowed = 1000, 8
	testdb.EachProduct(t, testdb.Servers(), func(t *testing.T, product string) {
		dsn := testclient.Lent(t, product)
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
		if count := sent() - before; len(set.Leases()) != objects || count > allowed {
			t.Errorf("%d leases by %d statements, want %d by %d at the most", len(set.Leases()), count, objects, allowed)
		}
		before = sent()
		if err := set.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if count := sent() - before; count > allowed {
			t.Errorf("released by %d statements, want %d at the most", count, allowed)
		}
		if _, err := onPlace(t, dsn).TryAcquireAll(t.Context(), all(wanted...)); err != nil {
			t.Errorf("after the release: %v", err)
		}
	})
}

// Goal: many who stop waiting at once are taken off the list by a few calls. Method: 400 wait for objects that somebody else holds, and
// are cancelled while the list is locked, so that all have left before the first call ends; count what the client sends until the list
// is empty.
func TestManyRetractionsAreFewStatements(t *testing.T) {
	t.Parallel()
	const waiters = 400
	dsn := testclient.Lent(t, onPostgres)
	client, sent := counted(t, dsn)
	other := onPlace(t, dsn)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var group sync.WaitGroup
	for i := range waiters {
		request := applock.AcquireRequest{Object: applock.Object{Type: "job", ID: strconv.Itoa(i)}, MaxHold: time.Hour}
		if _, err := other.Acquire(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			if lease, err := client.Acquire(ctx, request); err == nil {
				t.Errorf("%s is had by two", lease.Object())
			}
		})
	}
	awaitListed(t, other, waiters)
	before := sent()
	whileListIsLocked(t, dsn, func() {
		cancel()
		group.Wait()
	})
	awaitListed(t, other, 0)
	if count := sent() - before; count > waiters/4 {
		t.Errorf("%d statements for %d who do not wait any more, want one for many", count, waiters)
	}
}

// whileListIsLocked lets nobody change the list of those who wait.
func whileListIsLocked(t *testing.T, dsn string, work func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }() // which also ends the transaction
	if _, err := conn.Exec(t.Context(), "BEGIN; LOCK TABLE applock.appl_lock_waiter IN EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	work()
}

// awaitListed returns when so many are listed.
func awaitListed(t *testing.T, client *applock.Client, want int) {
	t.Helper()
	for count := -1; count != want && t.Context().Err() == nil; time.Sleep(time.Millisecond) {
		count = 0
		for _, err := range client.Waiters(t.Context(), applock.WaitersRequest{}) {
			if err != nil {
				t.Fatal(err)
			}
			count++
		}
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
