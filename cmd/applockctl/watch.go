package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

// watchFlags select what watch shows.
type watchFlags struct {
	look  look
	every duration
	// by is the actor of changes, for the history.
	by string
}

func (a *app) watchCommand() *cobra.Command {
	flags := watchFlags{look: look{order: byObject}, every: duration(2 * time.Second)}
	command := &cobra.Command{
		Use:   "watch [--type T] [--operator O] [--department D] [--every 2s] [--by O]",
		Short: "Watch live locks and waiters",
		Long: `Shows the live locks, how many wait for each, and for how long the first has waited. It looks again every
two seconds. The selected line stays with its lock. The keys:

` + watchKeys + `

` + watchColour + `

Before a transfer, take or release, watch asks for the reason, and for your name unless --by gives it: the
history keeps both. Then it shows the plan, and the key y carries it out. The plan is for the grant that was
shown: if somebody else has got the object since then, nothing changes, and watch shows that holder. Below
the table is the selected lock in full, and who waits and who asks for it, the longest wait first.

Sorted by object, a look reads only the locks in the window; with a filter it reads all locks up to the last
one in the window. In any other order it reads the first 1000, and with a filter all. The key "end" reads
all. For a role that may read appl_lock_stats, the first line has the number of all locks. Up to 10,000 rows
are counted at each look; more are counted once a minute, and the number is then "about". If the database
does not answer, the line below the table says so until it does.

With --output json it needs no terminal: it prints a line for each lock, waiter and request that is there,
and then a line for each change between two looks.`,
		Example: `  applockctl watch
  applockctl watch --type customer --department sales --sort left
  applockctl watch --operator jdoe --every 10s
  applockctl watch --output json | grep '"change":"released"'`,
		Args:                  noArguments,
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: body(func(ctx context.Context, _ []string) error {
			if a.output == formatJSON {
				return a.watchChanges(ctx, flags)
			}
			return a.watchTable(ctx, flags)
		}),
	}
	request := &flags.look.request
	command.Flags().StringVar(&request.ObjectType, "type", "", "only objects of this type")
	command.Flags().StringVar(&request.Operator, "operator", "", "only locks of this operator")
	command.Flags().StringVar(&request.Department, "department", "", "only locks of this department")
	command.Flags().Var(&flags.look.order, "sort", orderHelp)
	command.Flags().Var(&flags.every, "every", "how long to wait between two looks")
	command.Flags().StringVar(&flags.by, "by", a.getenv(operatorVariable), "who you are, for the history; default $"+operatorVariable)
	complete(command, "sort", orders()...)
	offers(command, "operator", a.completeOperator)
	offers(command, "by", a.completeOperator)
	return command
}

// watchTable runs the table on the terminal.
func (a *app) watchTable(ctx context.Context, flags watchFlags) error {
	if !isTerminal(a.stdout) || !isTerminal(os.Stdin) {
		return fmt.Errorf("watch: %w", &applock.InvalidError{
			Argument: "--output", Reason: "must be json without a terminal, which the table needs",
		})
	}
	return a.call(ctx, "watch", func(ctx context.Context, s session) error {
		s.pause() // each look has its own limit
		// Report a permanent error before the table takes over the screen.
		if _, err := a.lookOnce(ctx, s, flags.look); err != nil {
			return err
		}
		screen, err := newScreen()
		if err != nil {
			return fmt.Errorf("watch: %w", err)
		}
		defer s.end() // leaving does not wait for a running call
		return a.newDesk(s, screen, flags).run(ctx)
	})
}

// limited runs one look or one change with a time limit of its own.
func (a *app) limited(ctx context.Context, s session, operation string, run func(context.Context, session) error) error {
	limited, limit := limitCalls(ctx, time.Duration(a.timeout))
	defer limit.end()
	s.callLimit = limit
	return a.explain(limited, operation, s, run(limited, s))
}

// lookOnce reads the data of a look.
func (a *app) lookOnce(ctx context.Context, s session, l look) (sight, error) {
	var found sight
	err := a.limited(ctx, s, "watch", func(ctx context.Context, s session) error {
		var err error
		if found, err = l.read(ctx, s); err != nil {
			return fmt.Errorf("watch: %w", err)
		}
		return nil
	})
	return found, err
}

// passes reports whether a retry may succeed.
func passes(err error) bool {
	var late *timeoutError
	return errors.As(err, &late) || errors.Is(err, applock.ErrUnreachable) || errors.Is(err, applock.ErrRetry) ||
		errors.Is(err, applock.ErrBusy) || errors.Is(err, applock.ErrContention)
}
