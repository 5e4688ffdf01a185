package applock

import (
	"context"
	"time"
)

// WaitSeconds is waitSeconds, for its test.
func WaitSeconds(wait time.Duration) int64 { return waitSeconds(wait) }

// ErrTooLate is errTooLate.
var ErrTooLate = errTooLate

// SetRandom has the polls come at times that a test repeats.
func (l *Leases) SetRandom(random func() float64) { l.waiters.random = random }

// CheckIdle has leases without a TTL checked as those of a Client are.
func (l *Leases) CheckIdle() { l.checkIdle = idleCheck }

// SetWallClock has another clock be the one that goes on while a machine sleeps.
func (l *Leases) SetWallClock(clock func() time.Time) { l.wallClock = clock }

// AcquireAllBy is Client.TryAcquireAll with another way to take objects, each of which is locked for term.
func (l *Leases) AcquireAllBy(
	ctx context.Context, request AcquireAllRequest,
	take func(ctx context.Context, objects []Object, owner Owner, term time.Duration) ([]Grant, error),
) (*LeaseSet, error) {
	return l.acquireAll(ctx, request, request.MaxWait, func(ctx context.Context, claims []claim, known map[Object]*HeldError) ([]Grant, error) {
		conflicts := &ConflictError{}
		objects := make([]Object, len(claims))
		for i, claim := range claims {
			objects[i] = claim.object
			if held := known[claim.object]; held != nil {
				conflicts.Conflicts = append(conflicts.Conflicts, held)
			}
		}
		if len(conflicts.Conflicts) > 0 {
			return nil, conflicts
		}
		return take(ctx, objects, claims[0].owner, claims[0].term())
	})
}

// Table returns what the client's leases are kept on.
func (c *Client) Table() Backend { return &table{operations: c.operations, clientID: uniqueName()} }
