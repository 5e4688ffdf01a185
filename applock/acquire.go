package applock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// Locker takes leases. [Client] does on the table, [Leases] on any backend; all behave alike, and the package
// locktest shows it.
type Locker interface {
	// Acquire waits until it has the object, or until ctx ends, or for MaxWait if the request has one: then it gives up
	// as TryAcquire does. Meanwhile it waits for whoever holds the object, for transactions that are changing the lock, and
	// for a backend that cannot be reached for less than 30 s.
	//
	// The lease ends MaxHold after the call that took it, whatever its holder does. With the context of a lease on
	// the same object Acquire re-enters: it returns at once, and the object is free when all its leases have been
	// released. Otherwise those who wait in one process are served in the order of their calls.
	//
	// ctx bounds acquiring only; the lease outlives it. When it ends first, nothing is left behind, and the error
	// is its cause and, where somebody was seen to hold the object, a *HeldError (ErrHeld), too.
	Acquire(ctx context.Context, request AcquireRequest) (*Lease, error)

	// TryAcquire is Acquire that asks once if the request has no MaxWait, and otherwise gives up after it. Where the last
	// answer is older than a second then, a new one may take a second more.
	//
	// The error is a *HeldError (ErrHeld) only if somebody was seen to hold the object. It is ErrBusy where a transaction was
	// changing the lock all the time, and ErrUnreachable where nobody answered, so that who skips what others do does not
	// skip it in an outage.
	TryAcquire(ctx context.Context, request AcquireRequest) (*Lease, error)

	// TryDo is Do with TryAcquire instead of Acquire: for work that is skipped when somebody else does it. It reports whether
	// work ran, so that a refusal (ErrHeld) is told from what work returns.
	TryDo(ctx context.Context, request AcquireRequest, work func(ctx context.Context, lease *Lease) error) (ran bool, err error)

	// Do acquires, runs work, and releases, also when work fails or panics. The context of work is the lease's, which here
	// ends with ctx, too, by its deadline and with its cause. The error is that of work; ErrLost if the lease was lost before the release, because work
	// may not have been alone then; or that of acquiring or releasing.
	Do(ctx context.Context, request AcquireRequest, work func(ctx context.Context, lease *Lease) error) error
}

var (
	_ Locker = (*Client)(nil)
	_ Locker = (*Leases)(nil)
)

// AcquireRequest asks for a lease.
type AcquireRequest struct {
	Object Object
	// Owner is who holds the lease. Without an operator it is one that no other acquisition has, made of host,
	// process and a random number: nobody else can release or renew the lease. A given operator does not wait for itself: in
	// one client its calls take turns, but from elsewhere it takes over what it holds, such as the grant of its crashed
	// predecessor. The predecessor's lease is lost then, and the new one has a fence of its own. A call that fails with
	// ErrOutcomeUnknown, or that ctx ends, may leave a lock, for the operator's next one to take over; where it arrives late, it may
	// take over from that, whose lease is lost then, and only its fence tells. Re-entering needs no owner, and
	// naming another one is refused.
	Owner Owner
	// MaxHold is how long the lease lasts at the most. It must be given. Re-entering neither shortens nor extends it;
	// Lease.Renew begins it anew.
	MaxHold time.Duration
	// TTL, if set, is how long the object stays locked after a crash of the holder: the lease is taken for TTL, at
	// least 1 s, in whole seconds, and renewed every third of it up to MaxHold. Leases of similar TTLs are renewed by common
	// statements, which also notice a loss. Zero locks for all of MaxHold; the table is then asked every 30 s whether the
	// grant is still there.
	TTL time.Duration
	// MaxWait is how long to wait for an object that is not to be had. Zero has Acquire and Do wait as long as their
	// ctx, and TryAcquire ask once.
	MaxWait time.Duration
}

// claim is a request that has been checked.
type claim struct {
	object  Object
	owner   Owner
	unique  bool // nobody else has the owner's operator
	maxHold time.Duration
	ttl     time.Duration // zero: not renewed
}

