package getlock_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/getlock"
	"github.com/applock/applock/applock/lease/locktest"
	"github.com/applock/applock/internal/testing/testdb"
)

func TestMain(m *testing.M) { locktest.Main(m, open) }

func TestContract(t *testing.T) {
	t.Parallel()
	for _, product := range testdb.MySQLProducts() {
		t.Run(product, func(t *testing.T) {
			t.Parallel()
			locktest.Exercise(t, locktest.Backend{
				Place:   func(t testing.TB) string { return newPlace(t, product) },
				Open:    open,
				Direct:  direct,
				Endless: true,
				Losses: map[string]func(t testing.TB, place string, object applock.Object){
					"KilledSession": killHolder,
				},
			})
		})
	}
}

// newPlace is a namespace and, after a blank, the DSN of the server.
func newPlace(t testing.TB, product string) string {
	t.Helper()
	return rand.Text() + " " + testdb.Require(t, product)
}

func configOf(place string) getlock.Config {
	namespace, dsn, _ := strings.Cut(place, " ")
	return getlock.Config{DSN: dsn, Namespace: namespace}
}

func direct(_ context.Context, place string) (lease.Backend, func() error, error) {
	backend, err := getlock.NewBackend(configOf(place))
	if err != nil {
		return nil, nil, err
	}
	return backend, backend.(io.Closer).Close, nil
}

func open(_ context.Context, place string) (lease.Locker, func() error, error) {
	leases, err := getlock.New(configOf(place))
	if err != nil {
		return nil, nil, err
	}
	return leases, leases.Close, nil
}

// holderOf returns the session that has the lock on an object, 0 if nobody has it.
func holderOf(t testing.TB, handle *sql.DB, place string, object applock.Object) (id int64) {
	t.Helper()
	name := getlock.Name(configOf(place).Namespace, object)
	if err := handle.QueryRow("SELECT coalesce(is_used_lock(?), 0)", name).Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

// killHolder returns when the lock is free: a session does not end in the very moment that it is killed.
func killHolder(t testing.TB, place string, object applock.Object) {
	t.Helper()
	handle := testdb.OpenMySQL(t, configOf(place).DSN, nil)
	id := holderOf(t, handle, place, object)
	if _, err := handle.Exec(fmt.Sprintf("KILL %d", id)); err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(time.Minute); holderOf(t, handle, place, object) == id; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("the killed session has the lock for ever")
		}
	}
}
