package lease

import (
	"context"
	"errors"
	"slices"

	"github.com/applock/applock/applock"
)

// setReleaser is a [Backend] that ends all grants of an operator in one call.
type setReleaser interface {
	// releaseSet returns the objects whose grants it has ended. It skips a grant that another transaction is changing.
	releaseSet(ctx context.Context, operator string) ([]applock.Object, error)
}

func (s *handles) Release(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx) // before anything is ended: it panics if ctx is nil
	// These are the last leases of their holds.
	last := map[*handle]bool{}
	for _, lease := range s.leases {
		if !lease.releasing.CompareAndSwap(false, true) {
			continue
		}
		isLast, lost := lease.hold.close(lease)
		if isLast {
			last[lease] = true
			continue
		}
		lease.finish(lost)
	}
	s.giveUp(s.leases[0].hold.leases.lasting(ctx), last)
	s.cancel(errReleased)
	var errs []error
	for _, lease := range s.leases {
		errs = append(errs, lease.Release(ctx))
	}
	return errors.Join(errs...)
}

// giveUp frees the objects of ended holds, in one call if it can, otherwise one after the other. After a failed call for all, the rest
// together have the time of one release.
func (s *handles) giveUp(ctx context.Context, last map[*handle]bool) {
	freed, err := s.giveUpTogether(ctx, last)
	var former error // why the lease before was not released
	if err != nil {
		limited, cancel := context.WithTimeout(ctx, releaseLimit)
		defer cancel()
		ctx = limited
	}
	for _, lease := range slices.Backward(s.leases) {
		switch {
		case !last[lease]:
		case freed[lease.Object()]:
			lease.hold.leases.queue.vacate(lease.hold)
			lease.finish(nil)
		default:
			released := lease.hold.giveUp(ctx)
			switch {
			case released == nil:
			case err != nil && isGone(released): // the call without an answer has released it
				released = nil
			case former != nil && ctx.Err() != nil: // it has used up the time
				released = former
			}
			former = released
			lease.finish(released)
		}
	}
}

// giveUpTogether frees all that the set has taken in one call, by the operator, which is unique, and returns what it has freed. It does
// nothing if one of the leases was left or lost, and must not be freed.
func (s *handles) giveUpTogether(ctx context.Context, last map[*handle]bool) (freed map[applock.Object]bool, err error) {
	isKept := func(lease *handle) bool { return !last[lease] }
	if len(s.taken) < 2 || !s.taken[0].hold.unique || slices.ContainsFunc(s.taken, isKept) {
		return nil, nil
	}
	l := s.taken[0].hold.leases
	if l.sets == nil {
		return nil, nil
	}
	l.background.begin() // Close waits for it
	defer l.background.done()
	limited, cancel := context.WithTimeout(ctx, releaseLimit)
	defer cancel()
	objects, err := l.sets.releaseSet(limited, s.taken[0].Owner().Operator)
	freed = make(map[applock.Object]bool, len(objects))
	for _, object := range objects {
		freed[object] = true
	}
	return freed, err
}
