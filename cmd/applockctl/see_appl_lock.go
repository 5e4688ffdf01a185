package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
)

// presentOne is the holder, a waiter, an asker or a viewer of an object.
type presentOne struct{ applock.Presence }

func (p presentOne) fields() []table.Field {
	return []table.Field{
		{Title: "WHAT", Value: string(p.Kind)},
		{Title: "OPERATOR", Value: p.Owner.Operator},
		{Title: "DEPARTMENT", Value: p.Owner.Department},
		{Title: "STATE", Value: string(p.State)},
		{Title: "SINCE", Value: table.Timestamp(p.Since)},
		{Title: "LEFT", Value: table.Lasting(table.WholeSeconds(p.Left))},
		{Title: "PROGRAM", Value: p.Client},
	}
}

func (a *app) seeCommand() *cobra.Command {
	request := applock.SeeRequest{State: applock.StateViewing}
	var leave bool
	command := &cobra.Command{
		Use:   "see OBJECT --operator O [--state editing | --leave] [--client C]",
		Short: "Record that an operator looks at an object, and show who else is there",
		Long: `Records that an operator looks at an object, and lists who else is there: its holder (HOLDER), even if that
is the operator; operators that ask for it (ASKER); and other operators that look at it (VIEWER), longest
first. An empty list means that the object is free and nobody else looks (exit code 0). It locks nothing.

The operator is listed for 45s, or --ttl. A support tool calls it every 15s while it shows the object, and
with --leave when it stops. Each browser tab or program has a name of its own, --client.

If the type's policy has no presence, nothing is recorded, and no viewer is listed.`,
		Example: `  applockctl see customer:42 --operator jdoe
  applockctl see customer:42 --operator jdoe --state editing --client tab-7 --output json
  applockctl see customer:42 --operator jdoe --client tab-7 --leave`,
		Args:              oneObject,
		ValidArgsFunction: a.completeObjects,
		RunE: body(func(ctx context.Context, args []string) error {
			if leave {
				request.State = applock.StateLeft
			}
			return a.see(ctx, args[0], request)
		}),
	}
	a.operatorFlag(command, &request.Owner.Operator, "who looks at the object", a.completeOperator)
	a.departmentFlag(command, &request.Owner.Department, departmentUsage)
	command.Flags().StringVar(&request.Client, "client", program, "the browser tab or program, by a name that no other one has")
	state := choice[applock.PresenceState]{
		&request.State, []applock.PresenceState{applock.StateViewing, applock.StateEditing, applock.StateIdle},
		"viewing|editing|idle", "write viewing, editing or idle",
	}
	command.Flags().Var(anyCase{state}, "state", "what the operator does there: viewing, editing or idle")
	command.Flags().BoolVar(&leave, "leave", false, "the operator does not look any more")
	command.Flags().Var((*duration)(&request.TTL), "ttl", "how long the operator is listed, at most 60s (45s)")
	command.MarkFlagsMutuallyExclusive("state", "leave")
	complete(command, "state", state.names()...)
	return command
}

func (a *app) see(ctx context.Context, text string, request applock.SeeRequest) error {
	object, err := parseObject(text)
	if err != nil {
		return fmt.Errorf("see: %w", err)
	}
	request.Object = object
	return a.call(ctx, "see "+object.String(), func(ctx context.Context, s session) error {
		present, err := s.See(ctx, request)
		if err != nil {
			return err
		}
		return printEach(a, presentOne{}, present, func(one applock.Presence) record { return presentOne{one} })
	})
}

// anyCase is a flag whose value may be written in any case.
type anyCase struct{ pflag.Value }

// Set parses text.
func (c anyCase) Set(text string) error { return c.Value.Set(strings.ToLower(text)) }
