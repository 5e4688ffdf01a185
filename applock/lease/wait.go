package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/applock/applock/applock"
)

// wait is one caller's wait for an object.
type wait struct {
	leases  *Leases
	self    *waiter
	maxWait time.Duration
	attempt func(limited context.Context, asked claim) error
	asked   time.Time // when the last attempt began
	// silence is why the last attempt had no answer, nil if it had one.
	silence error
	// unknown is the error of an attempt that may have left a lock for a given operator, nil once a later answer has shown that there is none.
	unknown error
	// failing is since when attempts have met only an outage. again is the pause before the next one.
	failing time.Time
	again   time.Duration
	// lease is the lease that was passed on to the caller.
	lease *handle
}

// inTurn makes attempts until one succeeds or fails for good: in this caller's turn, each time that the object could be free. With a maxWait
// of zero it makes one.
//
// Until the time is up, "held", "being changed" and "unreachable" all mean: not yet. At the end the error distinguishes them. Only a holder
// that was seen makes a *HeldError.
//
// A caller that wants only this object may get it by a pass: then inTurn returns the lease.
func (l *Leases) inTurn(
	ctx context.Context, claim *claim, maxWait time.Duration, attempt func(limited context.Context, asked claim) error,
) (*handle, error) {
	w, err := l.newWait(ctx, claim, maxWait, attempt)
	if err != nil {
		return nil, err
	}
	defer l.queue.dequeue(w.self)
	limited, cancel := withLimit(ctx, maxWait)
	defer cancel()
	if maxWait == 0 {
		return nil, w.askOnce(ctx)
	}
	defer w.unlist()
	err = w.withUnknown(w.untilDone(ctx, limited))
	return w.lease, err
}

// newWait puts the caller into the queue. It is a separate function so that its stack is free while thousands wait.
func (l *Leases) newWait(
	ctx context.Context, claim *claim, maxWait time.Duration, attempt func(limited context.Context, asked claim) error,
) (*wait, error) {
	self, err := l.queue.enqueue(ctx, claim)
	if err != nil {
		return nil, err
	}
	return &wait{leases: l, self: self, maxWait: maxWait, attempt: attempt, again: askAgain}, nil
}

func (w *wait) untilDone(ctx, limited context.Context) error {
	for {
		if done, err := w.tryTurn(ctx, limited); done {
			return err
		}
		w.list(limited)
		if err := w.pause(limited); err != nil {
			return err
		}
		if limited.Err() != nil {
			return w.lastAttempt(ctx)
		}
	}
}

// withLimit returns a context that ends with ctx and after maxWait. Without a limit it returns ctx itself, which saves memory for thousands
// of waiters.
func withLimit(ctx context.Context, maxWait time.Duration) (context.Context, context.CancelFunc) {
	if maxWait <= 0 || maxWait == forever {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, maxWait)
}

// askOnce makes one attempt. If it is not this caller's turn, the waiters before it know the answer, or will soon.
func (w *wait) askOnce(ctx context.Context) error {
	l := w.leases
	for ctx.Err() == nil {
		if l.queue.isTurnOf(w.self, false) {
			err := w.ask(ctx)
			l.queue.learn(w.self, err)
			if endedBy(ctx, err) {
				return w.endOf(ctx, nil)
			}
			return err
		}
		news, verdict := l.queue.awaitNews(w.self)
		if verdict != nil {
			return verdict
		}
		select {
		case <-ctx.Done():
		case <-news:
		case <-l.stopped.Done():
			return applock.ErrClosed
		}
	}
	return context.Cause(ctx)
}

// tryTurn makes an attempt if it is this caller's turn. It reports whether the wait is over, and the error.
func (w *wait) tryTurn(ctx, limited context.Context) (done bool, err error) {
	if got := w.leases.queue.collect(w.self); got != nil {
		w.lease = got.lease
		return got.lease != nil || !w.isToWait(got.err), got.err
	}
	if !w.leases.queue.isTurnOf(w.self, true) {
		return false, nil
	}
	asking, cancel := w.timeToAnswer(ctx, limited)
	defer cancel()
	w.asked = time.Now()
	err = w.ask(asking)
	if err == nil {
		return true, nil
	}
	if endedBy(asking, err) {
		return false, nil
	}
	return !w.isToWait(err), err
}

