package watch

import (
	"context"
	"fmt"
	"strings"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
)

// wish is a change that a user wants for one or several locks.
type wish struct {
	// locks are the grants that the screen showed.
	locks      []applock.Lock
	to         applock.Owner
	by, reason string
}

// verb is a kind of change. Each entry of verbs is one.
type verb struct {
	key, name string
	asks      []question
	plan      func(wish) string
	// do changes one of the locks and returns the answer in words.
	do func(context.Context, Session, applock.Lock, wish) (string, error)
}

// question asks for one text of a wish.
type question struct {
	text     string
	optional bool
	answer   func(*wish) *string
	// hint says what the answer is used for.
	hint string
	// name returns the suggestion that Tab offers for an owner on the screen; nil for no suggestions.
	name func(applock.Owner) string
}

// verbs asks for the user's name if by is empty: the history would otherwise name the holder.
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
			hint: "The history keeps it. --by or $APPLOCK_OPERATOR answers this once for all changes.",
		}
		history, reason = append(history, who), append(reason, who)
	}
	return []verb{
		{key: "t", name: "transfer", asks: append([]question{operator, department}, history...), plan: planTransfer, do: doTransfer},
		{key: "k", name: "take", asks: append([]question{own}, reason...), plan: planTake, do: doTake},
		{key: "r", name: "release", asks: history, plan: planRelease, do: doRelease},
	}
}

func (w wish) history() string {
	if w.reason == "" {
		return fmt.Sprintf("In the history: by %s, without a reason.", w.by)
	}
	return fmt.Sprintf("In the history: by %s, %q.", w.by, w.reason)
}

func (w wish) what() string {
	if len(w.locks) == 1 {
		return w.locks[0].Object.String()
	}
	return table.Count(len(w.locks), "lock")
}

// plan describes the change, and its consequences for the holders.
func (w wish) plan(verb, whose, follows string) string {
	if len(w.locks) == 1 {
		lock := w.locks[0]
		return fmt.Sprintf("%s %s%s. The lock of %s, fence %d, ends: the holder's next renewal or release is refused%s. %s",
			verb, lock.Object, whose, lock.Owner, lock.Fence, follows, w.history())
	}
	locks := make([]string, len(w.locks))
	for i, lock := range w.locks {
		locks[i] = fmt.Sprintf("%s of %s, fence %d", lock.Object, lock.Owner, lock.Fence)
	}
	return fmt.Sprintf("%s %s%s. Each lock ends: its holder's next renewal or release is refused%s. %s They are %s.",
		verb, w.what(), whose, follows, w.history(), strings.Join(locks, "; "))
}

func inFull(owner applock.Owner) string {
	if owner.Department == "" {
		return owner.Operator + ", without a department"
	}
	return owner.String()
}

func planTransfer(w wish) string { return w.plan("Transfer", " to "+inFull(w.to), "") }

// doTransfer names the holder on the screen, so that no other holder loses the lock.
func doTransfer(ctx context.Context, s Session, lock applock.Lock, w wish) (string, error) {
	grant, err := s.Transfer(ctx, applock.TransferRequest{
		Object: lock.Object, From: lock.Owner.Operator, To: w.to, Actor: w.by, Reason: w.reason,
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %s to %s, fence %d", lock.Object, grant.Outcome, grant.Owner, grant.Fence), nil
}

func (w wish) taker() applock.Owner {
	return applock.Owner{Operator: w.by, Department: w.to.Department}
}

func planTake(w wish) string {
	return w.plan("Take", " for "+inFull(w.taker()), ", and the inbox says why")
}

// doTake names the grant on the screen, so that no later one is taken.
func doTake(ctx context.Context, s Session, lock applock.Lock, w wish) (string, error) {
	taken, err := s.Take(ctx, applock.TakeRequest{Object: lock.Object, Owner: w.taker(), Reason: w.reason, ExpectedFence: lock.Fence})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %s by %s, fence %d", lock.Object, taken.Outcome, taken.Owner, taken.Fence), nil
}

func planRelease(w wish) string { return w.plan("Release", "", ", and anybody can get the object") }

// doRelease names the grant on the screen, so that a later one of the same operator stays.
func doRelease(ctx context.Context, s Session, lock applock.Lock, w wish) (string, error) {
	result, err := s.Release(ctx, applock.ReleaseRequest{Key: lock.Key(), Actor: w.by, Reason: w.reason})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %s", lock.Object, result), nil
}
