package migrate

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
)

// DefaultRehearseTimeout bounds a call of Rehearse where nothing else is asked for.
const DefaultRehearseTimeout = 10 * time.Second

// RehearseRequest is how Rehearse plays. Its zero value is usable.
type RehearseRequest struct {
	// Timeout bounds each call, and how long the end of a lock of one second may take; zero is DefaultRehearseTimeout.
	Timeout time.Duration
}

// RehearseResult is what Rehearse has seen.
type RehearseResult struct {
	// ObjectType is that of the objects it has played with: nobody else has it.
	ObjectType string
	// Played is how many steps have answered as they should.
	Played int
	// Failure is the first step that has not, and what it has answered; empty where all have. It is for people.
	Failure string
	// Left is true where the client may not delete the rows of ObjectType: a purge does, in time.
	Left bool
}

// Rehearse plays one round of every kind of answer on the database itself: get, a refusal, renew, inquire, list, transfer, a
// lost grant, release, and the end of a lock of one second. It takes a little longer than that. The objects have a type of
// a random name, and their rows are deleted at the end, also when ctx ends: a call that is under way is waited for, so
// that nothing comes after the deletion.
func Rehearse(ctx context.Context, client *applock.Client, request RehearseRequest) (result RehearseResult, err error) {
	if request.Timeout == 0 {
		request.Timeout = DefaultRehearseTimeout
	}
	if err := ctx.Err(); err != nil {
		return result, fmt.Errorf("rehearse: %w", err)
	}
	r := &rehearsal{client: client, object: applock.Object{Type: "verify_" + strings.ToLower(rand.Text()[:16]), ID: "1"}}
	result.ObjectType = r.object.Type
	changed := false
	for _, step := range r.steps() {
		if err = ctx.Err(); err != nil {
			break
		}
		err = r.play(ctx, request.Timeout, step)
		changed = changed || err == nil || errors.Is(err, applock.ErrOutcomeUnknown)
		if err != nil {
			err = fmt.Errorf("%s: %w", step.name, err)
			break
		}
		result.Played++
	}
	if changed {
		var deleteErr error
		result.Left, deleteErr = r.deleteRows(ctx, request.Timeout)
		if deleteErr != nil {
			return result, fmt.Errorf("rehearse: %w", errors.Join(err, deleteErr))
		}
	}
	if err == nil {
		return result, nil
	}
	if ctx.Err() != nil || errors.Is(err, applock.ErrUnreachable) || errors.Is(err, applock.ErrOutcomeUnknown) || errors.Is(err, applock.ErrClosed) {
		return result, fmt.Errorf("rehearse: %w", err)
	}
	result.Failure = err.Error()
	return result, nil
}

// rehearsal is a round of two operators, A and B.
type rehearsal struct {
	client *applock.Client
	object applock.Object
	// fence is that of the newest grant, and former that of the one before.
	fence, former applock.Fence
}

// step is one call, or some that belong together.
type step struct {
	name string
	play func(ctx context.Context) error
}

func (r *rehearsal) steps() []step {
	return []step{
		{"get a free object", func(ctx context.Context) error { return r.get(ctx, "A", time.Minute) }},
		{"get what is held", r.refused},
		{"renew", r.renew},
		{"inquire", r.inquire},
		{"list", r.list},
		{"transfer", r.transfer},
		{"assert a lost grant", r.assertLost},
		{"release what another has", r.refuseRelease},
		{"release", func(ctx context.Context) error { return r.release(ctx, "B") }},
		{"get for one second", func(ctx context.Context) error { return r.get(ctx, "A", time.Second) }},
		{"wait for its end", r.expire},
		{"get what has expired", func(ctx context.Context) error { return r.get(ctx, "B", time.Minute) }},
		{"release again", func(ctx context.Context) error { return r.release(ctx, "B") }},
	}
}

// play plays a step to its end, even when ctx ends meanwhile.
func (r *rehearsal) play(ctx context.Context, limit time.Duration, step step) error {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	return step.play(bounded)
}

// get gets the object, with a new grant.
func (r *rehearsal) get(ctx context.Context, operator string, ttl time.Duration) error {
	grant, err := r.client.Get(ctx, applock.GetRequest{Object: r.object, Owner: applock.Owner{Operator: operator}, TTL: ttl})
	if err != nil {
		return err
	}
	if grant.Outcome != applock.OutcomeAcquired || grant.Fence <= r.fence {
		return fmt.Errorf("answered %s with fence %d, want ACQUIRED with a greater one than %d", grant.Outcome, grant.Fence, r.fence)
	}
	r.former, r.fence = r.fence, grant.Fence
	return nil
}