func (r AcquireRequest) check() (claim, error) {
	object, err := r.Object.trim()
	if err != nil {
		return claim{}, err
	}
	checked := claim{object: object, owner: r.Owner, maxHold: r.MaxHold, ttl: r.TTL}
	if r.Owner.Operator == "" {
		checked.unique = true
		checked.owner.Operator = uniqueName()
	}
	if checked.owner, err = checked.owner.trim("Owner"); err != nil {
		return claim{}, err
	}
	if r.MaxHold <= 0 || r.MaxHold > MaxTTL {
		return claim{}, &InvalidError{Argument: "MaxHold", Reason: "must be given, and at most 3650 days"}
	}
	if r.MaxHold < minHold {
		return claim{}, tooShort("MaxHold", r.MaxHold, minHold)
	}
	if err := checkMaxWait(r.MaxWait); err != nil {
		return claim{}, err
	}
	if r.TTL == 0 {
		return checked, nil
	}
	_, err = checkSeconds("TTL", r.TTL, 0)
	return checked, err
}

const (
	// minHold is the shortest MaxHold: a lease is over before its holder can do anything with less.
	minHold = 100 * time.Millisecond
	// minWait is the shortest MaxWait but zero.
	minWait = time.Millisecond
)

// checkMaxWait refuses a wait that cannot be meant.
func checkMaxWait(maxWait time.Duration) error {
	switch {
	case maxWait < 0:
		return &InvalidError{Argument: "MaxWait", Reason: "must not be negative"}
	case maxWait > 0 && maxWait < minWait:
		return tooShort("MaxWait", maxWait, minWait)
	}
	return nil
}

func tooShort(argument string, value, shortest time.Duration) error {
	return &InvalidError{Argument: argument, Reason: fmt.Sprintf("%s is less than %s: is its unit missing, such as time.Second?", value, shortest)}
}

// term is how long the object is locked by the first call.
func (c claim) term() time.Duration {
	if c.ttl > 0 {
		return min(c.ttl, c.maxHold)
	}
	return c.maxHold
}

// Acquire is [Locker.Acquire] on the table.
func (c *Client) Acquire(ctx context.Context, request AcquireRequest) (*Lease, error) {
	leases, err := c.leases()
	if err != nil {
		return nil, err
	}
	return leases.Acquire(ctx, request)
}

// TryAcquire is [Locker.TryAcquire] on the table.
func (c *Client) TryAcquire(ctx context.Context, request AcquireRequest) (*Lease, error) {
	leases, err := c.leases()
	if err != nil {
		return nil, err
	}
	return leases.TryAcquire(ctx, request)
}

// Do is [Locker.Do] on the table.
func (c *Client) Do(ctx context.Context, request AcquireRequest, work func(ctx context.Context, lease *Lease) error) error {
	leases, err := c.leases()
	if err != nil {
		return err
	}
	return leases.Do(ctx, request, work)
}

// TryDo is [Locker.TryDo] on the table.
func (c *Client) TryDo(
	ctx context.Context, request AcquireRequest, work func(ctx context.Context, lease *Lease) error,
) (ran bool, err error) {
	leases, err := c.leases()
	if err != nil {
		return false, err
	}
	return leases.TryDo(ctx, request, work)
}

// Acquire is [Locker.Acquire].
func (l *Leases) Acquire(ctx context.Context, request AcquireRequest) (*Lease, error) {
	lease, err := l.acquire(ctx, request, cmp.Or(request.MaxWait, forever))
	if err != nil {
		return nil, fmt.Errorf("acquire %s: %w", request.Object, err)
	}
	return lease, nil
}

// TryAcquire is [Locker.TryAcquire].
func (l *Leases) TryAcquire(ctx context.Context, request AcquireRequest) (*Lease, error) {
	lease, err := l.acquire(ctx, request, request.MaxWait)
	if err != nil {
		return nil, fmt.Errorf("try to acquire %s: %w", request.Object, err)
	}
	return lease, nil
}

