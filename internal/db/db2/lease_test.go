package db2_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/locktest"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/testing/hsqldb"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// The contract of leases, through the procedures and the driver for Db2, on HSQLDB, which is in the memory of one
// process.
func TestLeasesOnHSQLDB(t *testing.T) {
	t.Parallel()
	databases := hsqldbDatabases{bridge: hsqldb.Start(t, testdb.HSQLDB(t), "UTC"), control: hsqldb.MVCC}
	locktest.Exercise(t, locktest.Backend{
		Place: func(t testing.TB) string {
			t.Helper()
			name, handle := databases.open(t)
			if _, err := migrate.Up(t.Context(), testclient.DB2(t, handle), migrate.UpRequest{}); err != nil {
				t.Fatal(err)
			}
			return name
		},
		Open: func(_ context.Context, name string) (lease.Locker, func() error, error) {
			handle := databases.bridge.Again(name)
			client := testclient.DB2(t, handle)
			return client, func() error { return errors.Join(client.Close(), handle.Close()) }, nil
		},
		Direct: func(_ context.Context, name string) (lease.Backend, func() error, error) {
			handle := databases.bridge.Again(name)
			client := testclient.DB2(t, handle)
			return operations{client}, func() error { return errors.Join(client.Close(), handle.Close()) }, nil
		},
		OneProcess: true,
		Fences:     true,
		Owners:     true,
		Losses: map[string]func(t testing.TB, name string, object applock.Object){
			"Release": func(t testing.TB, name string, object applock.Object) {
				handle := databases.bridge.Again(name)
				defer func() { _ = handle.Close() }()
				releaseForHolder(t, handle, object)
			},
		},
	})
}

// operations is the table as the procedures show it, by a client's operations: the backend itself is no business of this
// package.
type operations struct{ client *applock.Client }

// Get is [lease.Backend.Take].
func (o operations) Get(
	ctx context.Context, object applock.Object, owner applock.Owner, ttl time.Duration,
) (applock.Grant, error) {
	grant, err := o.client.Get(ctx, applock.GetRequest{Object: object, Owner: owner, TTL: ttl})
	if err != nil || grant.Outcome != applock.OutcomeRenewed {
		return grant, err
	}
	return o.client.Take(ctx, applock.TakeRequest{Object: object, Owner: owner, TTL: ttl, Reason: "a new grant"})
}

// Release is [lease.Backend.Release].
func (o operations) Release(ctx context.Context, grant applock.Grant) error {
	request := applock.ReleaseRequest{Key: grant.Key()}
	released, err := o.client.Release(ctx, request)
	if err == nil && released != applock.OutcomeReleased {
		return applock.ErrNotHeld
	}
	return err
}

// Renew is [lease.Backend.Renew].
func (o operations) Renew(ctx context.Context, renewals []lease.Renewal) (answers []lease.Renewed, err error) {
	for _, renewal := range renewals {
		grant := renewal.Grant
		renewed, err := o.client.Renew(ctx, grant.Key(), renewal.TTL)
		if err != nil && !errors.Is(err, applock.ErrLost) {
			return answers, err
		}
		answers = append(answers, lease.Renewed{Object: grant.Object, Lost: err, ExpiresAt: renewed.ExpiresAt})
	}
	return answers, nil
}

// releaseForHolder ends whichever grant there is, as a supervisor would.
func releaseForHolder(t testing.TB, handle *sql.DB, object applock.Object) {
	t.Helper()
	client := testclient.DB2(t, handle)
	lock, err := client.Inquire(t.Context(), object)
	if err != nil {
		t.Fatal(err)
	}
	request := applock.ReleaseRequest{Key: applock.Key{Object: object, Operator: lock.Owner.Operator}}
	if released, err := client.Release(t.Context(), request); err != nil || released != applock.OutcomeReleased {
		t.Fatalf("release: %v, %v", released, err)
	}
}

// Goal: the driver tells the product, renews one grant and refuses a renewal, as those of the other engines do. Method: the
// façade on HSQLDB.
func TestHeavyGrantsByFenceOnHSQLDB(t *testing.T) {
	t.Parallel()
	databases := hsqldbDatabases{bridge: hsqldb.Start(t, testdb.HSQLDB(t), "UTC"), control: hsqldb.MVCC}
	_, handle := databases.open(t)
	client := testclient.DB2(t, handle)
	if server, err := client.Ping(t.Context()); err != nil || server.Product != "Db2" {
		t.Errorf("ping: %v, %v", server, err)
	}
	if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	object := applock.Object{Type: "job", ID: "nightly"}
	request := applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "HOST"}, New: true}
	grant, err := client.Get(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	var held *applock.HeldError
	if _, err := client.Get(t.Context(), request); !errors.As(err, &held) || held.Holder.Owner.Operator != "HOST" {
		t.Errorf("the second run: %v", err)
	}
	renewed, err := client.Renew(t.Context(), applock.Key{Object: object, Operator: "HOST", Fence: grant.Fence}, 0)
	if err != nil || renewed.Left != applock.DefaultTTL {
		t.Errorf("renewed: %v, %v", renewed, err)
	}
	_, err = client.Renew(t.Context(), applock.Key{Object: object, Operator: "HOST", Fence: grant.Fence - 1}, 0)
	if !errors.Is(err, applock.ErrLost) {
		t.Errorf("by another fence: %v", err)
	}
}
