package main

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
	"github.com/applock/applock/cmd/applockctl/internal/watch"
	"github.com/applock/applock/cmd/internal/secret"
)

// listedLock is a line of the list. It has no outcome, since all its locks are held.
type listedLock struct {
	lockAnswer
	TTLSeconds int64 `json:"ttl_seconds"`
}

func listedLockOf(lock applock.Lock) record {
	answer := newAnswer(lock.Object, applock.Owner{})
	answer.heldAs(lock)
	return listedLock{answer, table.WholeSeconds(lock.TTL)}
}

func (l listedLock) fields() []table.Field {
	return []table.Field{
		{Title: "OBJECT", Value: l.object()},
		{Title: "OPERATOR", Value: l.Holder},
		{Title: "DEPARTMENT", Value: l.HolderDepartment},
		{Title: "SINCE", Value: l.AcquiredTS},
		{Title: "LEFT", Value: table.Lasting(l.SecondsLeft)},
		{Title: "FENCE", Value: l.Fence, Wide: true},
		{Title: "LOCKED", Value: l.LockTS, Wide: true},
		{Title: "EXPIRES", Value: l.ExpiresTS, Wide: true},
		{Title: "TTL", Value: table.Lasting(l.TTLSeconds), Wide: true},
		{Title: "NOTE", Value: l.Note},
	}
}

type listFlags struct {
	request applock.ListRequest
	object  string
	waiting bool
	order   watch.Order
	limit   int64
}

func (a *app) listCommand() *cobra.Command {
	var flags listFlags
	command := &cobra.Command{
		Use:   "list [--waiting] [--prefix customer:4] [--operator O] [--sort left]",
		Short: "List the live locks, or the waiters",
		Long: `Lists the live locks in the order of their objects: who holds what, since when, for how long still, and the
holder's note. All given conditions must hold; an empty one counts as not given. An empty list has exit code
0. stderr shows the number of locks. It warns if none matches --operator but one would in another case:
names are compared byte for byte.

With --object or --prefix only that part of the table is read. The list is read and printed page by page,
and --timeout is for each page. --sort left shows the soonest end first, age the oldest grant, and waiters
the longest wait, without locks that nobody waits for. A list in one of these orders has at most 10000
lines, and no --object or --prefix.

With --waiting it lists the waiters: who waits for which lock, since when, who holds it, and which program
waits. A waiter is a "get --wait", or a program that has announced that it waits. The first in the list is
not necessarily the next to get the lock.

With --output json each lock, or waiter, is an object on a line of its own.`,
		Example: `  applockctl list
  applockctl list --type customer --department sales
  applockctl list --prefix customer:42 --no-department
  applockctl list --operator jdoe --older-than 2d --output json
  applockctl list --expires-within 1h --sort left
  applockctl list --waiting --object customer:42`,
		Args: a.noObject,
		RunE: body(func(ctx context.Context, _ []string) error { return a.list(ctx, flags) }),
	}
	request := &flags.request
	command.Flags().StringVar(&request.ObjectType, "type", "", "only objects of this type")
	command.Flags().StringVar(&flags.object, "object", "", "only this object")
	command.Flags().StringVar(&request.Prefix, "prefix", "", "only objects whose TYPE:ID begins with this")
	command.Flags().StringVar(&request.Operator, "operator", "", "only this operator's locks, or waiters")
	command.Flags().StringVar(&request.Department, "department", "", "only this department's locks, or waiters")
	command.Flags().BoolVar(&request.NoDepartment, "no-department", false, "only locks, or waiters, without a department")
	command.Flags().Var((*duration)(&request.OlderThan), "older-than", "only locks held, or waits that last, at least this long")
	command.Flags().Var((*duration)(&request.ExpiresWithin), "expires-within", "only locks that end within this time unless renewed")
	command.Flags().BoolVar(&flags.waiting, "waiting", false, "list waiters instead of locks")
	sortFlag(command, &flags.order)
	limitFlag(command, &flags.limit)
	offers(command, "object", a.completeObject)
	offers(command, "operator", a.completeOperator)
	return command
}

// noObject names the command for one object to a person who gives one. A DSN with a password in the wrong place may look like one.
func (a *app) noObject(command *cobra.Command, args []string) error {
	err := noArguments(command, args)
	if err == nil || strings.Contains(args[0], "@") {
		return err
	}
	if _, other := parseObject(args[0]); other != nil {
		return err
	}
	return fmt.Errorf("%w; look at one object with: %s", err, a.commandLine("inquire", secret.Quote(args[0])))
}

