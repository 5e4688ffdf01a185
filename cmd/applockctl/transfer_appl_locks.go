package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
)

type allFlags struct {
	all        bool
	objectType string
	dryRun     bool
}

// add adds the flags. --all takes no object, and its --by and --reason go to the history.
func (f *allFlags) add(command *cobra.Command, by, reason *string) {
	command.Flags().BoolVar(&f.all, "all", false, "all locks of the operator; then name no objects")
	command.Flags().StringVar(&f.objectType, "type", "", "with --all: only objects of this type")
	command.Flags().BoolVar(&f.dryRun, "dry-run", false, "with --all: only print what would be done")
	command.Args = func(_ *cobra.Command, args []string) error {
		switch {
		case !f.all && command.Flags().Changed("type"):
			return errors.New("--type is for --all")
		case !f.all && f.dryRun:
			return errors.New("--dry-run is for --all")
		case !f.all:
			return someObjects(command, args)
		case len(args) > 0:
			return fmt.Errorf("unexpected argument %q: --all takes no objects", args[0])
		case trim(*by) == "":
			return errors.New("--all needs a --by, which the history keeps; $" + operatorVariable + " may stand for it")
		case trim(*reason) == "":
			return errors.New("--all needs a --reason, which the history keeps")
		}
		return nil
	}
}

// changeAll changes all locks of an operator page by page, and prints each lock's outcome and the totals. A signal stops it between two
// pages, so that the result of each call is known. The answer is no if nothing was found, but an operator whose name differs only in case
// exists.
func (a *app) changeAll(
	ctx context.Context, operation, done string, whose applock.ListRequest, like record, answer func(applock.LockChange) record,
	page func(ctx context.Context, s session, after applock.Object) ([]applock.LockChange, error),
) error {
	var counted tally
	isMisspelt := false
	err := a.call(ctx, operation, func(limited context.Context, s session) error {
		printer := a.newPrinter(like)
		whole, cancel := withoutSignals(limited)
		defer cancel()
		for {
			changes, err := page(whole, s, counted.last)
			if err != nil {
				return err
			}
			s.pause()
			for _, change := range changes {
				counted.add(change)
			}
			for _, change := range changes {
				if !a.quiet || counted.left[change.Outcome] > 0 { // quiet hides successes
					if err := printer.print(answer(change)); err != nil {
						return err
					}
				}
			}
			if len(changes) < applock.DefaultPageSize {
				isMisspelt = counted.rows == 0 && a.hintAtOperator(limited, s, whose)
				return printer.end()
			}
			if err := printer.flush(); err != nil {
				return err
			}
			if limited.Err() != nil {
				return context.Cause(limited)
			}
			a.eraseProgress(a.progress(fmt.Sprintf("%d locks %s...", counted.changed, done)))
			s.restart()
		}
	})
	if err != nil {
		if counted.changed == 0 {
			return withoutEffect(err)
		}
		if counted.rows > 0 {
			return fmt.Errorf("%w (%s %s before, the last one %s; repeat the command to go on)",
				err, table.Count(counted.changed, "lock"), done, table.Printable(counted.last.String()))
		}
		return err
	}
	a.noteTally(counted, done)
	if counted.refused() || isMisspelt {
		return errNo
	}
	return nil
}

// withoutSignals returns a context that ends when a call takes too long, but ignores signals.
func withoutSignals(limited context.Context) (context.Context, context.CancelFunc) {
	whole, cancel := context.WithCancelCause(context.WithoutCancel(limited))
	stop := context.AfterFunc(limited, func() {
		var late *timeoutError
		if cause := context.Cause(limited); errors.As(cause, &late) {
			cancel(cause)
		}
	})
	return whole, func() { stop(); cancel(nil) }
}

type tally struct {
	rows, changed int
	// left counts the unchanged locks by outcome.
	left map[applock.Outcome]int
	last applock.Object
}

func (t *tally) add(change applock.LockChange) {
	t.rows++
	t.last = change.Object
	switch change.Outcome {
	case applock.OutcomeTransferred, applock.OutcomeReleased, applock.OutcomeWouldTransfer, applock.OutcomeWouldRelease:
		t.changed++
	default:
		if t.left == nil {
			t.left = map[applock.Outcome]int{}
		}
		t.left[change.Outcome]++
	}
}

// refused reports whether a lock stayed with its holder. An object that became free meanwhile is no refusal.
func (t *tally) refused() bool { return t.left[applock.OutcomeBusy]+t.left[applock.OutcomeHeld] > 0 }

func (a *app) noteTally(counted tally, done string) {
	if a.output != formatTable {
		return
	}
	text := table.Count(counted.changed, "lock") + " " + done
	for _, outcome := range []applock.Outcome{applock.OutcomeBusy, applock.OutcomeHeld, applock.OutcomeFree} {
		if number := counted.left[outcome]; number > 0 {
			text += fmt.Sprintf(", %d %s", number, outcome)
		}
	}
	if counted.left[applock.OutcomeBusy] > 0 {
		text += "; the same command tries again what was busy"
	}
	a.note("%s", text)
}

func changedLock(change applock.LockChange, asked applock.Owner) lockAnswer {
	answer := newAnswer(change.Object, asked)
	answer.heldBy(change.Outcome, applock.Holder{Owner: change.Owner, Fence: change.Fence, ExpiresAt: change.ExpiresAt, Left: change.Left})
	return answer
}

func (a *app) transferAll(ctx context.Context, flags allFlags, request applock.TransferRequest) error {
	whose := applock.ListRequest{Operator: request.From, ObjectType: flags.objectType}
	return a.changeAll(ctx, "transfer --all", whatIsDone(flags, "transferred"), whose, transferAnswer{},
		func(change applock.LockChange) record {
			answer := transferAnswer{lockAnswer: changedLock(change, request.To)}
			if change.Outcome == applock.OutcomeTransferred {
				answer.FormerHolder = trim(request.From)
			}
			return answer
		},
		func(ctx context.Context, s session, after applock.Object) ([]applock.LockChange, error) {
			return s.TransferAll(ctx, applock.TransferAllRequest{
				From:       request.From,
				ObjectType: flags.objectType,
				To:         request.To,
				TTL:        request.TTL,
				Actor:      request.Actor,
				Reason:     request.Reason,
				DryRun:     flags.dryRun,
				After:      after,
				Limit:      applock.DefaultPageSize,
			})
		})
}

// whatIsDone returns the verb for the totals, also for a dry run.
func whatIsDone(flags allFlags, done string) string {
	if flags.dryRun {
		return "would be " + done
	}
	return done
}
