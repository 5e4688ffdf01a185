package applock_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// migratedClient returns a client on a database in which applock is installed.
func migratedClient(t *testing.T, product string) *applock.Client {
	t.Helper()
	return testclient.Open(t, testclient.Lent(t, product), "", nil)
}

// Goal: New gives a new grant or nothing, and leaves the lock that is there as it was. Method: on each product, what would be a
// renewal that changes everything, compared by an inquiry; then a wait that somebody ends.
func TestGetNew(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.Products(), func(t *testing.T, product string) {
		client := migratedClient(t, product)
		object := applock.Object{Type: "job", ID: "nightly"}
		request := applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "HOST"}, TTL: time.Hour, New: true}
		first, err := client.Get(t.Context(), request)
		if err != nil || first.Outcome != applock.OutcomeAcquired {
			t.Fatalf("the first run: %v, %v", first, err)
		}
		before, err := client.Inquire(t.Context(), object)
		if err != nil {
			t.Fatal(err)
		}
		again := request
		again.TTL, again.Owner.Department = 48*time.Hour, "NIGHT"
		_, err = client.Get(t.Context(), again)
		var held *applock.HeldError
		if !errors.As(err, &held) || held.Holder.Owner.Operator != "HOST" || !held.Holder.ExpiresAt.Equal(before.ExpiresAt) {
			t.Errorf("the second run: %v", err)
		}
		after, err := client.Inquire(t.Context(), object)
		if after.Left, before.Left = 0, 0; err != nil || after != before {
			t.Errorf("the refusal has made %+v of %+v, %v", after, before, err)
		}
		_, err = client.Get(t.Context(), applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "OTHER"}, New: true})
		if !errors.As(err, &held) || held.Holder.Owner.Operator != "HOST" {
			t.Errorf("somebody else: %v", err)
		}

		waiting := make(chan error, 1)
		again.MaxWait = time.Minute
		go func() {
			grant, err := client.Get(t.Context(), again)
			if err == nil && (grant.Outcome != applock.OutcomeAcquired || grant.Fence <= first.Fence) {
				err = fmt.Errorf("after waiting %v", grant)
			}
			waiting <- err
		}()
		for listed := false; !listed; {
			select {
			case err := <-waiting:
				t.Fatalf("it did not wait: %v", err)
			default:
			}
			for _, err := range client.Waiters(t.Context(), applock.WaitersRequest{}) {
				if err != nil {
					t.Fatal(err)
				}
				listed = true
			}
		}
		if _, err := client.Release(t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: object, Operator: "HOST", Fence: first.Fence}}); err != nil {
			t.Fatal(err)
		}
		if err := <-waiting; err != nil {
			t.Error(err)
		}
	})
}

// Goal: of runs under one operator that begin at once exactly one gets the lock. Method: many of them, each with a client of
// its own, several times.
func TestGetNewAtOnce(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.Products(), func(t *testing.T, product string) {
		dsn := testclient.Lent(t, product)
		clients := make([]*applock.Client, 8)
		for i := range clients {
			clients[i] = testclient.Open(t, dsn, "", nil)
		}
		for round := range 10 {
			request := applock.GetRequest{
				Object: applock.Object{Type: "job", ID: fmt.Sprint(round)}, Owner: applock.Owner{Operator: "HOST"}, New: true,
			}
			errs := make([]error, len(clients))
			var group sync.WaitGroup
			for i, client := range clients {
				group.Go(func() {
					errs[i] = applock.ErrBusy
					for errors.Is(errs[i], applock.ErrBusy) { // on a busy machine the transactions of the others take long
						_, errs[i] = client.Get(t.Context(), request)
					}
				})
			}
			group.Wait()
			granted := 0
			for _, err := range errs {
				if err == nil {
					granted++
				} else if !errors.Is(err, applock.ErrHeld) {
					t.Errorf("round %d: %v", round, err)
				}
			}
			if granted != 1 {
				t.Errorf("round %d: %d were granted", round, granted)
			}
		}
	})
}

