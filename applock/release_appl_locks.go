package applock

import (
	"context"
	"iter"

	"github.com/applock/applock/internal/db"
)

// ReleaseAllRequest gives back what an operator holds.
type ReleaseAllRequest struct {
	Operator string
	// ObjectType selects the objects of one type; empty is all.
	ObjectType string
	// Actor is who releases them, for the history; empty is Operator. Reason says why: up to MaxReasonLength characters. A release by
	// another actor, or with a reason, is an event of the history.
	Actor  string
	Reason string
	// DryRun only tells what would be done.
	DryRun bool
	// After goes on behind this object, the last one of an earlier call.
	After Object
	// PageSize is that of TransferAllRequest.
	PageSize int
}

// ReleaseAll ends the grants of an operator, whichever they are, and yields what became of each. It works page by page and may be
// begun again as TransferAll, with the same errors.
func (c *Client) ReleaseAll(ctx context.Context, request ReleaseAllRequest) iter.Seq2[LockChange, error] {
	o := c.operations
	params, err := request.params()
	return o.changeAll(ctx, "release_appl_locks", "release all", err, params.MaxRows, func(after db.ChangedLock) ([]db.ChangedLock, error) {
		next := params
		if after.ObjectType != "" {
			next.AfterType, next.AfterID = after.ObjectType, after.ObjectID
		}
		return o.driver.ReleaseApplLocks(ctx, next)
	})
}

func (r ReleaseAllRequest) params() (db.ReleaseApplLocksParams, error) {
	params := db.ReleaseApplLocksParams{DryRunFL: dryRunFlag(r.DryRun)}
	var err error
	if params.OperatorID, err = checkText("Operator", r.Operator, MaxOperatorLength); err != nil {
		return params, err
	}
	if params.ObjectType, err = checkAnyType(r.ObjectType); err != nil {
		return params, err
	}
	if params.ActorID, params.Reason, err = checkActor(r.Actor, r.Reason); err != nil {
		return params, err
	}
	if params.AfterType, params.AfterID, err = checkAfter(r.After); err != nil {
		return params, err
	}
	params.MaxRows, err = checkRows("PageSize", r.PageSize)
	return params, err
}
