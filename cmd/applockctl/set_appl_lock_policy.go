package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/applock/applock/applock"
)

// policyCommand has the commands for what is laid down for a type.
func (a *app) policyCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "policy set|drop|list",
		Short: "Lay down how long locks on objects of a type last",
		Long: `Lays down for objects of a type how long a lock lasts, at first and at most, whether who takes it from
another must say why, and what the history is told. It holds from the next call on, also for programs that
know nothing of it: a time that is too long is cut, and the answer says when the lock ends.`,
		Example: `  applockctl policy set customer --default-ttl 1h --longest-ttl 8h --by mlee
  applockctl policy list`,
		DisableFlagsInUseLine: true,
	}
	command.AddCommand(a.policySetCommand(), a.policyDropCommand(), a.policyListCommand())
	return command
}

func (a *app) policySetCommand() *cobra.Command {
	var request applock.SetPolicyRequest
	var defaultTTL, longestTTL, yieldAfter duration
	command := &cobra.Command{
		Use:   "set TYPE [--default-ttl 1h] [--longest-ttl 8h] [--history all] --by O [--reason R]",
		Short: "Set the policy of a type",
		Long: `Sets the policy of a type. It is whole: what is not given is none of it, whatever there was before. A lock
that is there already keeps its end until it is renewed or transferred.

With --history all the history is told each get, renewal, refusal and release of such a lock, too: a row for
each, and a program renews its lock many times an hour. A lock that is held is told of from its holder's
next get on.

With --without-presence "applockctl see" and support tools neither record nor show who looks at an object of
the type. With --yield-after who asks for a lock gets it when the holder has been shown the request and has
not answered for so long; a lock that lasts less than an hour, as programs have, is never given so.

The history keeps who has set it, what it says, and the reason: see "applockctl history". It needs the right
of an administrator.

Prints SET and what holds now (exit code 0).`,
		Example: `  applockctl policy set customer --default-ttl 1h --longest-ttl 8h --by mlee --reason "office hours"
  applockctl policy set invoice --take-without-reason --by mlee
  applockctl policy set ledger --history all --by mlee
  applockctl policy set case --yield-after 30m --without-presence --by mlee`,
		Args:                  oneType,
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: body(func(ctx context.Context, args []string) error {
			request.Policy.Type = args[0]
			request.Policy.DefaultTTL, request.Policy.LongestTTL = time.Duration(defaultTTL), time.Duration(longestTTL)
			request.Policy.YieldAfter = time.Duration(yieldAfter)
			return a.setPolicy(ctx, request)
		}),
	}
	command.Flags().Var(&defaultTTL, "default-ttl", "how long a new lock lasts for which no time is given (7d)")
	command.Flags().Var(&longestTTL, "longest-ttl", "how long a lock lasts at most (3650d)")
	command.Flags().BoolVar(&request.Policy.TakeWithoutReason, "take-without-reason", false, "who takes a lock from another need not say why")
	command.Flags().Var((*historyLevel)(&request.Policy.HistoryLevel), "history", "what the history is told: changes, or all")
	command.Flags().BoolVar(&request.Policy.WithoutPresence, "without-presence", false, "do not record or show who looks at an object")
	command.Flags().Var(&yieldAfter, "yield-after", "how long a holder may leave a request unanswered, at least 60s (for ever)")
	complete(command, "history", "all", "changes")
	a.policyActorFlags(command, &request.Actor, &request.Reason)
	return command
}

// policyActorFlags are those for the history, which wants to know who it was.
func (a *app) policyActorFlags(command *cobra.Command, by, reason *string) {
	a.actorFlags(command, by, reason)
	requireActor(command, *by)
}

// oneType accepts one argument, the type.
func oneType(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return errors.New("the type is missing, such as customer")
	case 1:
		return nil
	default:
		return fmt.Errorf("unexpected argument %q", args[1])
	}
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

// historyLevel is what --history takes.
type historyLevel applock.HistoryLevel

var _ pflag.Value = (*historyLevel)(nil)

func (h *historyLevel) Set(text string) error {
	switch text {
	case "all":
		*h = historyLevel(applock.HistoryAll)
	case "changes":
		*h = historyLevel(applock.HistoryChanges)
	default:
		return errors.New("want all or changes")
	}
	return nil
}

func (h *historyLevel) String() string { return strings.ToLower(string(*h)) }

func (*historyLevel) Type() string { return "all|changes" }
