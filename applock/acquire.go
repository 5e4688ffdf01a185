package applock

import (
	"context"
	"fmt"
	"time"
)

// AcquireRequest asks for a lease.
type AcquireRequest struct {
	Object Object
	// Owner is who holds the lease. Without an operator it is one that no other acquisition has, made of host,
	// process and a random number: nobody else can release or renew the lease. A given operator does not wait for itself: in
	// one client its calls take turns, but from elsewhere it takes over what it holds, such as the grant of its crashed
	// predecessor. The predecessor's lease is lost then, and the new one has a fence of its own. A call that fails with
	// ErrOutcomeUnknown, or that ctx ends, may leave a lock, for the operator's next one to take over; where it arrives late, it may
	// take over from that, whose lease is lost then, and only its fence tells. It may also arrive after a later call was answered, or was
	// released, and leave its lock then. Without an operator the client releases what a call without an answer may have taken: at
	// once, and again after 1, 5 and 15 s, because the call may arrive late. Re-entering needs no owner, and naming another one
	// is refused.
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

// Checked returns the request as it is taken: with the object and the owner trimmed. It returns an *InvalidError for what is refused by
// every lease.Locker before anything is sent.
func (r AcquireRequest) Checked() (AcquireRequest, error) {
	var err error
	if r.Object, err = r.Object.trim(); err != nil {
		return AcquireRequest{}, err
	}
	if r.Owner, err = r.Owner.trimUnlessUnique(); err != nil {
		return AcquireRequest{}, err
	}
	if r.MaxHold <= 0 || r.MaxHold > MaxTTL {
		return AcquireRequest{}, &InvalidError{Argument: "MaxHold", Reason: "must be given, and at most 3650 days"}
	}
	if r.MaxHold < minHold {
		return AcquireRequest{}, tooShort("MaxHold", r.MaxHold, minHold)
	}
	if err := checkMaxWait(r.MaxWait); err != nil {
		return AcquireRequest{}, err
	}
	if _, err := checkTTL(r.TTL); err != nil {
		return AcquireRequest{}, err
	}
	return r, nil
}

// trimUnlessUnique is trim for the owner of a lease, who may go without an operator.
func (o Owner) trimUnlessUnique() (Owner, error) {
	if o.Operator != "" {
		return o.trim("Owner")
	}
	department, err := checkName("Owner.Department", o.Department, MaxDepartmentLength)
	return Owner{Department: department}, err
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

// Acquire waits until it has the object, or until ctx ends, or for MaxWait if the request has one: then it gives up
// as TryAcquire does. Meanwhile it waits for whoever holds the object, for transactions that are changing the lock, and
// for a database that cannot be reached for less than 30 s.
//
// The lease ends MaxHold after the call that took it, whatever its holder does. With the context of a lease on
// the same object Acquire re-enters: it returns at once, and the object is free when all its leases have been
// released. Otherwise those who wait in one process are served in the order of their calls.
//
// ctx bounds acquiring only; the lease outlives it. When it ends first, nothing is left behind but for what AcquireRequest.Owner says, and the error
// is its cause, and beside it what TryAcquire returns: where somebody was seen to hold the object, a *HeldError (ErrHeld).
func (c *Client) Acquire(ctx context.Context, request AcquireRequest) (Lease, error) {
	engine, err := c.leases()
	if err != nil {
		return nil, err
	}
	return engine.Acquire(ctx, request)
}

// TryAcquire is Acquire that asks once if the request has no MaxWait, and otherwise gives up after it. Where there is no answer
// then, or the last one is older than a second, the next one may take a second more.
//
// The error is a *HeldError (ErrHeld) only if somebody was seen to hold the object. It is ErrBusy where a transaction was
// changing the lock all the time, and ErrUnreachable where nobody answered, so that who skips what others do does not
// skip it in an outage.
func (c *Client) TryAcquire(ctx context.Context, request AcquireRequest) (Lease, error) {
	engine, err := c.leases()
	if err != nil {
		return nil, err
	}
	return engine.TryAcquire(ctx, request)
}

// Do acquires, runs work, and releases, also when work fails or panics. The context of work is the lease's, which here
// ends with ctx, too, by its deadline and with its cause. The error is that of work; ErrLost if the lease was lost before the release,
// because work may not have been alone then; or that of acquiring or releasing.
func (c *Client) Do(ctx context.Context, request AcquireRequest, work func(ctx context.Context, lease Lease) error) error {
	engine, err := c.leases()
	if err != nil {
		return err
	}
	return engine.Do(ctx, request, work)
}

// TryDo is Do with TryAcquire instead of Acquire: for work that is skipped when somebody else does it. It reports whether
// work ran, so that a refusal (ErrHeld) is told from what work returns.
func (c *Client) TryDo(
	ctx context.Context, request AcquireRequest, work func(ctx context.Context, lease Lease) error,
) (ran bool, err error) {
	engine, err := c.leases()
	if err != nil {
		return false, err
	}
	return engine.TryDo(ctx, request, work)
}
