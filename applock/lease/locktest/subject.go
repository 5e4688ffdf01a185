package locktest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

const (
	// shortTTL is the shortest TTL that every backend accepts unchanged.
	shortTTL = time.Second
	// clockDrift is how much sooner than by this program's clock a backend may expire a grant of shortTTL.
	clockDrift = 100 * time.Millisecond
	// listedApart is more than a tick of any backend's clock: SQLite counts milliseconds, and those listed in the same one share their place.
	listedApart = 2 * time.Millisecond
)

// The operators of the checks.
const (
	ann = "ANN"
	bob = "BOB"
	eve = "EVE"
)

func ownerOf(operator string) applock.Owner {
	return applock.Owner{Operator: operator, Department: "DEPARTMENT-" + operator}
}

// subject is a backend that a check calls directly. Its methods end the check when the backend does not do what they require.
type subject struct {
	t    *trial
	kind Backend
	// first and second are two programs on one place, or the same one if there are no others.
	first, second lease.Backend
	// objectType is the check's own object type.
	objectType string
}

func newSubject(t *trial, kind Backend) subject {
	t.Helper()
	name := kind.Place(t)
	open := func() lease.Backend {
		t.begin("Direct")
		backend, closeBackend, err := kind.Direct(context.WithoutCancel(t.Context()), name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			t.begin("the function that closes what Direct has opened")
			if err := closeBackend(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
		return backend
	}
	result := subject{t: t, kind: kind, first: open(), objectType: newKind()}
	result.second = result.first
	if !kind.OneClient {
		result.second = open()
	}
	return result
}

func (s subject) object(id any) applock.Object { return objectOf(s.objectType, id) }

// tryGet is Get, repeated while others are changing the object.
func (s subject) tryGet(
	backend lease.Backend, object applock.Object, operator string, ttl time.Duration,
) (applock.Grant, error) {
	s.t.begin("Get of %s by %s for %s", object, operator, ttl)
	for {
		grant, err := backend.Get(s.t.Context(), object, ownerOf(operator), ttl)
		if !errors.Is(err, applock.ErrBusy) || !s.pause() {
			return grant, err
		}
	}
}

// pause waits a moment, and reports whether the check continues.
func (s subject) pause() bool {
	select {
	case <-s.t.Context().Done():
		return false
	case <-time.After(lookAgain):
		return true
	}
}

// take requires that the object is free or the operator's own.
func (s subject) take(backend lease.Backend, object applock.Object, operator string, ttl time.Duration) applock.Grant {
	s.t.Helper()
	grant, err := s.tryGet(backend, object, operator, ttl)
	if err != nil {
		s.t.Fatalf("Get of %s by %s, who must get it: %v", object, operator, err)
	}
	s.requireGrant(grant, object, operator)
	return grant
}

func (s subject) requireGrant(grant applock.Grant, object applock.Object, operator string) {
	s.t.Helper()
	if grant.Object != object || grant.Owner != ownerOf(operator) || (grant.Fence > 0) != s.kind.Fences {
		s.t.Fatalf("the grant of %s to %s is %+v, want that object, that owner, and a fence: %t", object, ownerOf(operator), grant, s.kind.Fences)
	}
}

// requireLater requires that the fence of a later grant is greater, if grants have fences.
func (s subject) requireLater(former, later applock.Grant) {
	s.t.Helper()
	if s.kind.Fences && later.Fence <= former.Fence {
		s.t.Fatalf("fence %d after %d, want a greater one", later.Fence, former.Fence)
	}
}

// refuse requires that another operator holds the object.
func (s subject) refuse(backend lease.Backend, object applock.Object, operator, holder string) {
	s.t.Helper()
	grant, err := s.tryGet(backend, object, operator, longHold)
	if err == nil {
		s.t.Fatalf("Get of %s by %s returned the grant %d, want a *HeldError, because %s has it", object, operator, grant.Fence, holder)
	}
	s.requireRefusal(err, object, holder)
}

func (s subject) requireRefusal(err error, object applock.Object, holder string) {
	s.t.Helper()
	var held *applock.HeldError
	switch {
	case !errors.As(err, &held) || held.Object != object:
		s.t.Fatalf("Get of %s, which %s has: %v, want a *HeldError for it", object, holder, err)
	case s.kind.Owners && held.Holder.Owner != ownerOf(holder):
		s.t.Fatalf("Get of %s was refused because of %+v, want %+v", object, held.Holder.Owner, ownerOf(holder))
	}
}

// release requires that the grant is live.
func (s subject) release(backend lease.Backend, grant applock.Grant) {
	s.t.Helper()
	s.t.begin("Release of %s by %s", grant.Object, grant.Owner)
	if err := backend.Release(s.t.Context(), grant); err != nil {
		s.t.Fatalf("Release of a live grant of %s: %v", grant.Object, err)
	}
}

// releaseLost requires that Release finds no such grant. What describes the lost grant.
func (s subject) releaseLost(backend lease.Backend, grant applock.Grant, what string) {
	s.t.Helper()
	s.t.begin("Release of %s", what)
	s.requireNotFound(backend.Release(s.t.Context(), grant), "Release", what)
}

// requireNotFound requires that a call has found no such grant.
func (s subject) requireNotFound(err error, call, what string) {
	s.t.Helper()
	if !errors.Is(err, applock.ErrNotHeld) && !errors.Is(err, applock.ErrHeld) {
		s.t.Fatalf("%s of %s: %v, want ErrNotHeld or a *HeldError", call, what, err)
	}
}

// renewAll returns the answers to all renewals, by object. It repeats those that were passed over.
func (s subject) renewAll(backend lease.Backend, renewals []lease.Renewal) map[applock.Object]lease.Renewed {
	s.t.Helper()
	answers := map[applock.Object]lease.Renewed{}
	rest := slices.Clone(renewals)
	for {
		s.t.begin("Renew of %d grants", len(rest))
		some, err := backend.Renew(s.t.Context(), rest)
		if err != nil && !errors.Is(err, applock.ErrBusy) {
			s.t.Fatalf("Renew: %v", err)
		}
		for _, answer := range some {
			if _, doubled := answers[answer.Object]; doubled {
				s.t.Fatalf("Renew answered twice about %s", answer.Object)
			}
			answers[answer.Object] = answer
		}
		rest = slices.DeleteFunc(rest, func(renewal lease.Renewal) bool {
			_, answered := answers[renewal.Grant.Object]
			return answered
		})
		if len(rest) == 0 {
			break
		}
		if !s.pause() {
			s.t.Fatalf("Renew never answered about %s", rest[0].Grant.Object)
		}
	}
	if len(answers) != len(renewals) {
		s.t.Fatalf("Renew answered about %d objects of %d", len(answers), len(renewals))
	}
	return answers
}

// tryRenew returns why the grant is lost, nil if it was renewed.
func (s subject) tryRenew(backend lease.Backend, grant applock.Grant, ttl time.Duration) error {
	s.t.Helper()
	return s.renewAll(backend, []lease.Renewal{{Grant: grant, TTL: ttl}})[grant.Object].Lost
}

// renew requires that the grant is live.
func (s subject) renew(backend lease.Backend, grant applock.Grant, ttl time.Duration) {
	s.t.Helper()
	if lost := s.tryRenew(backend, grant, ttl); lost != nil {
		s.t.Fatalf("Renew of a live grant of %s says that it is lost: %v", grant.Object, lost)
	}
}

// renewLost requires that Renew finds no such grant. What describes the lost grant.
func (s subject) renewLost(backend lease.Backend, grant applock.Grant, what string) {
	s.t.Helper()
	if s.tryRenew(backend, grant, longHold) == nil {
		s.t.Fatalf("Renew of %s says that it has been renewed, want it to be lost", what)
	}
}

// outlast waits until earlier grants of this TTL have expired: until a grant that begins now has.
func (s subject) outlast(ttl time.Duration) {
	s.t.Helper()
	clock := s.object("clock")
	s.take(s.first, clock, ann, ttl)
	s.await(clock, bob, longHold)
}

// await takes an object as soon as it is free.
func (s subject) await(object applock.Object, operator string, ttl time.Duration) applock.Grant {
	s.t.Helper()
	for {
		grant, err := s.tryGet(s.second, object, operator, ttl)
		switch {
		case err == nil:
			s.requireGrant(grant, object, operator)
			return grant
		case !errors.Is(err, applock.ErrHeld):
			s.t.Fatalf("Get of %s: %v", object, err)
		case !s.pause():
			s.t.Fatalf("Get of %s is refused although its grant has expired: %v", object, err)
		}
	}
}
