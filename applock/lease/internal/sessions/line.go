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

// line is one session, and the next one when that is lost, with the locks that it has.
type line[Name comparable] struct {
	server   Server[Name]
	grace    time.Duration
	patience time.Duration
	logger   *slog.Logger

	// turn is full while somebody uses the session. The fields up to the mutex are theirs.
	turn    chan struct{}
	session Session[Name] // nil: none is open

	// mutex guards the rest, which only those change who have the turn, except for what is said.
	mutex sync.Mutex
	heard time.Time         // when the last statement was sent that has been answered
	held  map[Name]*holding // which holder has a lock changes without the turn
	// overdue are locks whose release has not come to an end.
	overdue map[Name]*holding
	lost    error // why the last session ended
	beat    *time.Timer
	closed  bool // changed without the turn
}

// holding is a lock that a session has for somebody.
type holding struct {
	object applock.Object
	owner  applock.Owner

	ending   bool // nobody's any more; guarded by the mutex of the line, changed without the turn
	unlocked bool // who has the turn knows
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

// noTurnError is the error of work that has not begun.
type noTurnError struct{ cause error }

func (e *noTurnError) Error() string { return "the session was busy: " + e.cause.Error() }
func (e *noTurnError) Unwrap() error { return e.cause }

// run has work done when it is its turn. Work goes on when ctx ends, because a statement that is cut off costs the
// session and all of its locks; it has its own limit. Work that calls keep, and gets true, has its caller wait for
// the result; false means that the caller has gone.
func (l *line[Name]) run(ctx context.Context, work func(ctx context.Context, keep func() bool) error) error {
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

// endTurn sees to it that the server hears from the session in time, or never again.
func (l *line[Name]) endTurn(ctx context.Context) {
	l.mutex.Lock()
	closed := l.closed
	if closed || len(l.held) == 0 {
		l.beat.Stop()
	} else {
		l.beat.Reset(time.Until(l.heard.Add(l.grace / beatsPerGrace)))
	}
	l.mutex.Unlock()
	if closed && l.session != nil {
		l.session.Close(ctx)
		l.session = nil
	}
	<-l.turn
}

// pulse is the sign of life of a session that has locks and nothing else to do.
func (l *line[Name]) pulse() {
	_ = l.run(context.Background(), func(ctx context.Context, _ func() bool) error { // a failure has been noted
		l.sweep(ctx)
		l.mutex.Lock()
		names := slices.Collect(maps.Keys(l.held))
		l.mutex.Unlock()
		return l.verify(ctx, names)
	})
}

// connect opens a session if there is none, and reports whether it did.
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

// ask executes a statement, and notes what its end says of the session.
func (l *line[Name]) ask(ctx context.Context, statement func() error) error {
	if l.session == nil {
		return l.whyLost()
	}
	began := time.Now()
	err := statement()
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("the server has not answered for %s", l.patience)
		l.drop(ctx, err)
		return err
	}
	if err != nil && l.session.Broken(err) {
		l.drop(ctx, err)
		return err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.heard = began
	return err
}

// drop gives the session up, and with it all of its locks.
func (l *line[Name]) drop(ctx context.Context, cause error) {
	farewell, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	l.session.Close(farewell)
	l.session = nil
	l.mutex.Lock()
	lost := len(l.held)
	clear(l.held)
	clear(l.overdue)
	l.lost = fmt.Errorf("its session was lost: %w", cause)
	l.mutex.Unlock()
	l.logger.LogAttrs(ctx, slog.LevelWarn, "a session for locks was lost", slog.Int("leases", lost), slog.Any("error", cause))
}

// again repeats work on a new session, once, when it finds the one that was open dead: not when that was no
// session.
func (l *line[Name]) again(ctx context.Context, work func() error) error {
	for {
		fresh, err := l.connect(ctx)
		if err != nil {
			return err
		}
		err = work()
		if err == nil || fresh || l.session != nil || ctx.Err() != nil || errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
}

// take takes a lock, and reports whether its owner had it before.
func (l *line[Name]) take(ctx context.Context, name Name, wanted *holding) (renewed bool, err error) {
	had := false
	err = l.run(ctx, func(ctx context.Context, keep func() bool) error {
		l.sweep(ctx)
		before := false
		err := l.again(ctx, func() (err error) {
			before, err = l.takeNow(ctx, name, wanted)
			return err
		})
		switch {
		case err != nil:
			return err
		case keep():
			had = before
		default:
			_ = l.unlock(ctx, name, wanted) // not what was there before; what fails is overdue
		}
		return nil
	})
	if err != nil {
		return false, err // had is somebody else's
	}
	return had, nil
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
	var holder string
	err = l.ask(ctx, func() (err error) {
		holder, err = l.session.TryLock(ctx, name)
		return err
	})
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

// pass gives a lock to the next holder. The server is asked only if the session has not answered for a while, and may have ended.
func (l *line[Name]) pass(ctx context.Context, name Name, grant, next *holding) error {
	var err error
	if !l.isFresh() {
		err = l.run(ctx, func(ctx context.Context, _ func() bool) error { return l.verify(ctx, []Name{name}) })
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
	return time.Since(l.heard) < freshFor
}

// release gives a lock up. One whose turn does not come in time is given up later.
func (l *line[Name]) release(ctx context.Context, name Name, grant *holding) error {
	l.mutex.Lock()
	present := l.held[name]
	if present == nil || !present.isOf(grant) {
		l.mutex.Unlock()
		return l.notHeld()
	}
	present.ending = true
	l.mutex.Unlock()
	err := l.run(ctx, func(ctx context.Context, _ func() bool) error { return l.unlock(ctx, name, present) })
	if err != nil {
		l.postpone(name, present)
	}
	return err
}

// postpone has a lock given up at the next opportunity.
func (l *line[Name]) postpone(name Name, ended *holding) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.held[name] == ended {
		ended.ending = true
		l.overdue[name] = ended
	}
}

// sweep gives up what is overdue.
func (l *line[Name]) sweep(ctx context.Context) {
	l.mutex.Lock()
	overdue := maps.Clone(l.overdue)
	l.mutex.Unlock()
	for name, ended := range overdue {
		_ = l.unlock(ctx, name, ended) // it stays overdue
	}
}

// unlock gives up what the session has.
func (l *line[Name]) unlock(ctx context.Context, name Name, ended *holding) error {
	if ended.unlocked {
		return nil
	}
	if present, _ := l.holding(name); present != ended {
		return l.notHeld()
	}
	var had bool
	err := l.ask(ctx, func() (err error) {
		had, err = l.session.Unlock(ctx, name, ended.object)
		return err
	})
	switch {
	case err != nil && l.session == nil: // it has ended with the session
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

// check returns which of the grants the session has. It fails for those of which it cannot tell, and returns the
// others.
func (l *line[Name]) check(ctx context.Context, grants map[Name]*holding) ([]lease.Renewed, error) {
	answers := l.lostOf(grants)
	if len(grants) == 0 {
		return answers, nil
	}
	err := l.run(ctx, func(ctx context.Context, _ func() bool) error {
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

// lostOf takes those out of the grants that are known to be lost, without a turn.
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

// verify asks the session whether it has these locks, and forgets those that it does not.
func (l *line[Name]) verify(ctx context.Context, names []Name) error {
	if len(names) == 0 {
		return nil
	}
	var locked []Name
	err := l.ask(ctx, func() (err error) {
		locked, err = l.session.Locked(ctx, names)
		return err
	})
	if err != nil {
		return err
	}
	missing := map[Name]bool{}
	for _, name := range names {
		missing[name] = true
	}
	for _, name := range locked {
		delete(missing, name)
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for name := range missing {
		delete(l.held, name)
		delete(l.overdue, name)
		l.lost = errGone
	}
	return nil
}

// free returns which of the locks no session has.
func (l *line[Name]) free(ctx context.Context, names []Name) ([]Name, error) {
	var free []Name
	err := l.run(ctx, func(ctx context.Context, keep func() bool) error {
		var some []Name
		err := l.again(ctx, func() error {
			return l.ask(ctx, func() (err error) {
				some, err = l.session.Free(ctx, names)
				return err
			})
		})
		if keep() {
			free = some
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return free, nil
}

// awaitNothing has others tell of nothing any more.
func (l *line[Name]) awaitNothing() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = l.run(ctx, func(ctx context.Context, _ func() bool) error { // else they tell needlessly
		if l.session == nil {
			return nil
		}
		return l.ask(ctx, func() error {
			_, err := l.session.Free(ctx, nil)
			return err
		})
	})
}

// close ends the session. If that is at work, it ends with the work.
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
