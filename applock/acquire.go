package applock

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// AcquireRequest asks for a lease.
type AcquireRequest struct {
	Object Object
	// Owner is who holds the lease. Leave the operator empty unless a crashed program's successor must take over its lock: then the client
	// makes a unique one of host, process and a random number, and nobody else can release or renew the lease.
	//
	// A given operator does not wait for itself. In one client its calls take turns. From another client it takes over its own lock, such
	// as that of a crashed predecessor; the predecessor's lease is lost, and the new lease has a new fence.
	//
	// After ErrOutcomeUnknown or a cancelled ctx a call may still arrive at the server and take the lock. With an empty operator the client
	// then releases that lock, at once and again after 1, 5 and 15 s. With a given operator the lock stays until the operator's next
	// acquisition takes it over; a call that arrives after that may itself take over, and only the fence shows it.
	//
	// Re-entering needs no owner, and another owner is refused.
	Owner Owner
	// MaxHold is the longest time that the lease lasts; with zero it lasts until its release. Re-entering does not change it; Lease.Renew
	// starts it again. Without it a holder that is alive and stuck keeps the object until a person releases, transfers or takes it.
	MaxHold time.Duration
	// TTL is how long the object stays locked after a crash of the holder: at least 1 s, in whole seconds. The lease is renewed every third
	// of it up to MaxHold. Leases of similar TTLs share a statement. With zero the object is locked for all of MaxHold, and the client
	// checks every 30 s whether the grant still exists; without a MaxHold the TTL is DefaultLeaseTTL then.
	//
	// Give it at least eight times the way to the server and back, and more for what may fail: a shorter one is lost without a fault.
	// Package lease says why.
	TTL time.Duration
	// MaxWait bounds the wait. With zero, Acquire and Do wait as long as their ctx, and TryAcquire asks once.
	MaxWait time.Duration
}

// DefaultLeaseTTL is the TTL of a lease without one and without a MaxHold.
const DefaultLeaseTTL = time.Minute

// checked returns the request as it is taken: with the object and the owner trimmed, and without a MaxHold of zero. It returns an *InvalidError for what is refused by
// every lease.Locker before anything is sent.
func (r AcquireRequest) checked() (AcquireRequest, error) {
	var c checks
	r.Object = c.object(r.Object.trim())
	r.Owner = c.owner(r.Owner.trimUnlessUnique())
	if r.MaxHold == 0 {
		r.MaxHold, r.TTL = MaxTTL, cmp.Or(r.TTL, DefaultLeaseTTL)
	}
	c.refuse(r.MaxHold < 0 || r.MaxHold > MaxTTL, "MaxHold", "must be at most 3650 days, and not negative")
	if r.MaxHold < minHold {
		c.check(tooShort("MaxHold", r.MaxHold, minHold))
	}
	c.check(checkMaxWait(r.MaxWait))
	c.number(checkTTL(r.TTL))
	return r, c.err
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

// Acquire waits until it has the object, until ctx ends, or for MaxWait if the request has one: then it gives up as TryAcquire does. It
// waits for the holder, for transactions that are changing the lock, and for less than 30 s for a database that cannot be reached.
//
// The lease ends MaxHold after the call that took it, if it has one, whatever its holder does. Called with the context of a lease on the same object,
// Acquire re-enters: it returns at once, and the object is free when all its leases are released. Other callers in one process are served
// in the order of their calls.
//
// ctx bounds acquiring only; the lease outlives it. If ctx ends first, no lock is left except as AcquireRequest.Owner says. The error is
// that of ctx and its cause, joined with what TryAcquire returns: a *HeldError (ErrHeld) if a holder was seen.
func (c *Client) Acquire(ctx context.Context, request AcquireRequest) (Lease, error) {
	engine, err := c.leases()
	if err != nil {
		return nil, err
	}
	return engine.Acquire(ctx, request)
}

// TryAcquire is Acquire that asks once if the request has no MaxWait, and otherwise gives up after it. If the last answer is missing or
// older than a second then, it waits up to a second more for one.
//
// The error is a *HeldError (ErrHeld) only if a holder was seen. It is ErrBusy if a transaction was changing the lock all the time, and
// ErrUnreachable if the server did not answer. So a job that skips work of another node does not skip it in an outage.
func (c *Client) TryAcquire(ctx context.Context, request AcquireRequest) (Lease, error) {
	engine, err := c.leases()
	if err != nil {
		return nil, err
	}
	return engine.TryAcquire(ctx, request)
}

var errNoWork = &InvalidError{Argument: "work", Reason: "is nil"}

// Do acquires, runs work, and releases, also when work fails or panics. The context of work is the lease's; here it also ends with ctx,
// with its deadline and cause. The error is that of work; ErrLost if the lease was lost before the release, because work may not have been
// alone; or that of acquiring or releasing.
func (c *Client) Do(ctx context.Context, request AcquireRequest, work func(ctx context.Context, lease Lease) error) error {
	if work == nil {
		return errNoWork
	}
	engine, err := c.leases()
	if err != nil {
		return err
	}
	return engine.Do(ctx, request, work)
}

// TryDo is Do with TryAcquire instead of Acquire: for work that is skipped if another program does it. It reports whether work ran, which
// tells a refusal (ErrHeld) from an error of work.
func (c *Client) TryDo(
	ctx context.Context, request AcquireRequest, work func(ctx context.Context, lease Lease) error,
) (ran bool, err error) {
	if work == nil {
		return false, errNoWork
	}
	engine, err := c.leases()
	if err != nil {
		return false, err
	}
	return engine.TryDo(ctx, request, work)
}