func (r *rehearsal) refused(ctx context.Context) error {
	_, err := r.client.Get(ctx, applock.GetRequest{Object: r.object, Owner: applock.Owner{Operator: "B"}})
	var held *applock.HeldError
	if errors.As(err, &held) && held.Holder.Operator == "A" {
		return nil
	}
	return wrong(err, "held by A")
}

func (r *rehearsal) renew(ctx context.Context) error {
	grant, err := r.client.Renew(ctx, applock.RenewRequest{Object: r.object, Operator: "A", Fence: r.fence, TTL: 2 * time.Minute})
	if err == nil && (grant.Fence != r.fence || grant.Left <= time.Minute) {
		err = fmt.Errorf("answered fence %d and %s left, want fence %d and more than a minute", grant.Fence, grant.Left, r.fence)
	}
	return err
}

func (r *rehearsal) inquire(ctx context.Context) error {
	lock, err := r.client.Inquire(ctx, applock.InquireRequest{Object: r.object})
	if err == nil && (lock.Owner.Operator != "A" || lock.Fence != r.fence) {
		err = fmt.Errorf("answered %s with fence %d, want A with %d", lock.Owner, lock.Fence, r.fence)
	}
	return err
}

func (r *rehearsal) list(ctx context.Context) error {
	locks := 0
	for lock, err := range r.client.List(ctx, applock.ListRequest{ObjectType: r.object.Type}) {
		if err != nil {
			return err
		}
		if lock.Object == r.object {
			locks++
		}
	}
	if locks != 1 {
		return fmt.Errorf("answered the lock %d times, want once", locks)
	}
	return nil
}

func (r *rehearsal) transfer(ctx context.Context) error {
	grant, err := r.client.Transfer(ctx, applock.TransferRequest{
		Object: r.object, From: "A", To: applock.Owner{Operator: "B"}, TTL: time.Minute,
	})
	if err != nil {
		return err
	}
	if grant.Fence <= r.fence {
		return fmt.Errorf("answered fence %d, want a greater one than %d", grant.Fence, r.fence)
	}
	r.former, r.fence = r.fence, grant.Fence
	return nil
}

func (r *rehearsal) assertLost(ctx context.Context) error {
	err := r.client.Assert(ctx, applock.AssertRequest{Object: r.object, Operator: "A", Fence: r.former})
	if !errors.Is(err, applock.ErrLost) {
		return wrong(err, "that it is lost")
	}
	return r.client.Assert(ctx, applock.AssertRequest{Object: r.object, Operator: "B", Fence: r.fence})
}

func (r *rehearsal) refuseRelease(ctx context.Context) error {
	_, err := r.client.Release(ctx, applock.ReleaseRequest{Object: r.object, Operator: "A"})
	if errors.Is(err, applock.ErrHeld) {
		return nil
	}
	return wrong(err, "held by B")
}

func (r *rehearsal) release(ctx context.Context, operator string) error {
	result, err := r.client.Release(ctx, applock.ReleaseRequest{Object: r.object, Operator: operator, Fence: r.fence})
	if err == nil && result.Outcome != applock.OutcomeReleased {
		err = fmt.Errorf("answered %s, want RELEASED", result.Outcome)
	}
	return err
}

// expirePause lies between two looks whether the lock has ended.
const expirePause = 100 * time.Millisecond

// expire waits until the lock has ended by itself.
func (r *rehearsal) expire(ctx context.Context) error {
	for {
		_, err := r.client.Inquire(ctx, applock.InquireRequest{Object: r.object})
		if errors.Is(err, applock.ErrNotHeld) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.New("a lock of one second has not ended")
		case <-time.After(expirePause):
		}
	}
}

// wrong is the error of a call that should have been refused.
func wrong(err error, want string) error {
	if err == nil {
		return fmt.Errorf("answered yes, want %s", want)
	}
	return err
}

// deleteRows deletes what was played with, and reports whether it is left because that is not allowed.
func (r *rehearsal) deleteRows(ctx context.Context, limit time.Duration) (left bool, err error) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	err = onTarget(bounded, r.client, "delete the rows of type "+r.object.Type, func(handle db.Handle, target migrate.Target) error {
		_, err := target.DB.ExecContext(bounded, target.DeleteType, r.object.Type)
		return handle.Interpret(bounded, err)
	})
	if errors.Is(err, applock.ErrPrivilege) {
		return true, nil
	}
	return false, err
}
