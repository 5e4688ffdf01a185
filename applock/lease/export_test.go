package lease

import (
	"context"
	"time"

	"github.com/applock/applock/applock"
)

// ErrTooLate is errTooLate.
var ErrTooLate = errTooLate

// MostLateTakes is mostLateTakes.
const MostLateTakes = mostLateTakes

// LateTakes returns how many calls without an answer are to be released again.
func (l *Leases) LateTakes() int {
	l.late.mutex.Lock()
	defer l.late.mutex.Unlock()
	return len(l.late.takes)
}

// AddLateTake schedules releases of an object, as after a call without an answer.
func (l *Leases) AddLateTake(object applock.Object) {
	l.late.add(applock.Grant{Object: object, Owner: applock.Owner{Operator: uniqueName()}})
}

// SetRandom makes the times of polls repeatable.
func (l *Leases) SetRandom(random func() float64) { l.hub.value.random = random }

// CheckIdle checks leases without a TTL as often as a client does.
func (l *Leases) CheckIdle() { l.keeper.checkIdle = idleCheck }

// SleepBy sets the clock of how long the machine has slept.
func (l *Leases) SleepBy(clock func() time.Duration) { l.sleepBy(clock) }

// AcquireAllBy is TryAcquireAll of a client with another way to take objects, each of which is locked for term.
func (l *Leases) AcquireAllBy(
	ctx context.Context, request applock.AcquireAllRequest,
	take func(ctx context.Context, objects []applock.Object, owner applock.Owner, term time.Duration) ([]applock.Grant, error),
) (applock.LeaseSet, error) {
	set, err := l.acquireAll(ctx, request, request.MaxWait, func(
		ctx context.Context, objects []applock.Object, owner applock.Owner, term time.Duration, known map[applock.Object]*applock.HeldError,
	) ([]applock.Grant, error) {
		conflicts := &applock.ConflictError{}
		for _, object := range objects {
			if held := known[object]; held != nil {
				conflicts.Conflicts = append(conflicts.Conflicts, held)
			}
		}
		if len(conflicts.Conflicts) > 0 {
			return nil, conflicts
		}
		return take(ctx, objects, owner, term)
	})
	if err != nil {
		return nil, err
	}
	return set, nil
}

// Slept is slept.
func (l *Leases) Slept() time.Duration { return l.slept() }

// ReleaseSetsBy sets a function that releases all locks of an operator, as the table does.
func (l *Leases) ReleaseSetsBy(release func(ctx context.Context, operator string) ([]applock.Object, error)) {
	l.sets = setsBy(release)
}

type setsBy func(ctx context.Context, operator string) ([]applock.Object, error)

func (release setsBy) releaseSet(ctx context.Context, operator string) ([]applock.Object, error) {
	return release(ctx, operator)
}