// Goal: New works in a caller's transaction: a refusal leaves it open, and a grant is as final as it. Method: both in one that commits.
func TestGetNewInATransaction(t *testing.T) {
	t.Parallel()
	place := newRealPlace(t, onSQLite)
	job := func(id string) applock.GetRequest {
		return applock.GetRequest{Object: applock.Object{Type: "job", ID: id}, Owner: applock.Owner{Operator: "HOST"}, New: true}
	}
	if _, err := place.client.Get(t.Context(), job("1")); err != nil {
		t.Fatal(err)
	}
	tx, err := place.handle.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	client := place.client.WithSQLTx(tx)
	if _, err := client.Get(t.Context(), job("1")); !errors.Is(err, applock.ErrHeld) {
		t.Errorf("the second run: %v", err)
	}
	if _, err := client.Get(t.Context(), job("2")); err != nil {
		t.Errorf("another job: %v", err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := place.client.Inquire(t.Context(), job("2").Object); err != nil {
		t.Errorf("after the commit: %v", err)
	}
}

// Goal: Renew moves the end of the very grant, and never takes what has ended. Method: on each product, a live grant with and
// without a ttl, a wrong fence, a wrong operator, one that has ended, and one that was never there.
func TestRenewByFence(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.Products(), func(t *testing.T, product string) {
		client := migratedClient(t, product)
		object := applock.Object{Type: "customer", ID: "42"}
		grant, err := client.Get(t.Context(), applock.GetRequest{
			Object: object, Owner: applock.Owner{Operator: "JDOE", Department: "CS"}, TTL: time.Hour,
		})
		if err != nil {
			t.Fatal(err)
		}
		renew := func(operator string, fence applock.Fence, ttl time.Duration) (applock.Grant, error) {
			return client.Renew(t.Context(), applock.Key{Object: object, Operator: operator, Fence: fence}, ttl)
		}
		longer, err := renew("JDOE", grant.Fence, 2*time.Hour)
		if err != nil || longer.Outcome != applock.OutcomeRenewed || longer.Fence != grant.Fence || longer.Left != 2*time.Hour {
			t.Errorf("renewed for 2 h: %+v, %v", longer, err)
		}
		if _, err := renew("JDOE", grant.Fence, time.Hour); err != nil {
			t.Errorf("renewed for less: %v", err)
		}
		same, err := renew("JDOE", grant.Fence, 0)
		if err != nil || same.Left != 2*time.Hour {
			t.Errorf("renewed for as long as before: %+v, %v", same, err)
		}
		for lock, err := range client.List(t.Context(), applock.ListRequest{ObjectType: object.Type}) {
			if err != nil || lock.TTL != time.Hour {
				t.Errorf("the TTL of the last renewal but one is not kept: %+v, %v", lock, err)
			}
		}
		lock, err := client.Inquire(t.Context(), object)
		if err != nil || lock.Owner.Department != "CS" || !lock.ExpiresAt.Equal(same.ExpiresAt) {
			t.Errorf("after it: %+v, %v", lock, err)
		}
		for _, wrong := range []struct {
			operator string
			fence    applock.Fence
			ttl      time.Duration
		}{
			{"JDOE", grant.Fence - 1, 0},
			{"JDOE", grant.Fence - 1, time.Hour},
			{"ASMITH", grant.Fence, 0},
			{"ASMITH", grant.Fence, time.Hour},
		} {
			var lost *applock.LostError
			if _, err := renew(wrong.operator, wrong.fence, wrong.ttl); !errors.As(err, &lost) || lost.Holder.Owner.Operator != "JDOE" || !lost.Holder.ExpiresAt.Equal(lock.ExpiresAt) {
				t.Errorf("%+v: %v", wrong, err)
			}
		}
		if _, err := client.Release(t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: object, Operator: "JDOE"}}); err != nil {
			t.Fatal(err)
		}
		for _, ttl := range []time.Duration{0, time.Hour} {
			var lost *applock.LostError
			_, err := renew("JDOE", grant.Fence, ttl)
			if !errors.As(err, &lost) || lost.Holder != (applock.Holder{}) || !errors.Is(err, applock.ErrNotHeld) {
				t.Errorf("after the release: %v", err)
			}
		}
		if _, err := client.Inquire(t.Context(), object); !errors.Is(err, applock.ErrNotHeld) {
			t.Errorf("what has ended was taken again: %v", err)
		}
		var invalid *applock.InvalidError
		if _, err := renew("JDOE", 0, 0); !errors.As(err, &invalid) || invalid.Argument != "Fence" {
			t.Errorf("without a fence: %v", err)
		}
	})
}

// Goal: a grant that another transaction is changing is asked for again for about a second, and is not lost. Method: such a
// transaction, on a product that passes over the row.
func TestRenewOfABusyLock(t *testing.T) {
	t.Parallel()
	place := newRealPlace(t, onPostgres)
	object := applock.Object{Type: "customer", ID: "42"}
	grant, err := place.client.Get(t.Context(), applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE"}})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := place.handle.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := place.client.WithSQLTx(tx).Get(t.Context(), applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := place.client.Renew(t.Context(), grant.Key(), time.Hour); !errors.Is(err, applock.ErrBusy) {
		t.Errorf("while it is being changed: %v", err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := place.client.Renew(t.Context(), grant.Key(), time.Hour); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// Goal: who releases by an old fence is told which grant there is. Method: two grants of one operator, on each product.
func TestReleaseOfAnotherGrant(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.Products(), func(t *testing.T, product string) {
		client := migratedClient(t, product)
		object := applock.Object{Type: "customer", ID: "42"}
		get := func() applock.Grant {
			grant, err := client.Get(t.Context(), applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE", Department: "CS"}})
			if err != nil {
				t.Fatal(err)
			}
			return grant
		}
		old := get()
		release := applock.ReleaseRequest{Key: applock.Key{Object: object, Operator: "JDOE", Fence: old.Fence}}
		if _, err := client.Release(t.Context(), release); err != nil {
			t.Fatal(err)
		}
		now := get()
		_, err := client.Release(t.Context(), release)
		var held *applock.HeldError
		if !errors.As(err, &held) || held.Holder.Fence != now.Fence || held.Holder.Owner.Department != "CS" || !held.Holder.ExpiresAt.Equal(now.ExpiresAt) {
			t.Errorf("by the old fence: %v", err)
		}
		release.Key.Operator = "ASMITH"
		if _, err := client.Release(t.Context(), release); !errors.As(err, &held) || held.Holder.Fence != 0 {
			t.Errorf("by somebody else: %v", err)
		}
	})
}
