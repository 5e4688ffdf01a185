package sessions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// line is one session with its locks, and the next session when that is lost.
type line[Name comparable] struct {
	server   Server[Name]
	grace    time.Duration
	patience time.Duration
	logger   *slog.Logger

	// turn is full while a goroutine uses the session. That goroutine owns the fields up to the mutex.
	turn    chan struct{}
	session Session[Name] // nil: none is open

	// mutex guards the rest. Only the goroutine with the turn changes these fields, except where a comment says otherwise.
	mutex    sync.Mutex
	answered time.Time         // when the last answered statement was sent
	held     map[Name]*holding // a lock's holder changes without the turn
	// overdue are the locks whose release has not finished.
	overdue map[Name]*holding
	lost    error // why the last session ended
	beat    *time.Timer
	closed  bool // changed without the turn
}

// holding is a lock that a session has for a holder.
type holding struct {
	object applock.Object
	owner  applock.Owner

	ending   bool // has no holder any more; guarded by the line's mutex, changed without the turn
	unlocked bool // for the goroutine with the turn
}

func (h *holding) isOf(other *holding) bool {
	return h.object == other.object && h.owner.Operator == other.owner.Operator
}

func (h *holding) refusal(object applock.Object) *applock.HeldError {
	return &applock.HeldError{Object: object, Holder: applock.Holder{Owner: h.owner}}
}

var errGone = errors.New("its session does not have the lock any more")

func newLine[Name comparable](server Server[Name], config Config) *line[Name] {
	l := &line[Name]{
		server:   server,
		grace:    config.Grace,
		patience: config.Grace / patiencePerGrace,
		logger:   config.Logger,
		turn:     make(chan struct{}, 1),
		held:     map[Name]*holding{},
		overdue:  map[Name]*holding{},
		lost:     errGone,
	}
	l.beat = time.AfterFunc(maxGrace, l.pulse)
	l.beat.Stop()
	return l
}

// noTurnError is the error of work that did not begin.
type noTurnError struct{ cause error }

func (e *noTurnError) Error() string { return "the session was busy: " + e.cause.Error() }
func (e *noTurnError) Unwrap() error { return e.cause }

// inTurn runs work when it is its turn. Work goes on when ctx ends, up to its own limit: cutting off a statement would cost the session and
// all of its locks. If keep returns true to the work, the caller waits for the result; if false, the caller has gone.
func (l *line[Name]) inTurn(ctx context.Context, work func(ctx context.Context, keep func() bool) error) error {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return &noTurnError{cause: context.Cause(ctx)}
	}
	var decided atomic.Bool
	decide := func() bool { return decided.CompareAndSwap(false, true) }
	answer := make(chan error, 1)
	go func() {
		working, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.patience)
		defer cancel()
		err := applock.ErrClosed
		if !l.isClosed() {
			err = work(working, decide)
		}
		l.endTurn(working)
		answer <- err
	}()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		if decide() {
			return fmt.Errorf("no answer from the server yet: %w", context.Cause(ctx))
		}
		return <-answer
	}
}

// endTurn makes sure that the server hears from the session in time, or that the session ends.
func (l *line[Name]) endTurn(ctx context.Context) {
	l.mutex.Lock()
	closed := l.closed
	if closed || len(l.held) == 0 {
		l.beat.Stop()
	} else {
		l.beat.Reset(time.Until(l.answered.Add(l.grace / beatsPerGrace)))
	}
	l.mutex.Unlock()
	if closed && l.session != nil {
		l.session.Close(ctx)
		l.session = nil
	}
	<-l.turn
}

// pulse sends a statement on an idle session that has locks, so that the server keeps it.
func (l *line[Name]) pulse() {
	_ = l.inTurn(context.Background(), func(ctx context.Context, _ func() bool) error { // ask has recorded a failure
		l.sweep(ctx)
		l.mutex.Lock()
		names := slices.Collect(maps.Keys(l.held))
		l.mutex.Unlock()
		return l.verify(ctx, names)
	})
}

// connect opens a session if none is open, and reports whether it did.
func (l *line[Name]) connect(ctx context.Context) (fresh bool, err error) {
	if l.session != nil {
		return false, nil
	}
	session, err := l.server.Open(ctx, l.grace)
	if err != nil {
		return false, fmt.Errorf("cannot open a session for locks: %w", err)
	}
	l.session = session
	return true, nil
}

