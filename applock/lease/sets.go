package lease

import (
	"slices"
	"time"

	"github.com/applock/applock/applock"
)

// A set needs a moment in which all its objects are free. Where callers pass these on to each other there may be none. So the oldest set that
// waits is favoured from time to time: then no other waiter here has a turn for its objects, which their holders free one after the other.
// The rests in between, and the favour up to mostFavour, are as long as programs wait for each other at first, and twice as long each time. So the others lose half
// of their turns at the most, and nearly none if one of the objects is held for days.

// mostFavour is how long holds may be with which a set does not depend on chance.
const mostFavour = longPause

// wants reports whether the set has the object.
func (a *acquisition) wants(object applock.Object) bool {
	return slices.Contains(a.objects, object)
}

func (q *queue) joinSets(a *acquisition) {
	objects, unlock := q.lock()
	defer unlock()
	if objects.sets = append(objects.sets, a); len(objects.sets) == 1 {
		q.favourAfter(a, patience)
	}
}

func (q *queue) leaveSets(a *acquisition) {
	objects, unlock := q.lock()
	defer unlock()
	wasOldest := objects.sets[0] == a
	objects.sets = slices.DeleteFunc(objects.sets, func(other *acquisition) bool { return other == a })
	if objects.favoured == a {
		objects.endFavour(a)
	}
	if wasOldest && len(objects.sets) > 0 {
		q.favourAfter(objects.sets[0], patience)
	}
}

// favourAfter favours the set after a rest, again and again while it is the oldest.
func (q *queue) favourAfter(a *acquisition, rest time.Duration) {
	q.later(rest, func(o *objects) {
		if len(o.sets) == 0 || o.sets[0] != a {
			return
		}
		o.favoured = a
		q.later(min(rest, mostFavour), func(o *objects) {
			if o.favoured == a {
				o.endFavour(a)
				q.favourAfter(a, 2*rest)
			}
		})
	})
}

// endFavour gives the waiters the turns that they have missed.
func (o *objects) endFavour(a *acquisition) {
	o.favoured = nil
	for _, object := range a.objects {
		if state := o.states[object]; state != nil && state.missed {
			state.missed = false
			state.advance()
		}
	}
}
