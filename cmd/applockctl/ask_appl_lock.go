package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

// askAnswer also tells what was asked, and whose lock has ended.
type askAnswer struct {
	lockAnswer
	ClientID               string `json:"client_id"`
	Message                string `json:"message"`
	FormerHolder           string `json:"former_holder_id"`
	FormerHolderDepartment string `json:"former_holder_department_id"`
}

func (a *app) askApplLockCommand() *cobra.Command {
	var request applock.AskRequest
	var wait duration
	command := &cobra.Command{
		Use:   "ask OBJECT --operator O [--message M] [--department D] [--client C] [--wait 10m | --withdraw]",
		Short: "Ask whoever holds an object for it",
		Long: `Lists a request for an object, which its holder reads with the message: see "applockctl inbox". It is listed
for a minute; the same command keeps it listed, until --wait is over. It holds nothing: it asks. What the
holder has answered stands in the asker's inbox.

Prints ASKED with the holder, GIVEN with the fence where the holder has left the request without an answer
for as long as the policy of the type lets it, or WITHDRAWN (exit code 0). Prints FREE when nobody
holds the object: get it; or OWN when the operator holds it itself (exit code 1).`,
		Example: `  applockctl ask customer:42 --operator brown --message "the customer is on the phone"
  applockctl ask customer:42 --operator brown --withdraw`,
		Args:                  oneObject,
		ValidArgsFunction:     a.completeObjects,
		DisableFlagsInUseLine: true,
		RunE: body(func(ctx context.Context, args []string) error {
			request.Wait = time.Duration(wait)
			return a.askApplLock(ctx, args[0], request)
		}),
	}
	a.operatorFlag(command, &request.Owner.Operator, "who asks")
	command.Flags().StringVar(&request.Owner.Department, "department", a.getenv(departmentVariable),
		"where the operator works; without it $"+departmentVariable)
	command.Flags().StringVar(&request.Client, "client", program, "the program that asks; each asks for itself")
	command.Flags().StringVar(&request.Message, "message", "", "what the holder is to read")
	command.Flags().Var(&wait, "wait", "when it gives up, however often it is repeated (never)")
	command.Flags().BoolVar(&request.Withdraw, "withdraw", false, "take the request back")
	offers(command, "operator", a.completeOperator)
	return command
}

func (a *app) askApplLock(ctx context.Context, text string, request applock.AskRequest) error {
	object, err := applock.ParseObject(text)
	if err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	request.Object = object
	return a.call(ctx, "ask "+object.String(), func(ctx context.Context, s session) error {
		answer := askAnswer{lockAnswer: newAnswer(object, request.Owner), ClientID: trim(request.Client), Message: trim(request.Message)}
		asked, err := s.Ask(ctx, request)
		var held *applock.HeldError
		switch {
		case errors.As(err, &held):
			answer.refusedBy(held.Holder)
			answer.Outcome = applock.OutcomeOwn
		case errors.Is(err, applock.ErrNotHeld):
			answer.Outcome = applock.OutcomeFree
		case err != nil:
			return err
		case asked.Outcome == applock.OutcomeGiven:
			answer.grantedTo(asked.Grant)
			answer.FormerHolder, answer.FormerHolderDepartment = asked.Holder.Owner.Operator, asked.Holder.Owner.Department
		default:
			answer.refusedBy(asked.Holder)
			answer.Outcome = asked.Outcome
		}
		return a.answer(err == nil, answer)
	})
}
