package faults_test

import (
	"fmt"
	"math"
	"time"

	"github.com/anishathalye/porcupine"
)

// Kinds of operations.
const (
	kindGet      = "get"
	kindRelease  = "release"
	kindTransfer = "transfer"
	kindGive     = "give" // to one who has asked for it just before
	kindAssert   = "assert"
	kindRenew    = "renew"
	kindInquire  = "inquire"
	kindList     = "list" // of the one object
	kindRead     = "read" // by which a renewal is answered that has had its effect before
)

// Answers. Refused is an assert's or a renewal's that does not tell more.
const (
	answerAcquired    = "ACQUIRED"
	answerRenewed     = "RENEWED"
	answerHeld        = "HELD"
	answerReleased    = "RELEASED"
	answerFree        = "FREE"
	answerTransferred = "TRANSFERRED"
	answerGiven       = "GIVEN" // which does not tell the new fence
	answerGone        = "GONE"  // nobody asks any more
	answerAsserted    = "ASSERTED"
	answerRefused     = "REFUSED"
)

// What has become of an operation.
const (
	fateDone    = "done"    // answered, and committed if it changes anything
	fateUndone  = "undone"  // answered in a transaction that was rolled back
	fateUnsure  = "unsure"  // answered, and then the commit was not
	fateUnknown = "unknown" // not answered: it may have happened or not
	fateHad     = "had"     // it had its effect, and what it answers is read later
)

// forever is when a call returns that never did.
const forever = math.MaxInt64 / 4

// operation is a call of one operation on one object. Times are microseconds of the machine's monotonic clock, moved by what that was
// behind the clock of the day when the history began: so they compare with the server's.
type operation struct {
	Client   int    `json:"client"`
	Kind     string `json:"kind"`
	Object   string `json:"object"`
	Operator string `json:"operator,omitempty"`
	To       string `json:"to,omitempty"`    // of a transfer, and who has asked for it
	Fence    int64  `json:"fence,omitempty"` // that the call names
	TTL      int64  `json:"ttl,omitempty"`   // in microseconds

	// Call and Return are when it can have had its effect, From and Until when the server has looked at its clock. They differ in a
	// transaction: a change is seen from its commit on, and a read may be as old as the transaction's snapshot.
	Call   int64 `json:"call"`
	Return int64 `json:"return"`
	From   int64 `json:"from"`
	Until  int64 `json:"until"`

	Fate    string `json:"fate"`
	Answer  string `json:"answer,omitempty"`
	Holder  string `json:"holder,omitempty"`
	Granted int64  `json:"granted,omitempty"` // the fence of the answer
	Expires int64  `json:"expires,omitempty"` // of the answer
}

func (o operation) String() string {
	return fmt.Sprintf("%d..%d client %d: %s %s by %q to %q fence %d -> %s %s holder %q fence %d expires %d",
		o.Call, o.Return, o.Client, o.Kind, o.Object, o.Operator, o.To, o.Fence, o.Fate, o.Answer, o.Holder, o.Granted, o.Expires)
}

// lock is the state of one object. Of a grant that nobody was told of, the fence is 0, which is greater than floor, and the end is
// somewhere from Soonest to Latest; the first answer that tells them settles them.
type lock struct {
	Owner           string // empty: released, or never taken
	Fence           int64
	Floor           int64 // no fence so far is greater, but that of the grant
	Soonest, Latest int64
}

// rules is the model of a lock. Slack is by how much the server's clock may differ from the machine's, in microseconds: its grain.
//
// The server judges whether a grant is live at some time from From to Until, which the model does not know. So a grant counts as live
// that was so at From, and as expired that was so at Until: a short call is a sharp one. That is sound also where the clock is read before
// a wait, or a commit comes later than the judgement.
//
// Each call has one effect, at one moment. A release of the operator's own grant that has expired is answered FREE, and ends it for good: no clock
// that is set back brings it to life again.
//
// Split says that a renewal by its fence has its effect first, and reads later what to answer, as on MySQL and MariaDB outside a transaction: what others
// have done in between is in the answer. It has one effect all the same, and if it is answered by RENEWED it had that. Of a grant that has ended
// since, the answer tells the end that was asked for: the lock may have lasted longer.
type rules struct {
	slack int64
	split bool
}

// live reports whether the call can have found the grant live.
func (r rules) live(s lock, o operation) bool { return s.Owner != "" && o.From < s.Latest+r.slack }

// free reports whether the call can have found nobody.
func (r rules) free(s lock, o operation) bool { return s.Owner == "" || o.Until >= s.Soonest-r.slack }

