package redislock_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/locktest"
	"github.com/applock/applock/applock/lease/redislock"
	"github.com/applock/applock/internal/testing/testdb"
)

func TestMain(m *testing.M) { locktest.Main(m, open) }

func TestContract(t *testing.T) {
	t.Parallel()
	locktest.Exercise(t, locktest.Backend{
		Place:  newPlace,
		Open:   open,
		Direct: direct,
		Owners: true,
		Losses: map[string]func(t testing.TB, place string, object applock.Object){
			"DeletedKey": func(t testing.TB, place string, object applock.Object) {
				t.Helper()
				if n, err := connect(t, place).Del(t.Context(), keyOf(place, object)).Result(); n != 1 || err != nil {
					t.Fatalf("deleted %d keys, %v", n, err)
				}
			},
			"ExpiredKey": expire,
		},
		Expire: expire,
	})
}

// expire waits until the key of an object expires.
func expire(t testing.TB, place string, object applock.Object) {
	t.Helper()
	if ok, err := connect(t, place).PExpire(t.Context(), keyOf(place, object), time.Millisecond).Result(); !ok || err != nil {
		t.Fatalf("made the key expire: %t, %v", ok, err)
	}
}

// newPlace is a namespace and, after a blank, the DSN of the server.
func newPlace(t testing.TB) string {
	t.Helper()
	return rand.Text() + " " + testdb.Redis(t)
}

func split(place string) (namespace, dsn string) {
	namespace, dsn, _ = strings.Cut(place, " ")
	return namespace, dsn
}

func open(_ context.Context, place string) (lease.Locker, func() error, error) {
	namespace, dsn := split(place)
	options, err := redis.ParseURL(dsn)
	if err != nil {
		return nil, nil, err
	}
	options.ContextTimeoutEnabled = true
	client := redis.NewClient(options)
	// Losses that only a check tells of are not waited for as long as elsewhere.
	leases := redislock.NewChecking(redislock.Config{Client: client, Namespace: namespace}, time.Second)
	return leases, func() error { return errors.Join(leases.Close(), client.Close()) }, nil
}

func direct(_ context.Context, place string) (lease.Backend, func() error, error) {
	namespace, dsn := split(place)
	options, err := redis.ParseURL(dsn)
	if err != nil {
		return nil, nil, err
	}
	options.ContextTimeoutEnabled = true
	client := redis.NewClient(options)
	return redislock.NewBackend(redislock.Config{Client: client, Namespace: namespace}), client.Close, nil
}

func connect(t testing.TB, place string) *redis.Client {
	t.Helper()
	_, dsn := split(place)
	options, err := redis.ParseURL(dsn)
	if err != nil {
		t.Fatal(err)
	}
	options.ContextTimeoutEnabled = true
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func keyOf(place string, object applock.Object) string {
	namespace, _ := split(place)
	return namespace + ":" + object.String()
}

func namespaceOf(place string) string {
	namespace, _ := split(place)
	return namespace
}
