package applock

import (
	"context"
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
}

// Release ends the operator's grant. It reports whether there was one: false means that nobody held the
// object, which is no error, so that repeating a release is safe.
//
// It returns a *HeldError (ErrHeld) when another operator, or another grant than Fence, holds the object.
// ErrOutcomeUnknown after a cancelled ctx or a broken connection: repeat the call.
func (c *Client) Release(ctx context.Context, request ReleaseRequest) (bool, error) {
	released, err := c.release(ctx, request)
	if err != nil {
		return false, fmt.Errorf("release %s: %w", request.Object, err)
	}
	return released, nil
}

func (c *Client) release(ctx context.Context, request ReleaseRequest) (bool, error) {
	object, err := request.Object.trim()
	if err != nil {
		return false, err
	}
	operator, err := checkText("operator_id", request.Operator, MaxOperatorLength)
	if err != nil {
		return false, err
	}
	if request.Fence < 0 {
		return false, &InvalidError{Argument: "fence", Reason: "must be 1 or greater"}
	}
	if err := ctx.Err(); err != nil {
		return false, err // nothing has been sent
	}
	params := db.ReleaseApplLockParams{
		ObjectType: object.Type,
		ObjectID:   object.ID,
		OperatorID: operator,
		Fence:      int64(request.Fence),
	}
	result, err := settle(ctx, c, func() (db.ReleaseApplLockResult, error) { return c.driver.ReleaseApplLock(ctx, params) })
	if err != nil {
		return false, c.changeError(err)
	}
	c.log(ctx, "release_appl_lock",
		slog.String("object", object.String()),
		slog.String("operator", operator),
		slog.Int64("fence", int64(request.Fence)),
		slog.String("outcome", string(result.Outcome)))
	if result.ReturnCD != db.Yes {
		return false, &HeldError{Object: object, Holder: Holder{
			Owner: Owner{Operator: result.OldOperatorID, Department: result.OldDepartmentID},
		}}
	}
	return result.Outcome == db.Released, nil
}
