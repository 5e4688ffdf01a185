package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

// takeAnswer adds the holder whose lock ended.
type takeAnswer struct {
	lockAnswer
	FormerHolder           string `json:"former_holder_id"`
	FormerHolderDepartment string `json:"former_holder_department_id"`
}

func (a *app) takeCommand() *cobra.Command {
	var request applock.TakeRequest
	var ttl duration
	fence := number{max: math.MaxInt64}
	command := &cobra.Command{
		Use:   "take OBJECT --operator O --reason R [--department D] [--fence N] [--ttl 7d]",
		Short: "Take an object from its holder, with a reason",
		Long: `Takes the object from its holder for the operator, with a greater fence: the former holder can no longer
renew or release. It is for emergencies, and needs the role supervisor. The history keeps the reason, and
the former holder finds it in its inbox. With --fence only this grant is taken, such as the one that
"inquire" has shown. Without --ttl the new lock has the ttl of the former one, from now on.

Prints TAKEN with the fence and the end of the new lock (exit code 0); HELD with the holder if another grant
than --fence holds the object, or FREE if nobody does: then "get" it (exit code 1).`,
		Example: `  applockctl take customer:42 --operator mlee --reason "the customer is on the telephone"
  applockctl take customer:42 --operator mlee --reason "jdoe has gone home" --fence 1795785256123456 --ttl 2h`,
		Args:              oneObject,
		ValidArgsFunction: a.completeObjects,
		RunE: body(func(ctx context.Context, args []string) error {
			request.TTL, request.ExpectedFence = time.Duration(ttl), applock.Fence(fence.value)
			return a.take(ctx, args[0], request)
		}),
	}
	a.operatorFlag(command, &request.Owner.Operator, "who takes it")
	command.Flags().StringVar(&request.Owner.Department, "department", a.getenv(departmentVariable),
		"where that operator works; default $"+departmentVariable)
	command.Flags().StringVar(&request.Reason, "reason", "",
		"why, for the history and the former holder; needed unless the type's policy waives it")
	command.Flags().Var(&fence, "fence", "take only the grant with this fence; by default whatever grant the holder has")
	command.Flags().Var(&ttl, "ttl", "how long the new lock lasts (as the former lock)")
	return command
}

func (a *app) take(ctx context.Context, text string, request applock.TakeRequest) error {
	object, err := applock.ParseObject(text)
	if err != nil {
		return fmt.Errorf("take: %w", err)
	}
	request.Object = object
	return a.call(ctx, "take "+object.String(), func(ctx context.Context, s session) error {
		answer := takeAnswer{lockAnswer: newAnswer(object, request.Owner)}
		taken, err := s.Take(ctx, request)
		var held *applock.HeldError
		switch {
		case errors.As(err, &held):
			answer.refusedBy(held.Holder)
		case errors.Is(err, applock.ErrNotHeld):
			answer.Outcome = applock.OutcomeFree
		case err != nil:
			return err
		default:
			answer.grantedTo(taken)
			answer.FormerHolder, answer.FormerHolderDepartment = taken.From.Operator, taken.From.Department
		}
		return a.answer(err == nil, answer)
	})
}
