package applock

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/applock/applock/internal/db"
)

// TransferRequest hands a held object from one operator to another.
type TransferRequest struct {
	Object Object
	// From is the operator who holds the object now.
	From string
	// To is the operator who shall hold it; may be the same.
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
	grant, err := c.operations.transfer(ctx, request)
	if err != nil {
		return Grant{}, fmt.Errorf("transfer %s: %w", request.Object, err)
	}
	return grant, nil
}

func (r TransferRequest) params() (db.TransferApplLockParams, error) {
	object, err := r.Object.trim()
	if err != nil {
		return db.TransferApplLockParams{}, err
	}
	from, err := checkText("From", r.From, MaxOperatorLength)
	if err != nil {
		return db.TransferApplLockParams{}, err
	}
	to, err := r.To.trim("To")
	if err != nil {
		return db.TransferApplLockParams{}, err
	}
	ttl, err := checkTTL(r.TTL)
	if err != nil {
		return db.TransferApplLockParams{}, err
	}
	actor, reason, err := checkActor(r.Actor, r.Reason)
	return db.TransferApplLockParams{
		ObjectType:     object.Type,
		ObjectID:       object.ID,
		FromOperatorID: from,
		ToOperatorID:   to.Operator,
		ToDepartmentID: to.Department,
		TTLSeconds:     ttl,
		ActorID:        actor,
		Reason:         reason,
	}, err
}

func (o operations) transfer(ctx context.Context, request TransferRequest) (Grant, error) {
	params, err := request.params()
	if err != nil {
		return Grant{}, err
	}
	result, err := retryIfUnchanged(ctx, o, func() (db.Result, error) { return o.driver.TransferApplLock(ctx, params) })
	if err != nil {
		return Grant{}, o.changeError(err)
	}
	object := Object{Type: params.ObjectType, ID: params.ObjectID}
	o.log(ctx, "transfer_appl_lock",
		slog.String("object", object.String()),
		slog.String("operator", params.ToOperatorID),
		slog.Int64("fence", result.Fence),
		slog.String("outcome", string(result.Outcome)))
	if result.Outcome == db.Free {
		return Grant{}, ErrNotHeld
	}
	if result.OkFL != db.Yes {
		return Grant{}, &HeldError{Object: object, Holder: Holder{
			Owner:     Owner{Operator: result.OldOperatorID, Department: result.OldDepartmentID},
			ExpiresAt: result.ExpiresTS,
			Left:      time.Duration(result.SecondsLeft) * time.Second,
		}}
	}
	return Grant{
		Object:    object,
		Owner:     Owner{Operator: params.ToOperatorID, Department: params.ToDepartmentID},
		Fence:     Fence(result.Fence),
		ExpiresAt: result.ExpiresTS,
		Left:      time.Duration(result.SecondsLeft) * time.Second,
		Outcome:   Outcome(result.Outcome),
	}, nil
}
