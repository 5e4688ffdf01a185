package applock

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/applock/applock/internal/db"
)

// This file says what encoding/json makes of the results: the objects of docs/json.md, with its keys in its order. The types whose
// fields need no conversion have tags instead.

// jsonKey is a key of an object, and its value.
type jsonKey struct {
	name  string
	value any
}

// marshalKeys returns an object with these keys, in their order.
func marshalKeys(keys []jsonKey) ([]byte, error) {
	var object bytes.Buffer
	encoder := json.NewEncoder(&object)
	encoder.SetEscapeHTML(false) // json.Marshal escapes afterwards, and an encoder as it is told
	separator := "{"
	for _, key := range keys {
		_, _ = fmt.Fprintf(&object, "%s%q:", separator, key.name) // a buffer takes everything
		if err := encoder.Encode(key.value); err != nil {
			return nil, err
		}
		object.Truncate(object.Len() - 1) // the encoder ends its line
		separator = ","
	}
	object.WriteByte('}')
	return object.Bytes(), nil
}

// jsonTime is RFC 3339, UTC, with microseconds, and null for zero.
type jsonTime time.Time

func (t jsonTime) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(time.Time(t).UTC().Format("2006-01-02T15:04:05.000000Z"))
}

// jsonAge is how long ago something was, in whole seconds, rounded down.
type jsonAge time.Duration

func (a jsonAge) MarshalJSON() ([]byte, error) {
	return json.Marshal(int64(time.Duration(a) / time.Second))
}

// jsonLeft is how long something lasts, in whole seconds, rounded up.
type jsonLeft time.Duration

func (l jsonLeft) MarshalJSON() ([]byte, error) {
	return json.Marshal(db.WholeSeconds(time.Duration(l)))
}

// jsonNo is "N" for true, for a column that tells the contrary.
type jsonNo bool

func (n jsonNo) MarshalJSON() ([]byte, error) {
	if n {
		return []byte(`"N"`), nil
	}
	return []byte(`"Y"`), nil
}

// MarshalJSON returns what applockctl take prints, without lock_ts. Only a Take has a former holder.
func (g Grant) MarshalJSON() ([]byte, error) {
	return marshalKeys([]jsonKey{
		{"outcome", g.Outcome},
		{"object_type", g.Object.Type},
		{"object_id", g.Object.ID},
		{"operator_id", g.Owner.Operator},
		{"department_id", g.Owner.Department},
		{"holder_id", g.Owner.Operator},
		{"holder_department_id", g.Owner.Department},
		{"fence", g.Fence},
		{"acquired_ts", jsonTime(g.AcquiredAt)},
		{"expires_ts", jsonTime(g.ExpiresAt)},
		{"seconds_left", jsonLeft(g.Left)},
		{"note", g.Note},
		{"former_holder_id", g.From.Operator},
		{"former_holder_department_id", g.From.Department},
	})
}

// MarshalJSON returns what applockctl list prints, without operator_id and department_id, which are empty there.
func (l Lock) MarshalJSON() ([]byte, error) {
	return marshalKeys([]jsonKey{
		{"outcome", OutcomeHeld},
		{"object_type", l.Object.Type},
		{"object_id", l.Object.ID},
		{"holder_id", l.Owner.Operator},
		{"holder_department_id", l.Owner.Department},
		{"fence", l.Fence},
		{"acquired_ts", jsonTime(l.AcquiredAt)},
		{"lock_ts", jsonTime(l.LockedAt)},
		{"expires_ts", jsonTime(l.ExpiresAt)},
		{"seconds_left", jsonLeft(l.Left)},
		{"note", l.Note},
		{"ttl_seconds", jsonLeft(l.TTL)},
	})
}

// MarshalJSON returns object_type, object_id, operator_id and fence.
func (k Key) MarshalJSON() ([]byte, error) {
	return marshalKeys([]jsonKey{
		{"object_type", k.Object.Type},
		{"object_id", k.Object.ID},
		{"operator_id", k.Operator},
		{"fence", k.Fence},
	})
}

