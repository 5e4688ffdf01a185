package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

func (a *app) purgeHistoryCommand() *cobra.Command {
	olderThan := duration(applock.DefaultPurgeHistoryAge)
	batch := number{value: applock.DefaultPageSize, max: applock.MaxPageSize}
	command := &cobra.Command{
		Use:   "purge-history [--older-than 400d] [--batch 1000]",
		Short: "Remove old events of the history",
		Long: `Removes old events of the history, oldest first, and prints their number. It needs the role administrator.
Events of purges (PURGED, HISTORY_PURGED) stay for at least 400 days.

Events are removed in batches. Each batch is a transaction, which adds an event with the number of removed
events: after an error or Ctrl-C the next purge continues. --timeout is for each batch. A terminal shows the
progress.`,
		Example: `  applockctl purge-history
  applockctl purge-history --older-than 3650d`,
		RunE: body(func(ctx context.Context, _ []string) error {
			request := applock.PurgeRequest{OlderThan: time.Duration(olderThan), Batch: int(batch.value)}
			return a.purging(ctx, "purge-history", "event", func(ctx context.Context, s session, progress func(int64)) (int64, error) {
				request.Progress = progress
				return s.PurgeHistory(ctx, request)
			})
		}),
	}
	command.Flags().Var(&olderThan, "older-than", "how old the event is")
	command.Flags().Var(&batch, "batch", fmt.Sprintf("how many events one transaction removes, at most %d", applock.MaxPageSize))
	return command
}
