package lease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/clients"
)

// handles are the [applock.LeaseSet] of one AcquireAll, whose methods they implement.
type handles struct {
	// Leases are sorted by type and id.
	leases []*handle
	// taken are the leases that did not re-enter. They have one operator.
	taken   []*handle
	context context.Context //nolint:containedctx // it is what a lease has to give
	cancel  context.CancelCauseFunc
}

func (s *handles) Leases() []applock.Lease {
	leases := make([]applock.Lease, len(s.leases))
	for i, lease := range s.leases {
		leases[i] = lease
	}
	return leases
}

// String names the grants.
func (s *handles) String() string { return fmt.Sprint(s.leases) }

func (s *handles) Context() context.Context { return s.context }

// getAll gets the locks of all objects but those that are known to be held.
type getAll func(
	ctx context.Context, objects []applock.Object, owner applock.Owner, term time.Duration, known map[applock.Object]*applock.HeldError,
) ([]applock.Grant, error)

func (l *Leases) acquireAll(ctx context.Context, request applock.AcquireAllRequest, maxWait time.Duration, get getAll) (*handles, error) {
	claims, err := claimsOf(ctx, request)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // nothing was sent
	}
	if l.queue.isClosed() {
		return nil, applock.ErrClosed
	}
	began := time.Now()
	a := &acquisition{leases: l, caller: ctx, objects: objectsOf(claims), claims: claims, get: get}
	for i := range a.claims {
		a.claims[i].set = a
	}
	wanted := a.wanted()
	if maxWait == 0 || len(wanted) == 0 {
		err = a.ask(ctx, applock.Object{})
	} else {
		err = a.wait(ctx, wanted[0], maxWait)
	}
	if err != nil {
		for _, claim := range wanted {
			l.hooks.waited(ctx, claim.object, began, err)
		}
		return nil, withEnd(ctx, err)
	}
	for _, lease := range a.set.taken {
		lease.hold.acquired(began)
	}
	a.set.join(ctx)
	return a.set, nil
}

// acquisition is one caller's AcquireAll.
type acquisition struct {
	leases *Leases
	caller context.Context //nolint:containedctx // it may carry leases
	// objects never change. claims get a new name, which only the caller's goroutine sees.
	objects []applock.Object
	claims  []claim
	get     getAll
	set     *handles
	// waiter is in the queue of the object that is in the way.
	waiter *waiter
	// ended is the error of the last attempt, and conflict the objects for which it was refused, nil for none.
	ended    error
	conflict *applock.ConflictError
}

// wanted returns the claims whose objects the caller's context has no lease on.
func (a *acquisition) wanted() (wanted []claim) {
	for _, claim := range a.claims {
		if a.leases.carried(a.caller, claim.object) == nil {
			wanted = append(wanted, claim)
		}
	}
	return wanted
}

// errMovesOn ends the wait in an object's queue when a different object is in the way.
var errMovesOn = errors.New("another object is held")

// wait retries each time that the object in the way could be free and it is this caller's turn for it.
func (a *acquisition) wait(ctx context.Context, awaited claim, maxWait time.Duration) error {
	began := time.Now()
	a.leases.queue.joinSets(a)
	defer a.leases.queue.leaveSets(a)
	for left := maxWait; ; {
		one := awaited
		_, err := a.leases.inTurn(ctx, &one, left, func(limited context.Context, _ claim) error {
			return a.inTheWay(awaited.object, a.ask(limited, awaited.object))
		})
		if !errors.Is(err, errMovesOn) {
			return a.refused(ctx, err)
		}
		if left != forever {
			left = maxWait - time.Since(began)
		}
		if left <= 0 {
			return a.conflict
		}
		first := a.conflict.Conflicts[0].Object
		awaited = a.claims[slices.IndexFunc(a.claims, func(c claim) bool { return c.object == first })]
	}
}

// inTheWay returns the object's holder, or errMovesOn if only other objects are held.
func (a *acquisition) inTheWay(object applock.Object, err error) error {
	if !errors.As(err, &a.conflict) {
		return err
	}
	i := slices.IndexFunc(a.conflict.Conflicts, func(held *applock.HeldError) bool { return held.Object == object })
	if i < 0 {
		return errMovesOn
	}
	return a.conflict.Conflicts[i]
}

// refused returns the error of the wait. If an object is held, the error has all known conflicts.
func (a *acquisition) refused(ctx context.Context, err error) error {
	var held *applock.HeldError
	if !errors.As(err, &held) {
		return err
	}
	conflicts := []*applock.HeldError{held}
	if a.conflict != nil {
		for _, earlier := range a.conflict.Conflicts {
			if earlier.Object != held.Object {
				conflicts = append(conflicts, earlier)
			}
		}
	}
	conflict := newConflict(conflicts)
	switch {
	case errors.Is(err, applock.ErrOutcomeUnknown): // an earlier attempt may have left locks
		return fmt.Errorf("%w (%w)", err, conflict)
	case ctx.Err() != nil:
		return fmt.Errorf("%w (%w)", context.Cause(ctx), conflict)
	}
	return conflict
}

// ask makes one attempt. Turn is the object for which it is this caller's turn, if any.
func (a *acquisition) ask(ctx context.Context, turn applock.Object) error {
	if isSpent(a.claims[0], a.ended) {
		a.claims = renamed(a.claims)
	}
	a.ended = a.askOnce(ctx, turn)
	return a.ended
}

