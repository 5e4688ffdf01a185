package locktest

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// clientRules are the rules whose checks use the backend as programs do.
func clientRules() []rule {
	return []rule{
		client("ExclusionOfClients", "never two clients hold an object at a time", exclusionOfClients),
		client("Keys", "objects that differ in anything but trailing blanks are different ones", keys),
		client("RefusalNamesTheHolder", "a refusal comes at once and says who has the object", refusalNamesTheHolder),
		client("WaitersAreServed", "a release serves who waits, also in another client", waitersAreServed),
		client("CancelledWaiter", "a cancelled waiter gets the cause, and leaves nothing", cancelledWaiter),
		client("CancelledAtAnyMoment", "a call that is cancelled at any moment leaves nothing", cancelledAtAnyMoment),
		client("Expiry", "a lease ends at MaxHold, and the object is somebody else's then", expiry),
		client("Renewal", "a renewed lease lasts longer, and can be released", renewal),
		{"Close", "Close frees what was held, and ends who waits", closing},
	}
}

// client is a rule whose check begins with a place and its first client.
func client(name, says string, check func(t *trial, place place)) rule {
	return rule{name, says, func(t *trial, backend Backend) { check(t, newPlace(t, backend)) }}
}

// Goal: never two holders at a time. Method: goroutines of several clients count in two steps, which loses counts unless each is alone.
func exclusionOfClients(t *trial, place place) {
	const goroutines, clients, rounds = 12, 4, 4
	lockers := []lease.Locker{place.locker}
	for len(lockers) < clients {
		lockers = append(lockers, place.open(t))
	}
	var counter, inside atomic.Int64
	count := func(context.Context, applock.Lease) error {
		if others := inside.Add(1) - 1; others > 0 {
			t.Errorf("%d others are inside", others)
		}
		read := counter.Load()
		runtime.Gosched()
		counter.Store(read + 1)
		inside.Add(-1)
		return nil
	}
	var group sync.WaitGroup
	for i := range goroutines {
		group.Go(func() {
			for range rounds {
				if err := lockers[i%clients].Do(t.Context(), request(place.object(1)), count); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	if got := counter.Load(); got != goroutines*rounds {
		t.Errorf("counted %d of %d", got, goroutines*rounds)
	}
}

// Goal: any difference makes different objects, except trailing blanks. Method: hold all at once; then try other spellings.
func keys(t *trial, place place) {
	kind := place.kind
	long := strings.Repeat("x", applock.MaxObjectIDLength-1)
	objects := []applock.Object{
		{Type: kind, ID: "a"},
		{Type: kind, ID: "A"},
		{Type: "Wallet" + kind[len("wallet"):], ID: "a"},
		{Type: kind, ID: "ä"},
		{Type: kind, ID: "a\u0308"},
		{Type: kind, ID: "aa"},
		{Type: kind, ID: "a a"},
		{Type: kind, ID: "a  a"},
		{Type: kind, ID: " a"},
		{Type: kind, ID: "a:a"},
		{Type: kind[:len(kind)-1], ID: kind[len(kind)-1:] + "a"},
		{Type: kind, ID: "%"},
		{Type: kind, ID: "'\"\\"},
		{Type: kind, ID: "🔒"},
		{Type: kind, ID: long},
		{Type: kind, ID: long + "x"},
		{Type: kind, ID: long + "y"},
	}
	var leases []applock.Lease
	for _, object := range objects {
		lease, err := place.locker.TryAcquire(t.Context(), request(object))
		if err != nil {
			t.Fatalf("%q: %v, want it to be free", object, err)
		}
		leases = append(leases, lease)
	}
	other := place.open(t)
	for _, object := range objects {
		requireHeld(t, other, object)
	}
	requireHeld(t, other, applock.Object{Type: kind + " ", ID: "a  "})
	for _, lease := range leases {
		mustRelease(t, lease)
	}
}

// Goal: a refusal names the holder and comes at once. Method: a held object, requested by the same client and by another; then the object
// is free.
func refusalNamesTheHolder(t *trial, place place) {
	holder := mustAcquire(t, place.locker, request(place.object(1)))
	for _, locker := range []lease.Locker{place.locker, place.open(t)} {
		_, err := locker.TryAcquire(t.Context(), request(place.object(1)))
		place.requireHolder(t, err, holder)
	}
	mustRelease(t, holder)
	lease, err := place.locker.TryAcquire(t.Context(), request(place.object(1)))
	if err != nil {
		t.Fatalf("try to acquire a free object: %v", err)
	}
	mustRelease(t, lease)
}

// Goal: a release serves waiters. Method: a waiter in the same client, and one in another.
func waitersAreServed(t *trial, place place) {
	for _, locker := range []lease.Locker{place.locker, place.open(t)} {
		holder := mustAcquire(t, place.locker, request(place.object(1)))
		result := place.waiting(t.Context(), t, locker)
		if len(result) > 0 {
			t.Fatalf("the waiter got %v while somebody held the object", <-result)
		}
		mustRelease(t, holder)
		got := ended(t, result)
		if got.err != nil {
			t.Fatal(got.err)
		}
		mustRelease(t, got.lease)
		place.requireNothingLeft(t)
	}
}

// Goal: a cancelled waiter gets the error of its context and the cause, and leaves nothing behind. Method: cancel a waiter; then no waiter is listed, and the object is
// free after the release.
func cancelledWaiter(t *trial, place place) {
	holder := mustAcquire(t, place.locker, request(place.object(1)))
	cause := errors.New("the user has left")
	for _, locker := range []lease.Locker{place.locker, place.open(t)} {
		ctx, cancel := context.WithCancelCause(t.Context())
		result := place.waiting(ctx, t, locker)
		cancel(cause)
		if got := ended(t, result); !errors.Is(got.err, cause) || !errors.Is(got.err, context.Canceled) {
			t.Errorf("cancelled: %v, want context.Canceled and the cause", got.err)
		}
		place.requireNothingLeft(t)
	}
	mustRelease(t, holder)
	requireFree(t, place.locker, place.object(1))
}

// Goal: the same at any moment, even during the call. Method: deadlines of random length on an object that is being released; at the end it
// is free, and no waiter is listed.
func cancelledAtAnyMoment(t *trial, place place) {
	const rounds, longest = 30, 10 * time.Millisecond
	other := place.open(t)
	for range rounds {
		holder := mustAcquire(t, place.locker, request(place.object(1)))
		ctx, cancel := context.WithTimeout(t.Context(), rand.N(longest))
		result := place.acquiring(ctx, other)
		mustRelease(t, holder)
		got := ended(t, result)
		cancel()
		switch {
		case got.err == nil:
			mustRelease(t, got.lease)
		case !errors.Is(got.err, context.DeadlineExceeded):
			t.Fatal(got.err)
		}
	}
	requireFree(t, place.locker, place.object(1))
	place.requireNothingLeft(t)
}

// Goal: the lease ends at MaxHold whatever its holder does, with a signal, and another client gets the object. Method: a holder that does
// not release, and a waiter from another client; the late release reports the loss and does no harm.
func expiry(t *trial, place place) {
	const short = 500 * time.Millisecond
	lease := mustAcquire(t, place.locker, applock.AcquireRequest{Object: place.object(1), MaxHold: short})
	next := mustAcquire(t, place.open(t), request(place.object(1)))
	if early := time.Until(lease.Deadline()); early > 0 {
		t.Errorf("taken over %s before the deadline", early)
	}
	requireLost(t, lease)
	if err := lease.Release(t.Context()); !errors.Is(err, applock.ErrLost) {
		t.Errorf("late release: %v, want ErrLost", err)
	}
	requireHeld(t, place.locker, place.object(1))
	mustRelease(t, next)
}

// Goal: a renewed grant is the same grant, and lasts longer if the backend reports its end. Method: Renew, with a TTL and without; then
// others are refused, and a release frees the object.
func renewal(t *trial, place place) {
	const rounding = time.Second // of the reported end
	for _, ttl := range []time.Duration{0, longTTL} {
		lease := mustAcquire(t, place.locker, applock.AcquireRequest{Object: place.object(1), MaxHold: longHold, TTL: ttl})
		before, trusted := lease.ExpiresAt(), lease.Deadline()
		time.Sleep(lookAgain) // so that the renewal is later in virtual time, too
		if err := lease.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !lease.Deadline().After(trusted) || lease.ExpiresAt().Before(before.Add(-rounding)) {
			t.Errorf("renewed from %s to %s, and the deadline from %s to %s, want both later",
				before, lease.ExpiresAt(), trusted, lease.Deadline())
		}
		requireHeld(t, place.open(t), place.object(1))
		mustRelease(t, lease)
		if err := lease.Renew(t.Context()); !errors.Is(err, applock.ErrNotHeld) {
			t.Errorf("renew after release: %v, want ErrNotHeld", err)
		}
		requireFree(t, place.open(t), place.object(1))
	}
}

// lossRules are a rule for each way in which the backend can lose a grant. Goal: the holder notices the loss, and cannot release the next
// holder's grant. Method: a new holder; then the former one renews and releases.
func lossRules(backend Backend) (rules []rule) {
	for _, name := range slices.Sorted(maps.Keys(backend.Losses)) {
		rules = append(rules, client("Loss/"+name, "the holder hears of a loss, and cannot end the grant of the next one",
			func(t *trial, place place) { loss(t, place, place.backend.Losses[name]) }))
	}
	return rules
}

func loss(t *trial, place place, lose func(t testing.TB, place string, object applock.Object)) {
	lease := mustAcquire(t, place.locker, applock.AcquireRequest{Object: place.object(1), MaxHold: longHold, TTL: longTTL})
	lose(t, place.name, place.object(1))
	next := mustAcquire(t, place.open(t), request(place.object(1)))
	err := lease.Renew(t.Context())
	var lost *applock.LostError
	if !errors.As(err, &lost) || lost.Object != place.object(1) || errors.Is(err, applock.ErrHeld) {
		t.Errorf("renew after the loss: %v, want a *LostError", err)
	}
	requireLost(t, lease)
	if err := lease.Release(t.Context()); !errors.Is(err, applock.ErrLost) || errors.Is(err, applock.ErrHeld) {
		t.Errorf("release after the loss: %v, want ErrLost", err)
	}
	if err := next.Renew(t.Context()); err != nil {
		t.Errorf("the new holder: %v", err)
	}
	mustRelease(t, next)
	requireFree(t, place.locker, place.object(1))
}

// Goal: Close frees held objects and ends waits. Method: a client with a lease and a waiter.
func closing(t *trial, backend Backend) {
	name := backend.Place(t)
	locker, closeClient, err := backend.Open(context.WithoutCancel(t.Context()), name)
	if err != nil {
		t.Fatal(err)
	}
	place := place{backend: backend, name: name, kind: newKind(), locker: locker}
	lease := mustAcquire(t, locker, request(place.object(1)))
	result := place.waiting(t.Context(), t, locker)
	if err := closeClient(); err != nil {
		t.Error(err)
	}
	requireLost(t, lease)
	if got := ended(t, result); !errors.Is(got.err, applock.ErrClosed) {
		t.Errorf("a waiter got %v, %v from a closed client, want ErrClosed", got.lease, got.err)
	}
	if _, err := locker.Acquire(t.Context(), request(place.object(2))); !errors.Is(err, applock.ErrClosed) {
		t.Errorf("acquire from a closed client: %v, want ErrClosed", err)
	}
	if !backend.OneClient {
		requireFree(t, place.open(t), place.object(1))
	}
}
