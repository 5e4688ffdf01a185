package applock

import (
	"context"
	"errors"
	"fmt"

	"github.com/applock/applock/internal/db"
)

// ReleaseRequest releases a lock.
type ReleaseRequest struct {
	// Key names the grant. Always give its fence: after an expiry the same operator name may have another grant.
	Key Key
	// Actor is who releases it, for the history; empty is Operator. Reason says why: up to MaxReasonLength characters. A release by
	// another actor, or with a reason, is an event of the history.
	Actor  string
	Reason string
}

// Release ends the operator's grant: OutcomeReleased. If the object is free it returns OutcomeFree and nil, so repeating a release is safe.
//
// It returns a *HeldError (ErrHeld) when another operator, or another grant than the key's, holds the object. The error has the fence of
// a grant of the same operator, except for a call in the caller's transaction.
// ErrOutcomeUnknown after a cancelled ctx or a broken connection: repeat the call.
func (c *Client) Release(ctx context.Context, request ReleaseRequest) (outcome Outcome, err error) {
	defer begin(&err, "release %s: %w", request.Key.Object)
	params, err := request.params()
	if err != nil {
		return "", err
	}
	outcome, err = c.ops().release(ctx, params)
	var held *HeldError
	// Not in a caller's transaction: the read could fix what it sees, before a get.
	if errors.As(err, &held) && held.Holder.Owner.Operator == params.OperatorID && !c.ops().inTx {
		err = c.ops().explainOtherGrant(ctx, params, held)
	}
	return outcome, err
}

// explainOtherGrant tells the fence of the operator's other grant, unless that has ended meanwhile.
func (o operations) explainOtherGrant(ctx context.Context, params db.ReleaseApplLockParams, refusal *HeldError) error {
	lock, err := o.inquire(ctx, refusal.Object)
	if err != nil || lock.Owner.Operator != params.OperatorID {
		return refusal
	}
	held := &HeldError{Object: refusal.Object, Holder: holderOf(lock)}
	return fmt.Errorf("fence %d is not that of the operator's grant, which is %d: %w", params.Fence, lock.Fence, held)
}

func (r ReleaseRequest) params() (db.ReleaseApplLockParams, error) {
	var c checks
	key := c.key(r.Key.trim())
	actor, reason := c.texts(checkActor(r.Actor, r.Reason))
	return db.ReleaseApplLockParams{
		ObjectType: key.Object.Type,
		ObjectID:   key.Object.ID,
		OperatorID: key.Operator,
		Fence:      int64(key.Fence),
		ActorID:    actor,
		Reason:     reason,
	}, c.err
}

func (o operations) release(ctx context.Context, params db.ReleaseApplLockParams) (Outcome, error) {
	result, err := change(ctx, o, db.Driver.ReleaseApplLock, params)
	if err != nil {
		return "", err
	}
	o.logRelease(ctx, params, result.Outcome)
	if result.OkFL != db.Yes {
		return "", heldBy(Object{Type: params.ObjectType, ID: params.ObjectID}, result)
	}
	return Outcome(result.Outcome), nil
}

func (o operations) logRelease(ctx context.Context, params db.ReleaseApplLockParams, outcome db.Outcome) {
	object := Object{Type: params.ObjectType, ID: params.ObjectID}
	o.logObject(ctx, "release_appl_lock", object, params.OperatorID, fenceAttr(params.Fence), outcomeAttr(outcome))
}
