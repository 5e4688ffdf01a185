package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/applock/applock/applock"
)

// wish is what somebody at the table wants to be done with one lock, or with several.
type wish struct {
	// locks are the grants that were on the screen.
	locks []applock.Lock
	to    applock.Owner
	// by and reason are for the history.
	by, reason string
}

// verb is something that can be done with a lock. Another one is another entry in verbs.
type verb struct {
	key, name string
	// asks is what must be known before it.
	asks []question
	// plan says what will happen.
	plan func(wish) string
	// do does it with one of the locks, and returns what the database has answered.
	do func(context.Context, session, applock.Lock, wish) (string, error)
}

// question asks for one text of a wish.
type question struct {
	text     string
	optional bool
	answer   func(*wish) *string
	// hint says what becomes of the answer.
	hint string
	// name is what tab offers of each owner on the screen; nil where it offers nothing.
	name func(applock.Owner) string
}

// verbs asks who it is that wants something where that is not known: else the history would say that it was the holder.
func verbs(by string) []verb {
	operator := question{
		text: "To which operator?", answer: func(w *wish) *string { return &w.to.Operator },
		hint: "Upper and lower case are different operators.", name: func(o applock.Owner) string { return o.Operator },
	}
	department := question{
		text: "Department of that operator?", optional: true, answer: func(w *wish) *string { return &w.to.Department },
		hint: "Without one the new lock has no department.",
		name: func(o applock.Owner) string { return o.Department },
	}
	own := department
	own.text = "Your department?"
	why := question{
		text: "Why?", answer: func(w *wish) *string { return &w.reason },
		hint: "The history keeps it, and the former holder reads it in the inbox.",
	}
	reason := []question{why}
	why.optional = true
	history := []question{why}
	if by == "" {
		who := question{
			text: "Who are you?", answer: func(w *wish) *string { return &w.by }, name: operator.name,
			hint: "The history keeps it. --by or $" + operatorVariable + " says it once and for all.",
		}
		history, reason = append(history, who), append(reason, who)
	}
	return []verb{
		{key: "t", name: "transfer", asks: append([]question{operator, department}, history...), plan: planTransfer, do: doTransfer},
		{key: "k", name: "take", asks: append([]question{own}, reason...), plan: planTake, do: doTake},
		{key: "r", name: "release", asks: history, plan: planRelease, do: doRelease},
	}
}

// history is what the history will have.
func (w wish) history() string {
	if w.reason == "" {
		return fmt.Sprintf("In the history: by %s, without a reason.", w.by)
	}
	return fmt.Sprintf("In the history: by %s, %q.", w.by, w.reason)
}

// what names the locks.
func (w wish) what() string {
	if len(w.locks) == 1 {
		return w.locks[0].Object.String()
	}
	return count(len(w.locks), "lock")
}

// plan says what happens to the locks, with what else follows for their holders.
func (w wish) plan(verb, whose, follows string) string {
	if len(w.locks) == 1 {
		lock := w.locks[0]
		return fmt.Sprintf("%s %s%s. The lock of %s, fence %d, ends: who goes on with it is refused%s. %s",
			verb, lock.Object, whose, lock.Owner, lock.Fence, follows, w.history())
	}
	locks := make([]string, len(w.locks))
	for i, lock := range w.locks {
		locks[i] = fmt.Sprintf("%s of %s, fence %d", lock.Object, lock.Owner, lock.Fence)
	}
	return fmt.Sprintf("%s %s%s. Each ends: who goes on with it is refused%s. %s They are %s.",
		verb, w.what(), whose, follows, w.history(), strings.Join(locks, "; "))
}

// inFull says of an owner also that there is no department.
func inFull(owner applock.Owner) string {
	if owner.Department == "" {
		return owner.Operator + ", without a department"
	}
	return owner.String()
}

func planTransfer(w wish) string { return w.plan("Transfer", " to "+inFull(w.to), "") }

// doTransfer names the holder who was shown: from another one nothing is taken.
func doTransfer(ctx context.Context, s session, lock applock.Lock, w wish) (string, error) {
	grant, err := s.Transfer(ctx, applock.TransferRequest{
		Object: lock.Object, From: lock.Owner.Operator, To: w.to, Actor: w.by, Reason: w.reason,
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %s to %s, fence %d", lock.Object, grant.Outcome, grant.Owner, grant.Fence), nil
}

// taker is who asks.
func (w wish) taker() applock.Owner {
	return applock.Owner{Operator: w.by, Department: w.to.Department}
}

func planTake(w wish) string { return w.plan("Take", " for "+inFull(w.taker()), ", and is told why") }

// doTake names the grant that was shown: another one is not taken.
func doTake(ctx context.Context, s session, lock applock.Lock, w wish) (string, error) {
	taken, err := s.Take(ctx, applock.TakeRequest{Object: lock.Object, Owner: w.taker(), Reason: w.reason, ExpectedFence: lock.Fence})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %s by %s, fence %d", lock.Object, taken.Outcome, taken.Owner, taken.Fence), nil
}

func planRelease(w wish) string { return w.plan("Release", "", ", and anybody can get the object") }

// doRelease names the grant that was shown: another one of the same operator stays.
func doRelease(ctx context.Context, s session, lock applock.Lock, w wish) (string, error) {
	result, err := s.Release(ctx, applock.ReleaseRequest{Key: lock.Key(), Actor: w.by, Reason: w.reason})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %s", lock.Object, result), nil
}