// Do is [Locker.Do].
func (l *Leases) Do(ctx context.Context, request AcquireRequest, work func(ctx context.Context, lease *Lease) error) error {
	lease, err := l.Acquire(ctx, request)
	if err != nil {
		return err
	}
	return lease.do(ctx, work)
}

// TryDo is [Locker.TryDo].
func (l *Leases) TryDo(
	ctx context.Context, request AcquireRequest, work func(ctx context.Context, lease *Lease) error,
) (ran bool, err error) {
	lease, err := l.TryAcquire(ctx, request)
	if err != nil {
		return false, err
	}
	return true, lease.do(ctx, work)
}

// do runs work and releases the lease.
func (l *Lease) do(ctx context.Context, work func(ctx context.Context, lease *Lease) error) (err error) {
	l.endWith(ctx)
	defer func() {
		if releaseErr := l.Release(ctx); releaseErr != nil {
			err = errors.Join(err, releaseErr)
		}
	}()
	return work(l.Context(), l)
}

// acquire waits for maxWait, without a limit if that is forever, and asks once if it is zero.
func (l *Leases) acquire(ctx context.Context, request AcquireRequest, maxWait time.Duration) (*Lease, error) {
	wanted, lease, err := l.begin(ctx, request)
	if lease != nil || err != nil {
		return lease, err
	}
	began := time.Now()
	var leases []*Lease
	var ended error // the attempt before
	err = l.queue(ctx, wanted, maxWait, func(limited context.Context) error {
		if isSpent(*wanted, ended) {
			wanted.owner.Operator = uniqueName()
		}
		asked := *wanted // which a call that is given up still reads
		leases, ended = l.take(limited, []claim{asked}, func(ctx context.Context) ([]Grant, error) {
			grant, err := l.backend.Take(ctx, asked.object, asked.owner, asked.term())
			return []Grant{grant}, err
		})
		return ended
	})
	l.events.waited(ctx, wanted.object, began, err)
	if err != nil {
		return nil, err
	}
	return leases[0], nil
}

// begin returns the claim of a request, or the lease that the caller has already. Nothing has been sent yet. It is a function of its own
// because what it needs of the stack is not needed while thousands wait.
func (l *Leases) begin(ctx context.Context, request AcquireRequest) (*claim, *Lease, error) {
	wanted, err := request.check()
	if err != nil {
		return nil, nil, err
	}
	if lease, err := l.reenter(ctx, wanted); lease != nil || err != nil {
		return nil, lease, err
	}
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	return &wanted, nil, nil
}

// heldKey is where a context carries the hold on an object.
type heldKey struct {
	leases *Leases
	object Object
}

// carried returns the hold on an object that ctx carries, nil if there is none that may be trusted.
func (l *Leases) carried(ctx context.Context, object Object) *hold {
	held, ok := ctx.Value(heldKey{leases: l, object: object}).(*hold)
	if !ok || held.err() != nil || ctx.Err() != nil { // in this order: the former may end ctx
		return nil
	}
	return held
}

