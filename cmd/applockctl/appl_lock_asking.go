package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
)

// outcomeAsking is the outcome of each line in the list of requests.
const outcomeAsking applock.Outcome = "ASKING"

// listedAsker is one request in the list: the asker, the asker's program, and the lock that is wanted.
type listedAsker struct {
	lockAnswer
	ClientID      string            `json:"client_id"`
	Message       string            `json:"message"`
	SinceTS       table.Timestamp   `json:"since_ts"`
	UntilTS       table.Timestamp   `json:"until_ts"`
	WaitedSeconds int64             `json:"waited_seconds"`
	Answer        applock.AskAnswer `json:"answer"`
	AnswerReason  string            `json:"answer_reason"`
}

func (l listedAsker) fields() []table.Field {
	return []table.Field{
		{Title: "OBJECT", Value: l.object()},
		{Title: "ASKS", Value: l.OperatorID},
		{Title: "SINCE", Value: l.SinceTS},
		{Title: "MESSAGE", Value: l.Message},
		{Title: "ANSWER", Value: string(l.Answer)},
		{Title: "HOLDER", Value: l.Holder},
		{Title: "LEFT", Value: table.Lasting(l.SecondsLeft)},
		{Title: "PROGRAM", Value: l.ClientID, Wide: true},
		{Title: "DEPARTMENT", Value: l.DepartmentID, Wide: true},
		{Title: "HOLDER'S DEPARTMENT", Value: l.HolderDepartment, Wide: true},
		{Title: "ANSWER'S REASON", Value: l.AnswerReason, Wide: true},
		{Title: "UNTIL", Value: l.UntilTS, Wide: true},
	}
}

// asWaiter is the part of a request that waiters have, too.
func asWaiter(asker applock.Asker) applock.Waiter {
	return applock.Waiter{
		Object: asker.Object, Owner: asker.Owner, Client: asker.Client, Since: asker.Since, Until: asker.Until, Waited: asker.Waited,
		Holder: asker.Holder,
	}
}

func listedAskerOf(asker applock.Asker) record {
	return listedAsker{
		lockAnswer:    wantedBy(asWaiter(asker), outcomeAsking),
		ClientID:      asker.Client,
		Message:       asker.Message,
		SinceTS:       table.Timestamp(asker.Since),
		UntilTS:       table.Timestamp(asker.Until),
		WaitedSeconds: table.WholeSeconds(asker.Waited),
		Answer:        asker.Answer,
		AnswerReason:  asker.AnswerReason,
	}
}

func (a *app) askingCommand() *cobra.Command {
	var request applock.AskingRequest
	var limit int64
	command := &cobra.Command{
		Use:   "asking [--type T | --prefix customer:4] [--operator O] [--department D]",
		Short: "List the requests for locks",
		Long: `Lists the requests in the order of their objects: who asks for what, since when, with which message, who
holds it, and the holder's answer. All given conditions must hold. An empty list has exit code 0. The
inbox shows the requests for an operator's own locks.

With --output json each request is an object on a line of its own.`,
		Example: `  applockctl asking
  applockctl asking --prefix customer:42
  applockctl asking --operator brown --output json`,
		RunE: body(func(ctx context.Context, _ []string) error {
			return a.printList(ctx, "asking", "request", listedAsker{}, func(ctx context.Context, s session, p *printer) error {
				return printRows(s, p, s.Asking(ctx, request), limit, listedAskerOf)
			})
		}),
	}
	command.Flags().StringVar(&request.ObjectType, "type", "", "only objects of this type")
	command.Flags().StringVar(&request.Prefix, "prefix", "", "only objects whose TYPE:ID begins with this")
	command.Flags().StringVar(&request.Operator, "operator", "", "only requests of this operator")
	command.Flags().StringVar(&request.Department, "department", "", "only requests of this department")
	limitFlag(command, &limit)
	offers(command, "operator", a.completeOperator)
	return command
}
