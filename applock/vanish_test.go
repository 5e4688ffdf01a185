package applock_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/postgres"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/wire"
)

const (
	// lostTTL is that of what a lost client may have taken: long enough to make a call.
	lostTTL = 10 * time.Second
	// stuckLimit is for locks that stay.
	stuckLimit = time.Minute
)

// lossy is a way to reach a database on which clients are lost.
type lossy struct {
	// direct is the DSN of those who stay, and wired that of those who are lost.
	direct, wired string
	open          func(t testing.TB, dsn string) *applock.Client
}

// lossies are all ways that have a wire.
func lossies() map[string]func(t testing.TB) lossy {
	of := func(product string, open func(t testing.TB, dsn string) *applock.Client) func(t testing.TB) lossy {
		return func(t testing.TB) lossy {
			t.Helper()
			dsn := testclient.Lent(t, product)
			return lossy{direct: dsn, wired: dsn, open: open}
		}
	}
	return map[string]func(t testing.TB) lossy{
		onPostgres:     of(onPostgres, onPlace),
		"database/sql": of(onPostgres, onSQLPool),
		"pgbouncer": func(t testing.TB) lossy {
			t.Helper()
			dsn := testclient.Lent(t, onPostgres)
			return lossy{direct: dsn, wired: testdb.PgBouncer(t, dsn), open: onPooler}
		},
		onMariaDB: of(onMariaDB, onPlace),
		onMySQL:   of(onMySQL, onPlace),
	}
}

// onSQLPool returns a client on a pool of database/sql.
func onSQLPool(t testing.TB, dsn string) *applock.Client {
	t.Helper()
	pool, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	client, err := postgres.NewSQL(pool, postgres.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// onPooler returns a client whose pool prepares nothing.
func onPooler(t testing.TB, dsn string) *applock.Client {
	t.Helper()
	parsed, err := url.Parse(dsn)
	if err != nil {
		t.Fatal("the test DSN is no URL")
	}
	query := parsed.Query()
	query.Set("default_query_exec_mode", "exec")
	parsed.RawQuery = query.Encode()
	return onPlace(t, parsed.String())
}

// callOfMany is a call of more than one message. It prepares what it needs, and returns what is called.
type callOfMany func(t testing.TB, lost, other *applock.Client, object applock.Object) (call func(ctx context.Context) error)

func callsOfMany() map[string]callOfMany {
	owner := applock.Owner{Operator: "etl-7"}
	return map[string]callOfMany{
		"AcquireAll": func(_ testing.TB, lost, _ *applock.Client, object applock.Object) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				_, err := lost.TryAcquireAll(ctx, applock.AcquireAllRequest{
					Objects: []applock.Object{object, account(object.ID + " too")}, MaxHold: lostTTL,
				})
				return err
			}
		},
		"Transfer": func(t testing.TB, lost, _ *applock.Client, object applock.Object) func(ctx context.Context) error {
			t.Helper()
			lease, err := lost.TryAcquire(t.Context(), applock.AcquireRequest{Object: object, MaxHold: lostTTL})
			return func(ctx context.Context) error {
				if err != nil {
					return err
				}
				_, err := lease.Transfer(ctx, owner, lostTTL)
				return err
			}
		},
		"TakeOver": func(t testing.TB, lost, other *applock.Client, object applock.Object) func(ctx context.Context) error {
			t.Helper()
			if _, err := other.Get(t.Context(), applock.GetRequest{Object: object, Owner: owner, TTL: lostTTL}); err != nil {
				t.Error(err)
			}
			return func(ctx context.Context) error {
				_, err := lost.TryAcquire(ctx, applock.AcquireRequest{Object: object, Owner: owner, MaxHold: lostTTL})
				return err
			}
		},
	}
}

// Goal: a client that is lost at any instant leaves nothing locked for longer than its ttl and a few seconds. Method: its wire falls silent
// before each message of a call in turn, and nobody tells the server; then another client wants the object. SQLite has no wire.
func TestHeavyLostClientLeavesNothingLocked(t *testing.T) {
	t.Parallel()
	for name, place := range lossies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			way := place(t)
			other := onPlace(t, way.direct)
			for name, call := range callsOfMany() {
				messages := way.lose(t, other, account(name), call, stuckLimit.Milliseconds())
				t.Logf("%s: %d messages", name, messages)
				var group sync.WaitGroup
				for after := range messages {
					group.Go(func() { way.lose(t, other, account(fmt.Sprint(name, " after ", after)), call, after) })
				}
				group.Wait()
			}
		})
	}
}

// lose makes a call whose client is lost after so many messages, and has another client take the object. It returns how many there were.
func (l lossy) lose(t testing.TB, other *applock.Client, object applock.Object, call callOfMany, after int64) (messages int64) {
	t.Helper()
	w, wired := wire.Through(t, l.wired)
	lost := l.open(t, wired)
	if _, err := lost.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	prepared := call(t, lost, other, object)
	before := w.Carried.Load()
	fallen := w.SilenceAfter(after)
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error, 1)
	go func() { answered <- prepared(ctx) }()
	select {
	case <-fallen:
	case err := <-answered:
		if err != nil {
			t.Errorf("%s: %v", object.ID, err)
		}
	}
	messages = w.Carried.Load() - before
	lease, err := other.Acquire(t.Context(), applock.AcquireRequest{Object: object, MaxHold: time.Hour, MaxWait: stuckLimit})
	if err != nil {
		t.Errorf("%s: not to be had: %v", object.ID, err)
	} else if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
	cancel()
	w.Reset()
	w.Speak()
	return messages
}
