package applock

import (
	"context"
	"fmt"
	"log/slog"
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
func (c *Client) SetPolicy(ctx context.Context, request SetPolicyRequest) error {
	if err := c.operations.setPolicy(ctx, request); err != nil {
		return fmt.Errorf("set policy of %s: %w", request.Policy.Type, err)
	}
	return nil
}

func (r SetPolicyRequest) params() (db.SetApplLockPolicyParams, error) {
	params := db.SetApplLockPolicyParams{TakeReasonFL: db.Yes, HistoryLevel: db.HistoryChanges, PresenceFL: db.Yes}
	if r.Policy.TakeWithoutReason {
		params.TakeReasonFL = db.No
	}
	if r.Policy.WithoutPresence {
		params.PresenceFL = db.No
	}
	var err error
	if params.ObjectType, err = checkObjectType("Type", r.Policy.Type); err != nil {
		return params, err
	}
	if r.Policy.LongestTTL != 0 {
		if params.LongestTTLSeconds, err = checkSeconds("LongestTTL", r.Policy.LongestTTL, 0); err != nil {
			return params, err
		}
	}
	if r.Policy.DefaultTTL != 0 {
		if params.DefaultTTLSeconds, err = checkSeconds("DefaultTTL", r.Policy.DefaultTTL, 0); err != nil {
			return params, err
		}
	}
	if r.Policy.LongestTTL != 0 && r.Policy.DefaultTTL > r.Policy.LongestTTL {
		return params, &InvalidError{Argument: "DefaultTTL", Reason: fmt.Sprintf("is more than the longest, %s", r.Policy.LongestTTL)}
	}
	switch r.Policy.HistoryLevel {
	case "", HistoryChanges:
	case HistoryAll:
		params.HistoryLevel = db.HistoryAll
	default:
		return params, &InvalidError{Argument: "HistoryLevel", Reason: fmt.Sprintf("is %q, not ALL or CHANGES", r.Policy.HistoryLevel)}
	}
	if params.YieldAfterSeconds, err = checkYieldAfter(r.Policy.YieldAfter); err != nil {
		return params, err
	}
	params.ActorID, params.Reason, err = checkPolicyActor(r.Actor, r.Reason)
	return params, err
}

// checkYieldAfter returns whole seconds, zero for none.
func checkYieldAfter(after time.Duration) (int64, error) {
	switch {
	case after == 0:
		return 0, nil
	case after < MinYieldAfter:
		return 0, &InvalidError{Argument: "YieldAfter", Reason: fmt.Sprintf("is %s, less than %s", after, MinYieldAfter)}
	}
	return checkSeconds("YieldAfter", after, 0)
}

// checkPolicyActor checks what a change of a policy tells the history.
func checkPolicyActor(actor, reason string) (checkedActor, checkedReason string, err error) {
	if checkedActor, err = checkText("Actor", actor, MaxOperatorLength); err != nil {
		return "", "", err
	}
	checkedReason, err = checkOptionalText("Reason", reason, MaxPolicyReasonLength)
	return checkedActor, checkedReason, err
}

func (o operations) setPolicy(ctx context.Context, request SetPolicyRequest) error {
	params, err := request.params()
	if err != nil {
		return err
	}
	result, err := retryIfUnchanged(ctx, o, func() (db.Result, error) { return o.driver.SetApplLockPolicy(ctx, params) })
	if err != nil {
		return o.changeError(err)
	}
	o.log(ctx, "set_appl_lock_policy",
		slog.String("object_type", params.ObjectType),
		slog.String("actor", params.ActorID),
		slog.String("outcome", string(result.Outcome)))
	return nil
}
