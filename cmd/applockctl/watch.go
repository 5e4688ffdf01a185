package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/watch"
	"github.com/applock/applock/cmd/internal/secret"
)

func (a *app) watchCommand() *cobra.Command {
	config := watch.Config{Query: watch.Query{Order: watch.ByObject}}
	every := duration(2 * time.Second)
	command := &cobra.Command{
		Use:   "watch [--type T] [--operator O] [--department D] [--every 2s] [--by O]",
		Short: "Watch live locks and waiters",
		Long: `Shows the live locks, how many wait for each, and for how long the first has waited. It refreshes every
two seconds. The selected line stays with its lock. The keys:

` + watch.Keys + `

` + watch.Colour + `

Before a transfer, take or release, watch asks for the reason, and for your name unless --by gives it: the
history keeps both. Then it shows the plan, and the key y carries it out. The plan is for the grant that was
shown: if somebody else has got the object since then, nothing changes, and watch shows that holder. Below
the table is the selected lock in full, and who waits and who asks for it, the longest wait first.

Sorted by object, a refresh reads only the locks in the window; with a filter it reads all locks up to the
last one in the window. In any other order it reads the first 1000, and with a filter all. The key "end"
reads all. For a role that may read appl_lock_stats, the first line has the number of all locks. Up to 10,000
rows are counted at each refresh; more are counted once a minute, and the number is then "about". If the
database does not answer, the line below the table says so until it does.

With --output json it needs no terminal: it prints a line for each lock, waiter and request that is there,
and then a line for each change between two refreshes.`,
		Example: `  applockctl watch
  applockctl watch --type customer --department sales --sort left
  applockctl watch --operator jdoe --every 10s
  applockctl watch --output json | grep '"change":"released"'`,
		RunE: body(func(ctx context.Context, _ []string) error {
			config.Every = time.Duration(every)
			if a.output == formatJSON {
				return a.watchChanges(ctx, config)
			}
			return a.watchTable(ctx, config)
		}),
	}
	request := &config.Query.Request
	command.Flags().StringVar(&request.ObjectType, "type", "", "only objects of this type")
	command.Flags().StringVar(&request.Operator, "operator", "", "only locks of this operator")
	command.Flags().StringVar(&request.Department, "department", "", "only locks of this department")
	sortFlag(command, &config.Query.Order)
	command.Flags().Var(&every, "every", "how long to wait between two refreshes")
	command.Flags().StringVar(&config.By, "by", a.getenv(operatorVariable), "who you are, for the history; default $"+operatorVariable)
	offers(command, "operator", a.completeOperator)
	offers(command, "by", a.completeOperator)
	return command
}

func sortFlag(command *cobra.Command, by *watch.Order) {
	sort := choice[watch.Order]{by, watch.Orders(), "order", "write one of object, left, age, waiters"}
	command.Flags().Var(sort, "sort", watch.OrderHelp)
	complete(command, "sort", sort.names()...)
}

func (a *app) watchTable(ctx context.Context, config watch.Config) error {
	if !isTerminal(a.stdout) || !isTerminal(os.Stdin) {
		return fmt.Errorf("watch: %w", &applock.InvalidError{
			Argument: "--output", Reason: "must be json without a terminal, which the table needs",
		})
	}
	return a.callWatch(ctx, config, func(ctx context.Context, s session, config watch.Config) error {
		// Report a permanent error before the table takes over the screen.
		if _, err := config.Read(ctx, config.Query); err != nil {
			return err
		}
		defer s.end() // leaving does not wait for a running call
		return watch.Run(ctx, config)
	})
}

// callWatch opens a client and runs watch with it. Each refresh and each change has its own time limit.
func (a *app) callWatch(ctx context.Context, config watch.Config, run func(context.Context, session, watch.Config) error) error {
	return a.call(ctx, "watch", func(ctx context.Context, s session) error {
		s.pause()
		config.Style, config.Inbox = a.style(), readInbox
		config.Problem = func(err error) string { return oneLine(secret.Redact(inFlags(err))) }
		config.Call = func(ctx context.Context, operation string, run func(context.Context, watch.Session) error) error {
			limited, limit := limitCalls(ctx, time.Duration(a.timeout))
			defer limit.end()
			return a.explain(limited, operation, s, run(limited, watch.Session{Client: s.Client, Restart: limit.restart}))
		}
		return run(ctx, s, config)
	})
}

// passes reports whether a retry may succeed.
func passes(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, applock.ErrUnreachable) || errors.Is(err, applock.ErrRetry) ||
		errors.Is(err, applock.ErrBusy) || errors.Is(err, applock.ErrContention)
}
