package lease

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/applock/applock/applock"
)

// idleCheck is how often leases without a TTL are looked at, which nothing else would tell of a loss.
const idleCheck = 30 * time.Second

// clientLeases are the leases of a client: on the table, where several objects can be taken at once.
type clientLeases struct {
	*Leases

	getAll getAll
}

func newClientLeases(table *table, logger *slog.Logger, hooks Hooks) *clientLeases {
	leases := New(table, Config{Logger: logger, Hooks: hooks})
	leases.checkIdle = idleCheck
	return &clientLeases{Leases: leases, getAll: table.operations.GetAllAnew}
}

// AcquireAll is that of a client.
func (l *clientLeases) AcquireAll(ctx context.Context, request applock.AcquireAllRequest) (applock.LeaseSet, error) {
	set, err := l.acquireAll(ctx, request, cmp.Or(request.MaxWait, forever), l.getAll)
	if err != nil {
		return nil, fmt.Errorf("acquire all: %w", err)
	}
	return set, nil
}

// TryAcquireAll is that of a client.
func (l *clientLeases) TryAcquireAll(ctx context.Context, request applock.AcquireAllRequest) (applock.LeaseSet, error) {
	set, err := l.acquireAll(ctx, request, request.MaxWait, l.getAll)
	if err != nil {
		return nil, fmt.Errorf("try to acquire all: %w", err)
	}
	return set, nil
}

// lastCall is how long a get may take that is under way when its wait is over: longer than it waits for a row.
const lastCall = 2 * time.Second

// Wait makes a call that gets the object, at once, which renews what the operator has already, and then in turn, each time that the object
// could be free. No connection is held meanwhile.
func (l *clientLeases) Wait(
	ctx context.Context, object applock.Object, owner applock.Owner, maxWait time.Duration, get func(ctx context.Context) error,
) error {
	limit := time.Now().Add(maxWait)
	getUntil := func(limit time.Time) error { // by ctx: a call that the end of the wait breaks off has an unknown outcome
		calling, cancel := context.WithDeadline(ctx, limit.Add(lastCall))
		defer cancel()
		return get(calling)
	}
	err := getUntil(limit)
	left := time.Until(limit)
	if !isNotYet(err) || left <= 0 {
		return err
	}
	_, err = l.queue(ctx, &claim{object: object, owner: owner}, left, func(limited context.Context, _ claim) error {
		limit, _ := limited.Deadline()
		return getUntil(limit)
	})
	return err
}
