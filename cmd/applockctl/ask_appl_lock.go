package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

// askAnswer adds the text that was asked, and the holder whose lock ended.
type askAnswer struct {
	lockAnswer
	ClientID               string `json:"client_id"`
	Message                string `json:"message"`
	FormerHolder           string `json:"former_holder_id"`
	FormerHolderDepartment string `json:"former_holder_department_id"`
}

func (a *app) askApplLockCommand() *cobra.Command {
	var request applock.AskRequest
	command := &cobra.Command{
		Use:   "ask OBJECT --operator O [--message M] [--department D] [--client C] [--wait 10m | --withdraw]",
		Short: "Ask the holder of an object for it",
		Long: `Lists a request for an object, which the holder finds in its inbox with the message. It is listed for a
minute. Repeat the command to keep it listed, until --wait is over. A request alone gets no lock. The asker
finds the answer in its own inbox.

Prints ASKED with the holder, GIVEN with the fence if the holder has left the request unanswered for the
time of the type's policy, or WITHDRAWN (exit code 0). Prints OWN if the operator holds the object itself,
or FREE if nobody does: then "get" it (exit code 1).`,
		Example: `  applockctl ask customer:42 --operator brown --message "the customer is on the phone"
  applockctl ask customer:42 --operator brown --withdraw`,
		Args:              oneObject,
		ValidArgsFunction: a.completeObjects,
		RunE: a.forEach("ask", askAnswer{}, func(ctx context.Context, s session, object applock.Object) (record, error) {
			request.Object = object
			answer := &askAnswer{lockAnswer: newAnswer(object, request.Owner), ClientID: trim(request.Client), Message: trim(request.Message)}
			asked, err := s.Ask(ctx, request)
			switch {
			case err != nil:
				if err = answer.refused(err); answer.Outcome == applock.OutcomeHeld {
					answer.Outcome = applock.OutcomeOwn
				}
			case asked.Outcome == applock.OutcomeGiven:
				answer.grantedTo(asked.Grant)
				answer.FormerHolder, answer.FormerHolderDepartment = asked.Holder.Owner.Operator, asked.Holder.Owner.Department
			default:
				answer.refusedBy(asked.Holder)
				answer.Outcome = asked.Outcome
			}
			return answer, err
		}),
	}
	a.operatorFlag(command, &request.Owner.Operator, "who asks", a.completeOperator)
	a.departmentFlag(command, &request.Owner.Department, departmentUsage)
	command.Flags().StringVar(&request.Client, "client", program, "the program that asks; requests of different programs are separate")
	command.Flags().StringVar(&request.Message, "message", "", "a text for the holder")
	command.Flags().Var((*duration)(&request.Wait), "wait", "how long the request may last, however often it is repeated (for ever)")
	command.Flags().BoolVar(&request.Withdraw, "withdraw", false, "take the request back")
	return command
}
