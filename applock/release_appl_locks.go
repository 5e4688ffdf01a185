package applock

import (
	"context"
	"fmt"

	"github.com/applock/applock/internal/db"
)

// ReleaseAllRequest releases the locks of an operator.
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
	// Limit and PageSize are those of TransferAllRequest.
	Limit    int
	PageSize int
}

// ReleaseAll ends the grants of an operator, whichever they are, and returns what became of each. It works page by page and may be
// begun again as TransferAll, with the same errors.
func (c *Client) ReleaseAll(ctx context.Context, request ReleaseAllRequest) ([]LockChange, error) {
	changes, err := c.ops().releaseAll(ctx, request)
	if err != nil {
		return changes, fmt.Errorf("release all: %w", err)
	}
	return changes, nil
}

func (o operations) releaseAll(ctx context.Context, request ReleaseAllRequest) ([]LockChange, error) {
	params, err := request.params()
	if err != nil {
		return nil, err
	}
	pages := changedPages{limit: request.Limit, size: int(params.MaxRows), from: Owner{Operator: params.OperatorID}}
	return o.changeAll(ctx, "release_appl_locks", pages, func(after db.ChangedLock, rows int) ([]db.ChangedLock, error) {
		if after.ObjectType != "" {
			params.AfterType, params.AfterID = after.ObjectType, after.ObjectID
		}
		params.MaxRows = int64(rows)
		return o.driver.ReleaseApplLocks(ctx, params)
	})
}

func (r ReleaseAllRequest) params() (db.ReleaseApplLocksParams, error) {
	var c checks
	params := db.ReleaseApplLocksParams{
		OperatorID: c.text(checkText("Operator", r.Operator, MaxOperatorLength)),
		ObjectType: c.text(checkAnyType(r.ObjectType)),
		DryRunFL:   dryRunFlag(r.DryRun),
	}
	params.ActorID, params.Reason = c.texts(checkActor(r.Actor, r.Reason))
	params.AfterType, params.AfterID = c.texts(checkAfter(r.After))
	params.MaxRows = c.number(checkPages(r.Limit, r.PageSize))
	return params, c.err
}
