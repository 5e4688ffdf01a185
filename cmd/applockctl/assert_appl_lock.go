package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

func (a *app) assertCommand() *cobra.Command {
	var key applock.Key
	fence := number{max: math.MaxInt64}
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
		RunE: body(func(ctx context.Context, args []string) error {
			key.Fence = applock.Fence(fence.value)
			return a.assert(ctx, args[0], key)
		}),
	}
	a.operatorFlag(command, &key.Operator, "who should hold the object")
	offers(command, "operator", a.completeHolder)
	command.Flags().Var(&fence, "fence", "the grant")
	require(command, "fence")
	return command
}

func (a *app) assert(ctx context.Context, text string, key applock.Key) error {
	object, err := applock.ParseObject(text)
	if err != nil {
		return fmt.Errorf("assert: %w", err)
	}
	key.Object = object
	return a.call(ctx, "assert "+object.String(), func(ctx context.Context, s session) error {
		answer := newAnswer(object, applock.Owner{Operator: key.Operator})
		err := s.Assert(ctx, key)
		if err == nil {
			answer.Outcome, answer.Holder, answer.Fence = applock.OutcomeHeld, answer.OperatorID, key.Fence
			return a.answer(true, answer)
		}
		if !errors.Is(err, applock.ErrLost) {
			return err
		}
		if _, err := answer.lookUp(ctx, s, object); err != nil {
			return err
		}
		a.noteOwnGrant(answer)
		return a.answer(false, answer)
	})
}
