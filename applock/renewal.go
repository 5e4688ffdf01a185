package applock

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

const (
	// renewalsPerTTL is how often a lease is renewed in the time that a renewal lasts, so that two may fail.
	renewalsPerTTL = 3
	// retryAfter bounds the pause after a renewal that failed.
	retryAfter = time.Second
)

// keep has a hold renewed or checked, if it needs that; the mutex is held.
func (l *Leases) keep(h *hold) {
	if l.interval(h) == 0 || l.closed {
		return
	}
	l.kept[h] = struct{}{}
	if !l.renewing {
		l.renewing = true
		l.background.Go(l.renewAll)
		return
	}
	select {
	case l.wakeRenewer <- struct{}{}: // its interval may be shorter than the others'
	default:
	}
}

// interval is how often a hold is renewed or checked, zero for never.
func (l *Leases) interval(h *hold) time.Duration {
	switch {
	case h.ttl == 0:
		return l.check
	case l.check == 0:
		return h.ttl / renewalsPerTTL
	}
	return min(h.ttl/renewalsPerTTL, l.check)
}

// renewAll renews all holds in one call per interval, the shortest of them, as long as there are any.
func (l *Leases) renewAll() {
	last := time.Now()
	pause := time.Duration(0)
	for {
		interval, ok := l.nextRenewal()
		if !ok {
			if l.endRenewer() {
				return
			}
			continue
		}
		if pause == 0 || interval < pause {
			pause = interval
		}
		select {
		case <-l.stopped.Done():
			return
		case <-l.wakeRenewer:
			continue
		case <-time.After(time.Until(last.Add(pause))):
		}
		last = time.Now()
		pause = interval
		if err := l.renewOnce(interval); err != nil {
			pause = min(interval/renewalsPerTTL, retryAfter)
			l.logger.LogAttrs(l.stopped, levelOf(err), "leases could not be renewed, trying again", slog.Any("error", err))
		}
	}
}

// nextRenewal returns after what time the holds are to be renewed again: the shortest interval of them. It returns false
// when there is none to renew.
func (l *Leases) nextRenewal() (interval time.Duration, ok bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for h := range l.kept {
		if own := l.interval(h); !ok || own < interval {
			interval, ok = own, true
		}
	}
	return interval, ok
}

// endRenewer notes that the renewer ends. It returns false when there is something to renew again.
func (l *Leases) endRenewer() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.renewing = len(l.kept) > 0
	return !l.renewing
}

var errPassedOver = errors.New("other transactions are changing some of the locks")

// levelOf tells what is wrong from what happens every day.
func levelOf(err error) slog.Level {
	if errors.Is(err, errPassedOver) {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// renewOnce renews all holds. An error is not a loss: the holds live until their deadlines.
func (l *Leases) renewOnce(limit time.Duration) error {
	ctx, cancel := context.WithTimeout(l.stopped, limit)
	defer cancel()
	asked := time.Now()
	holds, renewals := l.due(asked)
	if len(renewals) == 0 {
		return nil
	}
	defer done(holds)
	answers, err := l.backend.Renew(ctx, renewals)
	if err != nil {
		return err
	}
	terms := make(map[Object]time.Duration, len(renewals))
	for _, renewal := range renewals {
		terms[renewal.Grant.Object] = renewal.TTL
	}
	for _, answer := range answers {
		l.note(holds[answer.Object], answer, asked, terms[answer.Object])
	}
	if len(answers) < len(renewals) {
		return errPassedOver
	}
	return nil
}

// note notes what became of a hold.
func (l *Leases) note(h *hold, answer Renewed, asked time.Time, term time.Duration) {
	switch {
	case h == nil: // nobody has asked
	case answer.Lost != nil:
		h.lose(answer.Lost)
	default:
		l.mutex.Lock()
		defer l.mutex.Unlock()
		h.renewed(asked, term, answer.ExpiresAt)
	}
}

// due returns what is to be renewed now: each hold for its ttl, but not beyond its end, and no hold that a call is
// changing. The holds are to be done.
func (l *Leases) due(now time.Time) (map[Object]*hold, []Renewal) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	holds := make(map[Object]*hold, len(l.kept))
	renewals := make([]Renewal, 0, len(l.kept))
	for h := range l.kept {
		term := h.leftLocked(now)
		if term <= 0 {
			continue
		}
		select {
		case h.turn <- struct{}{}:
			holds[h.grant.Object] = h
			renewals = append(renewals, Renewal{Grant: h.grant, TTL: term})
		default: // a call is changing it
		}
	}
	return holds, renewals
}

// done lets others change the grants again.
func done(holds map[Object]*hold) {
	for _, h := range holds {
		<-h.turn
	}
}
