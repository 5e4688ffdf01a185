package applock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

func account(id any) applock.Object {
	return applock.Object{Type: "account", ID: fmt.Sprint(id)}
}

var (
	nightly = applock.Object{Type: "job", ID: "nightly"}
	held    = &applock.HeldError{Object: nightly, Holder: applock.Holder{Owner: applock.Owner{Operator: "etl-7"}}}
)

func all(objects ...applock.Object) applock.AcquireAllRequest {
	return applock.AcquireAllRequest{Objects: objects, MaxHold: time.Hour}
}

// Goal: all or none, and every conflict with its holder. Method: two of four objects are held by different owners; then
// one of them; then none.
func TestAcquireAllOrNone(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.Products(), func(t *testing.T, product string) {
		client := onPlace(t, testclient.Lent(t, product))
		objects := []applock.Object{account(4), account(3), account(2), account(1)}
		for id, operator := range map[int]string{2: "JDOE", 4: "ASMITH"} {
			request := applock.GetRequest{Object: account(id), Owner: applock.Owner{Operator: operator}}
			if _, err := client.Get(t.Context(), request); err != nil {
				t.Fatal(err)
			}
		}
		_, err := client.TryAcquireAll(t.Context(), all(objects...))
		var conflict *applock.ConflictError
		if !errors.Is(err, applock.ErrHeld) || !errors.As(err, &conflict) {
			t.Fatalf("acquire all: %v, want a *ConflictError", err)
		}
		var holders []string
		for _, held := range conflict.Conflicts {
			holders = append(holders, held.Object.String()+" "+held.Holder.Owner.Operator)
			if held.Holder.ExpiresAt.Before(time.Now()) || !strings.Contains(err.Error(), held.Holder.Owner.Operator) {
				t.Errorf("%v does not tell until when, or the text does not name the holder: %v", held, err)
			}
		}
		if want := []string{"account:2 JDOE", "account:4 ASMITH"}; !slices.Equal(holders, want) {
			t.Errorf("conflicts %q, want %q", holders, want)
		}
		for _, id := range []int{1, 3} {
			if _, err := client.Inquire(t.Context(), account(id)); !errors.Is(err, applock.ErrNotHeld) {
				t.Errorf("inquire account:%d after a refusal: %v, want ErrNotHeld", id, err)
			}
		}
		for id, operator := range map[int]string{2: "JDOE", 4: "ASMITH"} {
			if _, err := client.Release(t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: account(id), Operator: operator}}); err != nil {
				t.Fatal(err)
			}
		}
		set, err := client.TryAcquireAll(t.Context(), all(objects...))
		if err != nil {
			t.Fatal(err)
		}
		if len(set.Leases()) != 4 || set.Leases()[0].Object() != account(1) || set.Leases()[3].Object() != account(4) {
			t.Errorf("leases %v, want those of four accounts in order", set.Leases())
		}
		again, err := client.TryAcquireAll(set.Context(), all(account(2), account(5)))
		if err != nil {
			t.Fatalf("re-enter one of two: %v", err)
		}
		if err := again.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := client.TryAcquire(t.Context(), applock.AcquireRequest{Object: account(2), MaxHold: time.Hour}); !errors.Is(err, applock.ErrHeld) {
			t.Errorf("an object that was re-entered and released: %v, want it to be held", err)
		}
		if err := set.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := client.TryAcquireAll(t.Context(), all(objects...)); err != nil {
			t.Errorf("acquire all after the release: %v", err)
		}
	})
}

