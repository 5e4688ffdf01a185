package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

// listedLock is a line of the list, which has no need to say that it is held.
type listedLock struct{ lockAnswer }

func (l listedLock) cells() []string {
	return []string{
		l.ObjectType + ":" + l.ObjectID, l.Holder, l.HolderDepartment,
		fenceCell(l.Fence), l.AcquiredTS.cell(), l.LockTS.cell(), l.ExpiresTS.cell(),
	}
}

func (a *app) listCommand() *cobra.Command {
	var request applock.ListRequest
	var waiting bool
	command := &cobra.Command{
		Use:   "list [--waiting] [--type T] [--operator O] [--department D]",
		Short: "List the live locks, or who waits for one",
		Long: `Lists the live locks in the order of their objects. Several conditions must all hold; a condition
that is not given, or empty, lets everything pass. An empty list is a list: exit code 0.

With --waiting it lists those who wait for a lock, since when, and until when they wait: get --wait, and
programs that have said so. Who is first in this list is not the next one to get the lock.

The list is read page by page, and --timeout is for each page. With --output json each lock, or waiter, is
an object on a line of its own.`,
		Example: `  applockctl list
  applockctl list --type customer --department sales
  applockctl list --operator jdoe --output json
  applockctl list --waiting --type customer`,
		Args:                  noArguments,
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: body(func(ctx context.Context, _ []string) error {
			return a.list(ctx, request, waiting)
		}),
	}
	command.Flags().StringVar(&request.ObjectType, "type", "", "only objects of this type")
	command.Flags().StringVar(&request.Operator, "operator", "", "only what this operator holds, or waits for")
	command.Flags().StringVar(&request.Department, "department", "", "only what this department holds, or waits for")
	command.Flags().BoolVar(&waiting, "waiting", false, "list those who wait, not those who hold")
	return command
}

func (a *app) list(ctx context.Context, request applock.ListRequest, waiting bool) error {
	if waiting {
		p := a.newPrinter("OBJECT", "WAITING", "DEPARTMENT", "SINCE", "UNTIL")
		return a.printList(ctx, p, "waiter", func(ctx context.Context, s session) error {
			return printWaiters(ctx, s, p, applock.WaitersRequest{
				ObjectType: request.ObjectType,
				Operator:   request.Operator,
				Department: request.Department,
			})
		})
	}
	p := a.newPrinter("OBJECT", "OPERATOR", "DEPARTMENT", "FENCE", "ACQUIRED", "LOCKED", "EXPIRES")
	return a.printList(ctx, p, "lock", func(ctx context.Context, s session) error {
		return printLocks(ctx, s, p, request)
	})
}

// printList prints what rows reads, and for people how many there are.
func (a *app) printList(ctx context.Context, p *printer, what string, rows func(context.Context, session) error) error {
	return a.call(ctx, "list", func(ctx context.Context, s session) error {
		if err := rows(ctx, s); err != nil {
			_ = p.flush() // what was read is worth printing, but the first error is the one to tell
			return err
		}
		if err := p.end(); err != nil {
			return err
		}
		if a.output == formatTable {
			a.note("%s", count(p.records, what))
		}
		return nil
	})
}

// printLocks limits the reading of each page, not the printing: the list may go to a pager.
func printLocks(ctx context.Context, s session, p *printer, request applock.ListRequest) error {
	for lock, err := range s.List(ctx, request) {
		if err != nil {
			return err
		}
		s.pause()
		answer := newAnswer(lock.Object, applock.Owner{})
		answer.heldAs(lock)
		if err := p.print(listedLock{answer}); err != nil {
			return err
		}
		s.restart()
	}
	return nil
}
