package applock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/applock/applock/internal/db"
)

// ReleaseRequest gives a lock back.
type ReleaseRequest struct {
	Object   Object
	Operator string
	// Fence limits the release to this very grant, which a program should always do: after expiry
	// and take-over the same operator name may hold another grant. Zero is whichever grant.
	Fence Fence
	// Actor is who releases it, for the history; empty is Operator. Reason says why: up to MaxReasonLength characters. A release by
	// another actor, or with a reason, is an event of the history.
	Actor  string
	Reason string
}

// ReleaseResult is what a release came to.
type ReleaseResult struct {
	// Outcome is OutcomeReleased, or OutcomeFree when nobody held the object.
	Outcome Outcome
}

// Release ends the operator's grant. That nobody holds the object is no error, so that repeating a release is safe.
//
// It returns a *HeldError (ErrHeld) when another operator, or another grant than Fence, holds the object; that of the same
// operator is told with its fence, but for a call in a transaction of the caller's.
// ErrOutcomeUnknown after a cancelled ctx or a broken connection: repeat the call.
func (c *Client) Release(ctx context.Context, request ReleaseRequest) (ReleaseResult, error) {
	params, err := request.params()
	if err != nil {
		return ReleaseResult{}, fmt.Errorf("release %s: %w", request.Object, err)
	}
	result, err := c.operations.release(ctx, params)
	var held *HeldError
	// Not in a caller's transaction: the read could fix what it sees, before a get.
	if errors.As(err, &held) && held.Holder.Operator == params.OperatorID && !c.operations.inTx {
		err = c.operations.explainOtherGrant(ctx, params, held)
	}
	if err != nil {
		return ReleaseResult{}, fmt.Errorf("release %s: %w", request.Object, err)
	}
	return result, nil
}

// explainOtherGrant tells the fence of the operator's other grant, unless that has ended meanwhile.
func (o operations) explainOtherGrant(ctx context.Context, params db.ReleaseApplLockParams, refusal *HeldError) error {
	lock, err := o.inquire(ctx, InquireRequest{Object: refusal.Object})
	if err != nil || lock.Owner.Operator != params.OperatorID {
		return refusal
	}
	held := &HeldError{Object: refusal.Object, Holder: holderOf(lock)}
	return fmt.Errorf("fence %d is not that of the operator's grant, which is %d: %w", params.Fence, lock.Fence, held)
}

func (r ReleaseRequest) params() (db.ReleaseApplLockParams, error) {
	object, err := r.Object.trim()
	if err != nil {
		return db.ReleaseApplLockParams{}, err
	}
	operator, err := checkText("Operator", r.Operator, MaxOperatorLength)
	if err != nil {
		return db.ReleaseApplLockParams{}, err
	}
	if r.Fence < 0 {
		return db.ReleaseApplLockParams{}, &InvalidError{Argument: "Fence", Reason: "must be 1 or greater"}
	}
	actor, reason, err := checkActor(r.Actor, r.Reason)
	return db.ReleaseApplLockParams{
		ObjectType: object.Type,
		ObjectID:   object.ID,
		OperatorID: operator,
		Fence:      int64(r.Fence),
		ActorID:    actor,
		Reason:     reason,
	}, err
}

func (o operations) release(ctx context.Context, params db.ReleaseApplLockParams) (ReleaseResult, error) {
	result, err := retryIfUnchanged(ctx, o, func() (db.ReleaseApplLockResult, error) { return o.driver.ReleaseApplLock(ctx, params) })
	if err != nil {
		return ReleaseResult{}, o.changeError(err)
	}
	object := Object{Type: params.ObjectType, ID: params.ObjectID}
	o.log(ctx, "release_appl_lock",
		slog.String("object", object.String()),
		slog.String("operator", params.OperatorID),
		slog.Int64("fence", params.Fence),
		slog.String("outcome", string(result.Outcome)))
	if result.OkFL != db.Yes {
		return ReleaseResult{}, &HeldError{Object: object, Holder: Holder{
			Owner: Owner{Operator: result.OldOperatorID, Department: result.OldDepartmentID},
		}}
	}
	return ReleaseResult{Outcome: Outcome(result.Outcome)}, nil
}
