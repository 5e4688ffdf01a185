package lease

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/clients"
)

// Leases takes leases on a backend for one program. It re-enters, queues, renews and watches. It holds no connection for a lease or a
// waiter. It is safe for concurrent use, and has goroutines only while there are leases to renew, or waiters.
type Leases struct {
	backend Backend
	logger  *slog.Logger
	hooks   teller
	// isShared is true if other programs can take the objects, too.
	isShared bool
	// crowd knows whether others wait, nil if nobody does.
	crowd Crowd
	// passer passes grants on, nil if the backend cannot. cannotPass is true after the backend has refused to.
	passer     Passer
	cannotPass atomic.Bool
	// sets releases a whole set, nil if the backend cannot.
	sets setReleaser

	queue  *queue
	keeper *keeper
	hub    *hub
	lister *lister // nil if the backend does not list waiters
	late   *lateTakes

	// stopped ends when Close begins, and ends waits and renewals.
	stopped context.Context //nolint:containedctx // it ends the goroutines
	stop    context.CancelFunc
	// shutdownCtx ends when Close stops waiting. Until then Close may call the backend.
	shutdownCtx context.Context //nolint:containedctx // as above
	shutdown    context.CancelCauseFunc

	background background
	// sleepClock is how long the machine has slept since a fixed moment in the past.
	sleepClock func() time.Duration
	// awake is its value when the leases were made.
	awake time.Duration

	// ended is closed when Close is done, with its error in closeErr.
	ended    chan struct{}
	closeErr error
}

// Config has the settings of a backend's leases.
type Config struct {
	// CheckInterval, if set, is how often all leases are checked, for backends that lose grants before they expire.
	CheckInterval time.Duration
	// Logger gets errors from the background; nil logs nothing.
	Logger *slog.Logger
	// Hooks observe the leases.
	Hooks Hooks
}

// New returns leases on a backend. applock.Client has leases on the table; the packages below this one are other backends.
func New(backend Backend, config Config) *Leases {
	if backend == nil {
		return &Leases{} // whose calls are refused
	}
	leases := &Leases{
		backend: backend,
		logger:  cmp.Or(config.Logger, slog.New(slog.DiscardHandler)),
		hooks:   teller{Hooks: config.Hooks},
		ended:   make(chan struct{}),
	}
	leases.hooks.value = map[applock.Object][]func(){}
	leases.sleepBy(sleepClock())
	leases.background.idle = sync.NewCond(&leases.background.mutex)
	leases.stopped, leases.stop = context.WithCancel(context.Background())
	leases.shutdownCtx, leases.shutdown = context.WithCancelCause(context.Background())
	_, leases.isShared = backend.(Poller)
	leases.crowd, _ = backend.(Crowd)
	leases.passer, _ = backend.(Passer)
	leases.sets, _ = backend.(setReleaser)
	leases.queue, leases.keeper, leases.hub = newQueue(leases), newKeeper(leases, config.CheckInterval), newHub(leases)
	leases.late = &lateTakes{leases: leases}
	if announcer, ok := backend.(Announcer); ok {
		leases.lister = newLister(leases, announcer)
	}
	return leases
}

const (
	// clockCheck is how often the clocks are compared while there are leases, and clockGap their greatest difference.
	clockCheck = time.Second
	clockGap   = 100 * time.Millisecond
)

// sleepBy sets the clock that measures how long the machine has slept.
func (l *Leases) sleepBy(clock func() time.Duration) { l.sleepClock, l.awake = clock, clock() }

// slept is how long the machine has slept since the leases were made.
func (l *Leases) slept() time.Duration {
	if slept := l.sleepClock() - l.awake; slept > clockGap {
		return slept
	}
	return 0
}

// now is the time for leases: the monotonic clock, which no step moves and which stands still during a sleep, plus the time that the
// machine has slept.
func (l *Leases) now() time.Time { return time.Now().Add(l.slept()) }

// Close ends all leases: it releases them, and their contexts end with ErrLost and ErrClosed. Waiters and later calls get ErrClosed. Close
// returns when no goroutine is left; it cancels calls to a silent backend after 5 s.
//
// The error names the objects that could not be released, which stay locked until they expire, and an error of closing the backend. A call
// without an answer may have taken something: that is released again, in the same time. If the call arrives after Close, its lock stays until it
// expires, and no error says so. Further calls wait for the first one and return the same.
func (l *Leases) Close() error {
	if l == nil || l.backend == nil {
		return errNoLeases
	}
	open, first := l.queue.close()
	if !first {
		<-l.ended
		return l.closeErr
	}
	defer close(l.ended)
	l.stop()
	limit := time.AfterFunc(releaseLimit, func() { l.shutdown(applock.ErrClosed) })
	defer limit.Stop()
	failures := make([]error, len(open))
	for i, h := range open {
		if h.end(clients.Lost(h.grant.Object, applock.ErrClosed)) {
			l.background.Go(func() { failures[i] = l.releaseAtClose(h) })
		}
	}
	l.background.Wait()
	l.shutdown(applock.ErrClosed)
	if backend, ok := l.backend.(io.Closer); ok {
		failures = append(failures, backend.Close())
	}
	l.closeErr = errors.Join(failures...)
	return l.closeErr
}

