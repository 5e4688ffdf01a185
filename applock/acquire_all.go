package applock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/applock/applock/internal/db"
)

// AcquireAllRequest asks for leases on several objects: on all of them or on none.
type AcquireAllRequest struct {
	// Objects are what to take, in any order, at least one, and none twice.
	Objects []Object
	// Owner, MaxHold and TTL are those of AcquireRequest, for each lease. In one client the calls of a given operator take
	// turns where their objects overlap. From elsewhere it takes over what it holds: of two calls of one operator at the same
	// time the later one has all of its objects, and the set of the other one ends as lost.
	Owner   Owner
	MaxHold time.Duration
	TTL     time.Duration
	// MaxWait is how long to wait for objects that are not to be had. Zero has AcquireAll wait as long as its ctx, and
	// TryAcquireAll ask once.
	MaxWait time.Duration
}

// ConflictError says who holds those of several objects that are not to be had. It is ErrHeld.
type ConflictError struct {
	// Conflicts are in the order of the objects' types and ids.
	Conflicts []*HeldError
}

func newConflict(conflicts []*HeldError) *ConflictError {
	slices.SortFunc(conflicts, func(a, b *HeldError) int { return compareObjects(a.Object, b.Object) })
	return &ConflictError{Conflicts: conflicts}
}

