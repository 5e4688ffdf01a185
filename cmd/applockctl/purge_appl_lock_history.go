package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

func (a *app) purgeHistoryCommand() *cobra.Command {
	request := applock.PurgeRequest{OlderThan: applock.DefaultPurgeHistoryAge, Batch: applock.DefaultPageSize}
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
			return a.purging(ctx, "purge-history", "event", request, (*applock.Client).PurgeHistory)
		}),
	}
	purgeFlags(command, &request, "how old the event is", "events")
	return command
}
