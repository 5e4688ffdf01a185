package redislock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/redislock"
	"github.com/applock/applock/internal/testing/testdb"
)

// ownServer starts a server of the test's own in a directory, with its settings, and returns a client and what ends the server at
// once.
func ownServer(t *testing.T, directory string, settings ...string) (client *redis.Client, end func()) {
	t.Helper()
	socket, end := testdb.OwnRedis(t, directory, settings...)
	client = redis.NewClient(&redis.Options{Network: "unix", Addr: socket, MaxRetries: -1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	return client, end
}

// Goal: a lock survives a restart of the server if Redis flushes every change, and is gone if it keeps nothing. Method: kill the test's own
// server while an object is held, start it again on the same directory, and try to get the object.
func TestRestartOfTheServer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		settings []string
		survives bool
	}{
		"EveryChangeIsFlushed": {[]string{"--appendonly", "yes", "--appendfsync", "always"}, true},
		"NothingIsKept":        {[]string{"--appendonly", "no"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			leasesOf := func(client *redis.Client) *lease.Leases {
				leases, err := redislock.New(redislock.Config{Client: client})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = leases.Close() })
				return leases
			}
			client, end := ownServer(t, directory, test.settings...)
			held := request(customer("1"), "JDOE")
			held.MaxHold = time.Hour
			mustAcquire(t, leasesOf(client), held)
			end()
			client, _ = ownServer(t, directory, test.settings...)
			_, err := leasesOf(client).TryAcquire(t.Context(), request(customer("1"), "ASMITH"))
			if survives := errors.Is(err, applock.ErrHeld); survives != test.survives || !survives && err != nil {
				t.Errorf("somebody else gets %v, want that it survives: %t", err, test.survives)
			}
		})
	}
}
