package contract

import (
	"errors"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
)

// Goal: the time left is counted from the answer on, by the database's clock, and rounded up: a caller who waits that long finds the lock
// expired. Method: each answer about one lock, between two readings of the database's clock.
func timeLeft(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	const ttl = time.Hour
	object := customer("left")
	grant, err := place.Client.Get(t.Context(), applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE"}, TTL: ttl})
	if err != nil {
		t.Fatal(err)
	}
	mustAwait(t, place, object.ID, "JDOE")
	answers := map[string]func() (expires time.Time, left time.Duration){
		"get": func() (time.Time, time.Duration) {
			_, err := place.Client.Get(t.Context(), applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "ASMITH"}})
			return holderEnd(t, err)
		},
		"transfer": func() (time.Time, time.Duration) {
			_, err := place.Client.Transfer(t.Context(), applock.TransferRequest{Object: object, From: "ASMITH", To: applock.Owner{Operator: "BROWN"}})
			return holderEnd(t, err)
		},
		"renew": func() (time.Time, time.Duration) {
			renewed, err := place.Driver.RenewApplLocks(t.Context(), db.RenewApplLocksParams{Grants: []db.RenewableGrant{
				{ObjectType: object.Type, ObjectID: object.ID, OperatorID: "ASMITH", Fence: int64(grant.Fence), TTLSeconds: 60},
			}})
			if err != nil || len(renewed) != 1 {
				t.Fatalf("%v, %v, want one answer", renewed, err)
			}
			return renewed[0].ExpiresTS.Time, time.Duration(renewed[0].SecondsLeft) * time.Second
		},
		"inquire": func() (time.Time, time.Duration) {
			lock, err := place.Client.Inquire(t.Context(), object)
			if err != nil {
				t.Fatal(err)
			}
			return lock.ExpiresAt, lock.Left
		},
		"list": func() (time.Time, time.Duration) {
			for lock, err := range place.Client.List(t.Context(), applock.ListRequest{Operator: "JDOE"}) {
				if err != nil {
					t.Fatal(err)
				}
				return lock.ExpiresAt, lock.Left
			}
			t.Fatal("the lock is not listed")
			return time.Time{}, 0
		},
	}
	for name, answer := range answers {
		before := databaseTime(t, place)
		expires, left := answer()
		after := databaseTime(t, place)
		if longest, shortest := wholeSecondsUp(expires.Sub(before)), wholeSecondsUp(expires.Sub(after)); left > longest || left < shortest {
			t.Errorf("%s: %s left until %s, want between %s and %s", name, left, expires, shortest, longest)
		}
	}
}

// holderEnd returns the end of the lock that an error names.
func holderEnd(t *testing.T, err error) (expires time.Time, left time.Duration) {
	t.Helper()
	var held *applock.HeldError
	if !errors.As(err, &held) {
		t.Fatalf("%v, want a holder", err)
	}
	return held.Holder.ExpiresAt, held.Holder.Left
}

// databaseTime reads the database's clock from a lock of its own, which works in any dialect.
func databaseTime(t *testing.T, place Place) time.Time {
	t.Helper()
	const ttl = 24 * time.Hour
	grant, err := place.Client.Get(t.Context(), applock.GetRequest{Object: customer("clock"), Owner: applock.Owner{Operator: "CLOCK"}, TTL: ttl})
	if err != nil {
		t.Fatal(err)
	}
	return grant.ExpiresAt.Add(-ttl)
}

// wholeSecondsUp rounds up.
func wholeSecondsUp(duration time.Duration) time.Duration {
	rounded := duration.Truncate(time.Second)
	if rounded < duration {
		rounded += time.Second
	}
	return rounded
}