func (a *app) list(ctx context.Context, flags listFlags) error {
	if flags.object != "" {
		if flags.request.ObjectType != "" {
			return refused("--object", "already names the type: leave out --type")
		}
		object, err := parseObject(flags.object)
		switch {
		case err != nil:
			return fmt.Errorf("list: %w", err)
		case trim(object.Type) == "", trim(object.ID) == "":
			return refused("--object", "must have a type and an id")
		}
		flags.request.ObjectType, flags.request.ObjectID = object.Type, object.ID
	}
	if flags.order.Listed() != applock.ByObject {
		if flags.waiting || flags.object != "" || flags.request.Prefix != "" {
			return refused("--sort "+string(flags.order), "is for a list of locks without --object and --prefix")
		}
		flags.request.Order, flags.request.PageSize = flags.order.Listed(), applock.MaxPageSize
		if flags.limit > 0 {
			flags.request.PageSize = int(min(flags.limit, applock.MaxPageSize-1)) + 1 // one tells whether there are more
		}
	}
	if flags.waiting {
		return a.listWaiters(ctx, flags)
	}
	return a.printList(ctx, "list", "lock", listedLock{}, func(ctx context.Context, s session, p *printer) error {
		err := printRows(s, p, s.List(ctx, flags.request), flags.limit, listedLockOf)
		if err == nil && p.records == 0 {
			a.hintAtNames(ctx, s, flags.request)
		}
		return err
	})
}

// refused returns an error of the command line which only this command can detect.
func refused(argument, reason string) error {
	return fmt.Errorf("list: %w", &applock.InvalidError{Argument: argument, Reason: reason})
}

// printList prints the rows, and for people their number.
func (a *app) printList(
	ctx context.Context, operation, what string, like record, rows func(context.Context, session, *printer) error,
) error {
	p := a.newPrinter(like)
	return a.call(ctx, operation, func(ctx context.Context, s session) error {
		if err := rows(ctx, s, p); err != nil {
			return withUnprinted(err, p.flush())
		}
		if err := p.end(); err != nil {
			return err
		}
		if a.output == formatTable {
			counted := table.Count(p.records, what)
			if p.more {
				counted += " of more, see --limit"
			}
			a.note("%s", counted)
		}
		return nil
	})
}

// printRows prints at most limit rows, or all for zero. --timeout limits the reading of each page, but not the printing: a pager may hold
// it up.
func printRows[T any](s session, p *printer, rows iter.Seq2[T, error], limit int64, recordOf func(T) record) error {
	for row, err := range rows {
		if err != nil {
			return err
		}
		if limit > 0 && int64(p.records) == limit {
			p.more = true
			return nil
		}
		s.pause()
		if err := p.print(recordOf(row)); err != nil {
			return err
		}
		s.restart()
	}
	return nil
}

// hintAtNames says on stderr why a list may be empty: a wildcard, or names in another case.
func (a *app) hintAtNames(ctx context.Context, s session, request applock.ListRequest) {
	for flag, text := range map[string]string{"--type": request.ObjectType, "--prefix": request.Prefix} { // one of them at most is given
		if begin := strings.TrimRight(text, "*%"); begin != text {
			a.note("%s has no wildcards; to list what begins with it, run: %s", flag, a.commandLine("list", "--prefix", secret.Quote(begin)))
			return
		}
	}
	if strings.ContainsAny(request.Operator, "*%") {
		a.note("--operator has no wildcards: write one name in full")
	}
	a.hintAtOperator(ctx, s, request)
}

// otherCase says on stderr that a holder's name differs from the given one only in case.
func (a *app) otherCase(given, holder string) {
	if given = trim(given); given != holder && strings.EqualFold(given, holder) {
		a.note("%s holds it, and not %s: upper and lower case are different operators", table.Printable(holder), table.Printable(given))
	}
}

// hintAtOperator suggests on stderr operators whose names differ from the given one only in case, and reports whether there are any. It
// reads one page and drops its errors, since the list itself is complete.
func (a *app) hintAtOperator(ctx context.Context, s session, request applock.ListRequest) bool {
	if request.Operator == "" {
		return false
	}
	wanted := trim(request.Operator)
	request.Operator, request.OlderThan, request.ExpiresWithin, request.Order = "", 0, 0, applock.ByObject
	request.PageSize = applock.MaxPageSize
	looked := 0
	var similar []string
	for lock, err := range s.List(ctx, request) {
		if err != nil || looked == request.PageSize {
			break
		}
		looked++
		operator := lock.Owner.Operator
		if strings.EqualFold(operator, wanted) && operator != wanted && !slices.Contains(similar, table.Printable(operator)) {
			similar = append(similar, table.Printable(operator))
		}
	}
	if len(similar) > 0 {
		a.note("nothing for operator %s, but for %s: upper and lower case are different operators",
			table.Printable(wanted), strings.Join(similar, ", "))
	}
	return len(similar) > 0
}
