package applock

import (
	"context"
	"time"

	"github.com/applock/applock/internal/db"
)

// TakeRequest takes a held object from its holder.
type TakeRequest struct {
	Object Object
	// Owner is who takes it.
	Owner Owner
	// Reason says why, for the history and the displaced holder: 1 to MaxReasonLength characters. It may be empty only if the type's Policy
	// has TakeWithoutReason.
	Reason string
	// ExpectedFence limits the take to this grant, such as the one that a supervisor saw before deciding. Zero means any grant.
	ExpectedFence Fence
	// TTL is how long the lock lasts from this call on, as in GetRequest; zero keeps that of the ended grant.
	TTL time.Duration
}

// Take ends the holder's grant and begins one of Owner, with a greater fence. It needs the role supervisor and is for
// emergencies: the history keeps the reason, and the displaced operator finds it in its Inbox. An object that Owner holds itself gets a new
// grant, too.
//
// It returns ErrNotHeld if nobody holds the object (use Get), and a *HeldError (ErrHeld) if another grant than ExpectedFence holds it.
// ErrOutcomeUnknown after a cancelled ctx or a broken connection: repeat the call; if it took effect, the answer to a call with an
// ExpectedFence is a *HeldError that names Owner.
func (c *Client) Take(ctx context.Context, request TakeRequest) (taken Grant, err error) {
	defer begin(&err, "take %s: %w", request.Object)
	params, err := request.params()
	if err != nil {
		return Grant{}, err
	}
	o, object := c.ops(), Object{Type: params.ObjectType, ID: params.ObjectID}
	result, err := change(ctx, o, db.Driver.TakeApplLock, params)
	if params.Reason == "" && db.KindOf(err) == db.KindInvalid {
		return Grant{}, &InvalidError{Argument: "Reason", Reason: "must not be empty"}
	}
	if err != nil {
		return Grant{}, err
	}
	o.logObject(ctx, "take_appl_lock", object, params.OperatorID, fenceAttr(result.Fence), outcomeAttr(result.Outcome))
	if result.Outcome == db.Free {
		return Grant{}, ErrNotHeld
	}
	if result.OkFL != db.Yes {
		return Grant{}, heldBy(object, result)
	}
	taken = grantOf(object, Owner{Operator: params.OperatorID, Department: params.DepartmentID}, result)
	taken.From = formerOwner(result)
	return taken, nil
}

func (r TakeRequest) params() (db.TakeApplLockParams, error) {
	var c checks
	object, owner := c.object(r.Object.trim()), c.owner(r.Owner.trim("Owner"))
	reason := c.text(checkOptionalText("Reason", r.Reason, MaxReasonLength))
	c.refuse(r.ExpectedFence < 0, "ExpectedFence", reasonFence)
	return db.TakeApplLockParams{
		ObjectType:    object.Type,
		ObjectID:      object.ID,
		OperatorID:    owner.Operator,
		DepartmentID:  owner.Department,
		Reason:        reason,
		ExpectedFence: int64(r.ExpectedFence),
		TTLSeconds:    c.number(checkTTL(r.TTL)),
	}, c.err
}
