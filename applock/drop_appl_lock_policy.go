package applock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/applock/applock/internal/db"
)

// ErrNoPolicy means that the type has no policy.
var ErrNoPolicy = errors.New("no policy")

// DropPolicyRequest takes back the policy of a type.
type DropPolicyRequest struct {
	// Type is that of the objects.
	Type string
	// Actor is who does it, and Reason why: up to MaxPolicyReasonLength characters. The history keeps both.
	Actor  string
	Reason string
}

// DropPolicy removes the policy of a type, from the next call on. It returns ErrNoPolicy if the type has none. It needs the same right as
// SetPolicy, and writes an event. ErrOutcomeUnknown after a cancelled ctx or a broken connection: repeat the call; if it took effect, the
// answer is ErrNoPolicy.
func (c *Client) DropPolicy(ctx context.Context, request DropPolicyRequest) error {
	if err := c.operations.dropPolicy(ctx, request); err != nil {
		return fmt.Errorf("drop policy of %s: %w", request.Type, err)
	}
	return nil
}

func (o operations) dropPolicy(ctx context.Context, request DropPolicyRequest) error {
	var params db.DropApplLockPolicyParams
	var err error
	if params.ObjectType, err = checkObjectType("Type", request.Type); err != nil {
		return err
	}
	if params.ActorID, params.Reason, err = checkPolicyActor(request.Actor, request.Reason); err != nil {
		return err
	}
	result, err := retryIfUnchanged(ctx, o, func() (db.Result, error) { return o.driver.DropApplLockPolicy(ctx, params) })
	if err != nil {
		return o.changeError(err)
	}
	o.log(ctx, "drop_appl_lock_policy",
		slog.String("object_type", params.ObjectType),
		slog.String("actor", params.ActorID),
		slog.String("outcome", string(result.Outcome)))
	if result.Outcome == db.None {
		return ErrNoPolicy
	}
	return nil
}
