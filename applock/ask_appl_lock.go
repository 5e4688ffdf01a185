package applock

import (
	"context"
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
	// Holder is who holds the object, since and until when, for OutcomeAsked; who held it, for OutcomeGiven.
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
func (c *Client) Ask(ctx context.Context, request AskRequest) (asked Asked, err error) {
	defer begin(&err, "ask %s: %w", request.Object)
	params, err := request.params()
	if err != nil {
		return Asked{}, err
	}
	o, object := c.ops(), Object{Type: params.ObjectType, ID: params.ObjectID}
	result, err := change(ctx, o, db.Driver.AskApplLock, params)
	if err != nil {
		return Asked{}, err
	}
	o.logObject(ctx, "ask_appl_lock", object, params.OperatorID, outcomeAttr(result.Outcome))
	holder := holderIn(result)
	switch result.Outcome {
	case db.Free:
		return Asked{}, ErrNotHeld
	case db.Own:
		holder.Owner = Owner{Operator: params.OperatorID}
		return Asked{}, &HeldError{Object: object, Holder: holder}
	case db.Given:
		grant := grantOf(object, Owner{Operator: params.OperatorID, Department: params.DepartmentID}, result)
		grant.From = holder.Owner
		return Asked{Outcome: OutcomeGiven, Holder: Holder{Owner: holder.Owner}, Grant: grant}, nil
	}
	return Asked{Outcome: Outcome(result.Outcome), Holder: holder}, nil
}

func (r AskRequest) params() (db.AskApplLockParams, error) {
	var c checks
	object, owner := c.object(r.Object.trim()), c.owner(r.Owner.trim("Owner"))
	params := db.AskApplLockParams{
		ObjectType:   object.Type,
		ObjectID:     object.ID,
		OperatorID:   owner.Operator,
		DepartmentID: owner.Department,
		ClientID:     c.text(checkClient(r.Client)),
		Message:      c.text(checkName("Message", r.Message, MaxMessageLength)),
	}
	wait, err := r.waitSeconds()
	params.WaitSeconds = keep(&c, wait, err)
	return params, c.err
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