func (h Holder) jsonKeys() []jsonKey {
	return []jsonKey{
		{"holder_id", h.Owner.Operator},
		{"holder_department_id", h.Owner.Department},
		{"fence", h.Fence},
		{"acquired_ts", jsonTime(h.AcquiredAt)},
		{"expires_ts", jsonTime(h.ExpiresAt)},
		{"seconds_left", jsonLeft(h.Left)},
		{"note", h.Note},
	}
}

// MarshalJSON returns the part of a refusal that tells the holder.
func (h Holder) MarshalJSON() ([]byte, error) { return marshalKeys(h.jsonKeys()) }

// MarshalJSON returns what applockctl get prints when it is refused, without who asked and lock_ts.
func (e *HeldError) MarshalJSON() ([]byte, error) {
	return marshalKeys(append([]jsonKey{
		{"outcome", OutcomeHeld},
		{"object_type", e.Object.Type},
		{"object_id", e.Object.ID},
	}, e.Holder.jsonKeys()...))
}

// MarshalJSON returns what applockctl transfer --all and release --all print, without what the request says.
func (c LockChange) MarshalJSON() ([]byte, error) {
	return marshalKeys([]jsonKey{
		{"outcome", c.Outcome},
		{"object_type", c.Object.Type},
		{"object_id", c.Object.ID},
		{"holder_id", c.Owner.Operator},
		{"holder_department_id", c.Owner.Department},
		{"fence", c.Fence},
		{"expires_ts", jsonTime(c.ExpiresAt)},
		{"seconds_left", jsonLeft(c.Left)},
	})
}

// MarshalJSON returns what applockctl list --waiting prints, without the undisclosed fields of the lock.
func (w Waiter) MarshalJSON() ([]byte, error) {
	return marshalKeys([]jsonKey{
		{"outcome", "WAITING"},
		{"object_type", w.Object.Type},
		{"object_id", w.Object.ID},
		{"operator_id", w.Owner.Operator},
		{"department_id", w.Owner.Department},
		{"holder_id", w.Holder.Owner.Operator},
		{"holder_department_id", w.Holder.Owner.Department},
		{"seconds_left", jsonLeft(w.Holder.Left)},
		{"client_id", w.Client},
		{"since_ts", jsonTime(w.Since)},
		{"until_ts", jsonTime(w.Until)},
		{"waited_seconds", jsonAge(w.Waited)},
	})
}

// MarshalJSON returns what applockctl viewers prints.
func (v Viewer) MarshalJSON() ([]byte, error) {
	return marshalKeys([]jsonKey{
		{"outcome", PresenceViewer},
		{"object_type", v.Object.Type},
		{"object_id", v.Object.ID},
		{"operator_id", v.Owner.Operator},
		{"department_id", v.Owner.Department},
		{"client_id", v.Client},
		{"state", v.State},
		{"since_ts", jsonTime(v.Since)},
		{"seconds_left", jsonLeft(v.Left)},
	})
}

// MarshalJSON returns what applockctl see prints.
func (p Presence) MarshalJSON() ([]byte, error) {
	return marshalKeys([]jsonKey{
		{"outcome", p.Kind},
		{"operator_id", p.Owner.Operator},
		{"department_id", p.Owner.Department},
		{"client_id", p.Client},
		{"state", p.State},
		{"since_ts", jsonTime(p.Since)},
		{"seconds_left", jsonLeft(p.Left)},
		{"message", p.Message},
	})
}

// MarshalJSON returns what applockctl history prints.
func (e Event) MarshalJSON() ([]byte, error) {
	return marshalKeys([]jsonKey{
		{"outcome", e.Kind},
		{"event_id", e.ID},
		{"event_ts", jsonTime(e.At)},
		{"object_type", e.Object.Type},
		{"object_id", e.Object.ID},
		{"actor_id", e.Actor},
		{"db_user", e.User},
		{"program", e.Program},
		{"from_operator_id", e.From.Operator},
		{"from_department_id", e.From.Department},
		{"to_operator_id", e.To.Operator},
		{"to_department_id", e.To.Department},
		{"from_fence", e.FromFence},
		{"to_fence", e.ToFence},
		{"reason", e.Reason},
	})
}

