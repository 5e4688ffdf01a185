package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

// transferAnswer adds the holder whose lock ended.
type transferAnswer struct {
	lockAnswer
	FormerHolder string `json:"former_holder_id"`
}

func (a *app) transferCommand() *cobra.Command {
	var request applock.TransferRequest
	var flags allFlags
	command := &cobra.Command{
		Use:   "transfer OBJECT... | --all [--type T] [--dry-run] --from O --to O [--to-department D] [--ttl 7d] --by O [--reason R]",
		Short: "Hand objects from one operator to another",
		Long: `Ends the lock of one operator and begins one of another, with a greater fence: the former holder can no
longer renew or release. Without --ttl the new lock has the ttl of the former one, from now on.

The history keeps who did it (--by, or $APPLOCK_OPERATOR), and the reason.

Prints TRANSFERRED with the fence and the end of the new lock (exit code 0); HELD with the holder if an
operator other than --from holds the object, or FREE if nobody does (exit code 1). Several objects have one
line each, in order, and the exit code is the worst of theirs.

With --all it hands over all locks of --from, or those of a --type, in the order of the objects; the reason
is required. A lock that another transaction is changing is BUSY, and stays (exit code 1). It works in pages
of 1000. Each page is a transaction, and --timeout is for each: after an error or Ctrl-C the same command
continues. --dry-run only prints.`,
		Example: `  applockctl transfer customer:42 --from jdoe --to asmith --to-department service --by jdoe
  applockctl transfer customer:42 --from jdoe --to asmith --ttl 2d --by mlee --reason "jdoe is ill"
  applockctl transfer --all --from jdoe --to asmith --by mlee --reason "jdoe has left" --dry-run`,
		ValidArgsFunction: a.completeObjects,
		RunE: body(func(ctx context.Context, args []string) error {
			if flags.all {
				return a.transferAll(ctx, flags, request)
			}
			return a.transfer(ctx, args, request)
		}),
	}
	command.Flags().StringVar(&request.From, "from", "", "who holds the object now")
	command.Flags().StringVar(&request.To.Operator, "to", "", "who shall hold it")
	command.Flags().StringVar(&request.To.Department, "to-department", "", "where the new holder works")
	command.Flags().Var((*duration)(&request.TTL), "ttl", "how long the new lock lasts (as the former lock)")
	a.actorFlags(command, &request.Actor, &request.Reason)
	flags.add(command, &request.Actor, &request.Reason)
	require(command, "from", "to")
	requireActor(command, request.Actor)
	offers(command, "from", a.completeHolder)
	offers(command, "to", a.completeOperator)
	return command
}

func (a *app) transfer(ctx context.Context, texts []string, request applock.TransferRequest) error {
	return a.eachObject(ctx, "transfer", texts, transferAnswer{}, func(ctx context.Context, s session, object applock.Object) (record, error) {
		request.Object = object
		answer := &transferAnswer{lockAnswer: newAnswer(object, request.To)}
		grant, err := s.Transfer(ctx, request)
		if err == nil {
			answer.grantedTo(grant)
			answer.FormerHolder = trim(request.From)
		}
		if held, is := errors.AsType[*applock.HeldError](err); is {
			a.otherCase(request.From, held.Holder.Owner.Operator)
		}
		return answer, answer.refused(err)
	})
}
