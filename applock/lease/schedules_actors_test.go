package lease_test

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// actor acquires, holds and releases, one thing after the other.
type actor struct {
	*schedule
	chance

	name    string
	program int
	hurried bool // one of the crowd
}

func (a *actor) locker() *lease.Leases { return a.leases[a.program] }

func (a *actor) act() {
	for range 1 + a.IntN(6) {
		pause := 5 * time.Second
		if a.hurried {
			pause = 100 * time.Millisecond
		}
		time.Sleep(a.upTo(pause))
		ctx, cancel := context.WithCancel(context.Background())
		giveUp := time.Time{}
		if a.hits(70) {
			giveUp = time.Now().Add(a.upTo(oneOf(a.chance, a.weather.latency+time.Millisecond, time.Second, 10*time.Second, 5*time.Minute)))
			ctx, cancel = context.WithDeadline(context.Background(), giveUp)
		}
		if a.hits(20) && !a.hurried {
			a.holdSet(ctx)
		} else {
			a.holdOne(ctx, giveUp)
		}
		cancel()
	}
}

// request asks for an object as anybody would.
func (a *actor) request() applock.AcquireRequest {
	request := applock.AcquireRequest{
		Object:  oneOf(a.chance, a.objects...),
		MaxHold: oneOf(a.chance, shortestHold+a.upTo(5*time.Second), shortestHold+a.upTo(time.Minute), longestHold),
		TTL:     oneOf(a.chance, 0, time.Second, 3*time.Second, 10*time.Second),
	}
	if a.hurried {
		request.Object = a.objects[0]
	}
	if a.hits(30) {
		request.Owner.Operator = a.name
	}
	if a.hits(40) {
		request.MaxWait = time.Millisecond + a.upTo(20*time.Second)
	}
	return request
}

// holdOne has one lease for a while, if it gets it.
func (a *actor) holdOne(ctx context.Context, giveUp time.Time) {
	request := a.request()
	acquire := a.locker().Acquire
	asksOnce := a.hits(30) && request.MaxWait == 0
	if asksOnce {
		acquire = a.locker().TryAcquire
	}
	wait := &scheduledWait{program: a.program, object: request.Object, start: time.Now(), giveUp: giveUp}
	if limit := wait.start.Add(request.MaxWait); request.MaxWait > 0 && (giveUp.IsZero() || limit.Before(giveUp)) {
		wait.giveUp = limit
	}
	if asksOnce {
		wait.giveUp = wait.start
	}
	lease, err := acquire(ctx, request)
	wait.end, wait.served = time.Now(), err == nil
	a.mutex.Lock()
	a.waits = append(a.waits, wait)
	a.mutex.Unlock()
	if err != nil {
		a.refused(ctx, request, wait, err)
		return
	}
	a.hold(ctx, lease, request)
}

// refused checks the error of a caller that gets no lease.
func (a *actor) refused(ctx context.Context, request applock.AcquireRequest, wait *scheduledWait, err error) {
	if request.Owner.Operator != "" && (errors.Is(err, applock.ErrOutcomeUnknown) || ctx.Err() != nil) {
		a.excuse(request.Owner.Operator)
	}
	told := errors.Is(err, applock.ErrHeld) || errors.Is(err, applock.ErrClosed) || errors.Is(err, lease.ErrTooLate) || a.mayFail(err) ||
		ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
	if !told || errors.Is(err, applock.ErrLost) {
		a.t.Errorf("%s: %v tells nobody why", request.Object, err)
	}
	const longEnough, soon = 20 * time.Second, 10 * time.Second
	isNew := wait.end.Sub(wait.start) < a.latestLook && a.isOwn(err, wait.start)
	if free := a.backend.FreeFor(request.Object); errors.Is(err, applock.ErrHeld) && free > wait.end.Sub(wait.start)+a.latestLook && !isNew {
		a.t.Errorf("%s: %v, though it has been free for %s, and the wait was %s", request.Object, err, free, wait.end.Sub(wait.start))
	}
	if free := a.backend.FreeFor(request.Object); a.weather.isFair() && wait.end.Sub(wait.start) > longEnough && free > soon {
		a.t.Errorf("%s: waited for %s in vain, though it has been free for %s: %v", request.Object, wait.end.Sub(wait.start), free, err)
	}
}

