package main

import (
	"context"

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
		RunE: a.forEach("take", takeAnswer{}, func(ctx context.Context, s session, object applock.Object) (record, error) {
			request.Object = object
			answer := &takeAnswer{lockAnswer: newAnswer(object, request.Owner)}
			taken, err := s.Take(ctx, request)
			if err == nil {
				answer.grantedTo(taken)
				answer.FormerHolder, answer.FormerHolderDepartment = taken.From.Operator, taken.From.Department
			}
			return answer, answer.refused(err)
		}),
	}
	a.operatorFlag(command, &request.Owner.Operator, "who takes it", nil)
	a.departmentFlag(command, &request.Owner.Department, "where that operator works; default $"+departmentVariable)
	command.Flags().StringVar(&request.Reason, "reason", "",
		"why, for the history and the former holder; needed unless the type's policy waives it")
	fenceFlag(command, &request.ExpectedFence, "take only the grant with this fence; by default whatever grant the holder has")
	command.Flags().Var((*duration)(&request.TTL), "ttl", "how long the new lock lasts (as the former lock)")
	return command
}
