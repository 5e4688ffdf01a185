package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

func (a *app) answerApplLockCommand() *cobra.Command {
	var request applock.AnswerRequest
	command := &cobra.Command{
		Use:   "answer OBJECT --operator O",
		Short: "TODO: what it does",
		Long: `TODO: what it does.

Prints TODO: its answers, and the exit code of each.`,
		Example:               `  applockctl answer customer:42 --operator jdoe`,
		Args:                  oneObject,
		ValidArgsFunction:     a.completeObjects,
		DisableFlagsInUseLine: true,
		RunE: body(func(ctx context.Context, args []string) error {
			return a.answerApplLock(ctx, args[0], request)
		}),
	}
	a.operatorFlag(command, &request.Operator, "who holds the object")
	offers(command, "operator", a.completeHolder)
	return command
}

func (a *app) answerApplLock(ctx context.Context, text string, request applock.AnswerRequest) error {
	object, err := applock.ParseObject(text)
	if err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	request.Object = object
	return a.call(ctx, "answer "+object.String(), func(ctx context.Context, s session) error {
		outcome, err := s.Answer(ctx, request)
		if err != nil {
			return err
		}
		answer := newAnswer(object, applock.Owner{Operator: request.Operator})
		answer.Outcome = outcome
		return a.answer(false, answer) // TODO: true for an outcome that is a yes
	})
}
