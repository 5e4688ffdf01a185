package main

import (
	"context"

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

func (w listedWaiter) cells() []string {
	return []string{w.ObjectType + ":" + w.ObjectID, w.OperatorID, w.DepartmentID, w.SinceTS.cell(), w.UntilTS.cell()}
}

// printWaiters limits the reading of each page, as printLocks does.
func printWaiters(ctx context.Context, s session, p *printer, request applock.WaitersRequest) error {
	for waiter, err := range s.Waiters(ctx, request) {
		if err != nil {
			return err
		}
		s.pause()
		answer := newAnswer(waiter.Object, waiter.Owner)
		answer.Outcome = outcomeWaiting
		err := p.print(listedWaiter{
			lockAnswer:    answer,
			ClientID:      waiter.Client,
			SinceTS:       timestamp(waiter.Since),
			UntilTS:       timestamp(waiter.Until),
			ListedUntilTS: timestamp(waiter.ExpiresAt),
		})
		if err != nil {
			return err
		}
		s.restart()
	}
	return nil
}