// isOwn reports whether a refusal names a holder of this very program who had not let go before since. Where nobody waits and nothing is
// renewed, nobody asks the backend: what such a lease does not know, those who have just come do not know either. A lease that has run out
// is released behind its holder's back.
func (a *actor) isOwn(refusal error, since time.Time) bool {
	var held *applock.HeldError
	if !errors.As(refusal, &held) {
		return false
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	moment, known := a.letGo[ownHolder{program: a.program, operator: held.Holder.Owner.Operator}]
	const longestRelease = 5 * time.Second
	return known && (moment.IsZero() || since.Sub(moment) < longestRelease)
}

// holds notes that a lease is this program's, and hasLetGo that it is not any more.
func (a *actor) holds(lease applock.Lease) { a.noteOwn(lease, time.Time{}) }

func (a *actor) hasLetGo(lease applock.Lease) { a.noteOwn(lease, time.Now()) }

func (a *actor) noteOwn(lease applock.Lease, letGo time.Time) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.letGo[ownHolder{program: a.program, operator: lease.Owner().Operator}] = letGo
}

func (a *actor) excuse(operator string) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.excused[operator] = true
}

// watch looks at the end of a lease, which must not come after limit.
func (a *actor) watch(lease applock.Lease, limit *time.Time) {
	a.mutex.Lock()
	a.live[lease] = struct{}{}
	a.mutex.Unlock()
	context.AfterFunc(lease.Context(), func() {
		a.mutex.Lock()
		defer a.mutex.Unlock()
		delete(a.live, lease)
		cause := context.Cause(lease.Context())
		var lost *applock.LostError
		if !errors.Is(cause, applock.ErrNotHeld) || errors.Is(cause, applock.ErrHeld) {
			a.t.Errorf("%s ended with %v, want ErrNotHeld or ErrLost, and not ErrHeld", lease.Object(), cause)
		}
		if errors.As(cause, &lost) != errors.Is(cause, applock.ErrLost) || lost != nil && lost.Object != lease.Object() {
			a.t.Errorf("%s ended with %v, want a *LostError if it was lost", lease.Object(), cause)
		}
		if time.Now().After(*limit) {
			a.t.Errorf("%s ended %s after MaxHold", lease.Object(), time.Since(*limit))
		}
	})
}

// hold does what holders do, and releases.
func (a *actor) hold(ctx context.Context, lease applock.Lease, request applock.AcquireRequest) {
	limit := time.Now().Add(request.MaxHold)
	a.holds(lease)
	defer a.hasLetGo(lease)
	a.watch(lease, &limit)
	moments := a.IntN(4)
	if a.hurried {
		moments /= 3
	}
	for range moments {
		a.checkTrust(lease)
		a.checkSeized(lease, request.TTL)
		select {
		case <-lease.Context().Done():
		case <-time.After(a.upTo(oneOf(a.chance, time.Second, 10*time.Second))):
		}
		a.checkTrust(lease)
		a.checkSeized(lease, request.TTL)
		switch {
		case a.hits(20):
			a.reenter(ctx, lease)
		case a.hits(20):
			a.renew(ctx, lease, request.MaxHold, &limit)
		case a.hits(5) && a.canTransfer:
			a.transfer(ctx, lease)
		}
	}
	a.checkEarlyLoss(lease, request)
	if a.hits(10) { // the holder forgets it
		<-lease.Context().Done()
	}
	a.release(ctx, lease)
}

// checkTrust compares a lease that is trusted with the truth.
func (a *actor) checkTrust(lease applock.Lease) {
	deadline := lease.Deadline()
	grant, _ := a.backend.Holder(lease.Object())
	a.mutex.Lock()
	ended := a.ended[lease.Fence()]
	a.mutex.Unlock()
	if lease.Context().Err() != nil || !time.Now().Before(deadline) || ended {
		return
	}
	if grant.Fence != lease.Fence() || grant.ExpiresAt.Before(deadline) {
		a.t.Errorf("%s is trusted until %s, and the backend has fence %d, want %d, until %s",
			lease.Object(), deadline.Sub(a.began), grant.Fence, lease.Fence(), grant.ExpiresAt.Sub(a.began))
	}
}

// checkSeized looks at a lease whose grant a supervisor has ended. A lease without a ttl is not renewed, and only looked at now and then.
func (a *actor) checkSeized(lease applock.Lease, ttl time.Duration) {
	a.mutex.Lock()
	seized, isSeized := a.seized[lease.Fence()]
	a.mutex.Unlock()
	if deadline := lease.Deadline(); isSeized && ttl > 0 && lease.Context().Err() == nil && deadline.After(seized.Add(ttl)) {
		a.t.Errorf("%s is trusted until %s, although its grant of %s was ended at %s",
			lease.Object(), deadline.Sub(a.began), ttl, seized.Sub(a.began))
	}
}

