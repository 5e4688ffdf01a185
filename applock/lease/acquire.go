package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
)

// Locker takes leases. applock.Client does so in the table, and Leases on any backend. All behave as the methods of Client with these names
// document, and package locktest tests that.
type Locker interface {
	Acquire(ctx context.Context, request applock.AcquireRequest) (applock.Lease, error)
	TryAcquire(ctx context.Context, request applock.AcquireRequest) (applock.Lease, error)
	Do(ctx context.Context, request applock.AcquireRequest, work func(ctx context.Context, lease applock.Lease) error) error
	TryDo(ctx context.Context, request applock.AcquireRequest, work func(ctx context.Context, lease applock.Lease) error) (ran bool, err error)
}

var (
	_ Locker = (*applock.Client)(nil)
	_ Locker = (*Leases)(nil)
)

// claim is a checked request.
type claim struct {
	object  applock.Object
	owner   applock.Owner
	unique  bool // no other caller has the owner's operator
	maxHold time.Duration
	ttl     time.Duration // zero: not renewed
	// set is the call that takes the object together with others, nil if it takes only this one, which then can be passed on to the caller.
	set *acquisition
}

func claimOf(ctx context.Context, request applock.AcquireRequest) (claim, error) {
	checked, err := clients.Checked(ctx, request)
	if err != nil {
		return claim{}, err
	}
	claimed := claim{object: checked.Object, owner: checked.Owner, maxHold: checked.MaxHold, ttl: checked.TTL}
	if checked.Owner.Operator == "" {
		claimed.unique = true
		claimed.owner.Operator = uniqueName()
	}
	return claimed, nil
}

// term is how long the first call locks the object.
func (c claim) term() time.Duration {
	if c.ttl > 0 {
		return min(c.ttl, c.maxHold)
	}
	return c.maxHold
}

// Acquire is [applock.Client.Acquire].
func (l *Leases) Acquire(ctx context.Context, request applock.AcquireRequest) (applock.Lease, error) {
	lease, err := l.wait(ctx, &request)
	if err != nil {
		return nil, err
	}
	return lease, nil
}

// wait takes a pointer: copies of the request would double the stack of each waiter, and there may be thousands.
func (l *Leases) wait(ctx context.Context, request *applock.AcquireRequest) (*handle, error) {
	lease, err := l.acquire(ctx, request, cmp.Or(request.MaxWait, forever))
	if err != nil {
		return nil, fmt.Errorf("acquire %s: %w", request.Object, withEnd(ctx, err))
	}
	return lease, nil
}

// TryAcquire is [applock.Client.TryAcquire].
func (l *Leases) TryAcquire(ctx context.Context, request applock.AcquireRequest) (applock.Lease, error) {
	lease, err := l.try(ctx, &request)
	if err != nil {
		return nil, err
	}
	return lease, nil
}

func (l *Leases) try(ctx context.Context, request *applock.AcquireRequest) (*handle, error) {
	lease, err := l.acquire(ctx, request, request.MaxWait)
	if err != nil {
		return nil, fmt.Errorf("try to acquire %s: %w", request.Object, withEnd(ctx, err))
	}
	return lease, nil
}

// withEnd adds the error of a context that has ended to an error that tells its cause.
func withEnd(ctx context.Context, err error) error {
	if ctx == nil || ctx.Err() == nil || errors.Is(err, ctx.Err()) || !errors.Is(err, context.Cause(ctx)) {
		return err
	}
	return fmt.Errorf("%w: %w", ctx.Err(), err)
}

// Do is [applock.Client.Do].
func (l *Leases) Do(ctx context.Context, request applock.AcquireRequest, work func(ctx context.Context, lease applock.Lease) error) error {
	lease, err := l.wait(ctx, &request)
	if err != nil {
		return err
	}
	return lease.do(ctx, work)
}

// TryDo is [applock.Client.TryDo].
func (l *Leases) TryDo(
	ctx context.Context, request applock.AcquireRequest, work func(ctx context.Context, lease applock.Lease) error,
) (ran bool, err error) {
	lease, err := l.try(ctx, &request)
	if err != nil {
		return false, err
	}
	return true, lease.do(ctx, work)
}

// do runs work and releases the lease.
func (l *handle) do(ctx context.Context, work func(ctx context.Context, lease applock.Lease) error) (err error) {
	l.endWith(ctx)
	defer func() {
		if releaseErr := l.Release(ctx); releaseErr != nil {
			err = errors.Join(err, releaseErr)
		}
	}()
	return work(l.Context(), l)
}

