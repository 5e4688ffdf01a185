package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
)

type policyAnswer struct{ applock.Policy }

func (p policyAnswer) fields() []table.Field {
	reason := "Y"
	if p.TakeWithoutReason {
		reason = "N"
	}
	presence := "Y"
	if p.WithoutPresence {
		presence = "N"
	}
	return []table.Field{
		{Title: "TYPE", Value: p.Type},
		{Title: "DEFAULT TTL", Value: table.Lasting(table.WholeSeconds(p.DefaultTTL))},
		{Title: "LONGEST TTL", Value: table.Lasting(table.WholeSeconds(p.LongestTTL))},
		{Title: "REASON TO TAKE", Value: reason},
		{Title: "HISTORY", Value: string(cmp.Or(p.HistoryLevel, applock.HistoryChanges))},
		{Title: "PRESENCE", Value: presence},
		{Title: "YIELD AFTER", Value: table.Lasting(table.WholeSeconds(p.YieldAfter))},
	}
}

func (a *app) policyListCommand() *cobra.Command {
	var objectType string
	command := &cobra.Command{
		Use:   "list [--type T]",
		Short: "List the policies",
		Long: `Lists the policies in the order of the types. A type that is not listed has no policy. A time that is
not set is the default: 7 days for a new lock, and 3650 days at most.

With --output json each policy is an object on a line of its own. Every role but janitor may list policies.`,
		Example: `  applockctl policy list
  applockctl policy list --type customer --output json`,
		RunE: a.calls("policy list", func(ctx context.Context, s session) error {
			policies, err := s.Policies(ctx, objectType)
			if err != nil {
				return err
			}
			return printEach(a, policyAnswer{}, policies, func(policy applock.Policy) record { return policyAnswer{policy} })
		}),
	}
	command.Flags().StringVar(&objectType, "type", "", "only that of this type")
	return command
}
