package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

// transferAnswer also tells whose lock has ended.
type transferAnswer struct {
	lockAnswer
	FormerHolder string `json:"former_holder"`
}

func (a *app) transferCommand() *cobra.Command {
	var request applock.TransferRequest
	var ttl duration
	command := &cobra.Command{
		Use:   "transfer OBJECT --from O --to O [--to-department D] [--ttl 7d] [--by O --reason R]",
		Short: "Hand an object from one operator to another",
		Long: `Ends the lock of one operator and begins one of another, with a greater fence: the former holder
can neither renew nor release any more. Without --ttl it lasts as long from now on as the lock that ends
did when it was got or renewed.

The history keeps who has done it, and the reason: see "applockctl history".

Prints TRANSFERRED with the fence and the end of the new lock (exit code 0), HELD with the holder
when somebody else than --from holds the object, or FREE when nobody does (exit code 1).`,
		Example: `  applockctl transfer customer:42 --from jdoe --to asmith --to-department service
  applockctl transfer customer:42 --from jdoe --to asmith --ttl 2d --by mlee --reason "jdoe is ill"`,
		Args:                  oneObject,
		ValidArgsFunction:     a.completeObjects,
		DisableFlagsInUseLine: true,
		RunE: body(func(ctx context.Context, args []string) error {
			request.TTL = time.Duration(ttl)
			return a.transfer(ctx, args[0], request)
		}),
	}
	command.Flags().StringVar(&request.From, "from", "", "who holds the object now")
	command.Flags().StringVar(&request.To.Operator, "to", "", "who shall hold it")
	command.Flags().StringVar(&request.To.Department, "to-department", "", "where the new holder works")
	command.Flags().Var(&ttl, "ttl", "how long the new lock lasts (as the one that ends)")
	a.actorFlags(command, &request.Actor, &request.Reason)
	require(command, "from", "to")
	offers(command, "from", a.completeHolder)
	offers(command, "to", a.completeOperator)
	return command
}

func (a *app) transfer(ctx context.Context, text string, request applock.TransferRequest) error {
	object, err := applock.ParseObject(text)
	if err != nil {
		return fmt.Errorf("transfer: %w", err)
	}
	request.Object = object
	return a.call(ctx, "transfer "+object.String(), func(ctx context.Context, s session) error {
		answer := transferAnswer{lockAnswer: newAnswer(object, request.To)}
		grant, err := s.Transfer(ctx, request)
		var held *applock.HeldError
		switch {
		case errors.As(err, &held):
			answer.refusedBy(held.Holder)
		case errors.Is(err, applock.ErrNotHeld):
			answer.Outcome = applock.OutcomeFree
		case err != nil:
			return err
		default:
			answer.grantedTo(grant)
			answer.FormerHolder = trim(request.From)
		}
		return a.answer(err == nil, answer)
	})
}
