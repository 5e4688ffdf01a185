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
)

func account(id any) applock.Object {
	return applock.Object{Type: "account", ID: fmt.Sprint(id)}
}

func all(objects ...applock.Object) applock.AcquireAllRequest {
	return applock.AcquireAllRequest{Objects: objects, MaxHold: time.Hour}
}

// Goal: all or none, and every conflict with its holder. Method: two of four objects are held by different owners; then
// one of them; then none.
func TestAcquireAllOrNone(t *testing.T) {
	t.Parallel()
	onEachProduct(t, func(t *testing.T, product string) {
		t.Parallel()
		client := onPlace(t, leasePlace(t, product))
		objects := []applock.Object{account(4), account(3), account(2), account(1)}
		for id, operator := range map[int]string{2: "JDOE", 4: "ASMITH"} {
			request := applock.GetRequest{Object: account(id), Owner: applock.Owner{Operator: operator}}
			if _, err := client.Get(t.Context(), request); err != nil {
				t.Fatal(err)
			}
		}
		_, err := client.AcquireAll(t.Context(), all(objects...))
		var conflict *applock.ConflictError
		if !errors.Is(err, applock.ErrHeld) || !errors.As(err, &conflict) {
			t.Fatalf("acquire all: %v, want a *ConflictError", err)
		}
		var holders []string
		for _, held := range conflict.Conflicts {
			holders = append(holders, held.Object.String()+" "+held.Holder.Operator)
			if held.Holder.ExpiresAt.Before(time.Now()) || !strings.Contains(err.Error(), held.Holder.Operator) {
				t.Errorf("%v does not tell until when, or the text does not name the holder: %v", held, err)
			}
		}
		if want := []string{"account:2 JDOE", "account:4 ASMITH"}; !slices.Equal(holders, want) {
			t.Errorf("conflicts %q, want %q", holders, want)
		}
		for _, id := range []int{1, 3} {
			if _, err := client.Inquire(t.Context(), applock.InquireRequest{Object: account(id)}); !errors.Is(err, applock.ErrNotHeld) {
				t.Errorf("inquire account:%d after a refusal: %v, want ErrNotHeld", id, err)
			}
		}
		for id, operator := range map[int]string{2: "JDOE", 4: "ASMITH"} {
			if _, err := client.Release(t.Context(), applock.ReleaseRequest{Object: account(id), Operator: operator}); err != nil {
				t.Fatal(err)
			}
		}
		set, err := client.AcquireAll(t.Context(), all(objects...))
		if err != nil {
			t.Fatal(err)
		}
		if len(set.Leases) != 4 || set.Leases[0].Object() != account(1) || set.Leases[3].Object() != account(4) {
			t.Errorf("leases %v, want those of four accounts in order", set.Leases)
		}
		again, err := client.AcquireAll(set.Context(), all(account(2), account(5)))
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
		if _, err := client.AcquireAll(t.Context(), all(objects...)); err != nil {
			t.Errorf("acquire all after the release: %v", err)
		}
	})
}

// Goal: sets that overlap exclude each other and nobody is locked out. Method: eight workers take three of six accounts in
// any order and move money, in two steps; the sum stays.
func TestAcquireAllTransfersMoney(t *testing.T) {
	t.Parallel()
	onEachProduct(t, func(t *testing.T, product string) {
		t.Parallel()
		const workers, accounts, moves = 8, 6, 4
		dsn := leasePlace(t, product)
		clients := []*applock.Client{onPlace(t, dsn), onPlace(t, dsn)}
		var balances [accounts]atomic.Int64
		var group sync.WaitGroup
		for worker := range workers {
			client := clients[worker%len(clients)]
			group.Go(func() {
				for done := 0; done < moves; {
					chosen := rand.Perm(accounts)[:3]
					set, err := client.AcquireAll(t.Context(), all(account(chosen[0]), account(chosen[1]), account(chosen[2])))
					if errors.Is(err, applock.ErrHeld) || tryAgain(err) {
						time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
						continue
					}
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
					done++
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
	client := onPlace(t, leasePlace(t, onSQLite))
	tests := map[string]applock.AcquireAllRequest{
		"Objects must name at least one":    all(),
		"Objects names account:1 twice":     all(account(1), account(2), applock.Object{Type: "account", ID: "1 "}),
		"Object.ID must not be empty":       all(account(1), account("")),
		"MaxHold must be given":             {Objects: []applock.Object{account(1)}},
		"TTL 1.5s is not a whole":           {Objects: []applock.Object{account(1)}, MaxHold: time.Hour, TTL: 1500 * time.Millisecond},
		"Owner.Operator is not valid UTF-8": {Objects: []applock.Object{account(1)}, MaxHold: time.Hour, Owner: applock.Owner{Operator: "\xff"}},
		"MaxHold must be given, and at mo":  {Objects: []applock.Object{account(1)}, MaxHold: -time.Second},
	}
	for text, request := range tests {
		if _, err := client.AcquireAll(t.Context(), request); !errors.Is(err, applock.ErrInvalid) || !strings.Contains(err.Error(), text) {
			t.Errorf("acquire all: %v, want ErrInvalid with %q", err, text)
		}
	}
	if _, err := client.Inquire(t.Context(), applock.InquireRequest{Object: account(1)}); !errors.Is(err, applock.ErrNotHeld) {
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
	_, allErr := client.AcquireAll(t.Context(), all(account(1)))
	doErr := client.Do(t.Context(), request, func(context.Context, *applock.Lease) error { return nil })
	_, waitErr := client.Get(t.Context(), applock.GetRequest{Object: account(1), Owner: applock.Owner{Operator: "JDOE"}, MaxWait: time.Second})
	for name, err := range map[string]error{"acquire": acquireErr, "try": tryErr, "all": allErr, "do": doErr, "wait": waitErr} {
		if !errors.Is(err, applock.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
}

// Goal: several calls of one operator in one client do not take over from each other: one has the objects, and the others hear
// of it. Method: ten at a time; each that gets them holds them for a while.
func TestAcquireAllOfOneOperator(t *testing.T) {
	t.Parallel()
	onEachProduct(t, func(t *testing.T, product string) {
		t.Parallel()
		client := onPlace(t, leasePlace(t, product))
		request := all(account(1), account(2))
		request.Owner.Operator = "etl-7"
		var inside, served atomic.Int64
		var group sync.WaitGroup
		for range 10 {
			group.Go(func() {
				for {
					set, err := client.AcquireAll(t.Context(), request)
					switch {
					case errors.Is(err, applock.ErrHeld) || errors.Is(err, applock.ErrBusy):
						continue
					case err != nil:
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
					return
				}
			})
		}
		group.Wait()
		if served.Load() != 10 {
			t.Errorf("%d were served", served.Load())
		}
	})
}