// Goal: sets that overlap exclude each other, and whoever waits is served. Method: eight workers of two clients wait for three
// of six accounts in any order and move money, in two steps; the sum stays.
func TestAcquireAllTransfersMoney(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.Products(), func(t *testing.T, product string) {
		const workers, accounts, moves = 8, 6, 4
		dsn := testclient.Lent(t, product)
		clients := []*applock.Client{onPlace(t, dsn), onPlace(t, dsn)}
		var balances [accounts]atomic.Int64
		var group sync.WaitGroup
		for worker := range workers {
			client := clients[worker%len(clients)]
			group.Go(func() {
				for range moves {
					chosen := rand.Perm(accounts)[:3]
					set, err := client.AcquireAll(t.Context(), all(account(chosen[0]), account(chosen[1]), account(chosen[2])))
					if err != nil {
						t.Error(err)
						return
					}
					from, to := balances[chosen[0]].Load(), balances[chosen[1]].Load()
					time.Sleep(time.Millisecond)
					balances[chosen[0]].Store(from - 1)
					balances[chosen[1]].Store(to + 1)
					if err := set.Release(t.Context()); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		group.Wait()
		sum := int64(0)
		for i := range balances {
			sum += balances[i].Load()
		}
		if sum != 0 {
			t.Errorf("%d appeared from nowhere", sum)
		}
	})
}

// Goal: what is wrong with the request is said before anything happens.
func TestAcquireAllBadArguments(t *testing.T) {
	t.Parallel()
	client := onPlace(t, testclient.Lent(t, onSQLite))
	tests := map[string]applock.AcquireAllRequest{
		"Objects must name at least one":    all(),
		"Objects names account:1 twice":     all(account(1), account(2), applock.Object{Type: "account", ID: "1 "}),
		"Object.ID must not be empty":       all(account(1), account("")),
		"TTL 1.5s is not a whole":           {Objects: []applock.Object{account(1)}, MaxHold: time.Hour, TTL: 1500 * time.Millisecond},
		"Owner.Operator is not valid UTF-8": {Objects: []applock.Object{account(1)}, MaxHold: time.Hour, Owner: applock.Owner{Operator: "\xff"}},
		"MaxHold must be at most 3650 days": {Objects: []applock.Object{account(1)}, MaxHold: -time.Second},
	}
	for text, request := range tests {
		if _, err := client.TryAcquireAll(t.Context(), request); !errors.Is(err, applock.ErrInvalid) || !strings.Contains(err.Error(), text) {
			t.Errorf("acquire all: %v, want ErrInvalid with %q", err, text)
		}
	}
	if _, err := client.Inquire(t.Context(), account(1)); !errors.Is(err, applock.ErrNotHeld) {
		t.Errorf("inquire: %v, want ErrNotHeld", err)
	}
}

// Goal: a lease is refused in a transaction, which it would outlive, and Get does not wait in one.
func TestNoLeaseInTransaction(t *testing.T) {
	t.Parallel()
	place := newRealPlace(t, onSQLite)
	tx, err := place.handle.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	client := place.client.WithSQLTx(tx)
	request := applock.AcquireRequest{Object: account(1), MaxHold: time.Hour}
	_, acquireErr := client.Acquire(t.Context(), request)
	_, tryErr := client.TryAcquire(t.Context(), request)
	_, allErr := client.TryAcquireAll(t.Context(), all(account(1)))
	doErr := client.Do(t.Context(), request, func(context.Context, applock.Lease) error { return nil })
	_, waitErr := client.Get(t.Context(), applock.GetRequest{Object: account(1), Owner: applock.Owner{Operator: "JDOE"}, MaxWait: time.Second})
	for name, err := range map[string]error{"acquire": acquireErr, "try": tryErr, "all": allErr, "do": doErr, "wait": waitErr} {
		if !errors.Is(err, applock.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
}

// Goal: several calls of one operator in one client do not take over from each other: they take turns. Method: ten at a time,
// of which half want one object only that the others want, too; each that gets them holds them for a while.
func TestAcquireAllOfOneOperator(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.Products(), func(t *testing.T, product string) {
		client := onPlace(t, testclient.Lent(t, product))
		request := all(account(1), account(2))
		request.Owner.Operator = "etl-7"
		var inside, served atomic.Int64
		var group sync.WaitGroup
		for i := range 10 {
			request := request
			if i%2 == 0 {
				request.Objects = []applock.Object{account(2), account(3)}
			}
			group.Go(func() {
				set, err := client.AcquireAll(t.Context(), request)
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("two at a time")
				}
				served.Add(1)
				if err := set.Context().Err(); err != nil {
					t.Errorf("taken over: %v", context.Cause(set.Context()))
				}
				inside.Add(-1)
				if err := set.Release(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if served.Load() != 10 {
			t.Errorf("%d were served", served.Load())
		}
	})
}

// Goal: of two calls of one operator from different clients, one has all of its objects in the end, and the set of the other
// one is lost: never has each a part. Method: both at once, several times, and assert each lease.
func TestAcquireAllOfOneOperatorElsewhere(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.Products(), func(t *testing.T, product string) {
		dsn := testclient.Lent(t, product)
		clients := []*applock.Client{onPlace(t, dsn), onPlace(t, dsn)}
		request := all(account(1), account(2), account(3), account(4))
		request.Owner.Operator = "etl-7"
		for range 5 {
			sets := make([]applock.LeaseSet, len(clients))
			var group sync.WaitGroup
			for i, client := range clients {
				group.Go(func() {
					var err error
					if sets[i], err = client.AcquireAll(t.Context(), request); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			if t.Failed() {
				return
			}
			var live []int
			for i, set := range sets {
				count := 0
				for _, lease := range set.Leases() {
					if err := clients[i].Assert(t.Context(), lease.Key()); err == nil {
						count++
					}
				}
				live = append(live, count)
				if err := set.Release(t.Context()); errors.Is(err, applock.ErrLost) != (count == 0) {
					t.Errorf("release of %d live leases: %v", count, err)
				}
			}
			slices.Sort(live)
			if !slices.Equal(live, []int{0, 4}) {
				t.Errorf("%v leases are live, want those of one set", live)
			}
		}
	})
}

// Goal: a set waits in the list of those who wait, holds nothing meanwhile, and is taken as soon as the last object in its way
// is free. Method: another client holds the second and the third of four; while the set waits for the one and then for the
// other, the first and the last are to be had.
func TestAcquireAllWaitsHoldingNothing(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.Products(), func(t *testing.T, product string) {
		dsn := testclient.Lent(t, product)
		here, there := onPlace(t, dsn), onPlace(t, dsn)
		var holders []applock.Lease
		for id := 2; id <= 3; id++ {
			lease, err := there.Acquire(t.Context(), applock.AcquireRequest{Object: account(id), MaxHold: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			holders = append(holders, lease)
		}
		taken := make(chan applock.LeaseSet)
		go func() {
			set, err := here.AcquireAll(t.Context(), all(account(4), account(1), account(2), account(3)))
			if err != nil {
				t.Error(err)
			}
			taken <- set
		}()
		for _, holder := range holders {
			awaitWaiter(t, there, holder.Object())
			for _, id := range []int{1, 4} {
				lease, err := there.Acquire(t.Context(), applock.AcquireRequest{Object: account(id), MaxHold: time.Hour})
				if err != nil {
					t.Fatal(err)
				}
				if err := lease.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if err := holder.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		set := <-taken
		if set == nil || len(set.Leases()) != 4 {
			t.Fatalf("the set is %v, want four leases", set)
		}
		if err := set.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// awaitWaiter returns when somebody waits for the object.
func awaitWaiter(t *testing.T, client *applock.Client, object applock.Object) {
	t.Helper()
	for t.Context().Err() == nil {
		for waiter, err := range client.Waiters(t.Context(), applock.WaitersRequest{}) {
			if err != nil {
				t.Fatal(err)
			}
			if waiter.Object == object {
				return
			}
		}
		time.Sleep(time.Millisecond)
	}
}