// renamed returns copies of the claims with a new name. An abandoned call still reads the old ones.
func renamed(claims []claim) []claim {
	name := uniqueName()
	again := slices.Clone(claims)
	for i := range again {
		again[i].owner.Operator = name
	}
	return again
}

func (a *acquisition) askOnce(ctx context.Context, turn applock.Object) error {
	set := &handles{}
	var wanted []claim
	for _, claim := range a.claims {
		lease, err := a.leases.reenter(a.caller, claim)
		switch {
		case err != nil:
			set.abandon(ctx)
			return err
		case lease != nil:
			set.leases = append(set.leases, lease)
		default:
			wanted = append(wanted, claim)
		}
	}
	if len(wanted) > 0 {
		taken, err := a.leases.takeAll(ctx, wanted, turn, a.get)
		if err != nil {
			set.abandon(ctx)
			return err
		}
		set.leases, set.taken = append(set.leases, taken...), taken
	}
	slices.SortFunc(set.leases, func(a, b *handle) int { return a.Object().Compare(b.Object()) })
	a.set = set
	return nil
}

// abandon ends leases that re-entered. They free no object.
func (s *handles) abandon(ctx context.Context) {
	for _, lease := range s.leases {
		_ = lease.Release(ctx)
	}
}

func (l *Leases) takeAll(ctx context.Context, wanted []claim, turn applock.Object, get getAll) ([]*handle, error) {
	known, reserved, err := l.queue.reserve(wanted, turn)
	if err != nil {
		return nil, err
	}
	defer l.queue.endReservation(reserved)
	return l.take(ctx, wanted, func(ctx context.Context) ([]applock.Grant, error) {
		return get(ctx, objectsOf(wanted), wanted[0].owner, wanted[0].term(), known)
	})
}

// reserve returns the conflicts that the database does not see because the operator is the same. It reserves the objects that other
// callers with this operator could request, until the call has ended: otherwise two calls would take over from each other. The object whose
// turn it is needs no new attempt. A waiter skips objects that this program leaves to others at the moment.
func (q *queue) reserve(claims []claim, turn applock.Object) (known map[applock.Object]*applock.HeldError, reserved []claim, err error) {
	objects, unlock := q.lock()
	defer unlock()
	known = map[applock.Object]*applock.HeldError{}
	for _, claim := range claims {
		state := objects.states[claim.object]
		switch {
		case state != nil && turn != (applock.Object{}) && state.isLeft():
			return nil, nil, fmt.Errorf("%w: it is the turn of other programs to have %s", applock.ErrBusy, claim.object)
		case claim.unique:
		case state != nil && state.holder != nil && state.holder.grant.Owner.Operator == claim.owner.Operator:
			known[claim.object] = &applock.HeldError{Object: claim.object, Holder: state.holder.asHolder()}
		case state != nil && (state.unsettled > 0 || state.asking && claim.object != turn):
			return nil, nil, fmt.Errorf("%w: another call here is asking for %s", applock.ErrBusy, claim.object)
		case claim.object != turn:
			reserved = append(reserved, claim)
		}
	}
	for _, claim := range reserved {
		objects.of(claim.object).unsettled++
	}
	return known, reserved, nil
}

// endReservation wakes an object's first waiter only if the reservation has blocked it. Otherwise two sets that reserve each other's
// objects would wake each other as fast as the backend refuses them.
func (q *queue) endReservation(reserved []claim) {
	objects, unlock := q.lock()
	defer unlock()
	for _, claim := range reserved {
		state := objects.of(claim.object)
		state.unsettled--
		if state.missed {
			state.advance()
			continue
		}
		state.notify()
		state.forget()
	}
}

// join makes the context of the set, with the values of ctx.
func (s *handles) join(ctx context.Context) {
	carrying, within := context.WithoutCancel(ctx), leaseContext{}
	for _, lease := range s.leases {
		carrying = lease.hold.carriedBy(carrying)
		within.holds = append(within.holds, lease.hold)
	}
	within.Context, s.cancel = context.WithCancelCause(carrying)
	s.context = within
	for _, lease := range s.leases {
		context.AfterFunc(lease.Context(), func() { s.cancel(context.Cause(lease.Context())) })
	}
}

// claimsOf returns the claims of a request in canonical order. They have one owner and one term.
func claimsOf(ctx context.Context, request applock.AcquireAllRequest) ([]claim, error) {
	checked, err := clients.Checked(ctx, request)
	if err != nil {
		return nil, err
	}
	isUnique := checked.Owner.Operator == ""
	if isUnique {
		checked.Owner.Operator = uniqueName()
	}
	claims := make([]claim, len(checked.Objects))
	for i, object := range checked.Objects {
		claims[i] = claim{object: object, owner: checked.Owner, unique: isUnique, maxHold: checked.MaxHold, ttl: checked.TTL}
	}
	return claims, nil
}

func objectsOf(claims []claim) []applock.Object {
	objects := make([]applock.Object, len(claims))
	for i, claim := range claims {
		objects[i] = claim.object
	}
	return objects
}

func newConflict(conflicts []*applock.HeldError) *applock.ConflictError {
	slices.SortFunc(conflicts, func(a, b *applock.HeldError) int { return a.Object.Compare(b.Object) })
	return &applock.ConflictError{Conflicts: conflicts}
}
