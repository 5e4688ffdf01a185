package lease

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/applock/applock/applock"
)

// idleCheck is how often leases without a TTL are checked. Nothing else would notice their loss.
const idleCheck = 30 * time.Second

// clientLeases are a client's leases in the table, where one call can take several objects.
type clientLeases struct {
	*Leases

	getAll getAll
}

func newClientLeases(table *table, logger *slog.Logger, hooks Hooks) *clientLeases {
	leases := New(table, Config{Logger: logger, Hooks: hooks})
	leases.keeper.checkIdle = idleCheck
	return &clientLeases{Leases: leases, getAll: table.operations.GetAllAnew}
}

func (l *clientLeases) AcquireAll(ctx context.Context, request applock.AcquireAllRequest) (applock.LeaseSet, error) {
	set, err := l.acquireAll(ctx, request, cmp.Or(request.MaxWait, forever), l.getAll)
	if err != nil {
		return nil, fmt.Errorf("acquire all: %w", err)
	}
	return set, nil
}

func (l *clientLeases) TryAcquireAll(ctx context.Context, request applock.AcquireAllRequest) (applock.LeaseSet, error) {
	set, err := l.acquireAll(ctx, request, request.MaxWait, l.getAll)
	if err != nil {
		return nil, fmt.Errorf("try to acquire all: %w", err)
	}
	return set, nil
}

// lastCall is how long the last get may go on after the wait is over: longer than it waits for a row. That is 1 s, and up to 2 s on MySQL, which
// looks at its timeouts once in a second.
const lastCall = 3 * time.Second

// Wait calls get at once, which renews a lock that the operator has already. Then it calls get in turn, each time that the object could be
// free. It holds no connection meanwhile.
func (l *clientLeases) Wait(
	ctx context.Context, object applock.Object, owner applock.Owner, maxWait time.Duration, get func(ctx context.Context) error,
) error {
	limit := time.Now().Add(maxWait)
	getUntil := func(limit time.Time) error { // the wait must not cut off the call, whose outcome would be unknown
		calling, cancel := context.WithDeadline(ctx, limit.Add(lastCall))
		defer cancel()
		return get(calling)
	}
	err := getUntil(limit)
	left := time.Until(limit)
	if !isNotYet(err) || left <= 0 {
		return err
	}
	_, err = l.inTurn(ctx, &claim{object: object, owner: owner}, left, func(limited context.Context, _ claim) error {
		limit, _ := limited.Deadline()
		return getUntil(limit)
	})
	return err
}
