package main

import (
	"context"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
)

// listedWaiter is one waiter in the list, the waiter's program, and the lock that is wanted.
type listedWaiter struct {
	lockAnswer
	ClientID string          `json:"client_id"`
	SinceTS  table.Timestamp `json:"since_ts"`
	// UntilTS is when the waiter gives up.
	UntilTS       table.Timestamp `json:"until_ts"`
	WaitedSeconds int64           `json:"waited_seconds"`
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
	answer := newAnswer(waiter.Object, waiter.Owner)
	answer.awaitedBy(waiter)
	return listedWaiter{
		lockAnswer:    answer,
		ClientID:      waiter.Client,
		SinceTS:       table.Timestamp(waiter.Since),
		UntilTS:       table.Timestamp(waiter.Until),
		WaitedSeconds: table.WholeSeconds(waiter.Waited),
	}
}
