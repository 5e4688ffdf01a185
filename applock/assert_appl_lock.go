package applock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/applock/applock/internal/db"
)

// AssertRequest names the grant that the caller believes to have.
type AssertRequest struct {
	Object   Object
	Operator string
	// Fence is the grant's; it must be given.
	Fence Fence
}

// Assert returns nil when exactly this grant is live. In a client on a transaction it keeps the grant so
// until the transaction ends: call it first in the transaction that writes the protected data, and a
// holder that lost its lock without noticing cannot write. Without a transaction it is a check only.
//
// It returns ErrLost (and ErrNotHeld) when the grant is not live; the text names the holder.
func (c *Client) Assert(ctx context.Context, request AssertRequest) error {
	if err := c.operations.assert(ctx, request); err != nil {
		return fmt.Errorf("assert %s: %w", request.Object, err)
	}
	return nil
}

func (o operations) assert(ctx context.Context, request AssertRequest) error {
	object, err := request.Object.trim()
	if err != nil {
		return err
	}
	operator, err := checkText("Operator", request.Operator, MaxOperatorLength)
	if err != nil {
		return err
	}
	if request.Fence < 1 {
		return &InvalidError{Argument: "Fence", Reason: "must be 1 or greater"}
	}
	params := db.AssertApplLockParams{
		ObjectType: object.Type,
		ObjectID:   object.ID,
		OperatorID: operator,
		Fence:      int64(request.Fence),
	}
	_, err = retryIfUnchanged(ctx, o, func() (struct{}, error) { return struct{}{}, o.driver.AssertApplLock(ctx, params) })
	if err != nil {
		err = o.readError(err)
		if errors.Is(err, ErrLost) {
			err = newLost(object, err)
		}
		return err
	}
	o.log(ctx, "assert_appl_lock",
		slog.String("object", object.String()),
		slog.String("operator", operator),
		slog.Int64("fence", int64(request.Fence)))
	return nil
}
