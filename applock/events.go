package applock

import (
	"context"
	"time"
)

// Events are called when something happens to leases, for metrics and alarms: each one that is not nil, in a goroutine of its
// own, with no lock held. Leases that nobody asks about cost nothing for it. The context has the values of the one that the object was
// acquired with, or was to be, a trace for example, and does not end.
type Events struct {
	// Waited is called when a call has acquired an object, or has given up: after what time, and why not. A refusal is ErrHeld,
	// as everywhere. Re-entering is no wait.
	Waited func(ctx context.Context, object Object, waited time.Duration, err error)
	// Held is called when a grant has come to its end by a release or a transfer: for how long it was held.
	Held func(ctx context.Context, object Object, held time.Duration)
	// Lost is called when a grant was lost or has run out: for how long it was held, and how it ended, a *LostError. What its
	// holder has done may not have been alone.
	Lost func(ctx context.Context, object Object, held time.Duration, cause error)
}

// waited tells of the end of an acquisition that began at some time.
func (e Events) waited(ctx context.Context, object Object, began time.Time, err error) {
	if e.Waited != nil {
		go e.Waited(context.WithoutCancel(ctx), object, time.Since(began), err)
	}
}

// ended tells of the end of a hold.
func (e Events) ended(h *hold, lost bool) {
	held := time.Since(h.began)
	switch {
	case lost && e.Lost != nil:
		go e.Lost(h.asker, h.grant.Object, held, h.cause)
	case !lost && e.Held != nil:
		go e.Held(h.asker, h.grant.Object, held)
	}
}
