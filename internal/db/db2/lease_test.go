package db2_test

import (
	"context"
	"errors"
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/locktest"
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
		Open: func(_ context.Context, name string) (applock.Locker, func() error, error) {
			handle := databases.bridge.Again(name)
			client := testclient.DB2(t, handle)
			return client, func() error { return errors.Join(client.Close(), handle.Close()) }, nil
		},
		OneProcess: true,
		Fences:     true,
		Owners:     true,
		Losses: map[string]func(t testing.TB, name string, object applock.Object){
			"Release": func(t testing.TB, name string, object applock.Object) {
				releaseForHolder(t, databases.bridge, name, object)
			},
		},
	})
}

// releaseForHolder ends whichever grant there is, as a supervisor would.
func releaseForHolder(t testing.TB, bridge *hsqldb.Bridge, name string, object applock.Object) {
	t.Helper()
	handle := bridge.Again(name)
	defer func() { _ = handle.Close() }()
	client := testclient.DB2(t, handle)
	lock, err := client.Inquire(t.Context(), applock.InquireRequest{Object: object})
	if err != nil {
		t.Fatal(err)
	}
	request := applock.ReleaseRequest{Object: object, Operator: lock.Owner.Operator}
	if released, err := client.Release(t.Context(), request); err != nil || released.Outcome != applock.OutcomeReleased {
		t.Fatalf("release: %v, %v", released, err)
	}
}
