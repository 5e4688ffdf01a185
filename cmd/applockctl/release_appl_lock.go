package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

func (a *app) releaseCommand() *cobra.Command {
	var request applock.ReleaseRequest
	var flags allFlags
	command := &cobra.Command{
		Use:   "release OBJECT... | --all [--type T] [--dry-run] --operator O [--fence N] [--by O --reason R]",
		Short: "Release the lock on objects", SuggestFor: []string{"unlock"},
		Long: `Ends the operator's lock on an object. With --fence only this grant is ended. A program should always give
the fence: after an expiry the same operator name may have another grant.

Prints RELEASED, or FREE if nobody held the object (exit code 0); or HELD with the holder if somebody else,
or another grant than --fence, holds it (exit code 1). Several objects have one line each, in order, and
the exit code is the worst of theirs.

With --all it releases all locks of the operator, or those of a --type, in the order of the objects; --by
and --reason are required. A lock that another transaction is changing is BUSY, and stays (exit code 1). It
works in pages of 1000. Each page is a transaction, and --timeout is for each: after an error or Ctrl-C the
same command continues. --dry-run only prints.

Without --by it is the operator's own release. With another person as --by, or with a reason, the history
keeps the release, and the operator finds it in the inbox. $APPLOCK_OPERATOR is the default of --by.

Name the operator that got the lock: "$(hostname):$$" is the same in all commands of one script.`,
		Example: `  applockctl release customer:42 --operator jdoe
  applockctl release job:nightly --operator "$(hostname):$$" --fence 1795785256123456
  applockctl release customer:42 --operator jdoe --by mlee --reason "ill until Friday"
  applockctl release --all --operator jdoe --type order --by mlee --reason "jdoe has left"`,
		ValidArgsFunction: a.completeObjects,
		RunE: body(func(ctx context.Context, args []string) error {
			if flags.all {
				return a.releaseAll(ctx, flags, request)
			}
			return a.release(ctx, args, request)
		}),
	}
	a.operatorFlag(command, &request.Key.Operator, "who holds the object", a.completeHolder)
	fenceFlag(command, &request.Key.Fence, "release only the grant with this fence; by default whatever grant the operator has")
	a.actorFlags(command, &request.Actor, &request.Reason)
	flags.add(command, &request.Actor, &request.Reason)
	command.MarkFlagsMutuallyExclusive("all", "fence")
	return command
}

// actorFlags adds --by and --reason, which the history records.
func (a *app) actorFlags(command *cobra.Command, by, reason *string) {
	command.Flags().StringVar(by, "by", a.getenv(operatorVariable), "who does it, for the history; default $"+operatorVariable)
	command.Flags().StringVar(reason, "reason", "", "why, for the history")
	offers(command, "by", a.completeOperator)
}

// requireActor makes --by mandatory, unless its environment variable is set.
func requireActor(command *cobra.Command, by string) {
	if by == "" {
		require(command, "by")
	}
}

func (a *app) release(ctx context.Context, texts []string, request applock.ReleaseRequest) error {
	if request.Key.Fence != 0 && len(texts) > 1 {
		const reason = "is the fence of one object: leave it out, or name one object"
		return fmt.Errorf("release: %w", &applock.InvalidError{Argument: "Fence", Reason: reason})
	}
	return a.eachObject(ctx, "release", texts, lockAnswer{}, func(ctx context.Context, s session, object applock.Object) (record, error) {
		request.Key.Object = object
		answer := newAnswer(object, applock.Owner{Operator: request.Key.Operator})
		outcome, err := s.Release(ctx, request)
		if err == nil {
			answer.Outcome = outcome
		}
		if held, is := errors.AsType[*applock.HeldError](err); is {
			a.otherCase(request.Key.Operator, held.Holder.Owner.Operator)
		}
		return &answer, a.refused(&answer, err)
	})
}