// MarshalJSON returns what applockctl inbox prints, without next_position, which the InboxPosition has.
func (n Notice) MarshalJSON() ([]byte, error) {
	return marshalKeys([]jsonKey{
		{"outcome", n.Kind},
		{"event_id", n.Event},
		{"object_type", n.Object.Type},
		{"object_id", n.Object.ID},
		{"other_operator_id", n.Other.Operator},
		{"other_department_id", n.Other.Department},
		{"event_ts", jsonTime(n.At)},
		{"seconds_left", jsonLeft(n.Left)},
		{"reason", n.Reason},
		{"message", n.Message},
		{"client_id", n.Client},
		{"fence", n.Fence},
	})
}

// MarshalJSON returns what applockctl asking prints, without the undisclosed fields of the lock.
func (a Asker) MarshalJSON() ([]byte, error) {
	return marshalKeys([]jsonKey{
		{"outcome", "ASKING"},
		{"object_type", a.Object.Type},
		{"object_id", a.Object.ID},
		{"operator_id", a.Owner.Operator},
		{"department_id", a.Owner.Department},
		{"holder_id", a.Holder.Owner.Operator},
		{"holder_department_id", a.Holder.Owner.Department},
		{"seconds_left", jsonLeft(a.Holder.Left)},
		{"client_id", a.Client},
		{"message", a.Message},
		{"since_ts", jsonTime(a.Since)},
		{"until_ts", jsonTime(a.Until)},
		{"waited_seconds", jsonAge(a.Waited)},
		{"answer", a.Answer},
		{"answer_reason", a.AnswerReason},
	})
}

// MarshalJSON returns the outcome, the holder and the grant, which is empty but for OutcomeGiven.
func (a Asked) MarshalJSON() ([]byte, error) {
	return marshalKeys([]jsonKey{
		{"outcome", a.Outcome},
		{"holder_id", a.Holder.Owner.Operator},
		{"holder_department_id", a.Holder.Owner.Department},
		{"acquired_ts", jsonTime(a.Holder.AcquiredAt)},
		{"expires_ts", jsonTime(a.Holder.ExpiresAt)},
		{"seconds_left", jsonLeft(a.Holder.Left)},
		{"grant", a.Grant},
	})
}

// MarshalJSON returns the outcome, and until when the lock is held.
func (a Answered) MarshalJSON() ([]byte, error) {
	return marshalKeys([]jsonKey{
		{"outcome", a.Outcome},
		{"expires_ts", jsonTime(a.ExpiresAt)},
		{"seconds_left", jsonLeft(a.Left)},
	})
}

// MarshalJSON returns what applockctl stats prints.
func (s Stats) MarshalJSON() ([]byte, error) {
	return marshalKeys([]jsonKey{
		{"outcome", "COUNTED"},
		{"object_type", s.ObjectType},
		{"department_id", s.Department},
		{"live", s.Live},
		{"expired", s.Expired},
		{"oldest_seconds", jsonAge(s.Oldest)},
		{"next_expiry_seconds", jsonLeft(s.NextExpiry)},
		{"waiters", s.Waiters},
		{"longest_wait_seconds", jsonAge(s.LongestWait)},
	})
}

// MarshalJSON returns what applockctl policy list prints.
func (p Policy) MarshalJSON() ([]byte, error) {
	return marshalKeys([]jsonKey{
		{"outcome", "SET"},
		{"object_type", p.Type},
		{"default_ttl_seconds", jsonLeft(p.DefaultTTL)},
		{"longest_ttl_seconds", jsonLeft(p.LongestTTL)},
		{"take_reason_fl", jsonNo(p.TakeWithoutReason)},
		{"history_level", cmp.Or(p.HistoryLevel, HistoryChanges)},
		{"presence_fl", jsonNo(p.WithoutPresence)},
		{"yield_after_seconds", jsonLeft(p.YieldAfter)},
	})
}