// floor is the greatest fence so far.
func (s lock) floor() int64 { return max(s.Floor, s.Fence) }

// isGrant reports whether the grant can have this fence.
func (s lock) isGrant(fence int64) bool {
	if s.Fence == 0 {
		return fence > s.Floor
	}
	return s.Fence == fence
}

// ending settles when the grant ends.
func (s lock) ending(expires int64) (lock, bool) {
	ok := s.Soonest <= expires && expires <= s.Latest
	s.Soonest, s.Latest = expires, expires
	return s, ok
}

// ttl reports whether a grant that the call has made or renewed can end then.
func (r rules) ttl(o operation) bool {
	return o.Expires >= o.From+o.TTL-r.slack && o.Expires <= o.Until+o.TTL+r.slack
}

// step returns what the state can be after an operation; nothing is a violation.
func (r rules) step(s lock, o operation) []lock {
	switch o.Fate {
	case fateUnknown:
		return append(r.guess(s, o), s)
	case fateHad:
		return r.guess(s, o)
	case fateUnsure:
		if after, ok := r.answered(s, o); ok {
			return []lock{after, s}
		}
		return []lock{s}
	}
	after, ok := r.answered(s, o)
	if !ok {
		return nil
	}
	if o.Fate == fateUndone {
		after = s
	}
	return []lock{after}
}

// answered returns the state after an answer, and whether the answer can be.
func (r rules) answered(s lock, o operation) (lock, bool) {
	switch o.Answer {
	case answerAcquired:
		after := lock{Owner: o.Operator, Fence: o.Granted, Floor: s.floor(), Soonest: o.Expires, Latest: o.Expires}
		// The server's clock when it began is in the answer: whatever the call took, it is not before the former one's end. Where the
		// clock may have been set during the call, the answer has the later clock.
		began := o.Expires - o.TTL
		isAfter := s.Owner == "" || began >= s.Soonest || r.slack > time.Second.Microseconds()
		return after, r.free(s, o) && isAfter && o.Granted > s.floor() && r.ttl(o)
	case answerTransferred:
		after := lock{Owner: o.To, Fence: o.Granted, Floor: s.floor(), Soonest: o.Expires, Latest: o.Expires}
		return after, s.Owner == o.Operator && r.live(s, o) && o.Granted > s.floor() && r.ttl(o)
	case answerGiven:
		after := lock{Owner: o.To, Floor: max(s.floor(), o.Fence), Soonest: o.Expires, Latest: o.Expires}
		return after, r.holds(s, o) && r.live(s, o) && r.ttl(o)
	case answerGone:
		after := s
		after.Fence = o.Fence
		return after, r.holds(s, o) && r.live(s, o)
	case answerRenewed:
		return r.renewed(s, o)
	case answerReleased:
		return lock{Floor: max(s.floor(), o.Fence)}, r.holds(s, o) && r.live(s, o)
	case answerAsserted:
		after := s
		after.Fence = o.Fence
		return after, r.holds(s, o) && r.live(s, o)
	case answerFree:
		after := s
		if o.Kind == kindRelease && r.holds(s, o) {
			after = lock{Floor: max(s.floor(), o.Fence)}
		}
		return after, r.free(s, o)
	case answerRefused:
		return s, r.free(s, o) || s.Owner != o.Operator || s.Fence != o.Fence
	case answerHeld:
		return r.held(s, o)
	}
	return s, false
}

// holds reports whether the operator has the object, under the fence of the call if that names one.
func (r rules) holds(s lock, o operation) bool {
	return s.Owner == o.Operator && (o.Fence == 0 || s.isGrant(o.Fence))
}

// renewed is an answer of get, which sets the end, or of renew, which only puts it off.
func (r rules) renewed(s lock, o operation) (lock, bool) {
	isGrant := s.Owner == o.Operator && s.isGrant(o.Granted)
	ok := isGrant && r.live(s, o)
	if o.Kind == kindRead && !isGrant {
		return s, r.ttl(o)
	}
	if o.Kind == kindRead {
		after, can := s.ending(o.Expires)
		after.Fence = o.Granted
		return after, ok && can
	}
	if o.Kind == kindRenew {
		ok = ok && o.Expires >= o.From+o.TTL-r.slack && o.Expires <= max(s.Latest, o.Until+o.TTL+r.slack) && o.Expires >= s.Soonest
	} else {
		ok = ok && r.ttl(o)
	}
	s.Fence, s.Soonest, s.Latest = o.Granted, o.Expires, o.Expires
	return s, ok
}

