package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

// transferAnswer has the columns of transfer_appl_lock.
type transferAnswer struct {
	ObjectType      string          `json:"object_type"`
	ObjectID        string          `json:"object_id"`
	FromOperatorID  string          `json:"from_operator_id"`
	ToOperatorID    string          `json:"to_operator_id"`
	ToDepartmentID  string          `json:"to_department_id"`
	ReturnCD        yesNo           `json:"return_cd"`
	Outcome         applock.Outcome `json:"outcome"`
	OldOperatorID   string          `json:"old_operator_id"`
	OldDepartmentID string          `json:"old_department_id"`
	Fence           applock.Fence   `json:"fence"`
	ExpiresTS       timestamp       `json:"expires_ts"`
	SecondsLeft     int64           `json:"seconds_left"`
}

// cells shows who holds the object now.
func (t transferAnswer) cells() []string {
	operator, department := t.OldOperatorID, t.OldDepartmentID
	if t.ReturnCD == yes {
		operator, department = t.ToOperatorID, t.ToDepartmentID
	}
	return []string{
		string(t.Outcome), t.ObjectType + ":" + t.ObjectID, operator, department, fenceCell(t.Fence), t.ExpiresTS.cell(),
	}
}

func (a *app) transferCommand() *cobra.Command {
	var from string
	var to applock.Owner
	var ttl duration
	command := &cobra.Command{
		Use:   "transfer OBJECT --from O --to O [--to-department D] [--ttl 7d]",
		Short: "Hand an object from one operator to another",
		Long: `Ends the lock of one operator and begins one of another, with a greater fence: the former holder
can neither renew nor release any more. Without --ttl it lasts as long from now on as the lock that ends
did when it was got or renewed.

Prints TRANSFERRED with the fence and the end of the new lock (exit code 0), HELD with the holder
when somebody else than --from holds the object, or FREE when nobody does (exit code 1).`,
		Example: `  applockctl transfer customer:42 --from jdoe --to asmith --to-department service
  applockctl transfer customer:42 --from jdoe --to asmith --ttl 2d`,
		Args:                  oneObject,
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: body(func(ctx context.Context, args []string) error {
			return a.transfer(ctx, args[0], from, to, time.Duration(ttl))
		}),
	}
	command.Flags().StringVar(&from, "from", "", "who holds the object now")
	command.Flags().StringVar(&to.Operator, "to", "", "who shall hold it")
	command.Flags().StringVar(&to.Department, "to-department", "", "where the new holder works")
	command.Flags().Var(&ttl, "ttl", "how long the new lock lasts (as the one that ends)")
	require(command, "from", "to")
	return command
}

func (a *app) transfer(ctx context.Context, text, from string, to applock.Owner, ttl time.Duration) error {
	object, err := applock.ParseObject(text)
	if err != nil {
		return fmt.Errorf("transfer: %w", err)
	}
	return a.call(ctx, "transfer "+object.String(), func(ctx context.Context, s session) error {
		answer := transferAnswer{
			ObjectType:     trim(object.Type),
			ObjectID:       trim(object.ID),
			FromOperatorID: trim(from),
			ToOperatorID:   trim(to.Operator),
			ToDepartmentID: trim(to.Department),
			ReturnCD:       no,
		}
		grant, err := s.Transfer(ctx, applock.TransferRequest{Object: object, From: from, To: to, TTL: ttl})
		var held *applock.HeldError
		switch {
		case errors.As(err, &held):
			answer.Outcome = applock.OutcomeHeld
			answer.OldOperatorID, answer.OldDepartmentID = held.Holder.Operator, held.Holder.Department
			answer.ExpiresTS, answer.SecondsLeft = timestamp(held.Holder.ExpiresAt), wholeSeconds(held.Holder.Left)
		case errors.Is(err, applock.ErrNotHeld):
			answer.Outcome = applock.OutcomeFree
		case err != nil:
			return err
		default:
			answer.ReturnCD, answer.Outcome = yes, grant.Outcome
			answer.Fence = grant.Fence
			answer.ExpiresTS, answer.SecondsLeft = timestamp(grant.ExpiresAt), wholeSeconds(grant.Left)
		}
		return a.answer(answer.ReturnCD == yes, answer,
			"OUTCOME", "OBJECT", "OPERATOR", "DEPARTMENT", "FENCE", "EXPIRES")
	})
}
