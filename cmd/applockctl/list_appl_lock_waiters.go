package main

import (
	"context"

	"github.com/applock/applock/applock"
)

// listedWaiter has the columns of list_appl_lock_waiters.
type listedWaiter struct {
	ObjectType   string    `json:"object_type"`
	ObjectID     string    `json:"object_id"`
	OperatorID   string    `json:"operator_id"`
	DepartmentID string    `json:"department_id"`
	ClientID     string    `json:"client_id"`
	SinceTS      timestamp `json:"since_ts"`
	UntilTS      timestamp `json:"until_ts"`
	ExpiresTS    timestamp `json:"expires_ts"`
	SecondsLeft  int64     `json:"seconds_left"`
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
		err := p.print(listedWaiter{
			ObjectType:   waiter.Object.Type,
			ObjectID:     waiter.Object.ID,
			OperatorID:   waiter.Owner.Operator,
			DepartmentID: waiter.Owner.Department,
			ClientID:     waiter.Client,
			SinceTS:      timestamp(waiter.Since),
			UntilTS:      timestamp(waiter.Until),
			ExpiresTS:    timestamp(waiter.ExpiresAt),
			SecondsLeft:  wholeSeconds(waiter.Left),
		})
		if err != nil {
			return err
		}
		s.restart()
	}
	return nil
}
