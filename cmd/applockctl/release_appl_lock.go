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
	var operator, by, reason string
	fence := number{max: math.MaxInt64}
	command := &cobra.Command{
		Use:   "release OBJECT --operator O [--fence N] [--by O --reason R]",
		Short: "Release the lock on an object",
		Long: `Ends the operator's lock on an object. With --fence only this very grant is ended, which a program
should always ask for: after expiry and take-over the same operator name may hold another one.

Prints RELEASED or FREE, which means that nobody held the object (exit code 0), or HELD with the
holder when somebody else, or another grant than --fence, holds it (exit code 1).

With --by, who is not the operator, or with a reason the history keeps the release. Where
$APPLOCK_OPERATOR says who you are, and --operator is somebody else, that is --by.

The operator is the one of the get: "$(hostname):$$" is the same in all commands of one script.`,
		Example: `  applockctl release customer:42 --operator jdoe
  applockctl release job:nightly --operator "$(hostname):$$" --fence 1795785256123456
  applockctl release customer:42 --operator jdoe --by mlee --reason "ill until Friday"`,
		Args:                  oneObject,
		ValidArgsFunction:     a.completeObjects,
		DisableFlagsInUseLine: true,
		RunE: body(func(ctx context.Context, args []string) error {
			return a.release(ctx, args[0], applock.ReleaseRequest{
				Operator: operator, Fence: applock.Fence(fence.value), Actor: by, Reason: reason,
			})
		}),
	}
	a.operatorFlag(command, &operator, "who holds the object")
	offers(command, "operator", a.completeHolder)
	command.Flags().Var(&fence, "fence", "release this grant only; without it whichever the operator has")
	a.actorFlags(command, &by, &reason)
	return command
}

// actorFlags are for what the history keeps.
func (a *app) actorFlags(command *cobra.Command, by, reason *string) {
	command.Flags().StringVar(by, "by", a.getenv(operatorVariable), "who does it, for the history; without it $"+operatorVariable)
	command.Flags().StringVar(reason, "reason", "", "why, for the history")
	offers(command, "by", a.completeOperator)
}

func (a *app) release(ctx context.Context, text string, request applock.ReleaseRequest) error {
	object, err := applock.ParseObject(text)
	if err != nil {
		return fmt.Errorf("release: %w", err)
	}
	request.Object = object
	return a.call(ctx, "release "+object.String(), func(ctx context.Context, s session) error {
		answer := newAnswer(object, applock.Owner{Operator: request.Operator})
		result, err := s.Release(ctx, request)
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
