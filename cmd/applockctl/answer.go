package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/applock/applock/applock"
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
	Holder           string        `json:"holder_id"`
	HolderDepartment string        `json:"holder_department_id"`
	Fence            applock.Fence `json:"fence"`
	AcquiredTS       timestamp     `json:"acquired_ts"`
	LockTS           timestamp     `json:"lock_ts"`
	ExpiresTS        timestamp     `json:"expires_ts"`
	SecondsLeft      int64         `json:"seconds_left"`
	// Note is the holder's note.
	Note string `json:"note"`
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

// refusedBy fills in the holder who is in the way.
func (l *lockAnswer) refusedBy(holder applock.Holder) {
	l.Outcome = applock.OutcomeHeld
	l.Holder, l.HolderDepartment, l.Fence = holder.Owner.Operator, holder.Owner.Department, holder.Fence
	l.ExpiresTS, l.SecondsLeft = timestamp(holder.ExpiresAt), wholeSeconds(holder.Left)
	l.Note = holder.Note
}

// grantedTo fills in the owner's new grant.
func (l *lockAnswer) grantedTo(grant applock.Grant) {
	l.Outcome, l.Fence = grant.Outcome, grant.Fence
	l.Holder, l.HolderDepartment = grant.Owner.Operator, grant.Owner.Department
	l.ExpiresTS, l.SecondsLeft = timestamp(grant.ExpiresAt), wholeSeconds(grant.Left)
	l.Note = grant.Note
}

// heldAs fills in a live lock.
func (l *lockAnswer) heldAs(lock applock.Lock) {
	l.Outcome, l.Fence = applock.OutcomeHeld, lock.Fence
	l.Holder, l.HolderDepartment = lock.Owner.Operator, lock.Owner.Department
	l.AcquiredTS, l.LockTS = timestamp(lock.AcquiredAt), timestamp(lock.LockedAt)
	l.ExpiresTS, l.SecondsLeft = timestamp(lock.ExpiresAt), wholeSeconds(lock.Left)
	l.Note = lock.Note
}

// awaitedBy fills in the holder of the object that the waiter waits for.
func (l *lockAnswer) awaitedBy(waiter applock.Waiter) {
	l.Outcome = outcomeWaiting
	l.wantedFrom(waiter.Holder)
}

// wantedFrom fills in the holder, and the time left.
func (l *lockAnswer) wantedFrom(holder applock.Holder) {
	l.Holder, l.HolderDepartment = holder.Owner.Operator, holder.Owner.Department
	l.SecondsLeft = wholeSeconds(holder.Left)
}

func (l lockAnswer) fields() []field {
	return []field{
		{title: "OUTCOME", value: l.Outcome},
		{title: "OBJECT", value: l.object()},
		{title: "HOLDER", value: l.Holder},
		{title: "DEPARTMENT", value: l.HolderDepartment},
		{title: "LEFT", value: lasting(l.SecondsLeft)},
		{title: "FENCE", value: l.Fence},
		{title: "EXPIRES", value: l.ExpiresTS, wide: true},
		{title: "NOTE", value: l.Note},
	}
}

func (l lockAnswer) object() string { return l.ObjectType + ":" + l.ObjectID }

// lookUp fills in the object's present holder, and reports whether it has one.
func (l *lockAnswer) lookUp(ctx context.Context, s session, object applock.Object) (held bool, err error) {
	lock, err := s.Inquire(ctx, object)
	if errors.Is(err, applock.ErrNotHeld) {
		l.Outcome = applock.OutcomeFree
		return false, nil
	}
	if err != nil {
		return false, err
	}
	l.heldAs(lock)
	return true, nil
}

// noteOwnGrant explains a refusal whose holder is the same operator by another grant, since the two names in the answer are equal.
func (a *app) noteOwnGrant(answer lockAnswer) {
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
