package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
)

// inquireAnswer adds the time since when the lock is held.
type inquireAnswer struct{ lockAnswer }

func (i inquireAnswer) fields() []table.Field {
	return []table.Field{
		{Title: "OUTCOME", Value: i.Outcome},
		{Title: "OBJECT", Value: i.object()},
		{Title: "HOLDER", Value: i.Holder},
		{Title: "DEPARTMENT", Value: i.HolderDepartment},
		{Title: "SINCE", Value: i.AcquiredTS},
		{Title: "LEFT", Value: table.Lasting(i.SecondsLeft)},
		{Title: "FENCE", Value: i.Fence, Wide: true},
		{Title: "LOCKED", Value: i.LockTS, Wide: true},
		{Title: "EXPIRES", Value: i.ExpiresTS, Wide: true},
		{Title: "NOTE", Value: i.Note},
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
		Args:              someObjects,
		ValidArgsFunction: a.completeObjects,
		RunE: a.forEach("inquire", inquireAnswer{}, func(ctx context.Context, s session, object applock.Object) (record, error) {
			answer := &inquireAnswer{newAnswer(object, applock.Owner{})}
			return answer, answer.lookUp(ctx, s, object)
		}),
	}
}
