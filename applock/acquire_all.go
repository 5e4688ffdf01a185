package applock

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// AcquireAllRequest asks for leases on several objects: on all of them or on none.
type AcquireAllRequest struct {
	// Objects are what to take, in any order, at least one, and none twice.
	Objects []Object
	// Owner, MaxHold and TTL are those of AcquireRequest, for each lease. Calls of the same given operator take turns in one client where
	// their objects overlap. A call from another client takes over the operator's objects: the later call has all of its objects, and the
	// earlier set ends as lost.
	Owner   Owner
	MaxHold time.Duration
	TTL     time.Duration
	// MaxWait bounds the wait. With zero, AcquireAll waits as long as its ctx, and TryAcquireAll asks once.
	MaxWait time.Duration
}

// ConflictError names the holders of those objects that an AcquireAll could not take. It is ErrHeld.
type ConflictError struct {
	// Conflicts are in the order of the objects' types and ids.
	Conflicts []*HeldError
}

// Error names each object, its holder and the end of its lock.
func (e *ConflictError) Error() string {
	texts := make([]string, len(e.Conflicts))
	for i, conflict := range e.Conflicts {
		texts[i] = fmt.Sprintf("%s is %s", conflict.Object, conflict)
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the conflicts, each of which is ErrHeld.
func (e *ConflictError) Unwrap() []error {
	errs := make([]error, len(e.Conflicts))
	for i, conflict := range e.Conflicts {
		errs[i] = conflict
	}
	return errs
}

// checked returns the request as it is taken: trimmed as by AcquireRequest.checked, and with the objects in the order of their types and
// ids. It returns an *InvalidError for what is refused before anything is sent.
func (r AcquireAllRequest) checked() (AcquireAllRequest, error) {
	if len(r.Objects) == 0 {
		return AcquireAllRequest{}, &InvalidError{Argument: "Objects", Reason: "must name at least one"}
	}
	objects, taken := make([]Object, len(r.Objects)), AcquireRequest{}
	for i, object := range r.Objects {
		each := AcquireRequest{Object: object, Owner: r.Owner, MaxHold: r.MaxHold, TTL: r.TTL, MaxWait: r.MaxWait}
		var err error
		if taken, err = each.checked(); err != nil {
			return AcquireAllRequest{}, fmt.Errorf("%s: %w", object, err)
		}
		objects[i] = taken.Object
	}
	r.Objects, r.Owner, r.MaxHold, r.TTL = objects, taken.Owner, taken.MaxHold, taken.TTL
	slices.SortFunc(r.Objects, Object.Compare)
	for i := range r.Objects[1:] {
		if r.Objects[i] == r.Objects[i+1] {
			return AcquireAllRequest{}, &InvalidError{Argument: "Objects", Reason: fmt.Sprintf("names %s twice", r.Objects[i])}
		}
	}
	return r, nil
}

// AcquireAll waits until it has all objects, until ctx ends, or for MaxWait if the request has one: then it gives up as TryAcquireAll does.
// It takes them in one transaction and in a canonical order, so that two sets cannot deadlock, and holds nothing while it waits. Objects
// that ctx carries leases on are re-entered, as in Acquire.
//
// It waits for the first object that it was refused, and asks for all of them when that one is free. So it may wait long if its objects are
// seldom free at the same time. Sets that overlap have no promised order. If ctx ends first, no lock is left except as AcquireRequest.Owner
// says. The error is that of ctx and its cause, joined with a *ConflictError (ErrHeld) if a holder was seen.
func (c *Client) AcquireAll(ctx context.Context, request AcquireAllRequest) (LeaseSet, error) {
	engine, err := c.leases()
	if err != nil {
		return nil, fmt.Errorf("acquire all: %w", err)
	}
	return engine.AcquireAll(ctx, request)
}

// TryAcquireAll is AcquireAll that asks once if the request has no MaxWait, and otherwise gives up after it. If objects are held it takes
// nothing, and returns a *ConflictError (ErrHeld) with every conflict of the last answer. The other errors are those of TryAcquire; ErrBusy
// also means that another call of the same operator in this client is asking for one of the objects.
func (c *Client) TryAcquireAll(ctx context.Context, request AcquireAllRequest) (LeaseSet, error) {
	engine, err := c.leases()
	if err != nil {
		return nil, fmt.Errorf("try to acquire all: %w", err)
	}
	return engine.TryAcquireAll(ctx, request)
}
