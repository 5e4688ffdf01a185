package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

// inquireAnswer adds the time since when the lock is held.
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
		Use:   "inquire OBJECT...",
		Short: "Show who holds an object",
		Long: `Shows who holds an object, or each of several, since when and until when, and the holder's note. It changes
nothing and never waits.

Prints HELD with the lock (exit code 0), or FREE (exit code 1). Several objects have one line each, in
order, and the exit code is the worst of theirs.`,
		Example: `  applockctl inquire customer:42
  applockctl inquire customer:42 --output json`,
		Args:                  someObjects,
		ValidArgsFunction:     a.completeObjects,
		DisableFlagsInUseLine: true,
		RunE: body(func(ctx context.Context, args []string) error {
			return a.inquire(ctx, args)
		}),
	}
}

func (a *app) inquire(ctx context.Context, texts []string) error {
	return a.eachObject(ctx, "inquire", texts, inquireAnswer{},
		func(ctx context.Context, s session, object applock.Object) (record, bool, error) {
			answer := inquireAnswer{newAnswer(object, applock.Owner{})}
			held, err := answer.lookUp(ctx, s, object)
			return answer, held, err
		})
}