// checkEarlyLoss requires that a lease lives until its end when nothing goes wrong.
func (a *actor) checkEarlyLoss(lease applock.Lease, request applock.AcquireRequest) {
	cause := context.Cause(lease.Context())
	ranOut := request.MaxHold < longestHold
	a.mutex.Lock()
	isHanded := a.ended[lease.Fence()] // by a transfer, whose answer the caller may not have waited for
	a.mutex.Unlock()
	if !isHanded && a.weather.isFair() && request.TTL != time.Second && !ranOut && errors.Is(cause, applock.ErrLost) && !errors.Is(cause, applock.ErrClosed) {
		a.t.Errorf("%s was lost without a cause: %v", lease.Object(), cause)
	}
}

func (a *actor) reenter(ctx context.Context, lease applock.Lease) {
	inner, err := a.locker().TryAcquire(lease.Context(), applock.AcquireRequest{Object: lease.Object(), MaxHold: time.Second})
	if err != nil {
		return // the lease has ended
	}
	if inner.Fence() != lease.Fence() || inner.Owner() != lease.Owner() {
		a.t.Errorf("%s re-entered with fence %d, want %d", lease.Object(), inner.Fence(), lease.Fence())
	}
	time.Sleep(a.upTo(time.Second))
	a.release(ctx, inner)
}

func (a *actor) renew(ctx context.Context, lease applock.Lease, maxHold time.Duration, limit *time.Time) {
	a.mutex.Lock()
	*limit = time.Now().Add(longestHold + maxHold) // not known before the answer
	a.mutex.Unlock()
	err := lease.Renew(ctx)
	a.mutex.Lock()
	*limit = time.Now().Add(maxHold)
	a.mutex.Unlock()
	switch {
	case err == nil, errors.Is(err, applock.ErrNotHeld), a.mayFail(err), errors.Is(err, applock.ErrClosed):
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
	default:
		a.t.Errorf("renew: %v", err)
	}
}

func (a *actor) transfer(ctx context.Context, lease applock.Lease) {
	next := applock.Owner{Operator: "next-" + a.name}
	a.excuse(next.Operator)
	a.mutex.Lock()
	a.ended[lease.Fence()] = true // it is over there before it is over here
	a.mutex.Unlock()
	grant, err := lease.Transfer(ctx, next, 3*time.Second)
	if err == nil && (grant.Owner != next || grant.Fence <= lease.Fence()) {
		a.t.Errorf("transferred as %+v from fence %d", grant, lease.Fence())
	}
	if err == nil && lease.Context().Err() == nil {
		a.t.Errorf("%s is trusted after its transfer", lease.Object())
	}
}

func (a *actor) release(ctx context.Context, lease applock.Lease) {
	began := time.Now()
	err := lease.Release(ctx)
	if took := time.Since(began); took > 5*time.Second && !a.weather.deaf {
		a.t.Errorf("released after %s, want 5 s at the most", took)
	}
	if err != nil && !errors.Is(err, applock.ErrNotHeld) && !a.mayFail(err) && !a.weather.isHarsh() {
		a.t.Errorf("release: %v", err)
	}
	if lease.Context().Err() == nil {
		a.t.Errorf("%s is trusted after its release", lease.Object())
	}
	if again := lease.Release(ctx); !errors.Is(again, cmp.Or(err, again)) {
		a.t.Errorf("released again: %v, want %v", again, err)
	}
}

// holdSet has leases on several objects for a while, if it gets them.
func (a *actor) holdSet(ctx context.Context) {
	request := applock.AcquireAllRequest{
		Objects: a.objects,
		MaxHold: shortestHold + a.upTo(time.Minute),
		TTL:     oneOf(a.chance, 0, 3*time.Second),
		MaxWait: oneOf(a.chance, 0, time.Millisecond+a.upTo(20*time.Second)),
	}
	if a.hits(30) {
		request.Owner.Operator = a.name
	}
	set, err := a.locker().AcquireAllBy(ctx, request, program{backend: a.backend}.takeAll)
	if err != nil {
		if request.Owner.Operator != "" && (errors.Is(err, applock.ErrOutcomeUnknown) || ctx.Err() != nil) {
			a.excuse(request.Owner.Operator)
		}
		return
	}
	limit := time.Now().Add(request.MaxHold)
	for _, lease := range set.Leases() {
		a.holds(lease)
		defer a.hasLetGo(lease)
		a.watch(lease, &limit)
	}
	select {
	case <-set.Context().Done():
		if cause := context.Cause(set.Context()); !errors.Is(cause, applock.ErrLost) {
			a.t.Errorf("a set ended with %v, want ErrLost", cause)
		}
	case <-time.After(a.upTo(10 * time.Second)):
	}
	for _, lease := range set.Leases() {
		a.checkTrust(lease)
	}
	_ = set.Release(ctx) // what fails is seen in the end
}
