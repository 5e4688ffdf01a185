package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

func (a *app) assertCommand() *cobra.Command {
	var key applock.Key
	command := &cobra.Command{
		Use:   "assert OBJECT --operator O --fence N",
		Short: "Check whether a grant is live",
		Long: `Tells whether exactly this grant is live now. Use it before a step of a job that only the holder may do. It
changes nothing. In a transaction call the procedure instead, which keeps the grant live until commit.

Prints HELD if it is live (exit code 0). Otherwise it prints HELD with the holder if somebody else, or
another grant, has the object, or FREE if nobody has it (exit code 1).`,
		Example:           `  applockctl assert job:nightly --operator "$(hostname):$$" --fence 1795785256123456 && ./publish`,
		Args:              oneObject,
		ValidArgsFunction: a.completeObjects,
		RunE: a.forEach("assert", lockAnswer{}, func(ctx context.Context, s session, object applock.Object) (record, error) {
			key.Object = object
			answer := newAnswer(object, applock.Owner{Operator: key.Operator})
			err := s.Assert(ctx, key)
			switch {
			case err == nil:
				answer.Outcome, answer.Holder, answer.Fence = applock.OutcomeHeld, answer.OperatorID, key.Fence
				return &answer, nil
			case !errors.Is(err, applock.ErrLost):
				return nil, err
			}
			if err := answer.lookUp(ctx, s, object); err != nil {
				return &answer, err
			}
			a.noteOwnGrant(&answer)
			return &answer, errNo
		}),
	}
	a.operatorFlag(command, &key.Operator, "who should hold the object", a.completeHolder)
	fenceFlag(command, &key.Fence, "the grant")
	require(command, "fence")
	return command
}
