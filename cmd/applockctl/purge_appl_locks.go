package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
)

// purgeAnswer has the column of purge_appl_locks, added up over all batches.
type purgeAnswer struct {
	Outcome applock.Outcome `json:"outcome"`
	Purged  int64           `json:"purged"`
}

func (p purgeAnswer) fields() []table.Field { return []table.Field{{Title: "PURGED", Value: p.Purged}} }

func (a *app) purgeCommand() *cobra.Command {
	request := applock.PurgeRequest{OlderThan: applock.DefaultPurgeAge, Batch: applock.DefaultPurgeBatch}
	command := &cobra.Command{
		Use:   "purge [--older-than 30d] [--batch 50]",
		Short: "Remove the rows of objects that have been free for long",
		Long: `Removes the rows of objects that have been free for long, and prints their number. It never touches a live
lock or the history (see purge-history). It is meant for cron; several may run at once.

Rows are removed in batches. Each batch is a transaction: after an error or Ctrl-C the next purge continues.
Small batches keep concurrent gets fast; if nobody gets locks, a greater --batch is faster. --timeout is for
each batch. A terminal shows the progress.`,
		Example: `  applockctl purge
  applockctl purge --older-than 1d12h --batch 5000`,
		RunE: body(func(ctx context.Context, _ []string) error {
			return a.purging(ctx, "purge", "row", request, (*applock.Client).Purge)
		}),
	}
	purgeFlags(command, &request, "how long the object has been free", "rows")
	return command
}

func purgeFlags(command *cobra.Command, request *applock.PurgeRequest, age, what string) {
	command.Flags().Var((*duration)(&request.OlderThan), "older-than", age)
	command.Flags().Var(number[int]{&request.Batch, applock.MaxPageSize}, "batch",
		fmt.Sprintf("how many %s one transaction removes, at most %d", what, applock.MaxPageSize))
}

// purging runs a purge, shows its progress, and prints the number of removed rows.
func (a *app) purging(
	ctx context.Context, name, what string, request applock.PurgeRequest,
	purge func(*applock.Client, context.Context, applock.PurgeRequest) (int64, error),
) error {
	var purged int64
	err := a.call(ctx, name, func(ctx context.Context, s session) (err error) {
		shown := 0
		request.Progress = func(sum int64) {
			s.restart()
			shown = a.progress(fmt.Sprintf("purged %s...", table.Count(int(sum), what)))
		}
		purged, err = purge(s.Client, ctx, request)
		a.eraseProgress(shown)
		if err != nil {
			return err
		}
		return a.answer(true, purgeAnswer{Outcome: outcomePurged, Purged: purged})
	})
	if err != nil && purged > 0 {
		return fmt.Errorf("%w (%s purged before)", err, table.Count(int(purged), what))
	}
	return err
}
