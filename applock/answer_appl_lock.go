package applock

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/applock/applock/internal/db"
)

// AskAnswer is what a holder answers to a request.
type AskAnswer string

// The answers.
const (
	// AnswerGive hands the object to the asker.
	AnswerGive AskAnswer = "GIVE"
	// AnswerLater and AnswerNo only tell the asker.
	AnswerLater AskAnswer = "LATER"
	AnswerNo    AskAnswer = "NO"
)

// AnswerRequest answers an operator who asks for a held object.
type AnswerRequest struct {
	// Key is the grant, with its fence: the Object and Fence of a NoticeAwaited, and the operator that holds it.
	Key Key
	// Asker is the operator who asks. Client is the asking program, as in the notice; empty means any.
	Asker  string
	Client string
	Answer AskAnswer
	// Reason is for the asker, and with AnswerGive also for the history: up to MaxReasonLength characters, may be empty.
	Reason string
}

// Answered is the result of an answer.
type Answered struct {
	// Outcome is OutcomeGiven or OutcomeTold.
	Outcome Outcome
	// ExpiresAt is when the lock ends: the asker's after OutcomeGiven, which its first Get renews. Left is how long that is from the answer
	// on, in whole seconds by the database's clock, rounded up.
	ExpiresAt time.Time
	Left      time.Duration
}

// Answer answers a request. AnswerGive ends the grant and begins one of the asker, with a greater fence, in one step: nobody can come in
// between. The new grant lasts for a minute unless the asker gets the object before, so that a closed browser locks nothing for long. A
// fence is no secret, so AnswerGive is as strong as Release: the history keeps it with the database's user, and the former holder finds it
// in its Inbox. The asker finds AnswerLater and AnswerNo in its Inbox while it asks.
//
// It returns ErrNotAsking if the asker no longer asks, a *HeldError (ErrHeld) if another operator or grant holds the object, and ErrNotHeld
// if nobody does. ErrOutcomeUnknown after a cancelled ctx or a broken connection: repeat the call; if AnswerGive took effect, the answer is
// a *HeldError that names the asker.
func (c *Client) Answer(ctx context.Context, request AnswerRequest) (answered Answered, err error) {
	defer begin(&err, "answer %s: %w", request.Key.Object)
	params, err := request.params()
	if err != nil {
		return Answered{}, err
	}
	o, object := c.ops(), Object{Type: params.ObjectType, ID: params.ObjectID}
	result, err := change(ctx, o, db.Driver.AnswerApplLock, params)
	if err != nil {
		return Answered{}, err
	}
	o.logObject(ctx, "answer_appl_lock", object, params.OperatorID, slog.String("asker", params.AskerID), outcomeAttr(result.Outcome))
	switch result.Outcome {
	case db.Free:
		return Answered{}, ErrNotHeld
	case db.Gone:
		return Answered{}, ErrNotAsking
	case db.Held:
		return Answered{}, heldBy(object, result)
	}
	return Answered{Outcome: Outcome(result.Outcome), ExpiresAt: result.ExpiresTS.Time, Left: seconds(result.SecondsLeft)}, nil
}

func (r AnswerRequest) params() (db.AnswerApplLockParams, error) {
	var c checks
	key := c.key(r.Key.trimWithFence())
	asker := c.text(checkText("Asker", r.Asker, MaxOperatorLength))
	client := ""
	if r.Client != "" {
		client = c.text(checkClient(r.Client))
	}
	answer := c.text(checkOptionalText("Answer", string(r.Answer), MaxReasonLength))
	known := []AskAnswer{AnswerGive, AnswerLater, AnswerNo}
	c.refuse(!slices.Contains(known, AskAnswer(answer)), "Answer", "must be GIVE, LATER or NO")
	return db.AnswerApplLockParams{
		ObjectType: key.Object.Type,
		ObjectID:   key.Object.ID,
		OperatorID: key.Operator,
		Fence:      int64(key.Fence),
		AskerID:    asker,
		ClientID:   client,
		Answer:     answer,
		Reason:     c.text(checkOptionalText("Reason", r.Reason, MaxReasonLength)),
	}, c.err
}
