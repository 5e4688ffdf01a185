package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
)

// droppedPolicy reports whether the type's policy was dropped.
type droppedPolicy struct {
	Outcome    applock.Outcome `json:"outcome"`
	ObjectType string          `json:"object_type"`
}

func (d droppedPolicy) fields() []table.Field {
	return []table.Field{{Title: "OUTCOME", Value: d.Outcome}, {Title: "TYPE", Value: d.ObjectType}}
}

func (a *app) policyDropCommand() *cobra.Command {
	var request applock.DropPolicyRequest
	command := &cobra.Command{
		Use:   "drop TYPE --by O [--reason R]",
		Short: "Remove the policy of a type",
		Long: `Removes the policy of a type: a new lock lasts 7 days again unless a ttl is given. An existing lock keeps
its end until it is renewed or transferred. The history keeps who did it, and the reason. The command needs
the role administrator.

Prints DROPPED (exit code 0), or NONE if the type has no policy (exit code 1).`,
		Example: `  applockctl policy drop customer --by mlee --reason "the trial is over"`,
		Args:    oneType,
		RunE: body(func(ctx context.Context, args []string) error {
			request.Type = args[0]
			return a.call(ctx, "policy drop", func(ctx context.Context, s session) error {
				err := s.DropPolicy(ctx, request)
				if err != nil && !errors.Is(err, applock.ErrNoPolicy) {
					return err
				}
				answer := droppedPolicy{Outcome: outcomeDropped, ObjectType: trim(request.Type)}
				if err != nil {
					answer.Outcome = outcomeNone
				}
				return a.answer(err == nil, answer)
			})
		}),
	}
	a.policyActorFlags(command, &request.Actor, &request.Reason)
	return command
}
