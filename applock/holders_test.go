package applock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// The tests of this file have several holders of one operator or of one client, which the database cannot tell apart.

// Goal: an object that this client holds is a conflict for AcquireAll, too, when the operator is the same. Method: a given
// operator; the conflict names it, and the first lease goes on.
func TestAcquireAllOverAHolderOfThisClient(t *testing.T) {
	t.Parallel()
	dsn := testclient.Lent(t, onSQLite)
	client := onPlace(t, dsn)
	me := applock.Owner{Operator: "reconciliation"}
	first, err := client.Acquire(t.Context(), applock.AcquireRequest{Object: nightly, Owner: me, MaxHold: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	request := all(nightly, account(1))
	request.Owner = me
	var refusal *applock.HeldError
	if _, err := client.TryAcquireAll(t.Context(), request); !errors.As(err, &refusal) || refusal.Object != nightly || refusal.Holder.Owner != me {
		t.Errorf("acquire all: %v, want that %s holds %s", err, me, nightly)
	}
	if _, err := client.Inquire(t.Context(), account(1)); !errors.Is(err, applock.ErrNotHeld) {
		t.Errorf("inquire the other object: %v, want ErrNotHeld", err)
	}
	if err := first.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// Goal: what is refused as ErrHeld has a *HeldError. Method: the refusal of several objects.
func TestConflictIsAHeldError(t *testing.T) {
	t.Parallel()
	var err error = &applock.ConflictError{Conflicts: []*applock.HeldError{held}}
	var refusal *applock.HeldError
	if !errors.Is(err, applock.ErrHeld) || !errors.As(err, &refusal) || refusal != held {
		t.Errorf("%v leads to %v, want ErrHeld and %v", err, refusal, held)
	}
}

// Goal: a lease whose object somebody takes is lost, and its loss names who has it now; the new grant stays. Method: a take by another
// client, and the next renewal of the lease.
func TestTakenLeaseIsLost(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.Products(), func(t *testing.T, product string) {
		dsn := testclient.Lent(t, product)
		lease, err := onPlace(t, dsn).Acquire(t.Context(), applock.AcquireRequest{
			Object: nightly, Owner: applock.Owner{Operator: "etl-7"}, TTL: 15 * time.Second, MaxHold: time.Hour,
		})
		if err != nil {
			t.Fatal(err)
		}
		supervisor := onPlace(t, dsn)
		boss := applock.Owner{Operator: "BOSS", Department: "HQ"}
		taken, err := supervisor.Take(t.Context(), applock.TakeRequest{
			Object: nightly, Owner: boss, Reason: "it hangs", ExpectedFence: lease.Fence(), TTL: time.Hour,
		})
		if err != nil || taken.From.Operator != "etl-7" || taken.Fence <= lease.Fence() {
			t.Fatalf("take: %+v, %v, want a greater fence than %d, from etl-7", taken, err, lease.Fence())
		}
		<-lease.Context().Done()
		var lost *applock.LostError
		if cause := context.Cause(lease.Context()); !errors.As(cause, &lost) || lost.Holder.Owner != boss {
			t.Errorf("the lease ended with %v, want a *LostError with %s", cause, boss)
		}
		if err := lease.Release(t.Context()); !errors.Is(err, applock.ErrLost) {
			t.Errorf("release: %v, want ErrLost", err)
		}
		lock, err := supervisor.Inquire(t.Context(), nightly)
		if err != nil || lock.Fence != taken.Fence || lock.Owner != boss {
			t.Errorf("inquire: %+v, %v, want %s by %d", lock, err, boss, taken.Fence)
		}
	})
}

// Goal: a lease that is over does not hand away the grant of a successor with the same operator. Method: the lock expires,
// another client of the operator takes it, and the former one transfers.
func TestTransferSparesASuccessor(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.Products(), func(t *testing.T, product string) {
		dsn := testclient.Lent(t, product)
		client := onPlace(t, dsn)
		request := applock.AcquireRequest{Object: nightly, Owner: applock.Owner{Operator: "etl-7"}, MaxHold: time.Hour}
		former, err := client.Acquire(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		expire(t, dsn, nightly)
		successor, err := onPlace(t, dsn).Acquire(t.Context(), request)
		if err != nil || successor.Fence() == former.Fence() {
			t.Fatalf("acquire what has expired: %v, %v, want another grant than %d", successor, err, former.Fence())
		}
		_, err = former.Transfer(t.Context(), applock.Owner{Operator: "ASMITH"}, 0)
		if !errors.Is(err, applock.ErrLost) {
			t.Errorf("transfer: %v, want ErrLost", err)
		}
		lock, err := client.Inquire(t.Context(), nightly)
		if err != nil || lock.Owner.Operator != "etl-7" || lock.Fence != successor.Fence() {
			t.Errorf("inquire: %+v, %v, want the successor's grant %d", lock, err, successor.Fence())
		}
	})
}

// Goal: a successor under one operator has a fence of its own, the predecessor's lease is lost, and neither its renewal nor
// its release touches the successor's lock. Method: two clients and a given operator; by Acquire and by AcquireAll.
func TestASuccessorIsFenced(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.Products(), func(t *testing.T, product string) {
		dsn := testclient.Lent(t, product)
		predecessor, successor := onPlace(t, dsn), onPlace(t, dsn)
		owner := applock.Owner{Operator: "etl-7", Department: "IT"}
		ways := map[string]func(client *applock.Client, object applock.Object) (applock.Lease, error){
			"Acquire": func(client *applock.Client, object applock.Object) (applock.Lease, error) {
				return client.Acquire(t.Context(), applock.AcquireRequest{Object: object, Owner: owner, MaxHold: time.Hour})
			},
			"AcquireAll": func(client *applock.Client, object applock.Object) (applock.Lease, error) {
				set, err := client.TryAcquireAll(t.Context(), applock.AcquireAllRequest{Objects: []applock.Object{object}, Owner: owner, MaxHold: time.Hour})
				if err != nil {
					return nil, err
				}
				return set.Leases()[0], nil
			},
		}
		for name, acquire := range ways {
			object := account(name)
			first, err := acquire(predecessor, object)
			if err != nil {
				t.Fatal(err)
			}
			second, err := acquire(successor, object)
			if err != nil || second.Fence() <= first.Fence() || second.Owner() != owner {
				t.Fatalf("%s: %v as %v, want a fence after %d", name, err, second, first.Fence())
			}
			assertion := applock.Key{Object: object, Operator: owner.Operator, Fence: first.Fence()}
			if err := predecessor.Assert(t.Context(), assertion); !errors.Is(err, applock.ErrLost) {
				t.Errorf("%s: assert with the predecessor's fence: %v, want ErrLost", name, err)
			}
			if err := first.Release(t.Context()); !errors.Is(err, applock.ErrLost) {
				t.Errorf("%s: release by the predecessor: %v, want ErrLost", name, err)
			}
			if err := second.Renew(t.Context()); err != nil {
				t.Errorf("%s: the successor: %v", name, err)
			}
			if err := second.Release(t.Context()); err != nil {
				t.Errorf("%s: the successor: %v", name, err)
			}
		}
	})
}

// Goal: taking over from oneself is an operator's right, who may not transfer. Method: a database without that operation.
func TestSuccessionIsNoTransfer(t *testing.T) {
	t.Parallel()
	place := newRealPlace(t, onPostgres)
	place.exec(t, "DROP ROUTINE applock.transfer_appl_lock", "DROP ROUTINE applock.transfer_appl_lock_row")
	request := applock.AcquireRequest{Object: nightly, Owner: applock.Owner{Operator: "etl-7"}, MaxHold: time.Hour}
	first, err := place.client.Acquire(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	second, err := onPlace(t, place.dsn).Acquire(t.Context(), request)
	if err != nil || second.Fence() <= first.Fence() {
		t.Fatalf("the successor: %v, %v, want a fence after %d", second, err, first.Fence())
	}
	if err := first.Release(t.Context()); !errors.Is(err, applock.ErrLost) {
		t.Errorf("release by the predecessor: %v, want ErrLost", err)
	}
}
