package lease

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/applock/applock/applock"
)

// Hooks are called on events of leases, for metrics and alarms: each call in a goroutine of its own, with no lock held. Those of one object
// come in the order of the events, each after the former one has returned: a slow hook delays the later ones of its object only. Each Waited
// without an error is followed by one Held or Lost of that lease. Hooks of different objects have no order, and Close does not wait
// for hooks. The context has the values of the acquiring context, such as a trace, and does not end.
type Hooks struct {
	// Waited is called when a call has acquired an object, or has given up: after which time, and with which error. A refusal is ErrHeld.
	// Re-entering does not count.
	Waited func(ctx context.Context, object applock.Object, waited time.Duration, err error)
	// Held is called when a release, a transfer or Close has ended a grant, with the time that it was held.
	Held func(ctx context.Context, object applock.Object, held time.Duration)
	// LongHeld is called once for a grant that has been held for LongHold and still is, for example because its caller forgot it. The log
	// gets a warning, too. Zero is never.
	LongHold time.Duration
	LongHeld func(ctx context.Context, object applock.Object, held time.Duration)
	// Lost is called when a grant was lost or has run out, with the time that it was held and a *LostError. Its holder may not have been
	// alone.
	Lost func(ctx context.Context, object applock.Object, held time.Duration, cause error)
}

// teller calls hooks, those of an object one after the other.
type teller struct {
	Hooks
	guarded[map[applock.Object][]func()] // with an entry for an object while a hook of it runs: the next ones
}

// tell has a hook called after the former ones of the object.
func (t *teller) tell(object applock.Object, hook func()) {
	hooks, unlock := t.lock()
	defer unlock()
	next, isCalling := (*hooks)[object]
	if isCalling {
		next = append(next, hook)
	} else {
		go t.call(object, hook)
	}
	(*hooks)[object] = next
}

func (t *teller) call(object applock.Object, hook func()) {
	defer t.callNext(object) // also if the hook ends its goroutine
	hook()
}

func (t *teller) callNext(object applock.Object) {
	hooks, unlock := t.lock()
	defer unlock()
	next := (*hooks)[object]
	if len(next) == 0 {
		delete(*hooks, object)
		return
	}
	(*hooks)[object] = next[1:]
	go t.call(object, next[0])
}

// waited tells the end of an acquisition.
func (t *teller) waited(ctx context.Context, object applock.Object, began time.Time, err error) {
	if t.Waited != nil {
		asker, waited := context.WithoutCancel(ctx), time.Since(began)
		t.tell(object, func() { t.Waited(asker, object, waited, err) })
	}
}

// acquired tells that a caller gets the first lease of a hold, and the end of that if it was earlier.
func (h *hold) acquired(began time.Time) {
	t, unlock := h.lock()
	defer unlock()
	t.told = true
	h.leases.hooks.waited(h.asker, h.grant.Object, began, nil)
	if t.cause != nil {
		h.leases.hooks.ended(h, t.cause)
	}
}

// ended tells the end of a hold.
func (t *teller) ended(ended *hold, cause error) {
	lost := errors.Is(cause, applock.ErrLost) && !errors.Is(cause, applock.ErrClosed)
	switch {
	case lost && t.Lost != nil:
		age := ended.age()
		t.tell(ended.grant.Object, func() { t.Lost(ended.asker, ended.grant.Object, age, cause) })
	case !lost && t.Held != nil:
		age := ended.age()
		t.tell(ended.grant.Object, func() { t.Held(ended.asker, ended.grant.Object, age) })
	}
}

// alarm returns a timer that reports a long hold, nil without a LongHold.
func (t *teller) alarm(held *hold) *time.Timer {
	if t.LongHold <= 0 {
		return nil
	}
	return time.AfterFunc(t.LongHold, held.reportLong)
}

func (h *hold) reportLong() {
	t, unlock := h.lock()
	defer unlock()
	if t.cause != nil {
		return
	}
	l, object, age := h.leases, h.grant.Object, h.age()
	l.hooks.tell(object, func() {
		l.logger.LogAttrs(h.asker, slog.LevelWarn, "a lease is held for long",
			slog.String("object", object.String()), slog.String("operator", h.grant.Owner.Operator), slog.Duration("held", age))
		if l.hooks.LongHeld != nil {
			l.hooks.LongHeld(h.asker, object, age)
		}
	})
}
