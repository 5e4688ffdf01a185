package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/applock/applock/applock"
)

func (a *app) getPermit(ctx context.Context, text string, request applock.GetPermitRequest) error {
	object, err := parseObject(text)
	if err != nil {
		return fmt.Errorf("get: %w", err)
	}
	request.Object = object
	return a.call(ctx, "get "+object.String(), func(ctx context.Context, s session) error {
		permit, err := s.GetPermit(ctx, request)
		if full, is := errors.AsType[*applock.FullError](err); is && ctx.Err() == nil {
			return a.answerFull(full, request)
		}
		if err != nil {
			return err
		}
		answer := newAnswer(permit.Object, request.Owner)
		answer.grantedTo(permit)
		return a.answer(true, answer)
	})
}

// answerFull prints the holders of the slots, if they still have them, and returns the answer no.
func (a *app) answerFull(full *applock.FullError, request applock.GetPermitRequest) error {
	answer := newAnswer(full.Object, request.Owner)
	answer.Outcome = applock.OutcomeFull
	if len(full.Slots) == 0 {
		return a.answer(false, answer)
	}
	printer := a.newPrinter(answer)
	for _, slot := range full.Slots {
		answer.ObjectID = slot.Object.ID
		answer.refusedBy(slot.Holder)
		answer.Outcome = applock.OutcomeFull
		if err := printer.print(answer); err != nil {
			return withoutEffect(err)
		}
	}
	if err := printer.end(); err != nil {
		return withoutEffect(err)
	}
	return errNo
}
