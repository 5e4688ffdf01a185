package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

// listedEvent has the columns of appl_lock_history.
type listedEvent struct {
	Event          applock.EventKind `json:"outcome"`
	EventID        int64             `json:"event_id"`
	EventTS        timestamp         `json:"event_ts"`
	ObjectType     string            `json:"object_type"`
	ObjectID       string            `json:"object_id"`
	ActorID        string            `json:"actor_id"`
	DBUser         string            `json:"db_user"`
	Program        string            `json:"program"`
	FromOperator   string            `json:"from_operator_id"`
	FromDepartment string            `json:"from_department_id"`
	ToOperator     string            `json:"to_operator_id"`
	ToDepartment   string            `json:"to_department_id"`
	FromFence      int64             `json:"from_fence"`
	ToFence        int64             `json:"to_fence"`
	Reason         string            `json:"reason"`
}

func listedEventOf(event applock.Event) record {
	return listedEvent{
		Event:          event.Kind,
		EventID:        event.ID,
		EventTS:        timestamp(event.At),
		ObjectType:     event.Object.Type,
		ObjectID:       event.Object.ID,
		ActorID:        event.Actor,
		DBUser:         event.User,
		Program:        event.Program,
		FromOperator:   event.From.Operator,
		FromDepartment: event.From.Department,
		ToOperator:     event.To.Operator,
		ToDepartment:   event.To.Department,
		FromFence:      int64(event.FromFence),
		ToFence:        int64(event.ToFence),
		Reason:         event.Reason,
	}
}

func (e listedEvent) fields() []field {
	object := ""
	switch {
	case e.ObjectType != "" && e.ObjectID == "":
		object = e.ObjectType // of a policy
	case e.ObjectType != "":
		object = applock.Object{Type: e.ObjectType, ID: e.ObjectID}.String()
	}
	return []field{
		{title: "TIME", value: e.EventTS},
		{title: "EVENT", value: string(e.Event)},
		{title: "OBJECT", value: object},
		{title: "FROM", value: e.FromOperator},
		{title: "TO", value: e.ToOperator},
		{title: "BY", value: e.ActorID},
		{title: "REASON", value: e.Reason},
		{title: "FROM DEPARTMENT", value: e.FromDepartment, wide: true},
		{title: "TO DEPARTMENT", value: e.ToDepartment, wide: true},
		{title: "FROM FENCE", value: e.FromFence, wide: true},
		{title: "TO FENCE", value: e.ToFence, wide: true},
		{title: "USER", value: e.DBUser, wide: true},
		{title: "PROGRAM", value: e.Program, wide: true},
		{title: "EVENT ID", value: e.EventID, wide: true},
	}
}

func (a *app) historyCommand() *cobra.Command {
	var request applock.HistoryRequest
	var since duration
	limit := number{max: math.MaxInt64}
	command := &cobra.Command{
		Use:   "history [OBJECT] [--operator O] [--since 7d] [--newest]",
		Short: "Tell what happened to objects, by whom and why",
		Long: `Prints the history, oldest first, or with --newest the newest first: what was handed over (TRANSFERRED),
taken by somebody (TAKEN), released on somebody's behalf or with a reason (RELEASED), taken after the
former holder had let it expire (OVERTAKEN), laid down for a type (POLICY), and purged (PURGED,
HISTORY_PURGED, whose reason is the number of rows). Where the policy of the type has --history all, also
each get (ACQUIRED, RENEWED, or REFUSED), renewal and release. Several conditions must all hold. An empty
history is one: exit code 0.

BY is who did it, as the call said; --wide shows the database user, too. The history is read and printed
page by page, and --timeout is for each page. "applockctl purge-history" removes what is old.

With --output json each event is an object on a line of its own.`,
		Example: `  applockctl history customer:42
  applockctl history --operator jdoe --since 7d
  applockctl history --newest --limit 20
  applockctl history --since 1d --output json`,
		Args:                  cobra.MaximumNArgs(1),
		ValidArgsFunction:     a.completeObjects,
		DisableFlagsInUseLine: true,
		RunE: body(func(ctx context.Context, args []string) error {
			if len(args) > 0 {
				object, err := applock.ParseObject(args[0])
				if err != nil {
					return fmt.Errorf("history: %w", err)
				}
				request.ObjectType, request.ObjectID = object.Type, object.ID
			}
			request.Since = time.Duration(since)
			return a.history(ctx, request, limit.value)
		}),
	}
	command.Flags().StringVar(&request.Operator, "operator", "", "only what this operator did, lost or got")
	command.Flags().BoolVar(&request.NewestFirst, "newest", false, "the newest first")
	command.Flags().Var(&since, "since", "only what happened at most so long ago")
	command.Flags().Var(&limit, "limit", "at most so many, the first ones")
	offers(command, "operator", a.completeOperator)
	return command
}

func (a *app) history(ctx context.Context, request applock.HistoryRequest, limit int64) error {
	return a.printList(ctx, "history", "event", listedEvent{}, func(ctx context.Context, s session, p *printer) error {
		return printRows(s, p, s.History(ctx, request), limit, listedEventOf)
	})
}
