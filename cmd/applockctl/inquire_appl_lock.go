package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

// inquireAnswer has the columns of inquire_appl_lock.
type inquireAnswer struct {
	ObjectType   string        `json:"object_type"`
	ObjectID     string        `json:"object_id"`
	ReturnCD     yesNo         `json:"return_cd"`
	OperatorID   string        `json:"operator_id"`
	DepartmentID string        `json:"department_id"`
	Fence        applock.Fence `json:"fence"`
	AcquiredTS   timestamp     `json:"acquired_ts"`
	LockTS       timestamp     `json:"lock_ts"`
	ExpiresTS    timestamp     `json:"expires_ts"`
	SecondsLeft  int64         `json:"seconds_left"`
}

// cells shows the lock.
func (i inquireAnswer) cells() []string {
	outcome := applock.OutcomeFree
	if i.ReturnCD == yes {
		outcome = applock.OutcomeHeld
	}
	return []string{
		string(outcome), i.ObjectType + ":" + i.ObjectID, i.OperatorID, i.DepartmentID,
		fenceCell(i.Fence), i.AcquiredTS.cell(), i.LockTS.cell(), i.ExpiresTS.cell(),
	}
}

func (a *app) inquireCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "inquire OBJECT",
		Short: "Tell who holds an object",
		Long: `Tells who holds an object, since when and until when. It changes nothing and never waits.

Prints HELD with the lock (exit code 0), or FREE (exit code 1).`,
		Example: `  applockctl inquire customer:42
  applockctl inquire customer:42 --output json`,
		Args:                  oneObject,
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: body(func(ctx context.Context, args []string) error {
			return a.inquire(ctx, args[0])
		}),
	}
}

func (a *app) inquire(ctx context.Context, text string) error {
	object, err := applock.ParseObject(text)
	if err != nil {
		return fmt.Errorf("inquire: %w", err)
	}
	return a.call(ctx, "inquire "+object.String(), func(ctx context.Context, s session) error {
		lock, err := s.Inquire(ctx, applock.InquireRequest{Object: object})
		free := errors.Is(err, applock.ErrNotHeld)
		if err != nil && !free {
			return err
		}
		answer := inquireAnswer{
			ObjectType:   trim(object.Type),
			ObjectID:     trim(object.ID),
			ReturnCD:     yes,
			OperatorID:   lock.Owner.Operator,
			DepartmentID: lock.Owner.Department,
			Fence:        lock.Fence,
			AcquiredTS:   timestamp(lock.AcquiredAt),
			LockTS:       timestamp(lock.LockedAt),
			ExpiresTS:    timestamp(lock.ExpiresAt),
			SecondsLeft:  wholeSeconds(lock.Left),
		}
		if free {
			answer.ReturnCD = no
		}
		return a.answer(!free, answer,
			"OUTCOME", "OBJECT", "OPERATOR", "DEPARTMENT", "FENCE", "ACQUIRED", "LOCKED", "EXPIRES")
	})
}