// acquire waits for maxWait: without a limit for forever, and a single attempt for zero.
func (l *Leases) acquire(ctx context.Context, request *applock.AcquireRequest, maxWait time.Duration) (*handle, error) {
	wanted, lease, err := l.begin(ctx, request)
	if lease != nil || err != nil {
		return lease, err
	}
	began := time.Now()
	var taken []*handle
	lease, err = l.inTurn(ctx, wanted, maxWait, func(limited context.Context, asked claim) error {
		var err error
		taken, err = l.take(limited, claims(asked), func(ctx context.Context) ([]applock.Grant, error) {
			grant, err := l.backend.Get(ctx, asked.object, asked.owner, asked.term())
			return []applock.Grant{grant}, err
		})
		return err
	})
	switch {
	case err != nil:
		l.hooks.waited(ctx, wanted.object, began, err)
		return nil, err
	case lease == nil:
		lease = taken[0]
	}
	lease.hold.acquired(began)
	return lease, nil
}

// errNoLeases refuses calls of leases that nobody has made.
var errNoLeases = &applock.InvalidError{Argument: "leases", Reason: "are nil or without a backend: make them with New, of this package or of a backend's"}

// begin returns the claim of a request, or the lease that the caller has already. It sends nothing. It is a separate function so that its
// stack is free while thousands wait.
func (l *Leases) begin(ctx context.Context, request *applock.AcquireRequest) (*claim, *handle, error) {
	if l == nil || l.backend == nil {
		return nil, nil, errNoLeases
	}
	wanted, err := claimOf(ctx, *request)
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

// heldKey is the key under which a context carries the hold on an object.
type heldKey struct {
	leases *Leases
	object applock.Object
}

// carried returns the hold on an object that ctx carries, nil if there is none that is still trusted.
func (l *Leases) carried(ctx context.Context, object applock.Object) *hold {
	held, ok := ctx.Value(heldKey{leases: l, object: object}).(*hold)
	if !ok || held.err() != nil || ctx.Err() != nil { // in this order: the former may end ctx
		return nil
	}
	return held
}

// reenter returns one more lease on a hold that ctx carries, nil if there is none that is still trusted. The holder is the same: a request
// that names another one is refused.
func (l *Leases) reenter(ctx context.Context, wanted claim) (*handle, error) {
	held := l.carried(ctx, wanted.object)
	if held == nil {
		return nil, nil
	}
	t, unlock := held.lock()
	defer unlock()
	holder := held.grant.Owner
	isOther := !wanted.unique && wanted.owner.Operator != holder.Operator ||
		wanted.owner.Department != "" && wanted.owner.Department != holder.Department
	switch {
	case t.cause != nil:
		return nil, nil
	case isOther:
		reason := fmt.Sprintf("is not %s, the owner of the lease in ctx: leave the owner empty to re-enter that lease, or acquire with another context", holder)
		return nil, &applock.InvalidError{Argument: "Owner", Reason: reason}
	}
	return t.lease(context.WithoutCancel(ctx)), nil
}

// answer is the result of a call for one or several claims.
type answer struct {
	grants []applock.Grant
	err    error
}

// take makes a call for the claims, and makes leases of the grants. If ctx ends first, it abandons the call: cancelling it would leave the
// outcome unknown. The grants of an abandoned call are released in the background.
func (l *Leases) take(ctx context.Context, claims []claim, call func(ctx context.Context) ([]applock.Grant, error)) ([]*handle, error) {
	l.background.begin() // Close waits for it before it closes the backend
	defer l.background.done()
	if putOff := l.keeper.putOffFor(); putOff > 0 {
		l.rest(ctx, putOff) // once: a new acquisition is delayed, but never refused
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // nothing was sent
	}
	sent := l.send(ctx, call)
	if !sent.isAnswered(ctx) {
		return nil, l.abandonCall(ctx, claims, sent)
	}
	switch got := sent.got; {
	case got.err == nil:
		return l.accept(ctx, claims, got.grants, sent.started)
	case errors.Is(got.err, applock.ErrOutcomeUnknown):
		l.giveBack(claims, func() answer { return got })
	}
	return nil, sent.got.err
}

// sentCall is a call under way in its own goroutine.
type sentCall struct {
	started time.Time // before the request, so that the lease here never outlasts the backend's
	sending *db.Sending
	cancel  context.CancelFunc
	answers chan answer
	got     answer
}

func (l *Leases) send(ctx context.Context, call func(ctx context.Context) ([]applock.Grant, error)) *sentCall {
	sent := &sentCall{started: l.now(), answers: make(chan answer, 1)}
	tracked, sending := db.Tracked(l.lasting(context.WithoutCancel(ctx)))
	asking, cancel := context.WithCancel(tracked)
	sent.sending, sent.cancel = sending, cancel
	l.background.Go(func() {
		defer cancel()
		grants, err := call(asking)
		sent.answers <- answer{grants: grants, err: err}
	})
	return sent
}

// isAnswered waits for the answer, until ctx ends.
func (s *sentCall) isAnswered(ctx context.Context) bool {
	select {
	case s.got = <-s.answers:
		return true
	case <-ctx.Done():
		return false
	}
}

// abandonCall stops waiting for a call, has its grants released, and returns the error.
func (l *Leases) abandonCall(ctx context.Context, claims []claim, sent *sentCall) error {
	l.giveBack(claims, func() answer {
		defer time.AfterFunc(releaseLimit, sent.cancel).Stop()
		return <-sent.answers
	})
	return &abandonedError{cause: context.Cause(ctx), silence: silenceOf(sent.sending)}
}

// abandonedError is why nobody waits for a call any longer, and what is known about the missing answer.
type abandonedError struct{ cause, silence error }

func (e *abandonedError) Error() string { return e.cause.Error() }

func (e *abandonedError) Unwrap() error { return e.cause }

// silenceOf says what a call waits for, as an ErrUnreachable.
func silenceOf(sending *db.Sending) error {
	why, isKnown := sending.Unsent()
	switch {
	case why != nil:
		return clients.Explain(why)
	case isKnown:
		return errSilent
	}
	return errSilentOrFull
}

var errTooLate = errors.New("the answer took longer than the lease would have lasted")

// accept makes leases of grants, unless their trust has ended already or Close has begun.
func (l *Leases) accept(ctx context.Context, claims []claim, grants []applock.Grant, started time.Time) ([]*handle, error) {
	arrived := l.now()
	took := arrived.Sub(started)
	for _, claim := range claims {
		if trust := trusted(claim.term()); took >= trust {
			l.giveBack(claims, func() answer { return answer{grants: grants} })
			return nil, fmt.Errorf("%w, %s", errTooLate, trust)
		}
	}
	if ttl := claims[0].ttl; ttl > 0 && took > ttl/renewalsPerTTL {
		l.logger.LogAttrs(ctx, slog.LevelWarn, "a lease was granted after more than a third of its ttl: it is lost if renewals are as slow",
			slog.String("object", grants[0].Object.String()), slog.Duration("ttl", ttl), slog.Duration("took", took))
	}
	leases := make([]*handle, len(claims))
	for i, claim := range claims {
		leases[i] = l.hold(ctx, claim, grants[i], started, arrived)
	}
	if !l.queue.isClosed() {
		return leases, nil
	}
	for _, lease := range leases {
		l.abandon(lease)
	}
	return nil, applock.ErrClosed
}

// isSpent says whether an attempt with this result has used up its name. An attempt without an answer may have taken the object. A release
// by name undoes that, and may arrive late: it must not find a later grant with the name.
func isSpent(attempt claim, ended error) bool {
	return ended != nil && !errors.Is(ended, applock.ErrHeld) && !isBusy(ended) && attempt.unique
}

// giveBack releases in the background what a failed acquisition has taken or may have taken. It does not release a
// call without an answer for a given operator, since the grant may be another caller's. Until it is done, nobody here has a turn.
func (l *Leases) giveBack(claims []claim, wait func() answer) {
	l.queue.countUnsettled(claims, +1)
	l.background.Go(func() {
		defer l.queue.countUnsettled(claims, -1)
		got := wait()
		for i, claim := range claims {
			switch {
			case got.err == nil:
				l.giveBackGrant(claim, got.grants[i])
			case errors.Is(got.err, applock.ErrOutcomeUnknown) && claim.unique:
				l.giveBackByName(claim)
			}
		}
	})
}

// giveBackGrant releases a grant. If that fails until its limit, it is repeated later, unless a later grant may have the same name: a
// backend without fences would release that one.
func (l *Leases) giveBackGrant(claim claim, grant applock.Grant) {
	if err := l.release(l.shutdownCtx, grant); err != nil && !isGone(err) && claim.unique {
		l.late.add(grant)
	}
}

// giveBackByName releases what a call without an answer may have taken. It repeats that later, because the call may still arrive. That is
// safe at any time: the name is never used again.
func (l *Leases) giveBackByName(claim claim) {
	taken := applock.Grant{Object: claim.object, Owner: claim.owner}
	_ = l.releaseWithin(l.shutdownCtx, taken, max(claim.term(), releaseLimit)) // whatever its result, the release is repeated
	l.late.add(taken)
}
