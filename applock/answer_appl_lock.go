package applock

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/applock/applock/internal/db"
)

// AnswerRequest TODO: says what Answer does with which object.
type AnswerRequest struct {
	Object   Object
	Operator string
}

// Answer TODO: what it does, its units and limits, its refusals and errors, and what a cancelled ctx means.
func (c *Client) Answer(ctx context.Context, request AnswerRequest) (Outcome, error) {
	outcome, err := c.operations.answerApplLock(ctx, request)
	if err != nil {
		return "", fmt.Errorf("answer %s: %w", request.Object, err)
	}
	return outcome, nil
}

func (r AnswerRequest) params() (db.AnswerApplLockParams, error) {
	object, err := r.Object.trim()
	if err != nil {
		return db.AnswerApplLockParams{}, err
	}
	operator, err := checkText("Operator", r.Operator, MaxOperatorLength)
	return db.AnswerApplLockParams{ObjectType: object.Type, ObjectID: object.ID, OperatorID: operator}, err
}

func (o operations) answerApplLock(ctx context.Context, request AnswerRequest) (Outcome, error) {
	params, err := request.params()
	if err != nil {
		return "", err
	}
	result, err := retryIfUnchanged(ctx, o, func() (db.AnswerApplLockResult, error) { return o.driver.AnswerApplLock(ctx, params) })
	if err != nil {
		return "", o.changeError(err)
	}
	o.log(ctx, "answer_appl_lock",
		slog.String("object", Object{Type: params.ObjectType, ID: params.ObjectID}.String()),
		slog.String("operator", params.OperatorID),
		slog.String("outcome", string(result.Outcome)))
	return Outcome(result.Outcome), nil // TODO: a refusal as an error
}