// held is a refusal, or an inquiry's answer. What it tells of the grant settles that.
func (r rules) held(s lock, o operation) (lock, bool) {
	ok := r.live(s, o) && s.Owner == o.Holder
	if o.Expires != 0 {
		var can bool
		s, can = s.ending(o.Expires)
		ok = ok && can && o.From < o.Expires+r.slack
	}
	switch o.Kind {
	case kindInquire, kindList:
		ok = ok && s.isGrant(o.Granted)
		s.Fence = o.Granted
	case kindGet, kindTransfer:
		ok = ok && o.Holder != o.Operator
	default: // a release or a renewal that names another grant of the operator
		ok = ok && (o.Holder != o.Operator || o.Fence != 0 && s.Fence != o.Fence)
	}
	return s, ok
}

// guess returns the states that a call without an answer can have made.
func (r rules) guess(s lock, o operation) []lock {
	soonest, latest := o.From+o.TTL-r.slack, int64(forever)
	if o.Until < forever {
		latest = o.Until + o.TTL + r.slack
	}
	var after []lock
	switch o.Kind {
	case kindGet:
		if s.Owner == o.Operator && r.live(s, o) {
			renewed := s
			renewed.Soonest, renewed.Latest = soonest, latest
			after = append(after, renewed)
		}
		if r.free(s, o) {
			after = append(after, lock{Owner: o.Operator, Floor: s.floor(), Soonest: soonest, Latest: latest})
		}
	case kindTransfer:
		if s.Owner == o.Operator && r.live(s, o) {
			after = append(after, lock{Owner: o.To, Floor: s.floor(), Soonest: soonest, Latest: latest})
		}
	case kindGive:
		if r.holds(s, o) && r.live(s, o) {
			after = append(after, lock{Owner: o.To, Floor: max(s.floor(), o.Fence), Soonest: soonest, Latest: latest})
		}
	case kindRelease:
		if r.holds(s, o) {
			after = append(after, lock{Floor: max(s.floor(), o.Fence)})
		}
	case kindRenew:
		if r.holds(s, o) && r.live(s, o) {
			s.Fence, s.Soonest, s.Latest = o.Fence, max(s.Soonest, soonest), max(s.Latest, latest)
			after = append(after, s)
		}
	}
	return after
}

// model is the rules as porcupine wants them.
func (r rules) model() porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{lock{}} },
		Step: func(state, input, _ any) []any {
			var after []any
			for _, s := range r.step(state.(lock), input.(operation)) {
				after = append(after, s)
			}
			return after
		},
		Equal: func(a, b any) bool { return a.(lock) == b.(lock) },
	}
	return model.ToModel()
}

// operations are a history as porcupine wants it. What changes nothing whatever came of it is left out.
func (r rules) operations(history []operation) []porcupine.Operation {
	var all []porcupine.Operation
	for _, o := range history {
		if o.Fate == fateUnknown && (o.Kind == kindInquire || o.Kind == kindList || o.Kind == kindAssert) {
			continue
		}
		if r.split && o.Kind == kindRenew && o.Fate == fateDone {
			effect := o
			effect.Fate, o.Kind = fateUnknown, kindRead
			if o.Answer == answerRenewed {
				effect.Fate = fateHad
			}
			all = append(all, porcupine.Operation{ClientId: o.Client, Input: effect, Call: o.Call, Return: o.Return})
		}
		all = append(all, porcupine.Operation{ClientId: o.Client, Input: o, Call: o.Call, Return: o.Return})
	}
	return all
}

// check compares the operations on one object with the model, for so long.
func (r rules) check(history []operation, limit time.Duration) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(r.model(), r.operations(history), limit)
}

// furthest returns the longest order of operations that can be, and the others in the order of their calls.
func (r rules) furthest(history []operation) (longest, left []operation) {
	_, info := porcupine.CheckOperationsVerbose(r.model(), r.operations(history), 0)
	placed := map[operation]int{}
	for _, partition := range info.PartialLinearizationsOperations() {
		for _, order := range partition {
			if len(order) <= len(longest) {
				continue
			}
			longest = nil
			for _, o := range order {
				longest = append(longest, o.Input.(operation))
			}
		}
	}
	for _, o := range longest {
		placed[o]++
	}
	for _, o := range r.operations(history) {
		if in := o.Input.(operation); placed[in] > 0 {
			placed[in]--
		} else {
			left = append(left, in)
		}
	}
	return longest, left
}