// releaseAtClose frees the object of a hold that Close has ended. A hold that was lost before needs nothing.
func (l *Leases) releaseAtClose(h *hold) error {
	grant, _ := h.state()
	err := l.release(l.shutdownCtx, grant)
	if err == nil || isGone(err) {
		return nil
	}
	return fmt.Errorf("release %s: %w", grant.Object, err)
}

// untilShutdown returns a context that ends with ctx, or with ErrClosed when Close stops waiting.
func (l *Leases) untilShutdown(ctx context.Context) (context.Context, context.CancelFunc) {
	limited, cancel := context.WithCancelCause(ctx)
	forget := context.AfterFunc(l.shutdownCtx, func() { cancel(applock.ErrClosed) })
	return limited, func() {
		forget()
		cancel(nil)
	}
}

// lasting is a context with the values of another one, that ends when Close stops waiting.
type lasting struct {
	context.Context

	values context.Context //nolint:containedctx // as said
}

func (c lasting) Value(key any) any {
	if value := c.values.Value(key); value != nil {
		return value
	}
	return c.Context.Value(key)
}

// lasting returns a context with the values of ctx, which does not end, that ends when Close stops waiting.
func (l *Leases) lasting(ctx context.Context) context.Context {
	return lasting{Context: l.shutdownCtx, values: ctx}
}

// within is context.WithTimeout, and ctx itself if that ends as soon.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= limit {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, limit)
}

// background counts goroutines. Unlike a sync.WaitGroup, it may start one while a caller waits for the last.
type background struct {
	mutex   sync.Mutex
	idle    *sync.Cond
	running int
}

// Go runs a function in a goroutine that Wait waits for.
func (b *background) Go(run func()) {
	b.begin()
	go func() {
		defer b.done()
		run()
	}()
}

// begin counts the calling goroutine until done.
func (b *background) begin() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.running++
}

func (b *background) done() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.running--
	b.idle.Broadcast()
}

// Wait waits until no goroutine is left.
func (b *background) Wait() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for b.running > 0 {
		b.idle.Wait()
	}
}

// isGone reports whether a release found that the grant was not there.
func isGone(err error) bool {
	return errors.Is(err, applock.ErrNotHeld) || errors.Is(err, applock.ErrHeld)
}

// firstRetry is the pause after a release that failed. It doubles.
const firstRetry = 10 * time.Millisecond

// release ends a grant, and retries failed calls until releaseLimit. If the grant is gone after a failed call, that call has released it.
func (l *Leases) release(ctx context.Context, grant applock.Grant) error {
	return l.releaseWithin(ctx, grant, releaseLimit)
}

// releaseWithin is release with a longer limit, for outages.
func (l *Leases) releaseWithin(ctx context.Context, grant applock.Grant, limit time.Duration) error {
	ctx, cancel := within(ctx, limit)
	defer cancel()
	began, uncertain := time.Now(), false
	var before error // why the attempt before failed
	for pause := firstRetry; ; pause = min(2*pause, releaseLimit) {
		err := l.releaseOnce(ctx, grant)
		if isGone(err) && uncertain {
			return nil
		}
		if err == nil || isGone(err) || errors.Is(err, applock.ErrInvalid) {
			return err
		}
		uncertain = true
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		if before != nil && ctx.Err() != nil { // the limit has cut off this attempt
			err = before
		}
		before = err
		if ctx.Err() != nil || time.Since(began) > releaseLimit && !isOutage(err) {
			l.warnNotReleased(grant, err)
			return err
		}
	}
}

func (l *Leases) warnNotReleased(grant applock.Grant, err error) {
	l.logger.Warn("a lease was not released and may stay locked until it expires",
		slog.String("object", grant.Object.String()), slog.Any("error", err))
}

func (l *Leases) releaseOnce(ctx context.Context, grant applock.Grant) error {
	ctx, cancel := within(ctx, releaseLimit)
	defer cancel()
	return l.backend.Release(ctx, grant)
}

const (
	maxHostName = 24
	randomChars = 16
)

// uniqueName returns host/process/random, which no other caller has, in at most the length of an operator.
func uniqueName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return nameOn(host)
}

func nameOn(host string) string {
	host = strings.ToValidUTF8(strings.ReplaceAll(host, " ", "_"), "_")
	return fmt.Sprintf("%.*s/%d/%s", maxHostName, host, os.Getpid(), rand.Text()[:randomChars])
}
