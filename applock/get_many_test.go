package applock_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// Goal: many locks are taken in the order in which they are named, and answered in it: two who name the same ones in one order
// cannot lock each other out. Method: fences, which tell when each was decided, grow from one to the next; on PostgreSQL also
// with settings that would have the planner join in another way, and for rows that are there and that are not. Then half of
// them are held by somebody else.
func TestManyGetsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.Products(), func(t *testing.T, product string) {
		dsns := []string{testclient.Lent(t, product)}
		if product == onPostgres {
			dsn := testclient.Lent(t, product)
			dsns = append(dsns, dsn+"&enable_nestloop=off&parallel_setup_cost=0&parallel_tuple_cost=0&min_parallel_table_scan_size=0")
		}
		for _, dsn := range dsns {
			driver := clients.Driver(onPlace(t, dsn))
			var gets, others []db.GetApplLockParams
			for i := range 500 {
				get := db.GetApplLockParams{ObjectType: "account", ObjectID: fmt.Sprintf("%04d", i), OperatorID: "JDOE", TTLSeconds: 60}
				gets = append(gets, get)
				if i%2 == 0 {
					others = append(others, get)
				}
			}
			requireInOrder(t, driver, gets, 0)
			for _, get := range gets {
				release := db.ReleaseApplLockParams{ObjectType: get.ObjectType, ObjectID: get.ObjectID, OperatorID: get.OperatorID}
				if _, err := driver.ReleaseApplLock(t.Context(), release); err != nil {
					t.Fatal(err)
				}
			}
			for i := range others {
				others[i].OperatorID = "ASMITH"
			}
			requireInOrder(t, driver, others, 0)
			requireInOrder(t, driver, gets, 2)
		}
	})
}

// requireInOrder takes all in one call. If held is not zero, each held-th one is held by somebody else, beginning with the first.
func requireInOrder(t *testing.T, driver db.Driver, gets []db.GetApplLockParams, held int) {
	t.Helper()
	var results []db.Result
	err := driver.InTx(t.Context(), func(driver db.Driver) error {
		var err error
		results, err = driver.GetApplLocks(context.WithoutCancel(t.Context()), gets)
		return err
	})
	if err != nil || len(results) != len(gets) {
		t.Fatalf("%d answers to %d gets, %v", len(results), len(gets), err)
	}
	last := int64(0)
	for i, result := range results {
		want := db.Acquired
		if held > 0 && i%held == 0 {
			want = db.Held
		}
		if result.Outcome != want || want == db.Held && result.OldOperatorID != "ASMITH" {
			t.Fatalf("get %d: %+v, want %s", i, result, want)
		}
		if want == db.Held {
			continue
		}
		if result.Fence < last {
			t.Fatalf("get %d was decided before the one in front of it", i)
		}
		last = result.Fence
	}
}
