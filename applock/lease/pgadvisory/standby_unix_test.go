//go:build unix

package pgadvisory_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease/pgadvisory"
	"github.com/applock/applock/internal/testing/testdb"
)

// Goal: a standby, where an advisory lock excludes nobody on the primary, is refused, and takes locks once it is the primary. Method: a server of the
// test's own and its hot standby, which takes the lock when it is asked itself.
func TestAStandbyIsRefused(t *testing.T) {
	t.Parallel()
	dsn := testdb.StandbyOf(t, testdb.OwnPostgres(t, "fsync = off\n"), "").DSN()
	leases := mustOpen(t, pgadvisory.Config{DSN: dsn})
	_, err := leases.TryAcquire(t.Context(), request(customer("42")))
	if !errors.Is(err, applock.ErrReadOnly) || !errors.Is(err, pgadvisory.ErrStandby) {
		t.Errorf("try to acquire on a standby: %v, want ErrReadOnly", err)
	}
	if _, err := leases.Acquire(t.Context(), request(customer("42"))); !errors.Is(err, applock.ErrReadOnly) {
		t.Errorf("acquire on a standby: %v, want ErrReadOnly at once", err)
	}
	standby, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	promoted := standby.QueryRow(t.Context(), "SELECT pg_promote()").Scan(new(bool))
	if err := errors.Join(promoted, standby.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	if _, err := leases.TryAcquire(t.Context(), request(customer("42"))); err != nil {
		t.Errorf("try to acquire on the new primary: %v", err)
	}
}
