package applock

import (
	"context"
	"errors"

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
func (c *Client) DropPolicy(ctx context.Context, request DropPolicyRequest) (err error) {
	defer begin(&err, "drop policy of %s: %w", request.Type)
	var checked checks
	params := db.DropApplLockPolicyParams{ObjectType: checked.text(checkObjectType("Type", request.Type))}
	params.ActorID, params.Reason = checked.texts(checkPolicyActor(request.Actor, request.Reason))
	if checked.err != nil {
		return checked.err
	}
	o := c.ops()
	result, err := change(ctx, o, db.Driver.DropApplLockPolicy, params)
	if err != nil {
		return err
	}
	o.logPolicy(ctx, "drop_appl_lock_policy", params.ObjectType, params.ActorID, result)
	if result.Outcome == db.None {
		return ErrNoPolicy
	}
	return nil
}
