package applock

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/applock/applock/internal/db"
)

// AskRequest TODO: says what Ask does with which object.
type AskRequest struct {
	Object   Object
	Operator string
}

// Ask TODO: what it does, its units and limits, its refusals and errors, and what a cancelled ctx means.
func (c *Client) Ask(ctx context.Context, request AskRequest) (Outcome, error) {
	outcome, err := c.operations.askApplLock(ctx, request)
	if err != nil {
		return "", fmt.Errorf("ask %s: %w", request.Object, err)
	}
	return outcome, nil
}

func (r AskRequest) params() (db.AskApplLockParams, error) {
	object, err := r.Object.trim()
	if err != nil {
		return db.AskApplLockParams{}, err
	}
	operator, err := checkText("Operator", r.Operator, MaxOperatorLength)
	return db.AskApplLockParams{ObjectType: object.Type, ObjectID: object.ID, OperatorID: operator}, err
}

func (o operations) askApplLock(ctx context.Context, request AskRequest) (Outcome, error) {
	params, err := request.params()
	if err != nil {
		return "", err
	}
	result, err := retryIfUnchanged(ctx, o, func() (db.AskApplLockResult, error) { return o.driver.AskApplLock(ctx, params) })
	if err != nil {
		return "", o.changeError(err)
	}
	o.log(ctx, "ask_appl_lock",
		slog.String("object", Object{Type: params.ObjectType, ID: params.ObjectID}.String()),
		slog.String("operator", params.OperatorID),
		slog.String("outcome", string(result.Outcome)))
	return Outcome(result.Outcome), nil // TODO: a refusal as an error
}
