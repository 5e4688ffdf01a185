package applock_test

import (
	"context"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/locktest"
	"github.com/applock/applock/applock/open"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

func openLocker(ctx context.Context, dsn string) (lease.Locker, func() error, error) {
	client, err := open.ByDSN(ctx, dsn, open.Config{})
	if err != nil {
		return nil, nil, err
	}
	return client, client.Close, nil
}

func openTable(ctx context.Context, dsn string) (lease.Backend, func() error, error) {
	client, err := open.ByDSN(ctx, dsn, open.Config{})
	if err != nil {
		return nil, nil, err
	}
	return clients.Table[lease.Backend](client), client.Close, nil
}

// The contract of leases, on the table.
func TestLeases(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.Products(), func(t *testing.T, product string) {
		exerciseLeases(t, testclient.Lent(t, product))
	})
}

// Goal: leases need no session of their own. Method: the contract through PgBouncer, which gives one for a transaction at
// a time, and no messages.
func TestLeasesThroughPgBouncer(t *testing.T) {
	t.Parallel()
	pooled, err := url.Parse(testdb.PgBouncer(t, testclient.Lent(t, onPostgres)))
	if err != nil {
		t.Fatal("the DSN of PgBouncer is no URL")
	}
	query := pooled.Query()
	query.Set("default_query_exec_mode", "exec")
	pooled.RawQuery = query.Encode()
	exerciseLeases(t, pooled.String())
}

// exerciseLeases runs the contract on one database, which all of its tests share.
func exerciseLeases(t *testing.T, dsn string) {
	t.Helper()
	locktest.Exercise(t, locktest.Backend{
		Place:  func(testing.TB) string { return dsn },
		Open:   openLocker,
		Direct: openTable,
		Fences: true,
		Owners: true,
		Losses: map[string]func(t testing.TB, dsn string, object applock.Object){
			"Expiry":      expire,
			"Release":     releaseAsSupervisor,
			"TransferOut": transferOut,
			"Take":        takeOut,
		},
		Expire:  expire,
		Waiters: countWaiters,
	})
}

// onPlace returns a client of its own, which is closed when the test ends.
func onPlace(t testing.TB, dsn string) *applock.Client {
	t.Helper()
	client, err := open.ByDSN(t.Context(), dsn, open.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// releaseAsSupervisor ends whichever grant there is, as somebody with applockctl would.
func releaseAsSupervisor(t testing.TB, dsn string, object applock.Object) {
	t.Helper()
	client := onPlace(t, dsn)
	lock, err := client.Inquire(t.Context(), object)
	if err != nil {
		t.Fatal(err)
	}
	request := applock.ReleaseRequest{Key: applock.Key{Object: object, Operator: lock.Owner.Operator}}
	if released, err := client.Release(t.Context(), request); err != nil || released != applock.OutcomeReleased {
		t.Fatalf("release: %v, %v", released, err)
	}
}

// transferOut gives the object to somebody else, who then releases it.
func transferOut(t testing.TB, dsn string, object applock.Object) {
	t.Helper()
	client := onPlace(t, dsn)
	lock, err := client.Inquire(t.Context(), object)
	if err != nil {
		t.Fatal(err)
	}
	to := applock.Owner{Operator: "ASMITH"}
	request := applock.TransferRequest{Object: object, From: lock.Owner.Operator, To: to}
	if _, err := client.Transfer(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	releaseAsSupervisor(t, dsn, object)
}

// takeOut takes the object, and releases it then.
func takeOut(t testing.TB, dsn string, object applock.Object) {
	t.Helper()
	request := applock.TakeRequest{Object: object, Owner: applock.Owner{Operator: "BOSS"}, Reason: "urgent"}
	if _, err := onPlace(t, dsn).Take(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	releaseAsSupervisor(t, dsn, object)
}

// expire moves the end of the lock into the past.
func expire(t testing.TB, dsn string, object applock.Object) {
	t.Helper()
	place, err := openRealPlace(t.Context(), dsn, patientWriter)
	if err != nil {
		t.Fatal(err)
	}
	defer place.close()
	_, err = place.handle.ExecContext(t.Context(), place.bound(
		"UPDATE "+place.locks+" SET expires_ts = acquired_ts WHERE object_type = $1 AND object_id = $2"), object.Type, object.ID)
	if err != nil {
		t.Fatal(err)
	}
}

// countWaiters counts those who are listed as waiting for objects of a type, or of any.
func countWaiters(t testing.TB, dsn, objectType string) int {
	t.Helper()
	client, err := open.ByDSN(t.Context(), dsn, open.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	count := 0
	for _, err := range client.Waiters(context.WithoutCancel(t.Context()), applock.WaitersRequest{ObjectType: objectType}) {
		if err != nil {
			t.Fatal(err)
		}
		count++
	}
	return count
}

// Goal: a turn that is passed on is a grant of the waiter's, with its department and by the policy, and the history is told of both, where it is
// told of all. Method: one waiter behind a holder, on a type with a longest ttl.
func TestAPassedTurnIsTheWaiters(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.Products(), func(t *testing.T, product string) {
		client := onPlace(t, testclient.Lent(t, product))
		policy := applock.Policy{Type: "wallet", LongestTTL: 10 * time.Minute, HistoryLevel: applock.HistoryAll}
		if err := client.SetPolicy(t.Context(), applock.SetPolicyRequest{Policy: policy, Actor: "DBA"}); err != nil {
			t.Fatal(err)
		}
		request := applock.AcquireRequest{Object: applock.Object{Type: "wallet", ID: "1"}, MaxHold: time.Hour}
		holder, err := client.Acquire(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan applock.Lease, 1)
		go func() {
			request := request
			request.Owner.Department = "CS"
			lease, err := client.Acquire(t.Context(), request)
			if err != nil {
				t.Error(err)
			}
			served <- lease
		}()
		for waiting := false; !waiting; {
			for range client.Waiters(t.Context(), applock.WaitersRequest{ObjectType: "wallet"}) {
				waiting = true
			}
		}
		if err := holder.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		lease := <-served
		lock, err := client.Inquire(t.Context(), request.Object)
		if err != nil || lock.Fence != lease.Fence() || lock.Owner.Department != "CS" || lock.Left > 10*time.Minute {
			t.Errorf("inquire: %+v, %v, want fence %d, department CS, 10 minutes at the most", lock, err, lease.Fence())
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
		var told []applock.EventKind
		for event, err := range client.History(t.Context(), applock.HistoryRequest{ObjectType: "wallet", ObjectID: "1"}) {
			if err != nil {
				t.Fatal(err)
			}
			if event.Kind != applock.EventRefused {
				told = append(told, event.Kind)
			}
		}
		want := []applock.EventKind{applock.EventAcquired, applock.EventReleased, applock.EventAcquired, applock.EventReleased}
		if !slices.Equal(told, want) {
			t.Errorf("the history has %v, want %v", told, want)
		}
	})
}