// timeToAnswer returns the context of an attempt. The first attempt may take longer than the wait, so that a server can report that it
// waits for a row.
func (w *wait) timeToAnswer(ctx, limited context.Context) (context.Context, context.CancelFunc) {
	if !w.asked.IsZero() || w.maxWait == forever {
		return limited, func() {}
	}
	return context.WithDeadline(ctx, w.latest())
}

// latest is the time limit of the last answer.
func (w *wait) latest() time.Time { return w.self.came.Add(w.maxWait + lastAnswer) }

// errNoAnswer ends an attempt that takes too long. The known reason is added to it.
var errNoAnswer = fmt.Errorf("no answer within %s", outagePatience)

// noAnswerError is an ErrUnreachable that does not claim that the server is down.
type noAnswerError string

const (
	errSilent       noAnswerError = "the server is silent or busy with this object"
	errSilentOrFull noAnswerError = "the backend is silent or busy with this object, or no connection to it is free"
)

func (e noAnswerError) Error() string { return string(e) }

func (noAnswerError) Is(target error) bool { return target == applock.ErrUnreachable }

// endOf is the error of a wait whose ctx has ended, with what is known about the object.
func (w *wait) endOf(ctx context.Context, verdict error) error {
	if verdict == nil {
		verdict = w.silence
	}
	if verdict == nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w (%w)", context.Cause(ctx), verdict)
}

// errGivenUp is the error of an abandoned attempt. Its grant is released when the answer comes, but the answer may get lost.
var errGivenUp = fmt.Errorf("given up before its answer came: %w", applock.ErrOutcomeUnknown)

// ask makes an attempt, and abandons it when the backend is silent for too long. For a given operator the final error reports that a lock
// may remain. A lock under a name of the lease's own is released in any case.
func (w *wait) ask(limited context.Context) error {
	asking, cancel := context.WithTimeoutCause(limited, outagePatience, errNoAnswer)
	defer cancel()
	began := time.Now()
	err := w.attempt(asking, w.leases.queue.beginAsking(w.self))
	if err == nil || errors.Is(err, applock.ErrHeld) {
		w.leases.hub.answered(time.Since(began))
	}
	w.leases.queue.endAsking(w.self, err)
	return w.noteSilence(limited, err)
}

// noteSilence records why an attempt had no answer, and returns the attempt's error.
func (w *wait) noteSilence(limited context.Context, err error) error {
	w.silence = nil
	var abandoned *abandonedError
	if !errors.As(err, &abandoned) {
		return err
	}
	w.silence = abandoned.silence
	switch {
	case limited.Err() == nil && w.self.claim.unique:
		return fmt.Errorf("%w: %w", err, w.silence)
	case limited.Err() == nil:
		return fmt.Errorf("%w: %w: %w", err, w.silence, applock.ErrOutcomeUnknown)
	case !w.self.claim.unique:
		w.unknown = errGivenUp
	}
	return err
}

// isToWait records why an attempt failed, and reports whether to retry. A transaction that changes or asserts the lock counts as a holder.
// The caller waits for a while if the backend is unreachable, or if grants arrive too late and are released.
func (w *wait) isToWait(err error) bool {
	w.leases.queue.learn(w.self, err)
	switch {
	case errors.Is(err, applock.ErrOutcomeUnknown) && !w.self.claim.unique:
		w.unknown = err
	case errors.Is(err, applock.ErrHeld) || errors.Is(err, errMovesOn):
		w.unknown = nil
	}
	switch {
	case errors.Is(err, applock.ErrHeld):
		w.failing, w.again = time.Time{}, askAgain
		return true
	case isOutage(err), errors.Is(err, errTooLate): // a lease that is shorter than its own round trip is always too late
		since := w.leases.hub.outage().since
		if w.failing.IsZero() {
			w.failing = time.Now()
		}
		if since.IsZero() || w.failing.Before(since) {
			since = w.failing
		}
		return time.Since(since) < outagePatience
	}
	w.failing = time.Time{}
	return isBusy(err)
}

// withUnknown adds to the error of a wait that an earlier attempt may have left a lock.
func (w *wait) withUnknown(err error) error {
	if err == nil || w.unknown == nil || errors.Is(err, applock.ErrOutcomeUnknown) {
		return err
	}
	return fmt.Errorf("%w; an attempt before that: %w", err, w.unknown)
}

