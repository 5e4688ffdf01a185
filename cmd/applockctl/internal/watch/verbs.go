package watch

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
	"github.com/applock/applock/internal/span"
)

// wish is a change that a user wants for one or several locks.
type wish struct {
	// locks are the grants that the screen showed.
	locks      []applock.Lock
	to         applock.Owner
	by, reason string
	// lasts is how long the locks last from now.
	lasts string
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
	// valid reports whether an answer can be used; nil for any.
	valid  func(string) bool
	answer func(*wish) *string
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
	lasts := question{
		text: "How long from now?", answer: func(w *wish) *string { return &w.lasts }, hint: "Such as 30m, 8h or 7d.",
		valid: func(text string) bool { _, err := span.Parse(text, applock.MaxTTL); return err == nil },
	}
	message := why
	message.text, message.hint = "What do you say?", "The holder reads it."
	return []verb{
		{key: "t", name: "transfer", asks: append([]question{operator, department}, history...), plan: planTransfer, do: doTransfer},
		{key: "o", name: "take", asks: append([]question{own}, reason...), plan: planTake, do: doTake},
		{key: "r", name: "release", asks: history, plan: planRelease, do: doRelease},
		{key: "e", name: "extend", asks: []question{lasts}, plan: planExtend, do: doExtend},
		{key: "a", name: "ask", asks: append([]question{message, own}, history[1:]...), plan: planAsk, do: doAsk},
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

func planExtend(w wish) string {
	return fmt.Sprintf("Extend %s to at least %s from now. Each lock stays with its holder, who is not told.", w.what(), w.lasts)
}

// doExtend renews the grant on the screen, and no later one.
func doExtend(ctx context.Context, s Session, lock applock.Lock, w wish) (string, error) {
	ttl, err := span.Parse(w.lasts, applock.MaxTTL)
	if err != nil {
		return "", err
	}
	renewed, err := s.Renew(ctx, lock.Key(), ttl)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %s, %s left", lock.Object, renewed.Outcome, table.Lasting(table.WholeSeconds(renewed.Left)).Short()), nil
}

func planAsk(w wish) string {
	return fmt.Sprintf("Ask for %s as %s: %q. A request ends after a minute, unless it is repeated.", w.what(), inFull(w.taker()), w.reason)
}

func doAsk(ctx context.Context, s Session, lock applock.Lock, w wish) (string, error) {
	asked, err := s.Ask(ctx, applock.AskRequest{Object: lock.Object, Owner: w.taker(), Client: "applockctl", Message: w.reason})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %s, held by %s", lock.Object, asked.Outcome, cmp.Or(asked.Grant.Owner, asked.Holder.Owner)), nil
}
