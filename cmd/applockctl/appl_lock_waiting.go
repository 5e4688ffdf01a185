package main

import (
	"context"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
)

type listedWaiter struct {
	lockAnswer
	waitAnswer
}

// waitAnswer is the waiter's program, and its time.
type waitAnswer struct {
	ClientID string          `json:"client_id"`
	SinceTS  table.Timestamp `json:"since_ts"`
	// UntilTS is when the waiter gives up.
	UntilTS       table.Timestamp `json:"until_ts"`
	WaitedSeconds int64           `json:"waited_seconds"`
}

func waitOf(waiter applock.Waiter) waitAnswer {
	return waitAnswer{waiter.Client, table.Timestamp(waiter.Since), table.Timestamp(waiter.Until), table.WholeSeconds(waiter.Waited)}
}

func (w listedWaiter) fields() []table.Field {
	return []table.Field{
		{Title: "OBJECT", Value: w.object()},
		{Title: "WAITING", Value: w.OperatorID},
		{Title: "SINCE", Value: w.SinceTS},
		{Title: "HOLDER", Value: w.Holder},
		{Title: "LEFT", Value: table.Lasting(w.SecondsLeft)},
		{Title: "PROGRAM", Value: w.ClientID},
		{Title: "DEPARTMENT", Value: w.DepartmentID, Wide: true},
		{Title: "HOLDER'S DEPARTMENT", Value: w.HolderDepartment, Wide: true},
		{Title: "UNTIL", Value: w.UntilTS, Wide: true},
	}
}

func (a *app) listWaiters(ctx context.Context, flags listFlags) error {
	if flags.request.ExpiresWithin != 0 {
		return refused("--expires-within", "is for locks: leave it out with --waiting")
	}
	request := applock.WaitersRequest{
		ObjectType:   flags.request.ObjectType,
		ObjectID:     flags.request.ObjectID,
		Prefix:       flags.request.Prefix,
		Operator:     flags.request.Operator,
		Department:   flags.request.Department,
		NoDepartment: flags.request.NoDepartment,
		OlderThan:    flags.request.OlderThan,
	}
	return a.printList(ctx, "list", "waiter", listedWaiter{}, func(ctx context.Context, s session, p *printer) error {
		return printRows(s, p, s.Waiters(ctx, request), flags.limit, listedWaiterOf)
	})
}

func listedWaiterOf(waiter applock.Waiter) record {
	return listedWaiter{wantedBy(waiter, outcomeWaiting), waitOf(waiter)}
}