// ask executes a statement of the session, and records what the result says about the session.
func ask[Name comparable, T any](ctx context.Context, l *line[Name], statement func(Session[Name]) (T, error)) (answer T, err error) {
	if l.session == nil {
		return answer, l.whyLost()
	}
	began := time.Now()
	answer, err = statement(l.session)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("the server has not answered for %s", l.patience)
		l.drop(ctx, err)
		return answer, err
	}
	if err != nil && l.session.Broken(err) {
		l.drop(ctx, err)
		return answer, err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.answered = began
	return answer, err
}

// drop gives up the session, and with it all of its locks. The holders learn of it before the server frees them.
func (l *line[Name]) drop(ctx context.Context, cause error) {
	l.mutex.Lock()
	lost := len(l.held)
	clear(l.held)
	clear(l.overdue)
	l.lost = fmt.Errorf("its session was lost: %w", cause)
	l.mutex.Unlock()
	farewell, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	l.session.Close(farewell)
	l.session = nil
	l.logger.LogAttrs(ctx, slog.LevelWarn, "a session for locks was lost", slog.Int("leases", lost), slog.Any("error", cause))
}

// again repeats work once, on a new session, if it found the open session dead. It does not repeat work that had no open session.
func again[Name comparable, T any](ctx context.Context, l *line[Name], work func() (T, error)) (result T, err error) {
	for {
		fresh, err := l.connect(ctx)
		if err != nil {
			return result, err
		}
		result, err = work()
		if err == nil || fresh || l.session != nil || ctx.Err() != nil || errors.Is(err, errors.ErrUnsupported) {
			return result, err
		}
	}
}

// take takes a lock, and reports whether its owner had it already.
func (l *line[Name]) take(ctx context.Context, name Name, wanted *holding) (renewed bool, err error) {
	err = l.inTurn(ctx, func(ctx context.Context, keep func() bool) error {
		l.sweep(ctx)
		had, err := again(ctx, l, func() (bool, error) { return l.takeNow(ctx, name, wanted) })
		switch {
		case err != nil:
			return err
		case keep():
			renewed = had
		default:
			_ = l.unlock(ctx, name, wanted) // on failure it is overdue
		}
		return nil
	})
	return renewed, err
}

func (l *line[Name]) takeNow(ctx context.Context, name Name, wanted *holding) (renewed bool, err error) {
	if present, ending := l.holding(name); present != nil {
		if ending || !present.isOf(wanted) {
			return false, present.refusal(wanted.object)
		}
		if err := l.verify(ctx, []Name{name}); err != nil {
			return false, err
		}
		if present, _ := l.holding(name); present != nil {
			return true, nil
		}
	}
	holder, err := ask(ctx, l, func(s Session[Name]) (string, error) { return s.TryLock(ctx, name) })
	if err != nil {
		return false, err
	}
	if holder != "" {
		return false, (&holding{owner: applock.Owner{Operator: holder}}).refusal(wanted.object)
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.held[name] = wanted
	return false, nil
}

// pass gives a lock to the next holder. It asks the server only if the session has not answered for a while and may have ended.
func (l *line[Name]) pass(ctx context.Context, name Name, grant, next *holding) error {
	var err error
	if !l.isFresh() {
		err = l.inTurn(ctx, func(ctx context.Context, _ func() bool) error { return l.verify(ctx, []Name{name}) })
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	present := l.held[name]
	switch {
	case present == nil || present.ending || !present.isOf(grant):
		return fmt.Errorf("%w: %w", applock.ErrNotHeld, l.lost)
	case err != nil:
		return err
	}
	l.held[name] = next
	return nil
}

func (l *line[Name]) isFresh() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return time.Since(l.answered) < freshFor
}

// release releases a lock. If its turn does not come in time, it is released later.
func (l *line[Name]) release(ctx context.Context, name Name, grant *holding) error {
	l.mutex.Lock()
	present := l.held[name]
	if present == nil || !present.isOf(grant) {
		l.mutex.Unlock()
		return l.notHeld()
	}
	present.ending = true
	l.mutex.Unlock()
	err := l.inTurn(ctx, func(ctx context.Context, _ func() bool) error { return l.unlock(ctx, name, present) })
	if err != nil {
		l.postpone(name, present)
	}
	return err
}

// postpone schedules a lock to be released at the next turn.
func (l *line[Name]) postpone(name Name, ended *holding) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.held[name] == ended {
		ended.ending = true
		l.overdue[name] = ended
	}
}