// reenter returns one more lease on a hold that ctx carries, nil if there is none that may be trusted. It is the same
// holder's: a request that names another one is refused.
func (l *Leases) reenter(ctx context.Context, wanted claim) (*Lease, error) {
	held := l.carried(ctx, wanted.object)
	if held == nil {
		return nil, nil
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	holder := held.grant.Owner
	isOther := !wanted.unique && wanted.owner.Operator != holder.Operator ||
		wanted.owner.Department != "" && wanted.owner.Department != holder.Department
	switch {
	case held.cause != nil:
		return nil, nil
	case isOther:
		reason := fmt.Sprintf("is not %s, whose lease ctx carries: name nobody to re-enter it, or acquire with another context", holder)
		return nil, &InvalidError{Argument: "Owner", Reason: reason}
	}
	return held.lease(context.WithoutCancel(ctx)), nil
}

// answer is what a call has taken for one claim or several.
type answer struct {
	grants []Grant
	err    error
}

// take makes a call that takes what is claimed, and makes leases of it. When ctx ends first the call is not broken off,
// which would leave its outcome unknown, but abandoned: what it takes is given back in the background.
func (l *Leases) take(ctx context.Context, claims []claim, call func(ctx context.Context) ([]Grant, error)) ([]*Lease, error) {
	l.background.begin() // Close lets it end, while the backend is still there to be told
	defer l.background.done()
	if l.afterRenewals(ctx); ctx.Err() != nil {
		return nil, context.Cause(ctx) // nothing has been sent
	}
	started := time.Now() // before the request, so that it never lasts longer here than there
	asking, cancel := l.untilShutdown(context.WithoutCancel(ctx))
	answers := make(chan answer, 1)
	l.background.Go(func() {
		defer cancel()
		grants, err := call(asking)
		answers <- answer{grants: grants, err: err}
	})
	select {
	case got := <-answers:
		if got.err == nil {
			return l.accept(ctx, claims, got.grants, started)
		}
		if errors.Is(got.err, ErrOutcomeUnknown) {
			l.giveBack(claims, func() answer { return got })
		}
		return nil, got.err
	case <-ctx.Done():
		l.giveBack(claims, func() answer {
			defer time.AfterFunc(releaseLimit, cancel).Stop()
			return <-answers
		})
		return nil, &abandonedError{cause: context.Cause(ctx)}
	}
}

// abandonedError is why a call that has been sent is not waited for any longer.
type abandonedError struct{ cause error }

func (e *abandonedError) Error() string { return e.cause.Error() }

func (e *abandonedError) Unwrap() error { return e.cause }

var errTooLate = errors.New("the answer took longer than the lease would have lasted")

// accept makes leases of grants, unless they are of no use any more.
func (l *Leases) accept(ctx context.Context, claims []claim, grants []Grant, started time.Time) ([]*Lease, error) {
	for _, claim := range claims {
		if trust := trusted(claim.term()); time.Since(started) >= trust {
			l.giveBack(claims, func() answer { return answer{grants: grants} })
			return nil, fmt.Errorf("%w, %s", errTooLate, trust)
		}
	}
	leases := make([]*Lease, len(claims))
	for i, claim := range claims {
		leases[i] = l.hold(ctx, claim, grants[i], started)
	}
	if !l.isClosed() {
		return leases, nil
	}
	for _, lease := range leases {
		_ = lease.Release(ctx) // Close has done so, or the error below says enough
	}
	return nil, ErrClosed
}

// isSpent says whether the name of an attempt that ended so must not be used again. What an attempt without an answer may have taken is
// given back by its name alone, and such a release may arrive late: it must not find a later grant under that name.
func isSpent(attempt claim, ended error) bool {
	return ended != nil && !errors.Is(ended, ErrHeld) && !isBusy(ended) && attempt.unique
}

// giveBack releases in the background what a call has taken, or may have taken, for acquisitions that failed. Where only
// the operator could tell the grant, and that is a given one, it may be another one's. Until that is done it is nobody's
// turn here.
func (l *Leases) giveBack(claims []claim, wait func() answer) {
	l.countUnsettled(claims, +1)
	l.background.Go(func() {
		defer l.countUnsettled(claims, -1)
		got := wait()
		for i, claim := range claims {
			switch {
			case got.err == nil:
				_ = l.release(l.shutdownCtx, got.grants[i]) // it ends by itself if this fails
			case errors.Is(got.err, ErrOutcomeUnknown) && claim.unique:
				// Nobody uses this name again, so that it is no matter how late this is.
				_ = l.releaseWithin(l.shutdownCtx, Grant{Object: claim.object, Owner: claim.owner}, max(claim.term(), releaseLimit))
			}
		}
	})
}

// countUnsettled counts the calls whose effect on the objects is not yet known or undone.
func (l *Leases) countUnsettled(claims []claim, calls int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, claim := range claims {
		state := l.state(claim.object)
		state.unsettled += calls
		l.advance(claim.object, state)
	}
}
