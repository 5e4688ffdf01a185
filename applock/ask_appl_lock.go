package applock

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/applock/applock/internal/db"
)

// AskRequest asks the holder of an object for it.
type AskRequest struct {
	Object Object
	// Owner is the asker.
	Owner Owner
	// Client is the asking program, such as a browser tab, by a name that it has made up for itself: 1 to MaxClientLength characters.
	// Each program asks for itself.
	Client string
	// Message is for the holder: up to MaxMessageLength characters, may be empty. A different message is a new request, without an answer.
	Message string
	// Wait is how long the request lasts: whole seconds up to MaxTTL; zero is for ever.
	Wait time.Duration
	// Withdraw removes the request.
	Withdraw bool
}

// Asked is the result of a request.
type Asked struct {
	// Outcome is OutcomeAsked, OutcomeGiven or OutcomeWithdrawn.
	Outcome Outcome
	// Holder is who holds the object and until when, for OutcomeAsked; who held it, for OutcomeGiven.
	Holder Holder
	// Grant is the new grant, for OutcomeGiven. It lasts for a minute unless the Owner gets the object before: that Get renews it for its
	// own TTL.
	Grant Grant
}

// Ask lists a request, which the holder finds in its Inbox, with the message. It is listed for a minute, and each further call keeps it
// listed: so it vanishes with the asking program. A request holds nothing, and Acquire does not wait for it.
//
// The outcome is OutcomeAsked or OutcomeWithdrawn. It is OutcomeGiven if the Policy of the type yields locks and the holder has left the
// request unanswered for that time: then the Owner holds the lock, and both find it in their Inbox.
//
// It returns ErrNotHeld if nobody holds the object (use Get), and a *HeldError (ErrHeld) that names Owner itself if Owner holds it; the
// request is gone then. ErrOutcomeUnknown after a cancelled ctx or a broken connection: repeat the call. After a lost OutcomeGiven the
// repeated call returns that *HeldError.
func (c *Client) Ask(ctx context.Context, request AskRequest) (Asked, error) {
	asked, err := c.operations.askApplLock(ctx, request)
	if err != nil {
		return Asked{}, fmt.Errorf("ask %s: %w", request.Object, err)
	}
	return asked, nil
}

func (r AskRequest) params() (db.AskApplLockParams, error) {
	object, err := r.Object.trim()
	if err != nil {
		return db.AskApplLockParams{}, err
	}
	owner, err := r.Owner.trim("Owner")
	if err != nil {
		return db.AskApplLockParams{}, err
	}
	client, err := checkClient(r.Client)
	if err != nil {
		return db.AskApplLockParams{}, err
	}
	message, err := checkName("Message", r.Message, MaxMessageLength)
	if err != nil {
		return db.AskApplLockParams{}, err
	}
	wait, err := r.waitSeconds()
	return db.AskApplLockParams{
		ObjectType:   object.Type,
		ObjectID:     object.ID,
		OperatorID:   owner.Operator,
		DepartmentID: owner.Department,
		ClientID:     client,
		Message:      message,
		WaitSeconds:  wait,
	}, err
}

// waitSeconds is nil for a request that never gives up.
func (r AskRequest) waitSeconds() (*int64, error) {
	seconds, err := checkOptionalSeconds("Wait", r.Wait)
	switch {
	case err != nil:
		return nil, err
	case r.Withdraw && seconds != 0:
		return nil, &InvalidError{Argument: "Wait", Reason: "is for a new request: leave it out with Withdraw"}
	case r.Withdraw:
		return new(int64), nil
	case seconds == 0:
		return nil, nil
	}
	return &seconds, nil
}

// checkClient returns the name of a program without trailing blanks.
func checkClient(client string) (string, error) {
	trimmed, err := checkOptionalText("Client", client, MaxClientLength)
	if err == nil && trimmed == "" {
		err = &InvalidError{Argument: "Client", Reason: "must not be empty"}
	}
	return trimmed, err
}

func (o operations) askApplLock(ctx context.Context, request AskRequest) (Asked, error) {
	params, err := request.params()
	if err != nil {
		return Asked{}, err
	}
	result, err := retryIfUnchanged(ctx, o, func() (db.Result, error) { return o.driver.AskApplLock(ctx, params) })
	if err != nil {
		return Asked{}, o.changeError(err)
	}
	object := Object{Type: params.ObjectType, ID: params.ObjectID}
	o.log(ctx, "ask_appl_lock",
		slog.String("object", object.String()),
		slog.String("operator", params.OperatorID),
		slog.String("outcome", string(result.Outcome)))
	owner := Owner{Operator: params.OperatorID, Department: params.DepartmentID}
	left := time.Duration(result.SecondsLeft) * time.Second
	switch result.Outcome {
	case db.Free:
		return Asked{}, ErrNotHeld
	case db.Own:
		return Asked{}, &HeldError{Object: object, Holder: Holder{Owner: Owner{Operator: owner.Operator}, ExpiresAt: result.ExpiresTS, Left: left}}
	}
	asked := Asked{
		Outcome: Outcome(result.Outcome),
		Holder:  Holder{Owner: Owner{Operator: result.OldOperatorID, Department: result.OldDepartmentID}},
	}
	if result.Outcome != db.Given {
		asked.Holder.ExpiresAt, asked.Holder.Left = result.ExpiresTS, left
		return asked, nil
	}
	asked.Grant = Grant{
		Object: object, Owner: owner, Fence: Fence(result.Fence), ExpiresAt: result.ExpiresTS, Left: left, Outcome: asked.Outcome,
		From: asked.Holder.Owner,
	}
	return asked, nil
}
