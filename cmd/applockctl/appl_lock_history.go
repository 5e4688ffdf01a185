package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
)

type listedEvent struct{ applock.Event }

func listedEventOf(event applock.Event) record { return listedEvent{event} }

func (e listedEvent) fields() []table.Field {
	object := ""
	switch {
	case e.Object.Type != "" && e.Object.ID == "":
		object = e.Object.Type // of a policy
	case e.Object.Type != "":
		object = e.Object.String()
	}
	return []table.Field{
		{Title: "TIME", Value: table.Timestamp(e.At)},
		{Title: "EVENT", Value: string(e.Kind)},
		{Title: "OBJECT", Value: object},
		{Title: "FROM", Value: e.From.Operator},
		{Title: "TO", Value: e.To.Operator},
		{Title: "BY", Value: e.Actor},
		{Title: "REASON", Value: e.Reason},
		{Title: "FROM DEPARTMENT", Value: e.From.Department, Wide: true},
		{Title: "TO DEPARTMENT", Value: e.To.Department, Wide: true},
		{Title: "FROM FENCE", Value: int64(e.FromFence), Wide: true},
		{Title: "TO FENCE", Value: int64(e.ToFence), Wide: true},
		{Title: "USER", Value: e.User, Wide: true},
		{Title: "PROGRAM", Value: e.Program, Wide: true},
		{Title: "EVENT ID", Value: e.ID, Wide: true},
	}
}

func (a *app) historyCommand() *cobra.Command {
	var request applock.HistoryRequest
	var limit int64
	var command *cobra.Command
	command = &cobra.Command{
		Use:   "history [OBJECT] [--operator O] [--since 7d] [--newest]",
		Short: "Show what happened to objects, by whom and why",
		Long: `Prints the history, oldest first, or newest first with --newest or --limit. An event is a transfer
(TRANSFERRED), a take (TAKEN), a lock that went to an asker (GIVEN, YIELDED), a release by somebody else or
with a reason (RELEASED), a get of a lock that another operator had let expire (OVERTAKEN), a change of a
policy (POLICY), or a purge (PURGED, HISTORY_PURGED; the reason is the number of rows). With --history all
each get (ACQUIRED, RENEWED, REFUSED), renewal and release is an event, too. All given conditions must hold.
An empty history has exit code 0.

BY is the actor that the call named; --wide also shows the database user. The history is read and printed
page by page, and --timeout is for each page. "applockctl purge-history" removes old events.

With --output json each event is an object on a line of its own.`,
		Example: `  applockctl history customer:42
  applockctl history --operator jdoe --since 7d
  applockctl history --limit 20
  applockctl history --since 1d --output json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeObjects,
		RunE: body(func(ctx context.Context, args []string) error {
			if len(args) > 0 {
				object, err := parseObject(args[0])
				if err != nil {
					return fmt.Errorf("history: %w", err)
				}
				request.ObjectType, request.ObjectID = object.Type, object.ID
			}
			request.NewestFirst = request.NewestFirst || limit > 0 && !command.Flags().Changed("newest")
			return a.printList(ctx, "history", "event", listedEvent{}, func(ctx context.Context, s session, p *printer) error {
				return printRows(s, p, s.History(ctx, request), limit, listedEventOf)
			})
		}),
	}
	command.Flags().StringVar(&request.Operator, "operator", "", "only events that this operator caused, or in which it lost or got a lock")
	command.Flags().BoolVar(&request.NewestFirst, "newest", false, "the newest first")
	command.Flags().Var((*duration)(&request.Since), "since", "only events that are at most this old")
	limitFlag(command, &limit)
	offers(command, "operator", a.completeOperator)
	return command
}