// isNotYet reports whether a caller with time left is to retry.
func isNotYet(err error) bool { return errors.Is(err, applock.ErrHeld) || isBusy(err) || isOutage(err) }

// isBusy reports whether an attempt failed only for the moment.
func isBusy(err error) bool {
	return errors.Is(err, applock.ErrBusy) || errors.Is(err, applock.ErrRetry) || errors.Is(err, applock.ErrContention) || errors.Is(err, errTooLate)
}

// isOutage reports whether an attempt got no answer.
func isOutage(err error) bool {
	return errors.Is(err, applock.ErrUnreachable) || errors.Is(err, applock.ErrOutcomeUnknown)
}

// isRefused reports whether the backend refuses a call until somebody changes a right or the schema.
func isRefused(err error) bool {
	return errors.Is(err, applock.ErrPrivilege) || errors.Is(err, applock.ErrSchema) || errors.Is(err, errors.ErrUnsupported)
}

// endedBy reports whether an attempt was abandoned because its context has ended.
func endedBy(limited context.Context, err error) bool {
	return limited.Err() != nil && errors.Is(err, context.Cause(limited)) && !errors.Is(err, applock.ErrOutcomeUnknown)
}

// list makes the hub watch the object and lists the waiter until the end of the wait, once it is to be.
func (w *wait) list(limited context.Context) {
	limit := time.Time{}
	if w.maxWait != forever {
		limit = w.self.came.Add(w.maxWait)
	}
	if limited.Err() == nil && w.leases.queue.list(w.self, limit) {
		w.leases.hub.watch(w.self.claim.object) //nolint:contextcheck // it polls for others, too
	}
}

func (w *wait) unlist() {
	if w.self.watched {
		w.leases.hub.unwatch(w.self.claim.object)
	}
	if w.self.listing != nil {
		w.leases.lister.unlist(w.self.listing)
	}
}

// unlisted returns a channel that is closed if the backend does not list the waiter.
func (w *wait) unlisted() <-chan struct{} {
	if w.self.listing == nil {
		return nil
	}
	return w.self.listing.refused
}

// lastAttempt ends a wait: with the cause if ctx has ended, otherwise with an answer of the last second.
func (w *wait) lastAttempt(ctx context.Context) error {
	l := w.leases
	if ctx.Err() != nil {
		return w.endOf(ctx, l.queue.verdict(w.self))
	}
	if time.Since(w.asked) >= lastAnswer && time.Now().Before(w.latest()) && l.queue.isTurnOf(w.self, true) {
		limited, cancel := context.WithDeadline(ctx, w.latest())
		defer cancel()
		err := w.ask(limited)
		if err == nil || !endedBy(limited, err) && !w.isToWait(err) {
			return err
		}
	}
	if verdict := l.queue.verdict(w.self); verdict != nil {
		return verdict
	}
	why := w.silence
	if why == nil {
		why = errSilentOrFull
	}
	return fmt.Errorf("no answer within the %s of max_wait: %w", w.maxWait, why)
}

// pause waits until the next attempt, or until limited ends. After a failed attempt that is soon, because perhaps nobody else knows that
// the object is free. But it is not at once, even if a wake comes. After an attempt without an answer, pause ignores wakes: the first one
// comes from undoing that attempt.
func (w *wait) pause(limited context.Context) error {
	failure := w.leases.queue.failureOf(w.self)
	if failure == nil {
		return w.sleep(limited, forever, w.self.woken)
	}
	if err := w.sleep(limited, askAgain, nil); err != nil {
		return err
	}
	pause := w.leases.hub.about(w.again)
	w.again = min(2*w.again, askAgainSlowest)
	wake := w.self.woken
	if isOutage(failure) {
		wake = nil
	}
	return w.sleep(limited, pause, wake)
}

func (w *wait) sleep(limited context.Context, pause time.Duration, wake <-chan struct{}) error {
	var isOver <-chan time.Time
	if pause < forever { // thousands may sleep without a timer
		timer := time.NewTimer(pause)
		defer timer.Stop()
		isOver = timer.C
	}
	select {
	case <-limited.Done():
	case <-wake:
	case <-isOver:
	case <-w.unlisted():
		return w.self.listing.err
	case <-w.leases.stopped.Done():
		return applock.ErrClosed
	}
	return nil
}
