package main

import (
	"context"
	"syscall"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/secret"
)

// The words for what is or has happened between two looks. They are API: docs/json.md.
const (
	changePresent     = "present"
	changeAcquired    = "acquired"
	changeRenewed     = "renewed"
	changeNoted       = "noted"
	changeTransferred = "transferred"
	changeReleased    = "released"
	changeExpired     = "expired"
	changeWaiterCame  = "waiter_came"
	changeWaiterLeft  = "waiter_left"
)

// watchedChange is a line of watch --output json: a lock as in a list, or a waiter as in a list of waiters, and what has
// become of it.
type watchedChange struct {
	lockAnswer
	Change        string    `json:"change"`
	FormerHolder  string    `json:"former_holder_id"`
	ClientID      string    `json:"client_id"`
	SinceTS       timestamp `json:"since_ts"`
	UntilTS       timestamp `json:"until_ts"`
	WaitedSeconds int64     `json:"waited_seconds"`
}

// fields are none: watch shows people another table.
func (c watchedChange) fields() []field { return nil }

func (a *app) watchChanges(ctx context.Context, flags watchFlags) error {
	return a.call(ctx, "watch", func(ctx context.Context, s session) error {
		s.pause() // each look has a limit of its own
		var known view
		p := a.newPrinter(watchedChange{})
		failing := false
		for {
			began := time.Now()
			found, err := a.lookOnce(ctx, s, look{request: flags.look.request})
			switch {
			case err == nil:
				next := viewOf(found, began, time.Now())
				if err := p.printAll(known.changes(next)); err != nil {
					return err
				}
				known, failing = next, false
			case known.held == nil, !passes(err):
				return err
			case !failing:
				a.complain("%s: %s; looking on", program, oneLine(secret.Redact(err.Error())))
				failing = true
			}
			if readerHasLeft(a.stdout) {
				return &writeError{err: syscall.EPIPE}
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Duration(flags.every)):
			}
		}
	})
}

// printAll prints records that somebody waits for.
func (p *printer) printAll(changes []watchedChange) error {
	for _, change := range changes {
		if err := p.print(change); err != nil {
			return err
		}
	}
	return p.flush()
}

// waiterKey tells waiters from each other.
type waiterKey struct {
	object           applock.Object
	operator, client string
}

func keyOf(waiter applock.Waiter) waiterKey {
	return waiterKey{object: waiter.Object, operator: waiter.Owner.Operator, client: waiter.Client}
}

// view is what was known at one time. The zero value is that before the first look.
type view struct {
	sight
	held    map[applock.Object]applock.Lock
	waiting map[waiterKey]bool
	// began and ended are around the answers, by the clock of this host, which measures nothing but how long ago.
	began, ended time.Time
}

func viewOf(found sight, began, ended time.Time) view {
	v := view{sight: found, held: map[applock.Object]applock.Lock{}, waiting: map[waiterKey]bool{}, began: began, ended: ended}
	for _, lock := range found.locks {
		v.held[lock.Object] = lock
	}
	for _, waiter := range found.waiters {
		v.waiting[keyOf(waiter)] = true
	}
	return v
}

// changes returns what is different in a later view, in its order, and then what is not there any more.
func (v view) changes(later view) []watchedChange {
	var all []watchedChange
	for _, lock := range later.locks {
		if change := v.changeOf(lock, later); change != "" {
			all = append(all, changeOfLock(change, lock, v.held[lock.Object].Owner.Operator))
		}
	}
	for _, lock := range v.locks {
		if _, held := later.held[lock.Object]; held {
			continue
		}
		gone := watchedChange{lockAnswer: newAnswer(lock.Object, applock.Owner{}), FormerHolder: lock.Owner.Operator}
		gone.Outcome, gone.Change = applock.OutcomeFree, changeReleased
		if v.over(lock, later) {
			gone.Change = changeExpired
		}
		all = append(all, gone)
	}
	came := changeWaiterCame
	if v.held == nil {
		came = changePresent
	}
	for _, waiter := range later.waiters {
		if !v.waiting[keyOf(waiter)] {
			all = append(all, changeOfWaiter(came, waiter))
		}
	}
	for _, waiter := range v.waiters {
		if !later.waiting[keyOf(waiter)] {
			all = append(all, changeOfWaiter(changeWaiterLeft, waiter))
		}
	}
	return all
}

// changeOf returns what has become of a lock that a later view has, nothing if it is as it was.
func (v view) changeOf(lock applock.Lock, later view) string {
	known, held := v.held[lock.Object]
	switch {
	case v.held == nil:
		return changePresent
	case !held:
		return changeAcquired
	case known.Fence != lock.Fence && known.Owner.Operator != lock.Owner.Operator && !v.over(known, later):
		return changeTransferred
	case known.Fence != lock.Fence:
		return changeAcquired
	case !known.LockedAt.Equal(lock.LockedAt), !known.ExpiresAt.Equal(lock.ExpiresAt), known.Owner != lock.Owner:
		return changeRenewed
	case known.Note != lock.Note:
		return changeNoted
	default:
		return ""
	}
}

// over reports whether the time of a lock of this view may have been over when the later one was read. How long it had
// left is the database's word, rounded up to a second.
func (v view) over(lock applock.Lock, later view) bool {
	return later.ended.Sub(v.began) >= lock.Left-time.Second
}

func changeOfLock(change string, lock applock.Lock, former string) watchedChange {
	line := watchedChange{lockAnswer: newAnswer(lock.Object, applock.Owner{}), Change: change}
	line.heldAs(lock)
	if change == changeTransferred || change == changeAcquired {
		line.FormerHolder = former
	}
	return line
}

// changeOfWaiter tells a waiter, and who holds the object that he waits for, or held it when he was seen last.
func changeOfWaiter(change string, waiter applock.Waiter) watchedChange {
	line := watchedChange{lockAnswer: newAnswer(waiter.Object, waiter.Owner), Change: change}
	line.awaitedBy(waiter)
	line.ClientID, line.WaitedSeconds = waiter.Client, wholeSeconds(waiter.Waited)
	line.SinceTS, line.UntilTS = timestamp(waiter.Since), timestamp(waiter.Until)
	return line
}
