package lease

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/applock/applock/applock"
)

// Hooks are called on events of leases, for metrics and alarms: each non-nil hook in a goroutine of its own, with no lock held. The context
// has the values of the acquiring context, such as a trace, and does not end.
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

// waited calls the hook for the end of an acquisition.
func (h Hooks) waited(ctx context.Context, object applock.Object, began time.Time, err error) {
	if h.Waited != nil {
		go h.Waited(context.WithoutCancel(ctx), object, time.Since(began), err)
	}
}

// ended calls the hook for the end of a hold.
func (h Hooks) ended(ended *hold, cause error) {
	lost := errors.Is(cause, applock.ErrLost) && !errors.Is(cause, applock.ErrClosed)
	switch {
	case lost && h.Lost != nil:
		go h.Lost(ended.asker, ended.grant.Object, ended.age(), cause)
	case !lost && h.Held != nil:
		go h.Held(ended.asker, ended.grant.Object, ended.age())
	}
}

// alarm returns a timer that reports a long hold, nil without a LongHold.
func (h Hooks) alarm(held *hold) *time.Timer {
	if h.LongHold <= 0 {
		return nil
	}
	return time.AfterFunc(h.LongHold, held.reportLong)
}

func (h *hold) reportLong() {
	l, age := h.leases, h.age()
	grant, cause := h.state()
	if cause != nil {
		return
	}
	l.logger.LogAttrs(h.asker, slog.LevelWarn, "a lease is held for long",
		slog.String("object", grant.Object.String()), slog.String("operator", grant.Owner.Operator), slog.Duration("held", age))
	if l.hooks.LongHeld != nil {
		l.hooks.LongHeld(h.asker, grant.Object, age)
	}
}
