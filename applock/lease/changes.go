package lease

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/applock/applock/applock"
)

// exclusively makes a call that renews or hands over the grant, while no other such call is under way. Close waits for it until its limit.
func (h *hold) exclusively(ctx context.Context, call func(ctx context.Context) error) error {
	h.leases.background.begin()
	defer h.leases.background.done()
	ctx, cancel := h.leases.untilShutdown(ctx)
	defer cancel()
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
		return call(ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (h *hold) renew(ctx context.Context) error {
	term := h.maxHold
	if h.ttl > 0 {
		term = min(h.ttl, h.maxHold)
		limited, cancel := context.WithTimeout(ctx, h.ttl/renewalsPerTTL) // meanwhile no other call can renew the grant
		defer cancel()
		ctx = limited
	}
	return h.exclusively(ctx, func(ctx context.Context) error {
		asked := h.leases.now()
		return h.extend(ctx, asked, term, asked.Add(h.maxHold))
	})
}

// extend renews only this hold, for term, and sets its end.
func (h *hold) extend(ctx context.Context, asked time.Time, term time.Duration, ends time.Time) error {
	l := h.leases
	grant, cause := h.state()
	if cause != nil {
		return cause
	}
	answers, err := l.backend.Renew(ctx, []Renewal{{Grant: grant, TTL: term}})
	if err != nil {
		return err
	}
	if len(answers) == 0 {
		return fmt.Errorf("%w: the renewal was skipped", applock.ErrBusy)
	}
	if answers[0].Lost != nil {
		h.lose(answers[0].Lost)
		return h.lost(answers[0].Lost)
	}
	t, unlock := h.lock()
	defer unlock()
	t.renewed(asked, term, ends, answers[0])
	return t.cause
}

// renewed applies an answer of the backend. A hold whose trust has ended stays lost: others may know that already.
func (t *tenure) renewed(asked time.Time, term time.Duration, ends time.Time, answer Renewed) {
	if t.trustLeft() <= 0 {
		t.runOut()
		return
	}
	t.ends = ends
	interval := t.hold.interval
	if cut := granted(term, answer.Left); cut < term {
		term, interval = cut, min(interval, cut/renewalsPerTTL)
	}
	t.trust(asked, term)
	t.expiresAt = answer.ExpiresAt
	t.due, t.tries, t.took = asked.Add(interval), 0, t.hold.leases.now().Sub(asked)
	if t.hold.interval > 0 && t.cause == nil {
		heap.Fix(&t.holds.due, t.place)
	}
}

// granted is how much of a term the backend has granted. Zero means all of it.
func granted(term, left time.Duration) time.Duration {
	if left == 0 {
		return term
	}
	return min(term, left)
}

// verify checks in the background whether a live hold has been lost, by renewing it for the time that it has left.
func (h *hold) verify() {
	l := h.leases
	if !h.beginChecking() {
		return
	}
	l.background.Go(func() {
		ctx, cancel := context.WithTimeout(l.stopped, releaseLimit)
		defer cancel()
		err := h.exclusively(ctx, func(ctx context.Context) error {
			asked := l.now()
			ends, term := h.left(asked)
			if term <= 0 {
				return nil
			}
			return h.extend(ctx, asked, term, ends)
		})
		if err != nil {
			l.logger.LogAttrs(ctx, slog.LevelDebug, "checked a lease", slog.Any("error", err))
		}
		t, unlock := h.lock()
		defer unlock()
		t.checking = false
	})
}

// beginChecking reports whether to check the hold now.
func (h *hold) beginChecking() bool {
	t, unlock := h.lock()
	defer unlock()
	if t.cause != nil || t.checking || h.leases.stopped.Err() != nil {
		return false
	}
	t.checking = true
	return true
}

// left returns when the hold ends, and for how long to renew it now.
func (h *hold) left(now time.Time) (ends time.Time, term time.Duration) {
	t, unlock := h.lock()
	defer unlock()
	return t.ends, t.left(now)
}

func (t *tenure) left(now time.Time) time.Duration {
	left := t.ends.Sub(now)
	if t.hold.ttl > 0 {
		left = min(left, t.hold.ttl)
	}
	return left
}

// leave renews the hold for the last time and ends it without a release.
func (h *hold) leave(ctx context.Context, ttl time.Duration) error {
	return h.exclusively(ctx, func(ctx context.Context) error {
		asked := h.leases.now()
		if err := h.extend(ctx, asked, ttl, asked.Add(ttl)); err != nil {
			return err
		}
		if h.end(errReleased) {
			h.leases.queue.vacate(h)
		}
		return nil
	})
}

func (h *hold) transfer(ctx context.Context, to applock.Owner, ttl time.Duration) (handed applock.Grant, err error) {
	backend, ok := h.leases.backend.(Transferrer)
	if !ok {
		return applock.Grant{}, errors.ErrUnsupported
	}
	err = h.exclusively(ctx, func(ctx context.Context) error {
		grant, cause := h.state()
		if cause != nil {
			return cause
		}
		var err error
		handed, err = backend.Transfer(ctx, grant, to, ttl)
		return h.handed(grant, handed, err)
	})
	return handed, err
}

// handed ends the hold after a transfer, unless that failed without an effect.
func (h *hold) handed(grant, handed applock.Grant, err error) error {
	l := h.leases
	switch {
	case isGone(err):
		h.lose(err)
		return h.lost(err)
	case errors.Is(err, applock.ErrOutcomeUnknown):
		if h.end(h.lost(err)) {
			l.background.Go(func() {
				_ = l.release(l.shutdownCtx, grant) // the former grant; if the transfer took effect, this does nothing
				l.queue.vacate(h)
			})
		}
		return err
	case err != nil:
		return err
	}
	if h.end(fmt.Errorf("lease transferred to %s: %w", handed.Owner, applock.ErrNotHeld)) {
		l.queue.vacate(h)
	}
	return nil
}
