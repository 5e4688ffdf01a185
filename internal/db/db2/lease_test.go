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
	name, handle := databases.open(t)
	if _, err := migrate.Up(t.Context(), testclient.DB2(t, handle), migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	place := func(testing.TB) string { return name }
	locktest.Exercise(t, leaseBackend(t, place, func(name string) (*sql.DB, error) { return databases.bridge.Again(name), nil }))
}

// leaseBackend is a backend in one process, with a pool of its own for each client.
func leaseBackend(t *testing.T, place func(t testing.TB) string, open func(name string) (*sql.DB, error)) locktest.Backend {
	t.Helper()
	client := func(name string) (*applock.Client, func() error, error) {
		pool, err := open(name)
		if err != nil {
			return nil, nil, err
		}
		client := testclient.DB2(t, pool)
		return client, func() error { return errors.Join(client.Close(), pool.Close()) }, nil
	}
	return locktest.Backend{
		Place: place,
		Open: func(_ context.Context, name string) (lease.Locker, func() error, error) {
			return client(name)
		},
		Direct: func(_ context.Context, name string) (lease.Backend, func() error, error) {
			client, end, err := client(name)
			return operations{client}, end, err
		},
		OneProcess: true,
		Fences:     true,
		Owners:     true,
		Losses: map[string]func(t testing.TB, name string, object applock.Object){
			"Release": func(t testing.TB, name string, object applock.Object) {
				client, end, err := client(name)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = end() }()
				releaseForHolder(t, client, object)
			},
		},
	}
}

// operations is the table as the procedures show it, by a client's operations: the backend itself is no business of this
// package.
type operations struct{ client *applock.Client }

// Get is [lease.Backend.Take]. Derby's server has no take_appl_lock.
func (o operations) Get(
	ctx context.Context, object applock.Object, owner applock.Owner, ttl time.Duration,
) (applock.Grant, error) {
	request := applock.GetRequest{Object: object, Owner: owner, TTL: ttl}
	grant, err := o.client.Get(ctx, request)
	if err != nil || grant.Outcome != applock.OutcomeRenewed {
		return grant, err
	}
	if err := o.Release(ctx, grant); err != nil {
		return applock.Grant{}, err
	}
	return o.client.Get(ctx, request)
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
func releaseForHolder(t testing.TB, client *applock.Client, object applock.Object) {
	t.Helper()
	lock, err := client.Inquire(t.Context(), object)
	if err != nil {
		t.Fatal(err)
	}
	request := applock.ReleaseRequest{Key: applock.Key{Object: object, Operator: lock.Owner.Operator}}
	if released, err := client.Release(t.Context(), request); err != nil || released != applock.OutcomeReleased {
		t.Fatalf("release: %v, %v", released, err)
	}
}
