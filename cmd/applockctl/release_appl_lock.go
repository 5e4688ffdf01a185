package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

func (a *app) releaseCommand() *cobra.Command {
	var operator string
	fence := number{max: math.MaxInt64}
	command := &cobra.Command{
		Use:   "release OBJECT --operator O [--fence N]",
		Short: "Release the lock on an object",
		Long: `Ends the operator's lock on an object. With --fence only this very grant is ended, which a program
should always ask for: after expiry and take-over the same operator name may hold another one.

Prints RELEASED or FREE, which means that nobody held the object (exit code 0), or HELD with the
holder when somebody else, or another grant than --fence, holds it (exit code 1).

The operator is the one of the get: "$(hostname):$$" is the same in all commands of one script.`,
		Example: `  applockctl release customer:42 --operator jdoe
  applockctl release job:nightly --operator "$(hostname):$$" --fence 1795785256123456`,
		Args:                  oneObject,
		ValidArgsFunction:     a.completeObjects,
		DisableFlagsInUseLine: true,
		RunE: body(func(ctx context.Context, args []string) error {
			return a.release(ctx, args[0], operator, applock.Fence(fence.value))
		}),
	}
	a.operatorFlag(command, &operator, "who holds the object")
	offers(command, "operator", a.completeHolder)
	command.Flags().Var(&fence, "fence", "release this grant only; without it whichever the operator has")
	return command
}

func (a *app) release(ctx context.Context, text, operator string, fence applock.Fence) error {
	object, err := applock.ParseObject(text)
	if err != nil {
		return fmt.Errorf("release: %w", err)
	}
	return a.call(ctx, "release "+object.String(), func(ctx context.Context, s session) error {
		answer := newAnswer(object, applock.Owner{Operator: operator})
		result, err := s.Release(ctx, applock.ReleaseRequest{Object: object, Operator: operator, Fence: fence})
		var held *applock.HeldError
		switch {
		case errors.As(err, &held):
			answer.refusedBy(held.Holder)
			a.noteOwnGrant(answer)
		case err != nil:
			return err
		default:
			answer.Outcome = result.Outcome
		}
		return a.answer(held == nil, answer)
	})
}
