package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
)

// The outcomes that only commands have, as docs/json.md lists them.
const (
	outcomeWaiting applock.Outcome = "WAITING"
	outcomePurged  applock.Outcome = "PURGED"
	outcomeDropped applock.Outcome = "DROPPED"
	outcomeNone    applock.Outcome = "NONE"

	outcomeNotAsked     applock.Outcome = "NOT_ASKED"
	outcomeNoAnswer     applock.Outcome = "NO_ANSWER"
	outcomeNotInstalled applock.Outcome = "NOT_INSTALLED"
	outcomeOutdated     applock.Outcome = "OUTDATED"
	outcomeAnswered     applock.Outcome = "ANSWERED"
	outcomeInstalled    applock.Outcome = "INSTALLED"

	outcomeApplied applock.Outcome = "APPLIED"
	outcomePending applock.Outcome = "PENDING"
	outcomeUndone  applock.Outcome = "UNDONE"

	outcomeUnknown     applock.Outcome = "UNKNOWN"
	outcomeDamaged     applock.Outcome = "DAMAGED"
	outcomeRepaired    applock.Outcome = "REPAIRED"
	outcomeUninstalled applock.Outcome = "UNINSTALLED"

	outcomeOK     applock.Outcome = "OK"
	outcomeNote   applock.Outcome = "NOTE"
	outcomeFailed applock.Outcome = "FAILED"

	outcomeSummed applock.Outcome = "SUMMED"

	outcomePlayed applock.Outcome = "PLAYED"

	outcomeListening applock.Outcome = "LISTENING"
)

// lockAnswer is a command's answer about one lock. Each command prints all of these keys, in this order: docs/json.md. The asker and the
// holder have separate keys.
type lockAnswer struct {
	Outcome    applock.Outcome `json:"outcome"`
	ObjectType string          `json:"object_type"`
	ObjectID   string          `json:"object_id"`
	// OperatorID and DepartmentID are the owner that the command was called for; empty if it named none.
	OperatorID   string `json:"operator_id"`
	DepartmentID string `json:"department_id"`
	// Holder and HolderDepartment hold the object after the command; empty when it is free.
	Holder           string          `json:"holder_id"`
	HolderDepartment string          `json:"holder_department_id"`
	Fence            applock.Fence   `json:"fence"`
	AcquiredTS       table.Timestamp `json:"acquired_ts"`
	LockTS           table.Timestamp `json:"lock_ts"`
	ExpiresTS        table.Timestamp `json:"expires_ts"`
	SecondsLeft      int64           `json:"seconds_left"`
	Note             string          `json:"note"`
}

// newAnswer returns an answer without an outcome yet, for an owner and the object that it names.
func newAnswer(object applock.Object, owner applock.Owner) lockAnswer {
	return lockAnswer{
		ObjectType:   trim(object.Type),
		ObjectID:     trim(object.ID),
		OperatorID:   trim(owner.Operator),
		DepartmentID: trim(owner.Department),
	}
}

// heldBy fills in the outcome, and who holds the object after the command.
func (l *lockAnswer) heldBy(outcome applock.Outcome, holder applock.Holder) {
	l.Outcome, l.Fence, l.Note = outcome, holder.Fence, holder.Note
	l.Holder, l.HolderDepartment = holder.Owner.Operator, holder.Owner.Department
	l.AcquiredTS = table.Timestamp(holder.AcquiredAt)
	l.ExpiresTS, l.SecondsLeft = table.Timestamp(holder.ExpiresAt), table.WholeSeconds(holder.Left)
}

func (l *lockAnswer) refusedBy(holder applock.Holder) { l.heldBy(applock.OutcomeHeld, holder) }

func (l *lockAnswer) grantedTo(grant applock.Grant) {
	l.heldBy(grant.Outcome, applock.Holder{
		Owner: grant.Owner, Fence: grant.Fence, AcquiredAt: grant.AcquiredAt, ExpiresAt: grant.ExpiresAt, Left: grant.Left, Note: grant.Note,
	})
}

func (l *lockAnswer) heldAs(lock applock.Lock) {
	l.heldBy(applock.OutcomeHeld, applock.Holder{
		Owner: lock.Owner, Fence: lock.Fence, AcquiredAt: lock.AcquiredAt, ExpiresAt: lock.ExpiresAt, Left: lock.Left, Note: lock.Note,
	})
	l.LockTS = table.Timestamp(lock.LockedAt)
}

// wantedBy returns what a waiter or an asker wants: its object, with the holder and the time left.
func wantedBy(waiter applock.Waiter, outcome applock.Outcome) lockAnswer {
	answer := newAnswer(waiter.Object, waiter.Owner)
	answer.heldBy(outcome, waiter.Holder)
	return answer
}

func (l lockAnswer) fields() []table.Field {
	return []table.Field{
		{Title: "OUTCOME", Value: l.Outcome},
		{Title: "OBJECT", Value: l.object()},
		{Title: "HOLDER", Value: l.Holder},
		{Title: "DEPARTMENT", Value: l.HolderDepartment},
		{Title: "SINCE", Value: l.AcquiredTS},
		{Title: "LEFT", Value: table.Lasting(l.SecondsLeft)},
		{Title: "FENCE", Value: l.Fence},
		{Title: "EXPIRES", Value: l.ExpiresTS, Wide: true},
		{Title: "NOTE", Value: l.Note},
	}
}

func (l lockAnswer) object() string { return l.ObjectType + ":" + l.ObjectID }

// lookUp fills in the object's present holder. It returns errNo if it has none.
func (l *lockAnswer) lookUp(ctx context.Context, s session, object applock.Object) error {
	lock, err := s.Inquire(ctx, object)
	if err == nil {
		l.heldAs(lock)
	}
	return l.refused(err)
}

// refused fills in a refusal, and returns errNo for it. It returns any other error as it is.
func (l *lockAnswer) refused(err error) error {
	held, isHeld := errors.AsType[*applock.HeldError](err)
	lost, isLost := errors.AsType[*applock.LostError](err)
	switch {
	case isHeld:
		l.refusedBy(held.Holder)
	case isLost && lost.Holder != (applock.Holder{}):
		l.refusedBy(lost.Holder)
	case errors.Is(err, applock.ErrNotHeld):
		l.Outcome = applock.OutcomeFree
	default:
		return err
	}
	return errNo
}

// refused also explains a refusal whose holder is the same operator by another grant, since the two names in the answer are equal.
func (a *app) refused(answer *lockAnswer, err error) error {
	if err = answer.refused(err); errors.Is(err, errNo) {
		a.noteOwnGrant(answer)
	}
	return err
}

func (a *app) noteOwnGrant(answer *lockAnswer) {
	if answer.Outcome != applock.OutcomeHeld || answer.Holder != answer.OperatorID {
		return
	}
	fence := ""
	if answer.Fence > 0 {
		fence = fmt.Sprintf(", fence %d", answer.Fence)
	}
	a.complain("%s is held by %s (you) under another grant%s",
		oneLine(answer.object()), oneLine(answer.Holder), fence)
}
