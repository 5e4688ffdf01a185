package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

func (a *app) askApplLockCommand() *cobra.Command {
	var request applock.AskRequest
	command := &cobra.Command{
		Use:   "ask OBJECT --operator O",
		Short: "TODO: what it does",
		Long: `TODO: what it does.

Prints TODO: its answers, and the exit code of each.`,
		Example:               `  applockctl ask customer:42 --operator jdoe`,
		Args:                  oneObject,
		ValidArgsFunction:     a.completeObjects,
		DisableFlagsInUseLine: true,
		RunE: body(func(ctx context.Context, args []string) error {
			return a.askApplLock(ctx, args[0], request)
		}),
	}
	a.operatorFlag(command, &request.Operator, "who holds the object")
	offers(command, "operator", a.completeHolder)
	return command
}

func (a *app) askApplLock(ctx context.Context, text string, request applock.AskRequest) error {
	object, err := applock.ParseObject(text)
	if err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	request.Object = object
	return a.call(ctx, "ask "+object.String(), func(ctx context.Context, s session) error {
		outcome, err := s.Ask(ctx, request)
		if err != nil {
			return err
		}
		answer := newAnswer(object, applock.Owner{Operator: request.Operator})
		answer.Outcome = outcome
		return a.answer(false, answer) // TODO: true for an outcome that is a yes
	})
}
