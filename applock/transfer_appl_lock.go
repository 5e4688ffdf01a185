package applock

import (
	"context"
	"fmt"
	"time"

	"github.com/applock/applock/internal/db"
)

// TransferRequest hands a held object from one operator to another.
type TransferRequest struct {
	Object Object
	// From is the operator who holds the object now.
	From string
	// To is the operator who shall hold it, another one than From.
	To Owner
	// TTL is how long the lock outlives this call, as in GetRequest; zero keeps that of the grant that
	// ends.
	TTL time.Duration
	// Actor is who hands it over, for the history; empty is From. Reason says why: up to MaxReasonLength characters.
	Actor  string
	Reason string
}

// Transfer ends the grant of one operator and begins one of another, with a greater fence.
//
// It returns a *HeldError (ErrHeld) if another operator than From holds the object, and ErrNotHeld if nobody does. ErrOutcomeUnknown after
// a cancelled ctx or a broken connection: repeat the call; if it took effect, the answer is a *HeldError that names To.
func (c *Client) Transfer(ctx context.Context, request TransferRequest) (Grant, error) {
	grant, err := c.ops().transfer(ctx, request)
	if err != nil {
		return Grant{}, fmt.Errorf("transfer %s: %w", request.Object, err)
	}
	return grant, nil
}

func (r TransferRequest) params() (db.TransferApplLockParams, error) {
	var c checks
	object := c.object(r.Object.trim())
	from := c.text(checkText("From", r.From, MaxOperatorLength))
	to := c.owner(r.To.trim("To"))
	c.refuse(to.Operator == from, "To.Operator", "must be another operator than the holder")
	ttl := c.number(checkTTL(r.TTL))
	actor, reason := c.texts(checkActor(r.Actor, r.Reason))
	return db.TransferApplLockParams{
		ObjectType:     object.Type,
		ObjectID:       object.ID,
		FromOperatorID: from,
		ToOperatorID:   to.Operator,
		ToDepartmentID: to.Department,
		TTLSeconds:     ttl,
		ActorID:        actor,
		Reason:         reason,
	}, c.err
}

func (o operations) transfer(ctx context.Context, request TransferRequest) (Grant, error) {
	params, err := request.params()
	if err != nil {
		return Grant{}, err
	}
	object := Object{Type: params.ObjectType, ID: params.ObjectID}
	result, err := change(ctx, o, db.Driver.TransferApplLock, params)
	if err != nil {
		return Grant{}, err
	}
	o.logObject(ctx, "transfer_appl_lock", object, params.ToOperatorID, fenceAttr(result.Fence), outcomeAttr(result.Outcome))
	if result.Outcome == db.Free {
		return Grant{}, ErrNotHeld
	}
	if result.OkFL != db.Yes {
		return Grant{}, heldBy(object, result)
	}
	return grantOf(object, Owner{Operator: params.ToOperatorID, Department: params.ToDepartmentID}, result), nil
}
