package pgadvisory_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/pgadvisory"
)

// Goal: a release sends one message if another program waits for that object, and none otherwise: not for waiters of another object, not
// for the program's own waiters, and not when they have gone. Method: a connection that listens, too, and the hints as the server lists
// them.
func TestAReleaseIsTold(t *testing.T) {
	t.Parallel()
	config := ownNamespace(t)
	listening := connect(t, config.DSN)
	if _, err := listening.Exec(t.Context(), "LISTEN applock_advisory"); err != nil {
		t.Fatal(err)
	}
	here, there := mustOpen(t, config), mustOpen(t, config)
	awaited, other := customer("42"), otherHint(config.Namespace, customer("42"))
	acquire := func(leases *lease.Leases, object applock.Object) applock.Lease {
		t.Helper()
		lease, err := leases.Acquire(t.Context(), request(object))
		if err != nil {
			t.Fatal(err)
		}
		return lease
	}
	release := func(leases ...applock.Lease) {
		t.Helper()
		for _, lease := range leases {
			if err := lease.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	release(acquire(here, awaited))
	held, beside := acquire(here, awaited), acquire(here, other)
	granted := make(chan applock.Lease, 1)
	go func() {
		lease, _ := there.Acquire(t.Context(), request(awaited)) // its error is that of the context, or of what follows
		granted <- lease
	}()
	awaitHints(t, config, 1)
	release(beside, held)
	next := <-granted
	if next == nil {
		t.Fatal("the waiter did not get it")
	}
	release(next)
	if err := there.Close(); err != nil {
		t.Fatal(err)
	}
	awaitHints(t, config, 0)
	release(acquire(here, awaited))
	if got, want := messages(t, config, listening), []string{config.Namespace + ":customer:42"}; !slices.Equal(got, want) {
		t.Errorf("told of %q, want %q", got, want)
	}
}

// otherHint returns an object with another hint.
func otherHint(namespace string, object applock.Object) applock.Object {
	for i := 0; ; i++ {
		other := customer(fmt.Sprint(i))
		if (pgadvisory.Key(namespace, other)^pgadvisory.Key(namespace, object))&255 != 0 {
			return other
		}
	}
}

// awaitHints waits until that many hints of the namespace are shown.
func awaitHints(t *testing.T, config pgadvisory.Config, want int) {
	t.Helper()
	const query = `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND mode = 'ShareLock'
		AND classid::bigint = ('x' || left(encode(sha256($1), 'hex'), 8))::bit(32)::bigint`
	conn := connect(t, config.DSN)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for shown := -1; shown != want; {
		if err := conn.QueryRow(ctx, query, []byte(config.Namespace)).Scan(&shown); err != nil {
			t.Fatalf("%d hints are shown, want %d: %v", shown, want, err)
		}
	}
}

// messages returns what the namespace was told of until now.
func messages(t *testing.T, config pgadvisory.Config, listening *pgx.Conn) (told []string) {
	t.Helper()
	namespace := config.Namespace + ":"
	if _, err := connect(t, config.DSN).Exec(t.Context(), "SELECT pg_notify('applock_advisory', $1)", namespace+"last"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for {
		message, err := listening.WaitForNotification(ctx)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case message.Payload == namespace+"last":
			return told
		case strings.HasPrefix(message.Payload, namespace):
			told = append(told, message.Payload)
		}
	}
}