// Error names each object, its holder and the end of its lock.
func (e *ConflictError) Error() string {
	texts := make([]string, len(e.Conflicts))
	for i, conflict := range e.Conflicts {
		texts[i] = fmt.Sprintf("%s is %s", conflict.Object, conflict)
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the conflicts, each of which is ErrHeld.
func (e *ConflictError) Unwrap() []error {
	errs := make([]error, len(e.Conflicts))
	for i, conflict := range e.Conflicts {
		errs[i] = conflict
	}
	return errs
}

// LeaseSet is the leases that one AcquireAll has taken. It is safe for concurrent use.
type LeaseSet struct {
	// Leases are in the order of the objects' types and ids.
	Leases  []*Lease
	context context.Context //nolint:containedctx // it is what a lease has to give
	cancel  context.CancelCauseFunc
}

// Context carries all leases, and ends with the first of them that does, with its cause.
func (s *LeaseSet) Context() context.Context { return s.context }

// Release releases all leases, and returns what their Release returns, joined.
func (s *LeaseSet) Release(ctx context.Context) error {
	var errs []error
	for _, lease := range slices.Backward(s.Leases) {
		errs = append(errs, lease.Release(ctx))
	}
	s.cancel(errReleased)
	return errors.Join(errs...)
}

// AcquireAll waits until it has all objects, or until ctx ends, or for MaxWait if the request has one: then it gives up as
// TryAcquireAll does. It takes them in one transaction and in a canonical order, so that two that want the same objects cannot
// lock each other out, and holds nothing while it waits. Objects that ctx carries leases on are re-entered, as in Acquire.
//
// It waits in the queue of one object at a time, the first that it was refused, and asks for all of them when that is free. So it
// may wait for long where its objects are seldom free at the same time: no order is promised between sets that overlap. When ctx ends first, nothing is left behind, but for what AcquireRequest.Owner says of a given operator, and the error
// is its cause and, where somebody was seen to hold one of the objects, a *ConflictError (ErrHeld), too.
func (c *Client) AcquireAll(ctx context.Context, request AcquireAllRequest) (*LeaseSet, error) {
	set, err := c.acquireAll(ctx, request, cmp.Or(request.MaxWait, forever))
	if err != nil {
		return nil, fmt.Errorf("acquire all: %w", err)
	}
	return set, nil
}

// TryAcquireAll is AcquireAll that asks once if the request has no MaxWait, and otherwise gives up after it. When objects are
// held it takes nothing, and returns a *ConflictError (ErrHeld) with every conflict that the last answer had. The other errors
// are those of TryAcquire; ErrBusy is also that another call of the same operator in this client is asking for one of the objects.
func (c *Client) TryAcquireAll(ctx context.Context, request AcquireAllRequest) (*LeaseSet, error) {
	set, err := c.acquireAll(ctx, request, request.MaxWait)
	if err != nil {
		return nil, fmt.Errorf("try to acquire all: %w", err)
	}
	return set, nil
}

func (c *Client) acquireAll(ctx context.Context, request AcquireAllRequest, maxWait time.Duration) (*LeaseSet, error) {
	leases, err := c.leases()
	if err != nil {
		return nil, err
	}
	return leases.acquireAll(ctx, request, maxWait, c.operations.getAll)
}

// getAll gets the locks of all claims, except for those that are known to be held.
type getAll func(ctx context.Context, claims []claim, known map[Object]*HeldError) ([]Grant, error)

func (l *Leases) acquireAll(ctx context.Context, request AcquireAllRequest, maxWait time.Duration, get getAll) (*LeaseSet, error) {
	claims, err := request.check()
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // nothing has been sent
	}
	if l.isClosed() {
		return nil, ErrClosed
	}
	began := time.Now()
	a := &acquisition{leases: l, caller: ctx, claims: claims, get: get}
	wanted := a.wanted()
	if maxWait == 0 || len(wanted) == 0 {
		err = a.ask(ctx, Object{})
	} else {
		err = a.wait(ctx, wanted[0], maxWait)
	}
	for _, claim := range wanted {
		l.events.waited(ctx, claim.object, began, err)
	}
	if err != nil {
		return nil, err
	}
	a.set.join(ctx)
	return a.set, nil
}

// acquisition is one caller's AcquireAll.
type acquisition struct {
	leases *Leases
	caller context.Context //nolint:containedctx // which may carry leases
	claims []claim
	get    getAll
	set    *LeaseSet
	// ended is what the last attempt ended with, and conflict what it was refused with, nil if there was none.
	ended    error
	conflict *ConflictError
}

// wanted returns what the caller's context carries no lease on.
func (a *acquisition) wanted() (wanted []claim) {
	for _, claim := range a.claims {
		if a.leases.carried(a.caller, claim.object) == nil {
			wanted = append(wanted, claim)
		}
	}
	return wanted
}

// errMovesOn ends the wait in the queue of an object that is not what is in the way any more.
var errMovesOn = errors.New("another object is held")

// wait asks each time that the object which is in the way could be free, and it is this caller's turn there.
func (a *acquisition) wait(ctx context.Context, awaited claim, maxWait time.Duration) error {
	began := time.Now()
	for left := maxWait; ; {
		err := a.leases.queue(ctx, &awaited, left, func(limited context.Context) error {
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

// inTheWay returns who holds the object, or errMovesOn where only others are held.
func (a *acquisition) inTheWay(object Object, err error) error {
	if !errors.As(err, &a.conflict) {
		return err
	}
	i := slices.IndexFunc(a.conflict.Conflicts, func(held *HeldError) bool { return held.Object == object })
	if i < 0 {
		return errMovesOn
	}
	return a.conflict.Conflicts[i]
}

// refused returns what ended the wait, with all conflicts that are known if it was that somebody holds an object.
func (a *acquisition) refused(ctx context.Context, err error) error {
	var held *HeldError
	if !errors.As(err, &held) {
		return err
	}
	conflicts := []*HeldError{held}
	if a.conflict != nil {
		for _, earlier := range a.conflict.Conflicts {
			if earlier.Object != held.Object {
				conflicts = append(conflicts, earlier)
			}
		}
	}
	conflict := newConflict(conflicts)
	switch {
	case errors.Is(err, ErrOutcomeUnknown): // an earlier attempt may have left locks
		return fmt.Errorf("%w (%w)", err, conflict)
	case ctx.Err() != nil:
		return fmt.Errorf("%w (%w)", context.Cause(ctx), conflict)
	}
	return conflict
}

// ask makes one attempt, when it is this caller's turn for an object, if any.
func (a *acquisition) ask(ctx context.Context, turn Object) error {
	if isSpent(a.claims[0], a.ended) {
		a.claims = renamed(a.claims)
	}
	a.ended = a.askOnce(ctx, turn)
	return a.ended
}

// renamed returns the claims by a name of their own. A call that is given up still reads the former ones.
func renamed(claims []claim) []claim {
	name := uniqueName()
	again := slices.Clone(claims)
	for i := range again {
		again[i].owner.Operator = name
	}
	return again
}

func (a *acquisition) askOnce(ctx context.Context, turn Object) error {
	set := &LeaseSet{}
	var wanted []claim
	for _, claim := range a.claims {
		lease, err := a.leases.reenter(a.caller, claim)
		switch {
		case err != nil:
			set.abandon(ctx)
			return err
		case lease != nil:
			set.Leases = append(set.Leases, lease)
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
		set.Leases = append(set.Leases, taken...)
	}
	slices.SortFunc(set.Leases, func(a, b *Lease) int { return compareObjects(a.Object(), b.Object()) })
	a.set = set
	return nil
}

// abandon ends leases that re-entered: there is nothing to release.
func (s *LeaseSet) abandon(ctx context.Context) {
	for _, lease := range s.Leases {
		_ = lease.Release(ctx)
	}
}

func (l *Leases) takeAll(ctx context.Context, wanted []claim, turn Object, get getAll) ([]*Lease, error) {
	known, reserved, err := l.heldHere(wanted, turn)
	if err != nil {
		return nil, err
	}
	defer l.endReservation(reserved)
	return l.take(ctx, wanted, func(ctx context.Context) ([]Grant, error) { return get(ctx, wanted, known) })
}

// heldHere returns the conflicts that the database does not see, because the operator is the same. Objects for which others
// of the same operator could be asking are reserved until the call has ended: two at a time would take over from each other.
// That whose turn it is needs nothing. Who waits leaves alone what is left to other programs at the moment.
func (l *Leases) heldHere(claims []claim, turn Object) (known map[Object]*HeldError, reserved []claim, err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	known = map[Object]*HeldError{}
	for _, claim := range claims {
		state := l.objects[claim.object]
		switch {
		case state != nil && turn != (Object{}) && time.Now().Before(state.turns.pause):
			return nil, nil, fmt.Errorf("%w: it is the turn of other programs to have %s", ErrBusy, claim.object)
		case claim.unique:
		case state != nil && state.holder != nil && state.holder.grant.Owner.Operator == claim.owner.Operator:
			known[claim.object] = &HeldError{Object: claim.object, Holder: state.holder.asHolder()}
		case state != nil && (state.unsettled > 0 || state.asking && claim.object != turn):
			return nil, nil, fmt.Errorf("%w: another call here is asking for %s", ErrBusy, claim.object)
		case claim.object != turn:
			reserved = append(reserved, claim)
		}
	}
	for _, claim := range reserved {
		l.state(claim.object).unsettled++
	}
	return known, reserved, nil
}

// endReservation wakes who is first for an object only where the reservation has kept it from asking. It would wake a set that reserves
// the object of this one, which would wake this one, and so on as fast as the backend refuses them.
func (l *Leases) endReservation(reserved []claim) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, claim := range reserved {
		state := l.state(claim.object)
		state.unsettled--
		if state.missed {
			l.advance(claim.object, state)
			continue
		}
		state.tell()
		l.forget(claim.object, state)
	}
}

// join makes the context of the set, from one that has the values of ctx.
func (s *LeaseSet) join(ctx context.Context) {
	carrying := context.WithoutCancel(ctx)
	for _, lease := range s.Leases {
		carrying = lease.hold.carriedBy(carrying)
	}
	within := leaseContext{}
	within.Context, s.cancel = context.WithCancelCause(carrying)
	for _, lease := range s.Leases {
		within.holds = append(within.holds, lease.hold)
	}
	s.context = within
	for _, lease := range s.Leases {
		context.AfterFunc(lease.Context(), func() { s.cancel(context.Cause(lease.Context())) })
	}
}

// check returns the claims in canonical order: that of the objects' bytes, as in List.
func (r AcquireAllRequest) check() ([]claim, error) {
	if len(r.Objects) == 0 {
		return nil, &InvalidError{Argument: "Objects", Reason: "must name at least one"}
	}
	owner := r.Owner
	if owner.Operator == "" {
		owner.Operator = uniqueName()
	}
	claims := make([]claim, len(r.Objects))
	for i, object := range r.Objects {
		checked, err := AcquireRequest{Object: object, Owner: owner, MaxHold: r.MaxHold, TTL: r.TTL, MaxWait: r.MaxWait}.check()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", object, err)
		}
		checked.unique = r.Owner.Operator == ""
		claims[i] = checked
	}
	slices.SortFunc(claims, func(a, b claim) int { return compareObjects(a.object, b.object) })
	for i := range claims[1:] {
		if claims[i].object == claims[i+1].object {
			return nil, &InvalidError{Argument: "Objects", Reason: fmt.Sprintf("names %s twice", claims[i].object)}
		}
	}
	return claims, nil
}

func compareObjects(a, b Object) int {
	return cmp.Or(strings.Compare(a.Type, b.Type), strings.Compare(a.ID, b.ID))
}

// getAll gets the locks in one transaction.
func (o operations) getAll(ctx context.Context, claims []claim, known map[Object]*HeldError) ([]Grant, error) {
	var grants []Grant
	err := o.inOwnTx(ctx, func(inTx operations) error {
		var err error
		grants, err = inTx.getEach(ctx, claims, known)
		return err
	})
	return grants, err
}

// getEach gets all locks in one call, the others also when one is refused: for the sake of the answer. Those that the operator
// has already are taken over one by one.
func (o operations) getEach(ctx context.Context, claims []claim, known map[Object]*HeldError) ([]Grant, error) {
	var params []db.GetApplLockParams
	var asked []int
	for i, claim := range claims {
		if known[claim.object] == nil {
			asked = append(asked, i)
			params = append(params, getParams(claim.object, claim.owner, claim.term()))
		}
	}
	refusals := maps.Clone(known)
	grants := make([]Grant, len(claims))
	err := o.getMany(ctx, params, func(i int, grant Grant, err error) error {
		var held *HeldError
		if errors.As(err, &held) {
			refusals[held.Object] = held
			return nil
		}
		if err == nil && grant.Outcome == OutcomeRenewed && len(refusals) == 0 {
			grant, err = o.takeOver(ctx, params[i], grant)
		}
		grants[asked[i]] = grant
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(refusals) > 0 {
		return nil, newConflict(slices.Collect(maps.Values(refusals)))
	}
	return grants, nil
}
