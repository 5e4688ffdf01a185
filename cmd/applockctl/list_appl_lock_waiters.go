package main

import (
	"cmp"
	"context"
	"errors"

	"github.com/applock/applock/applock"
)

// listedWaiter is somebody who waits for a lock, and in which program. Its lock is the one that is waited for.
type listedWaiter struct {
	lockAnswer
	ClientID string    `json:"client_id"`
	SinceTS  timestamp `json:"since_ts"`
	// UntilTS is when the waiter gives up, ListedUntilTS when it is not listed any more unless its program says once
	// more that it waits.
	UntilTS       timestamp `json:"until_ts"`
	ListedUntilTS timestamp `json:"listed_until_ts"`
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
	switch {
	case flags.within != 0:
		return refused("--expires-within", "is for locks, not for those who wait")
	case flags.order == byLeft:
		return refused("--sort left", "is for locks, not for those who wait")
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
		holders := holders{session: s}
		return printRows(s, p, s.Waiters(ctx, request), flags.limit.value, flags.order.ofWaiters(),
			func(waiter applock.Waiter) (record, error) {
				answer := newAnswer(waiter.Object, waiter.Owner)
				err := holders.tell(ctx, &answer)
				answer.Outcome = outcomeWaiting
				return listedWaiter{
					lockAnswer:    answer,
					ClientID:      waiter.Client,
					SinceTS:       timestamp(waiter.Since),
					UntilTS:       timestamp(waiter.Until),
					ListedUntilTS: timestamp(waiter.ExpiresAt),
				}, err
			})
	})
}

// holders tells who holds objects, and asks once for all who wait for the same one.
type holders struct {
	session
	object applock.Object
	lock   *applock.Lock
}

// tell adds the lock on the object to an answer. An object that is free has none, as it may be for as long as a waiter
// needs to notice.
func (h *holders) tell(ctx context.Context, answer *lockAnswer) error {
	object := applock.Object{Type: answer.ObjectType, ID: answer.ObjectID}
	if object != h.object {
		lock, err := h.Inquire(ctx, applock.InquireRequest{Object: object})
		h.object, h.lock = object, &lock
		switch {
		case errors.Is(err, applock.ErrNotHeld):
			h.lock = nil
		case err != nil:
			return err
		}
		h.restart()
	}
	if h.lock != nil {
		answer.heldAs(*h.lock)
	}
	return nil
}

// ofWaiters returns how waiters are compared, nil for the order in which they come.
func (o order) ofWaiters() func(a, b applock.Waiter) int {
	switch o {
	case byOperator:
		return func(a, b applock.Waiter) int { return cmp.Compare(a.Owner.Operator, b.Owner.Operator) }
	case bySince:
		return func(a, b applock.Waiter) int { return a.Since.Compare(b.Since) }
	default:
		return nil
	}
}
