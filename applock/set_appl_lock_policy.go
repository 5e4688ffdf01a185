package applock

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/applock/applock/internal/db"
)

// MaxPolicyReasonLength is how many characters the reason of a change of a policy may have: the history has room for
// MaxReasonLength with what the policy says.
const MaxPolicyReasonLength = 150

// Policy is the rules for objects of a type.
type Policy struct {
	// Type is that of the objects.
	Type string
	// DefaultTTL is the TTL of a new grant whose request has none; zero is the package's DefaultTTL.
	DefaultTTL time.Duration
	// LongestTTL is the limit to which a greater TTL is cut; zero is MaxTTL.
	LongestTTL time.Duration
	// TakeWithoutReason allows a Take without a reason.
	TakeWithoutReason bool
	// HistoryLevel says which events the history keeps; empty is HistoryChanges.
	HistoryLevel HistoryLevel
	// WithoutPresence says that See neither records nor shows viewers.
	WithoutPresence bool
	// YieldAfter is how long a holder may leave a request unanswered before the asker gets the lock: whole seconds from MinYieldAfter to
	// MaxTTL; zero is for ever.
	YieldAfter time.Duration
}

// MinYieldAfter is the least YieldAfter of a policy.
const MinYieldAfter = 60 * time.Second

// HistoryLevel says which events of a type's locks the history keeps.
type HistoryLevel string

// The levels of the history.
const (
	// HistoryChanges tells it what a lock went through without its holder, or with a reason: the kinds of events that are not
	// said to be of HistoryAll.
	HistoryChanges HistoryLevel = "CHANGES"
	// HistoryAll tells it each grant, renewal, refusal and release, too. Each costs a row: a lease renews three times in its TTL. A
	// lock that is held already is included from its holder's next Get on.
	HistoryAll HistoryLevel = "ALL"
)

// SetPolicyRequest sets the policy of a type.
type SetPolicyRequest struct {
	// Policy replaces the former one as a whole.
	Policy Policy
	// Actor is who does it, and Reason why: up to MaxPolicyReasonLength characters. The history keeps both.
	Actor  string
	Reason string
}

// SetPolicy sets the policy of a type. Each get, renewal and transfer of an object of the type follows it from the next call on, in all
// programs. A TTL that is too long is cut, and the answer says when the lock ends. An existing grant keeps
// its end until then.
//
// It needs the role administrator, and writes an event. ErrOutcomeUnknown after a cancelled ctx or a broken connection: repeat the call.
func (c *Client) SetPolicy(ctx context.Context, request SetPolicyRequest) (err error) {
	defer begin(&err, "set policy of %s: %w", request.Policy.Type)
	params, err := request.params()
	if err != nil {
		return err
	}
	o := c.ops()
	result, err := change(ctx, o, db.Driver.SetApplLockPolicy, params)
	if err != nil {
		return err
	}
	o.logPolicy(ctx, "set_appl_lock_policy", params.ObjectType, params.ActorID, result)
	return nil
}

func (o operations) logPolicy(ctx context.Context, operation, objectType, actor string, result db.Result) {
	o.log(ctx, operation, slog.String("object_type", objectType), slog.String("actor", actor), outcomeAttr(result.Outcome))
}

func (r SetPolicyRequest) params() (db.SetApplLockPolicyParams, error) {
	var c checks
	policy := r.Policy
	params := db.SetApplLockPolicyParams{
		ObjectType:        c.text(checkObjectType("Type", policy.Type)),
		LongestTTLSeconds: c.number(checkOptionalSeconds("LongestTTL", policy.LongestTTL)),
		DefaultTTLSeconds: c.number(checkOptionalSeconds("DefaultTTL", policy.DefaultTTL)),
		TakeReasonFL:      noFlag(policy.TakeWithoutReason),
		PresenceFL:        noFlag(policy.WithoutPresence),
		HistoryLevel:      db.HistoryLevel(cmp.Or(policy.HistoryLevel, HistoryChanges)),
	}
	c.refuse(policy.LongestTTL != 0 && policy.DefaultTTL > policy.LongestTTL,
		"DefaultTTL", fmt.Sprintf("is more than the longest, %s", policy.LongestTTL))
	c.refuse(!slices.Contains([]HistoryLevel{"", HistoryChanges, HistoryAll}, policy.HistoryLevel),
		"HistoryLevel", fmt.Sprintf("is %q, not ALL or CHANGES", policy.HistoryLevel))
	params.YieldAfterSeconds = c.number(checkYieldAfter(policy.YieldAfter))
	params.ActorID, params.Reason = c.texts(checkPolicyActor(r.Actor, r.Reason))
	return params, c.err
}

// noFlag is N for true, for a column that tells the contrary.
func noFlag(without bool) db.Flag {
	if without {
		return db.No
	}
	return db.Yes
}

// checkYieldAfter returns whole seconds, zero for none.
func checkYieldAfter(after time.Duration) (int64, error) {
	if after != 0 && after < MinYieldAfter {
		return 0, &InvalidError{Argument: "YieldAfter", Reason: fmt.Sprintf("is %s, less than %s", after, MinYieldAfter)}
	}
	return checkOptionalSeconds("YieldAfter", after)
}

// checkPolicyActor checks what a change of a policy tells the history.
func checkPolicyActor(actor, reason string) (checkedActor, checkedReason string, err error) {
	var c checks
	checkedActor = c.text(checkText("Actor", actor, MaxOperatorLength))
	return checkedActor, c.text(checkOptionalText("Reason", reason, MaxPolicyReasonLength)), c.err
}
