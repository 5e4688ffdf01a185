package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

// inquireAnswer also shows since when.
type inquireAnswer struct{ lockAnswer }

func (i inquireAnswer) fields() []field {
	return []field{
		{title: "OUTCOME", value: i.Outcome},
		{title: "OBJECT", value: i.object()},
		{title: "HOLDER", value: i.Holder},
		{title: "DEPARTMENT", value: i.HolderDepartment},
		{title: "SINCE", value: i.AcquiredTS},
		{title: "LEFT", value: lasting(i.SecondsLeft)},
		{title: "FENCE", value: i.Fence, wide: true},
		{title: "LOCKED", value: i.LockTS, wide: true},
		{title: "EXPIRES", value: i.ExpiresTS, wide: true},
		{title: "NOTE", value: i.Note},
	}
}

func (a *app) inquireCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "inquire OBJECT",
		Short: "Tell who holds an object",
		Long: `Tells who holds an object, since when and until when, and what the holder has noted. It changes nothing
and never waits.

Prints HELD with the lock (exit code 0), or FREE (exit code 1).`,
		Example: `  applockctl inquire customer:42
  applockctl inquire customer:42 --output json`,
		Args:                  oneObject,
		ValidArgsFunction:     a.completeObjects,
		DisableFlagsInUseLine: true,
		RunE: body(func(ctx context.Context, args []string) error {
			return a.inquire(ctx, args[0])
		}),
	}
}

func (a *app) inquire(ctx context.Context, text string) error {
	object, err := applock.ParseObject(text)
	if err != nil {
		return fmt.Errorf("inquire: %w", err)
	}
	return a.call(ctx, "inquire "+object.String(), func(ctx context.Context, s session) error {
		answer := inquireAnswer{newAnswer(object, applock.Owner{})}
		held, err := answer.lookUp(ctx, s, object)
		if err != nil {
			return err
		}
		return a.answer(held, answer)
	})
}
