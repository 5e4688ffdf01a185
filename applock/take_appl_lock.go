package applock

import (
	"context"
	"fmt"
	"log/slog"
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
func (c *Client) Take(ctx context.Context, request TakeRequest) (Grant, error) {
	taken, err := c.operations.takeFromHolder(ctx, request)
	if err != nil {
		return Grant{}, fmt.Errorf("take %s: %w", request.Object, err)
	}
	return taken, nil
}

func (r TakeRequest) params() (db.TakeApplLockParams, error) {
	object, err := r.Object.trim()
	if err != nil {
		return db.TakeApplLockParams{}, err
	}
	owner, err := r.Owner.trim("Owner")
	if err != nil {
		return db.TakeApplLockParams{}, err
	}
	reason, err := checkOptionalText("Reason", r.Reason, MaxReasonLength)
	if err != nil {
		return db.TakeApplLockParams{}, err
	}
	if r.ExpectedFence < 0 {
		return db.TakeApplLockParams{}, &InvalidError{Argument: "ExpectedFence", Reason: "must be 1 or greater"}
	}
	ttl, err := checkTTL(r.TTL)
	return db.TakeApplLockParams{
		ObjectType:    object.Type,
		ObjectID:      object.ID,
		OperatorID:    owner.Operator,
		DepartmentID:  owner.Department,
		Reason:        reason,
		ExpectedFence: int64(r.ExpectedFence),
		TTLSeconds:    ttl,
	}, err
}

func (o operations) takeFromHolder(ctx context.Context, request TakeRequest) (Grant, error) {
	params, err := request.params()
	if err != nil {
		return Grant{}, err
	}
	result, err := retryIfUnchanged(ctx, o, func() (db.Result, error) { return o.driver.TakeApplLock(ctx, params) })
	if params.Reason == "" && db.KindOf(err) == db.KindInvalid {
		return Grant{}, &InvalidError{Argument: "Reason", Reason: "must not be empty"}
	}
	if err != nil {
		return Grant{}, o.changeError(err)
	}
	object := Object{Type: params.ObjectType, ID: params.ObjectID}
	o.log(ctx, "take_appl_lock",
		slog.String("object", object.String()),
		slog.String("operator", params.OperatorID),
		slog.Int64("fence", result.Fence),
		slog.String("outcome", string(result.Outcome)))
	if result.Outcome == db.Free {
		return Grant{}, ErrNotHeld
	}
	old := Owner{Operator: result.OldOperatorID, Department: result.OldDepartmentID}
	left := time.Duration(result.SecondsLeft) * time.Second
	if result.OkFL != db.Yes {
		return Grant{}, &HeldError{Object: object, Holder: Holder{Owner: old, ExpiresAt: result.ExpiresTS, Left: left}}
	}
	return Grant{
		Object:    object,
		Owner:     Owner{Operator: params.OperatorID, Department: params.DepartmentID},
		Fence:     Fence(result.Fence),
		ExpiresAt: result.ExpiresTS,
		Left:      left,
		Outcome:   Outcome(result.Outcome),
		From:      old,
	}, nil
}
