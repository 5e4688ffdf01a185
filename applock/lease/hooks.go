package lease

import (
	"context"
	"log/slog"
	"time"

	"github.com/applock/applock/applock"
)

// Hooks are called when something happens to leases, for metrics and alarms: each one that is not nil, in a goroutine of its
// own, with no lock held. Leases that nobody asks about cost nothing for it. The context has the values of the one that the object was
// acquired with, or was to be, a trace for example, and does not end.
type Hooks struct {
	// Waited is called when a call has acquired an object, or has given up: after what time, and why not. A refusal is ErrHeld,
	// as everywhere. Re-entering is no wait.
	Waited func(ctx context.Context, object applock.Object, waited time.Duration, err error)
	// Held is called when a grant has come to its end by a release or a transfer, or by Close: for how long it was held.
	Held func(ctx context.Context, object applock.Object, held time.Duration)
	// LongHeld is called, once for a grant, when it has been held for LongHold and still is, as by a caller that has forgotten it. The
	// log gets a warning, too. Zero is never.
	LongHold time.Duration
	LongHeld func(ctx context.Context, object applock.Object, held time.Duration)
	// Lost is called when a grant was lost or has run out: for how long it was held, and how it ended, a *LostError. What its
	// holder has done may not have been alone.
	Lost func(ctx context.Context, object applock.Object, held time.Duration, cause error)
}

// waited tells of the end of an acquisition that began at some time.
func (h Hooks) waited(ctx context.Context, object applock.Object, began time.Time, err error) {
	if h.Waited != nil {
		go h.Waited(context.WithoutCancel(ctx), object, time.Since(began), err)
	}
}

// ended tells of the end of a hold.
func (h Hooks) ended(ended *hold, lost bool) {
	switch {
	case lost && h.Lost != nil:
		go h.Lost(ended.asker, ended.grant.Object, ended.age(), ended.cause)
	case !lost && h.Held != nil:
		go h.Held(ended.asker, ended.grant.Object, ended.age())
	}
}

// alarm has a hold told of when it lasts for long, nil where that is of no interest.
func (h Hooks) alarm(held *hold) *time.Timer {
	if h.LongHold <= 0 {
		return nil
	}
	return time.AfterFunc(h.LongHold, held.tellLong)
}

func (h *hold) tellLong() {
	l := h.leases
	l.mutex.Lock()
	grant, cause, age := h.grant, h.cause, h.age()
	l.mutex.Unlock()
	if cause != nil {
		return
	}
	l.logger.LogAttrs(h.asker, slog.LevelWarn, "a lease is held for long",
		slog.String("object", grant.Object.String()), slog.String("operator", grant.Owner.Operator), slog.Duration("held", age))
	if l.hooks.LongHeld != nil {
		l.hooks.LongHeld(h.asker, grant.Object, age)
	}
}
