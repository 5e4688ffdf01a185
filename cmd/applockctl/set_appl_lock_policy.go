package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

func (a *app) policyCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "policy set|drop|list",
		Short: "Set rules for the locks of a type",
		Long: `Sets rules for the objects of a type: how long a lock lasts by default and at most, whether a take needs a
reason, and what the history keeps. They hold from the next call on, also for programs that know nothing of
them: a ttl that is too long is cut, and the answer says when the lock ends.`,
		Example: `  applockctl policy set customer --default-ttl 1h --longest-ttl 8h --by mlee
  applockctl policy list`,
	}
	command.AddCommand(a.policySetCommand(), a.policyDropCommand(), a.policyListCommand())
	return command
}

func (a *app) policySetCommand() *cobra.Command {
	var request applock.SetPolicyRequest
	command := &cobra.Command{
		Use:   "set TYPE [--default-ttl 1h] [--longest-ttl 8h] [--history all] --by O [--reason R]",
		Short: "Set the policy of a type",
		Long: `Sets the policy of a type. It replaces the former policy as a whole: an option that is not given has its
default. An existing lock keeps its end until it is renewed or transferred.

With --history all the history also keeps each get, renewal, refusal and release: one row each, and a
program renews its lock many times an hour. For a lock that is held now, this begins with the next get of
its holder.

With --without-presence "applockctl see" and support tools neither record nor show who looks at an object of
the type. With --yield-after an asker gets the lock when the holder has been shown the request and has not
answered for that time. A lock of less than an hour, as programs have, never yields.

The history keeps who set the policy, its rules, and the reason. The command needs the role administrator.

Prints SET and the policy (exit code 0).`,
		Example: `  applockctl policy set customer --default-ttl 1h --longest-ttl 8h --by mlee --reason "office hours"
  applockctl policy set invoice --take-without-reason --by mlee
  applockctl policy set ledger --history all --by mlee
  applockctl policy set case --yield-after 30m --without-presence --by mlee`,
		Args: oneType,
		RunE: body(func(ctx context.Context, args []string) error {
			request.Policy.Type = args[0]
			return a.setPolicy(ctx, request)
		}),
	}
	command.Flags().Var((*duration)(&request.Policy.DefaultTTL), "default-ttl", "the ttl of a new lock if its get names none (7d)")
	command.Flags().Var((*duration)(&request.Policy.LongestTTL), "longest-ttl", "the longest ttl (3650d)")
	command.Flags().BoolVar(&request.Policy.TakeWithoutReason, "take-without-reason", false, "a take needs no reason")
	history := choice[applock.HistoryLevel]{
		&request.Policy.HistoryLevel, []applock.HistoryLevel{applock.HistoryAll, applock.HistoryChanges}, "all|changes", "write all or changes",
	}
	command.Flags().Var(history, "history", "what the history keeps: changes, or all")
	command.Flags().BoolVar(&request.Policy.WithoutPresence, "without-presence", false, "do not record or show who looks at an object")
	command.Flags().Var((*duration)(&request.Policy.YieldAfter), "yield-after", "how long a holder may leave a request unanswered, at least 60s (for ever)")
	complete(command, "history", history.names()...)
	a.policyActorFlags(command, &request.Actor, &request.Reason)
	return command
}

// policyActorFlags adds --by and --reason, which the history records.
func (a *app) policyActorFlags(command *cobra.Command, by, reason *string) {
	a.actorFlags(command, by, reason)
	requireActor(command, *by)
}

func oneType(command *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("the type is missing, such as customer")
	}
	return noArguments(command, args[1:])
}

func (a *app) setPolicy(ctx context.Context, request applock.SetPolicyRequest) error {
	return a.call(ctx, "policy set", func(ctx context.Context, s session) error {
		if err := s.SetPolicy(ctx, request); err != nil {
			return err
		}
		request.Policy.Type = trim(request.Policy.Type)
		return a.answer(true, policyAnswer{request.Policy})
	})
}
