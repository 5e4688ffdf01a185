package pgadvisory_test

import (
	"context"
	"errors"
	"log"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease/pgadvisory"
	"github.com/applock/applock/internal/testing/testdb"
)

// The objects of an application that has used advisory locks before: a nightly job under a number, and its records by the
// number of an operation and their own.
const operationNumber = 2

func existingKeys(object applock.Object) (pgadvisory.LockKey, error) {
	number, err := strconv.ParseInt(object.ID, 10, 32)
	switch {
	case err != nil:
		return pgadvisory.LockKey{}, err
	case object.Type == "job":
		return pgadvisory.Bigint(number), nil
	}
	return pgadvisory.Ints(int32(number), operationNumber), nil
}

// Goal: a program that exists and takes pg_advisory_lock(42) or (1, 2) excludes ours on the object with that key, and is
// excluded. Method: the statements of such a program, as they are; the extremes of the keys, too.
func TestExistingKeys(t *testing.T) {
	t.Parallel()
	dsn := testdb.Postgres(t) // its keys are nobody else's
	objects := map[string]applock.Object{
		"42":             {Type: "job", ID: "42"},
		"-42":            {Type: "job", ID: "-42"},
		"1, 2":           {Type: "invoice", ID: "1"},
		"-1, 2":          {Type: "invoice", ID: "-1"},
		"2147483647, 2":  {Type: "invoice", ID: "2147483647"},
		"-2147483648, 2": {Type: "invoice", ID: "-2147483648"},
	}
	for _, sessions := range []int{1, 3} {
		for keys, object := range objects {
			leases := mustOpen(t, pgadvisory.Config{DSN: dsn, Sessions: sessions, Keys: existingKeys})
			otherOn(connect(t, dsn), keys).Excludes(t, leases, object)
		}
	}
}

// Goal: one key and two are different locks, also where their bits are equal, and so are the two orders. Method: hold one, and take
// the others.
func TestKindsOfKeysDiffer(t *testing.T) {
	t.Parallel()
	keys := map[string]pgadvisory.LockKey{
		"bigint": pgadvisory.Bigint(1<<32 | 2), "ints": pgadvisory.Ints(1, 2), "turned": pgadvisory.Ints(2, 1),
	}
	leases := mustOpen(t, pgadvisory.Config{DSN: testdb.Postgres(t), Keys: func(object applock.Object) (pgadvisory.LockKey, error) {
		return keys[object.ID], nil
	}})
	for name := range keys {
		if _, err := leases.TryAcquire(t.Context(), request(customer(name))); err != nil {
			t.Error(err)
		}
	}
	if got := keys["ints"].String() + " and " + keys["bigint"].String(); got != "1, 2 and 4294967298" {
		t.Errorf("the keys are %s", got)
	}
}

// Goal: an object without a key is refused, with the reason, and so is a key that would collide with what the package itself
// uses. Method: an id that is no number, and the first key of the namespace's hints, which was computed in SQL.
func TestRefusedKeys(t *testing.T) {
	t.Parallel()
	dsn := testdb.Postgres(t)
	hint := ask[int](t, connect(t, dsn), "SELECT ('x' || left(encode(sha256('applock'), 'hex'), 8))::bit(32)::int")
	for reason, object := range map[string]applock.Object{
		"invalid syntax": {Type: "job", ID: "nightly"},
		"show who waits": {Type: "invoice", ID: strconv.Itoa(hint)},
	} {
		leases := mustOpen(t, pgadvisory.Config{DSN: dsn, Keys: existingKeys})
		_, err := leases.Acquire(t.Context(), request(object))
		if !errors.Is(err, applock.ErrInvalid) || !strings.Contains(err.Error(), reason) {
			t.Errorf("acquire %s: %v, want ErrInvalid because of %q", object, err, reason)
		}
	}
}

// A number that an application has always given under pg_advisory_lock(ID, 2): its programs that exist, and those
// that use leases, exclude each other.
func Example_existingKeys() {
	if err := number(context.Background(), "postgres://app@db.example.org/shop", 10); err != nil {
		log.Fatal(err)
	}
}

func number(ctx context.Context, dsn string, invoice int) error {
	const lockSequence = 2 // the application's own
	leases, err := pgadvisory.New(pgadvisory.Config{DSN: dsn, Keys: func(object applock.Object) (pgadvisory.LockKey, error) {
		id, err := strconv.ParseInt(object.ID, 10, 32)
		return pgadvisory.Ints(int32(id), lockSequence), err
	}})
	if err != nil {
		return err
	}
	defer func() { _ = leases.Close() }()
	numbering := applock.AcquireRequest{
		Object:  applock.Object{Type: "sequence", ID: strconv.Itoa(invoice)},
		MaxHold: time.Minute,
	}
	return leases.Do(ctx, numbering, func(ctx context.Context, _ applock.Lease) error {
		return work(ctx) // begins and commits a transaction
	})
}

// Goal: the example works. Method: run it on a server.
func TestExampleExistingKeys(t *testing.T) {
	t.Parallel()
	if err := number(t.Context(), testdb.Postgres(t), 10); err != nil {
		t.Error(err)
	}
}