func (l *line[Name]) sweep(ctx context.Context) {
	l.mutex.Lock()
	overdue := maps.Clone(l.overdue)
	l.mutex.Unlock()
	for name, ended := range overdue {
		_ = l.unlock(ctx, name, ended) // it stays overdue
	}
}

func (l *line[Name]) unlock(ctx context.Context, name Name, ended *holding) error {
	if ended.unlocked {
		return nil
	}
	if present, _ := l.holding(name); present != ended {
		return l.notHeld()
	}
	had, err := ask(ctx, l, func(s Session[Name]) (bool, error) { return s.Unlock(ctx, name, ended.object) })
	switch {
	case err != nil && l.session == nil: // it ended with the session
		return l.notHeld()
	case err != nil:
		l.postpone(name, ended)
		return err
	}
	ended.unlocked = true
	l.forget(name)
	if !had {
		return fmt.Errorf("%w: %w", applock.ErrNotHeld, errGone)
	}
	return nil
}

// check returns the results for the grants that the session has or has lost. The error is about the others.
func (l *line[Name]) check(ctx context.Context, grants map[Name]*holding) ([]lease.Renewed, error) {
	answers := l.lostOf(grants)
	if len(grants) == 0 {
		return answers, nil
	}
	err := l.inTurn(ctx, func(ctx context.Context, _ func() bool) error {
		return l.verify(ctx, slices.Collect(maps.Keys(grants)))
	})
	answers = append(answers, l.lostOf(grants)...)
	if err != nil {
		return answers, err
	}
	for _, grant := range grants {
		answers = append(answers, lease.Renewed{Object: grant.object})
	}
	return answers, nil
}

// lostOf removes the grants that are known to be lost and returns them. It needs no turn.
func (l *line[Name]) lostOf(grants map[Name]*holding) []lease.Renewed {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var answers []lease.Renewed
	for name, grant := range grants {
		if present := l.held[name]; present == nil || present.ending || !present.isOf(grant) {
			answers = append(answers, lease.Renewed{Object: grant.object, Lost: l.lost})
			delete(grants, name)
		}
	}
	return answers
}

// verify asks the session for these locks, and forgets the ones that it does not have.
func (l *line[Name]) verify(ctx context.Context, names []Name) error {
	if len(names) == 0 {
		return nil
	}
	locked, err := ask(ctx, l, func(s Session[Name]) ([]Name, error) { return s.Locked(ctx, names) })
	if err != nil {
		return err
	}
	has := map[Name]bool{}
	for _, name := range locked {
		has[name] = true
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, name := range names {
		if !has[name] {
			delete(l.held, name)
			delete(l.overdue, name)
			l.lost = errGone
		}
	}
	return nil
}

func (l *line[Name]) free(ctx context.Context, names []Name) (free []Name, err error) {
	err = l.inTurn(ctx, func(ctx context.Context, keep func() bool) error {
		some, err := again(ctx, l, func() ([]Name, error) { return l.freeNow(ctx, names) })
		if keep() {
			free = some
		}
		return err
	})
	return free, err
}

func (l *line[Name]) freeNow(ctx context.Context, names []Name) ([]Name, error) {
	return ask(ctx, l, func(s Session[Name]) ([]Name, error) { return s.Free(ctx, names) })
}

// awaitNothing hides the session's hints, so that other sessions stop sending messages.
func (l *line[Name]) awaitNothing() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = l.inTurn(ctx, func(ctx context.Context, _ func() bool) error { // otherwise other sessions send needless messages
		if l.session == nil {
			return nil
		}
		_, err := l.freeNow(ctx, nil)
		return err
	})
}

// close ends the session, after its present work.
func (l *line[Name]) close() {
	l.mutex.Lock()
	l.closed = true
	l.mutex.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	select {
	case l.turn <- struct{}{}:
		l.endTurn(ctx)
	case <-ctx.Done():
	}
}

func (l *line[Name]) isClosed() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.closed
}

func (l *line[Name]) holding(name Name) (present *holding, ending bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	present = l.held[name]
	return present, present != nil && present.ending
}

func (l *line[Name]) forget(name Name) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	delete(l.held, name)
	delete(l.overdue, name)
}

func (l *line[Name]) whyLost() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.lost
}

func (l *line[Name]) notHeld() error {
	return fmt.Errorf("%w: %w", applock.ErrNotHeld, l.whyLost())
}
