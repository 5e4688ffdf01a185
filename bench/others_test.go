//go:build unix

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"cirello.io/pglock"
	bsm "github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/redis/go-redis/v9"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/postgres"
)

// held is a held lock with its fence, 0 if there is none.
type held struct {
	number  int64
	release func() error
}

// library takes locks in the name of an owner, each time as another program. It does not wait.
type library struct {
	take func(ctx context.Context, owner, object string) (held, error)
	// takeIn takes one while the program is in a transaction, and in it where it can.
	takeIn func(ctx context.Context, tx pgx.Tx, owner, object string) error
}

func openPostgres(t *testing.T) *pgxpool.Pool {
	t.Helper()
	dsn := os.Getenv("APPLOCK_TEST_POSTGRES_DSN")
	if dsn == "" {
		missingOther(t, "postgres")
	}
	pool, err := pgxpool.New(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// missingOther ends the test as everywhere else: a required server that is not there is a failure.
func missingOther(t *testing.T, product string) {
	t.Helper()
	if strings.Contains(os.Getenv("APPLOCK_TEST_REQUIRE"), product) {
		t.Fatalf("there is no %s", product)
	}
	t.Skipf("there is no %s", product)
}

func ours(t *testing.T, pool *pgxpool.Pool) library {
	t.Helper()
	schema := "others_" + strings.ToLower(rand.Text()[:8])
	client, err := postgres.New(pool, postgres.Config{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = pool.Exec(context.Background(), "DROP SCHEMA "+schema+" CASCADE") })
	get := func(ctx context.Context, client *applock.Client, owner, object string) (held, error) {
		request := applock.GetRequest{Object: applock.Object{Type: "other", ID: object}, Owner: applock.Owner{Operator: owner}}
		grant, err := client.Get(ctx, request)
		return held{int64(grant.Fence), func() error {
			_, err := client.Release(ctx, applock.ReleaseRequest{Key: applock.Key{Object: request.Object, Operator: owner}})
			return err
		}}, err
	}
	return library{
		func(ctx context.Context, owner, object string) (held, error) { return get(ctx, client, owner, object) },
		func(ctx context.Context, tx pgx.Tx, owner, object string) error {
			_, err := get(ctx, postgres.WithTx(client, tx), owner, object)
			return err
		},
	}
}

// outside is a library that knows no transactions.
func outside(take func(ctx context.Context, owner, object string) (held, error)) library {
	return library{take, func(ctx context.Context, _ pgx.Tx, owner, object string) error {
		_, err := take(ctx, owner, object)
		return err
	}}
}

func byPglock(t *testing.T, pool *pgxpool.Pool) library {
	t.Helper()
	handle := stdlib.OpenDBFromPool(pool)
	t.Cleanup(func() { _ = handle.Close() })
	table := "others_" + strings.ToLower(rand.Text()[:8])
	open := func(owner string) (*pglock.Client, error) {
		return pglock.UnsafeNew(handle, pglock.WithCustomTable(table), pglock.WithOwner(owner))
	}
	client, err := open("nobody")
	if err != nil {
		t.Fatal(err)
	}
	if err := client.CreateTable(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.DropTable() })
	return outside(func(ctx context.Context, owner, object string) (held, error) {
		client, err := open(owner)
		if err != nil {
			return held{}, err
		}
		lock, err := client.AcquireContext(ctx, object, pglock.FailIfLocked())
		if err != nil {
			return held{}, err
		}
		return held{lock.RecordVersionNumber(), func() error { return client.ReleaseContext(ctx, lock) }}, nil
	})
}

func openOthersRedis(t *testing.T) *redis.Client {
	t.Helper()
	dsn := os.Getenv("APPLOCK_TEST_REDIS_DSN")
	if dsn == "" {
		missingOther(t, "redis")
	}
	client, err := openRedis(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func byBSM(client *redis.Client) library {
	return outside(func(ctx context.Context, owner, object string) (held, error) {
		lock, err := bsm.New(client).Obtain(ctx, object, time.Minute, &bsm.Options{Token: owner})
		if err != nil {
			return held{}, err
		}
		return held{0, func() error { return lock.Release(ctx) }}, nil
	})
}

func byRedsyncAs(client *redis.Client) library {
	return outside(func(ctx context.Context, owner, object string) (held, error) {
		mutex := redsync.New(goredis.NewPool(client)).NewMutex(object, redsync.WithExpiry(time.Minute), redsync.WithValue(owner))
		if err := mutex.TryLockContext(ctx); err != nil {
			return held{}, err
		}
		return held{0, func() error { _, err := mutex.UnlockContext(ctx); return err }}, nil
	})
}

// Goal: docs/choosing.md is right about other libraries, and about this one. Method: the same with each of them, and its cells.
func TestOtherLibraries(t *testing.T) {
	pool, server := openPostgres(t), openOthersRedis(t)
	libraries := map[string]library{
		"applock": ours(t, pool), "pglock": byPglock(t, pool), "bsm/redislock": byBSM(server), "redsync": byRedsyncAs(server),
	}
	page, err := os.ReadFile("../docs/choosing.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n| | applock |")
	table, _, _ = strings.Cut("| | applock |"+table, "\n\n")
	lines := strings.Split(table, "\n")
	names := cellsOf(lines[0])
	questions := map[string]func(t *testing.T, l library) bool{
		"a refusal says who has it":                    saysWho,
		"each grant has a number, greater than before": hasGrowingNumbers,
		"the lock in the transaction of the data":      isInTheTransaction,
		"the same owner goes on in another program":    goesOnElsewhere,
	}
	if len(lines) != len(questions)+2 || len(names) != len(libraries)+1 {
		t.Fatalf("the page has the table\n%s", table)
	}
	for _, line := range lines[2:] {
		cells := cellsOf(line)
		for i, cell := range cells[1:] {
			name := names[i+1]
			t.Run(cells[0]+"/"+name, func(t *testing.T) {
				if got, said := questions[cells[0]](t, libraries[name]), strings.HasPrefix(cell, "yes"); got != said {
					t.Errorf("the page says %q, and found is %t", cell, got)
				}
			})
		}
	}
}

// cellsOf returns the cells of a line of a table.
func cellsOf(line string) []string {
	var cells []string
	for cell := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), "|") {
		cells = append(cells, strings.TrimSpace(cell))
	}
	return cells
}

func mustTake(t *testing.T, l library, owner, object string) held {
	t.Helper()
	lock, err := l.take(t.Context(), owner, object)
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

// saysWho reports whether the error of a refusal has the holder's name in it.
func saysWho(t *testing.T, l library) bool {
	t.Helper()
	object := rand.Text()
	mustTake(t, l, "holder-JDOE", object)
	_, err := l.take(t.Context(), "other-ASMITH", object)
	if err == nil {
		t.Fatal("two have it")
	}
	return strings.Contains(err.Error(), "holder-JDOE")
}

// hasGrowingNumbers reports whether later grants have greater numbers.
func hasGrowingNumbers(t *testing.T, l library) bool {
	t.Helper()
	object := rand.Text()
	var numbers []int64
	for _, owner := range []string{"JDOE", "ASMITH", "JDOE"} {
		lock := mustTake(t, l, owner, object)
		numbers = append(numbers, lock.number)
		if err := lock.release(); err != nil {
			t.Fatal(err)
		}
	}
	return numbers[0] > 0 && slices.IsSorted(numbers) && len(slices.Compact(numbers)) == 3
}

// isInTheTransaction reports whether a lock goes with the transaction in which it was taken, when that is rolled back.
func isInTheTransaction(t *testing.T, l library) bool {
	t.Helper()
	object := rand.Text()
	tx, err := openPostgres(t).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = l.takeIn(t.Context(), tx, "JDOE", object)
	if err := errors.Join(err, tx.Rollback(t.Context())); err != nil {
		t.Fatal(err)
	}
	_, err = l.take(t.Context(), "ASMITH", object)
	return err == nil
}

// goesOnElsewhere reports whether an owner has the lock also in another program.
func goesOnElsewhere(t *testing.T, l library) bool {
	t.Helper()
	object := rand.Text()
	mustTake(t, l, "JDOE", object)
	_, err := l.take(t.Context(), "JDOE", object)
	return err == nil
}
