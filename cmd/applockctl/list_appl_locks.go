package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
)

// listedLock has the columns of list_appl_locks.
type listedLock struct {
	ObjectType   string        `json:"object_type"`
	ObjectID     string        `json:"object_id"`
	OperatorID   string        `json:"operator_id"`
	DepartmentID string        `json:"department_id"`
	Fence        applock.Fence `json:"fence"`
	AcquiredTS   timestamp     `json:"acquired_ts"`
	LockTS       timestamp     `json:"lock_ts"`
	ExpiresTS    timestamp     `json:"expires_ts"`
}

func (l listedLock) cells() []string {
	return []string{
		l.ObjectType + ":" + l.ObjectID, l.OperatorID, l.DepartmentID,
		fenceCell(l.Fence), l.AcquiredTS.cell(), l.LockTS.cell(), l.ExpiresTS.cell(),
	}
}

func (a *app) listCommand() *cobra.Command {
	var request applock.ListRequest
	command := &cobra.Command{
		Use:   "list [--type T] [--operator O] [--department D]",
		Short: "List the live locks",
		Long: `Lists the live locks in the order of their objects. Several conditions must all hold; a condition
that is not given, or empty, lets everything pass. An empty list is a list: exit code 0.

The list is read page by page, and --timeout is for each page. With --output json each lock is an
object on a line of its own.`,
		Example: `  applockctl list
  applockctl list --type customer --department sales
  applockctl list --operator jdoe --output json`,
		Args:                  noArguments,
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: body(func(ctx context.Context, _ []string) error {
			return a.list(ctx, request)
		}),
	}
	command.Flags().StringVar(&request.ObjectType, "type", "", "only objects of this type")
	command.Flags().StringVar(&request.Operator, "operator", "", "only what this operator holds")
	command.Flags().StringVar(&request.Department, "department", "", "only what this department holds")
	return command
}

func (a *app) list(ctx context.Context, request applock.ListRequest) error {
	return a.call(ctx, "list", func(ctx context.Context, s session) error {
		p := a.newPrinter("OBJECT", "OPERATOR", "DEPARTMENT", "FENCE", "ACQUIRED", "LOCKED", "EXPIRES")
		if err := printLocks(ctx, s, p, request); err != nil {
			_ = p.flush() // what was read is worth printing, but the first error is the one to tell
			return err
		}
		if err := p.end(); err != nil {
			return err
		}
		if a.output == formatTable {
			a.note("%s", count(p.records, "lock"))
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
		err := p.print(listedLock{
			ObjectType:   lock.Object.Type,
			ObjectID:     lock.Object.ID,
			OperatorID:   lock.Owner.Operator,
			DepartmentID: lock.Owner.Department,
			Fence:        lock.Fence,
			AcquiredTS:   timestamp(lock.AcquiredAt),
			LockTS:       timestamp(lock.LockedAt),
			ExpiresTS:    timestamp(lock.ExpiresAt),
		})
		if err != nil {
			return err
		}
		s.restart()
	}
	return nil
}
