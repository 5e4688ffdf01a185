package main

import (
	"context"
	"syscall"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
	"github.com/applock/applock/cmd/applockctl/internal/watch"
	"github.com/applock/applock/cmd/internal/secret"
)

// The words for a change between two refreshes. They are API: docs/json.md.
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
	changeAskerCame   = "asker_came"
	changeAnswered    = "answered"
	changeAskerLeft   = "asker_left"
)

// watchedChange is a line of watch --output json: a lock, a waiter or a request as in its list, and its change.
type watchedChange struct {
	lockAnswer
	Change       string `json:"change"`
	FormerHolder string `json:"former_holder_id"`
	waitAnswer
	requestAnswer
}

// requestAnswer is the text of a request and the holder's answer.
type requestAnswer struct {
	Message      string            `json:"message"`
	Answer       applock.AskAnswer `json:"answer"`
	AnswerReason string            `json:"answer_reason"`
}

// fields returns nil: the table of watch is for people, and does not use this record.
func (c watchedChange) fields() []table.Field { return nil }

func (a *app) watchChanges(ctx context.Context, config watch.Config) error {
	return a.callWatch(ctx, config, func(ctx context.Context, _ session, config watch.Config) error {
		var known view
		p := a.newPrinter(watchedChange{})
		failing := false
		for {
			began := time.Now()
			found, err := config.Read(ctx, watch.Query{Request: config.Query.Request})
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
				a.complain("%s: %s; trying again", program, oneLine(secret.Redact(err.Error())))
				failing = true
			}
			if readerHasLeft(a.stdout) {
				return &writeError{err: syscall.EPIPE}
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(config.Every):
			}
		}
	})
}

// printAll prints the records and flushes, since a reader is waiting.
func (p *printer) printAll(changes []watchedChange) error {
	for _, change := range changes {
		if err := p.print(change); err != nil {
			return err
		}
	}
	return p.flush()
}

type waiterKey struct {
	object           applock.Object
	operator, client string
}

func keyOf(waiter applock.Waiter) waiterKey {
	return waiterKey{object: waiter.Object, operator: waiter.Owner.Operator, client: waiter.Client}
}

// view is the state after one refresh. The zero value is the state before the first.
type view struct {
	watch.Snapshot
	held    map[applock.Object]applock.Lock
	waiting map[waiterKey]bool
	asking  map[waiterKey]requestAnswer
	// began and ended enclose the refresh, by this host's clock. They serve only for differences.
	began, ended time.Time
}

func viewOf(found watch.Snapshot, began, ended time.Time) view {
	v := view{
		Snapshot: found, held: map[applock.Object]applock.Lock{}, waiting: map[waiterKey]bool{}, asking: map[waiterKey]requestAnswer{},
		began: began, ended: ended,
	}
	for _, lock := range found.Locks {
		v.held[lock.Object] = lock
	}
	for _, waiter := range found.Waiters {
		v.waiting[keyOf(waiter)] = true
	}
	for _, asker := range found.Askers {
		v.asking[keyOf(asWaiter(asker))] = requestOf(asker)
	}
	return v
}

// changes returns the differences of a later view, in its order, followed by what has disappeared.
func (v view) changes(later view) []watchedChange {
	var all []watchedChange
	for _, lock := range later.Locks {
		if change := v.changeOf(lock, later); change != "" {
			all = append(all, changeOfLock(change, lock, v.held[lock.Object].Owner.Operator))
		}
	}
	for _, lock := range v.Locks {
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
	for _, waiter := range later.Waiters {
		if !v.waiting[keyOf(waiter)] {
			all = append(all, changeOfWaiter(came, waiter))
		}
	}
	for _, waiter := range v.Waiters {
		if !later.waiting[keyOf(waiter)] {
			all = append(all, changeOfWaiter(changeWaiterLeft, waiter))
		}
	}
	return append(all, v.requestChanges(later)...)
}

// requestChanges returns the requests of a later view that are new, changed or gone.
func (v view) requestChanges(later view) []watchedChange {
	var all []watchedChange
	for _, asker := range later.Askers {
		known, asked := v.asking[keyOf(asWaiter(asker))]
		switch now := requestOf(asker); {
		case v.held == nil:
			all = append(all, changeOfAsker(changePresent, asker))
		case !asked, known.Message != now.Message:
			all = append(all, changeOfAsker(changeAskerCame, asker))
		case known != now:
			all = append(all, changeOfAsker(changeAnswered, asker))
		}
	}
	for _, asker := range v.Askers {
		if _, asks := later.asking[keyOf(asWaiter(asker))]; !asks {
			all = append(all, changeOfAsker(changeAskerLeft, asker))
		}
	}
	return all
}

// changeOf returns how a lock of the later view has changed, or an empty text.
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

// over reports whether a lock of this view may have expired before the later view was read. The time left comes from the database, rounded
// up to a second.
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

func changeOfWaiter(change string, waiter applock.Waiter) watchedChange {
	return watchedChange{lockAnswer: wantedBy(waiter, outcomeWaiting), Change: change, waitAnswer: waitOf(waiter)}
}

func changeOfAsker(change string, asker applock.Asker) watchedChange {
	line := changeOfWaiter(change, asWaiter(asker))
	line.Outcome, line.requestAnswer = outcomeAsking, requestOf(asker)
	return line
}

func requestOf(asker applock.Asker) requestAnswer {
	return requestAnswer{Message: asker.Message, Answer: asker.Answer, AnswerReason: asker.AnswerReason}
}
