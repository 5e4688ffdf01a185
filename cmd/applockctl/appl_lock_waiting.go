package main

import (
	"context"

	"github.com/applock/applock/applock"
)

// listedWaiter is one waiter in the list, the waiter's program, and the lock that is wanted.
type listedWaiter struct {
	lockAnswer
	ClientID string    `json:"client_id"`
	SinceTS  timestamp `json:"since_ts"`
	// UntilTS is when the waiter gives up.
	UntilTS       timestamp `json:"until_ts"`
	WaitedSeconds int64     `json:"waited_seconds"`
}

func (w listedWaiter) fields() []field {
	return []field{
		{title: "OBJECT", value: w.object()},
		{title: "WAITING", value: w.OperatorID},
		{title: "SINCE", value: w.SinceTS},
		{title: "HOLDER", value: w.Holder},
		{title: "LEFT", value: lasting(w.SecondsLeft)},
		{title: "PROGRAM", value: w.ClientID},
		{title: "DEPARTMENT", value: w.DepartmentID, wide: true},
		{title: "HOLDER'S DEPARTMENT", value: w.HolderDepartment, wide: true},
		{title: "UNTIL", value: w.UntilTS, wide: true},
	}
}

func (a *app) listWaiters(ctx context.Context, flags listFlags) error {
	if flags.within != 0 {
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
		return printRows(s, p, s.Waiters(ctx, request), flags.limit.value, listedWaiterOf)
	})
}

func listedWaiterOf(waiter applock.Waiter) record {
	answer := newAnswer(waiter.Object, waiter.Owner)
	answer.awaitedBy(waiter)
	return listedWaiter{
		lockAnswer:    answer,
		ClientID:      waiter.Client,
		SinceTS:       timestamp(waiter.Since),
		UntilTS:       timestamp(waiter.Until),
		WaitedSeconds: wholeSeconds(waiter.Waited),
	}
}
