package applock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// AcquireAllRequest asks for leases on several objects: on all of them or on none.
type AcquireAllRequest struct {
	// Objects are what to take, in any order, at least one, and none twice.
	Objects []Object
	// Owner, MaxHold and TTL are those of AcquireRequest, for each lease.
	Owner   Owner
	MaxHold time.Duration
	TTL     time.Duration
}

// ConflictError says who holds those of several objects that are not to be had. It is ErrHeld.
type ConflictError struct {
	// Conflicts are in the order of the objects' types and ids.
	Conflicts []*HeldError
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

// AcquireAll takes all objects or none, in one transaction and in a canonical order, so that two that want the same
// objects cannot lock each other out. A given operator does not take over what another call of this client is asking for at
// the moment: that is ErrBusy. It does not wait for holders: when one of the objects is held by somebody else
// it returns a *ConflictError (ErrHeld) with every conflict, and takes nothing. Objects that ctx carries leases on
// are re-entered, as in Acquire. When ctx ends first, nothing is left behind, but for what AcquireRequest.Owner says of a
// given operator.
func (c *Client) AcquireAll(ctx context.Context, request AcquireAllRequest) (*LeaseSet, error) {
	leases, err := c.leases()
	if err != nil {
		return nil, err
	}
	set, err := leases.acquireAll(ctx, request, c.operations.getAll)
	if err != nil {
		return nil, fmt.Errorf("acquire all: %w", err)
	}
	return set, nil
}

// getAll gets the locks of all claims, except for those that are known to be held.
type getAll func(ctx context.Context, claims []claim, known map[Object]*HeldError) ([]Grant, error)

func (l *Leases) acquireAll(ctx context.Context, request AcquireAllRequest, get getAll) (*LeaseSet, error) {
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
	set := &LeaseSet{}
	var wanted []claim
	for _, claim := range claims {
		lease, err := l.reenter(ctx, claim)
		switch {
		case err != nil:
			set.abandon(ctx)
			return nil, err
		case lease != nil:
			set.Leases = append(set.Leases, lease)
		default:
			wanted = append(wanted, claim)
		}
	}
	if len(wanted) > 0 {
		began := time.Now()
		taken, err := l.takeAll(ctx, wanted, get)
		for _, claim := range wanted {
			l.events.waited(claim.object, began, err)
		}
		if err != nil {
			set.abandon(ctx)
			return nil, err
		}
		set.Leases = append(set.Leases, taken...)
	}
	slices.SortFunc(set.Leases, func(a, b *Lease) int { return compareObjects(a.Object(), b.Object()) })
	set.join(ctx)
	return set, nil
}

// abandon ends leases that re-entered: there is nothing to release.
func (s *LeaseSet) abandon(ctx context.Context) {
	for _, lease := range s.Leases {
		_ = lease.Release(ctx)
	}
}

func (l *Leases) takeAll(ctx context.Context, wanted []claim, get getAll) ([]*Lease, error) {
	known, reserved, err := l.heldHere(wanted)
	if err != nil {
		return nil, err
	}
	defer l.countUnsettled(reserved, -1)
	return l.take(ctx, wanted, func(ctx context.Context) ([]Grant, error) { return get(ctx, wanted, known) })
}

// heldHere returns the conflicts that the database does not see, because the operator is the same. Objects for which others
// of the same operator could be asking are reserved until the call has ended: two at a time would take over from each other.
func (l *Leases) heldHere(claims []claim) (known map[Object]*HeldError, reserved []claim, err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	known = map[Object]*HeldError{}
	for _, claim := range claims {
		state := l.objects[claim.object]
		switch {
		case claim.unique:
		case state != nil && state.holder != nil && state.holder.grant.Owner.Operator == claim.owner.Operator:
			known[claim.object] = &HeldError{Object: claim.object, Holder: state.holder.asHolder()}
		case state != nil && (state.unsettled > 0 || state.asking):
			return nil, nil, fmt.Errorf("%w: another call here is asking for %s", ErrBusy, claim.object)
		default:
			reserved = append(reserved, claim)
		}
	}
	for _, claim := range reserved {
		l.state(claim.object).unsettled++
	}
	return known, reserved, nil
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
		checked, err := AcquireRequest{Object: object, Owner: owner, MaxHold: r.MaxHold, TTL: r.TTL}.check()
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

// getEach gets lock by lock, the others also when one is refused: for the sake of the answer.
func (o operations) getEach(ctx context.Context, claims []claim, known map[Object]*HeldError) ([]Grant, error) {
	var conflicts []*HeldError
	grants := make([]Grant, len(claims))
	for i, claim := range claims {
		held := known[claim.object]
		if held == nil {
			var err error
			grants[i], err = o.take(ctx, claim.object, claim.owner, claim.term())
			if err != nil && !errors.As(err, &held) {
				return nil, err
			}
		}
		if held != nil {
			conflicts = append(conflicts, held)
		}
	}
	if len(conflicts) > 0 {
		return nil, &ConflictError{Conflicts: conflicts}
	}
	return grants, nil
}
