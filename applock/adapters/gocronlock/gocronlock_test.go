package gocronlock_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/adapters/gocronlock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// eachPlace runs a test on a database of each product.
func eachPlace(t *testing.T, test func(t *testing.T, dsn string)) {
	t.Helper()
	testdb.EachProduct(t, testdb.Products(), func(t *testing.T, product string) { test(t, testclient.Lent(t, product)) })
}

func mustNew(t *testing.T, locks lease.Locker, config gocronlock.Config) *gocronlock.Locker {
	t.Helper()
	locker, err := gocronlock.New(locks, config)
	if err != nil {
		t.Fatal(err)
	}
	return locker
}

// scheduler is one of several, on a client of its own.
type scheduler struct {
	gocron.Scheduler
	locker *gocronlock.Locker
	// skipped has why runs were skipped.
	skipped chan error
}

func newScheduler(t *testing.T, dsn string, config gocronlock.Config) scheduler {
	t.Helper()
	locker := mustNew(t, testclient.Open(t, dsn, "", nil), config)
	scheduling, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker), gocron.WithStopTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	s := scheduler{Scheduler: scheduling, locker: locker, skipped: make(chan error, 1000)}
	t.Cleanup(func() { _ = s.Shutdown() }) // most tests have done so
	s.Start()
	return s
}

// every runs a job over and over.
func (s scheduler) every(t *testing.T, pause time.Duration, job any) {
	t.Helper()
	s.run(t, gocron.DurationJob(pause), job)
}

// once runs a job now.
func (s scheduler) once(t *testing.T, job any) {
	t.Helper()
	s.run(t, gocron.OneTimeJob(gocron.OneTimeJobStartImmediately()), job)
}

func (s scheduler) run(t *testing.T, when gocron.JobDefinition, job any) {
	t.Helper()
	skipped := gocron.AfterLockError(func(_ uuid.UUID, _ string, err error) { s.skipped <- err })
	if _, err := s.NewJob(when, gocron.NewTask(job), gocron.WithName("nightly"), gocron.WithEventListeners(skipped)); err != nil {
		t.Fatal(err)
	}
}

// Goal: two schedulers run a job once. Method: both begin the run at the same time, and it does not end before the other has been
// refused. A client that knows only the table sees who has it meanwhile, and nothing is held afterwards.
func TestTwoSchedulersRunAJobOnce(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, dsn string) {
		config := gocronlock.Config{MaxHold: time.Hour}
		one, other := newScheduler(t, dsn, config), newScheduler(t, dsn, config)
		client := testclient.Open(t, dsn, "", nil)
		refused, ran := make(chan error, 1), make(chan applock.Lock, 2)
		job := func(ctx context.Context) error {
			lock, err := client.Inquire(ctx, applock.Object{Type: "job", ID: "nightly"})
			<-refused
			ran <- lock
			return err
		}
		for _, s := range []scheduler{one, other} {
			s.once(t, job)
		}
		var err error
		select {
		case err = <-one.skipped:
		case err = <-other.skipped:
		}
		var held *applock.HeldError
		if !errors.As(err, &held) {
			t.Errorf("skipped because of %v, want ErrHeld", err)
		}
		refused <- nil
		if lock := <-ran; held != nil && lock.Owner != held.Holder.Owner {
			t.Errorf("%s runs the job, and the refusal tells %s", lock.Owner, held.Holder.Owner)
		}
		for _, s := range []scheduler{one, other} {
			if err := s.Shutdown(); err != nil {
				t.Error(err)
			}
		}
		if len(ran) > 0 {
			t.Error("both ran the job")
		}
		if _, err := client.Inquire(t.Context(), held.Object); !errors.Is(err, applock.ErrNotHeld) {
			t.Errorf("inquire: %v, want the job to be free", err)
		}
	})
}

// Goal: a scheduler whose clock is late does not run a short job again, with AtLeast; and AtLeast is what prevents it. Method: the
// second one begins when the first one's run and all of its scheduler have ended, with AtLeast and without.
func TestALateClock(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, dsn string) {
		for name, atLeast := range map[string]time.Duration{"kept": time.Hour, "freed": 0} {
			t.Run(name, func(t *testing.T) {
				config := gocronlock.Config{ObjectType: name, MaxHold: time.Hour, AtLeast: atLeast}
				ran := make(chan struct{}, 2)
				first := newScheduler(t, dsn, config)
				first.once(t, func() { ran <- struct{}{} })
				<-ran
				if err := first.Shutdown(); err != nil { // waits for Unlock
					t.Fatal(err)
				}
				late := newScheduler(t, dsn, config)
				late.once(t, func() { ran <- struct{}{} })
				select {
				case err := <-late.skipped:
					if atLeast == 0 || !errors.Is(err, applock.ErrHeld) {
						t.Errorf("the late scheduler skipped its run because of %v", err)
					}
				case <-ran:
					if atLeast > 0 {
						t.Error("the late scheduler ran the job again")
					}
				}
			})
		}
	})
}

// Goal: a run that lasts longer than AtLeast frees the job when it ends, and one that ends earlier keeps it for no longer than that
// and a TTL. Method: the time that the table tells; the run of 1 s is over by the locker's own clock.
func TestAtLeastEnds(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, dsn string) {
		client := testclient.Open(t, dsn, "", nil)
		locker := mustNew(t, client, gocronlock.Config{MaxHold: time.Hour, AtLeast: 90 * time.Second, TTL: 20 * time.Second})
		lock, err := locker.Lock(t.Context(), "short")
		if err != nil {
			t.Fatal(err)
		}
		if err := lock.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		left, err := client.Inquire(t.Context(), applock.Object{Type: "job", ID: "short"})
		if err != nil || left.Left > 110*time.Second || left.Owner.Operator == "" {
			t.Errorf("left: %+v, %v", left, err)
		}
		quick := mustNew(t, client, gocronlock.Config{MaxHold: time.Hour, AtLeast: time.Nanosecond})
		if lock, err = quick.Lock(t.Context(), "long"); err != nil {
			t.Fatal(err)
		}
		if err := lock.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err = client.Inquire(t.Context(), applock.Object{Type: "job", ID: "long"})
		if !errors.Is(err, applock.ErrNotHeld) {
			t.Errorf("inquire: %v, want the job to be free", err)
		}
	})
}

// Goal: runs of one scheduler exclude each other, too, and the next one comes in after the end. Method: a job that takes until
// its own next run has been refused; after it has ended it runs again.
func TestALongRun(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, dsn string) {
		s := newScheduler(t, dsn, gocronlock.Config{MaxHold: time.Hour})
		var inside, together atomic.Int32
		ran := make(chan struct{}, 1000)
		s.every(t, 20*time.Millisecond, func() {
			together.Store(max(together.Load(), inside.Add(1)))
			if len(ran) == 0 {
				<-s.skipped
			}
			inside.Add(-1)
			ran <- struct{}{}
		})
		<-ran
		<-ran
		if together.Load() != 1 {
			t.Errorf("%d runs at a time", together.Load())
		}
	})
}

// Goal: the end of a scheduler frees the job that it runs when the run has ended, or keeps it for AtLeast, and nothing goes wrong.
// Method: shut it down in the middle of a run, whose context ends; then lock.
func TestShutdown(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, dsn string) {
		for atLeast, want := range map[time.Duration]error{0: nil, time.Hour: applock.ErrHeld} {
			var logged bytes.Buffer // read when the scheduler has been shut down
			s := newScheduler(t, dsn, gocronlock.Config{
				ObjectType: atLeast.String(), MaxHold: time.Hour, AtLeast: atLeast, Logger: slog.New(slog.NewTextHandler(&logged, nil)),
			})
			began := make(chan struct{})
			s.once(t, func(ctx context.Context) {
				close(began)
				<-ctx.Done()
			})
			<-began
			if err := s.Shutdown(); err != nil {
				t.Fatal(err)
			}
			if _, err := s.locker.Lock(t.Context(), "nightly"); !errors.Is(err, want) || logged.Len() > 0 {
				t.Errorf("at least %s: lock: %v, logged: %s", atLeast, err, logged.String())
			}
		}
	})
}

// Goal: a job hears of the loss of its lock, has its fence, and Unlock says so. Method: a supervisor releases the lock, and the job
// waits for the end of its lease's context.
func TestALostLock(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, dsn string) {
		var logged bytes.Buffer // read when the scheduler has been shut down
		s := newScheduler(t, dsn, gocronlock.Config{
			MaxHold: time.Hour, TTL: 3 * time.Second, Logger: slog.New(slog.NewTextHandler(&logged, nil)),
		})
		client := testclient.Open(t, dsn, "", nil)
		causes := make(chan error, 1)
		s.once(t, func(ctx context.Context) {
			lease := s.locker.Lease("nightly")
			_, err := client.Release(ctx, applock.ReleaseRequest{Key: applock.Key{Object: lease.Object(), Operator: lease.Owner().Operator, Fence: lease.Fence()}})
			if err != nil {
				causes <- err
				return
			}
			<-lease.Context().Done()
			causes <- context.Cause(lease.Context())
		})
		if cause := <-causes; !errors.Is(cause, applock.ErrLost) {
			t.Errorf("the lease ended because of %v, want ErrLost", cause)
		}
		if err := s.Shutdown(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(logged.String(), "object=job:nightly") {
			t.Errorf("logged: %s", logged.String())
		}
		if s.locker.Lease("nightly") != nil {
			t.Error("there is still a lease of the run that has ended")
		}
	})
}

// Goal: what cannot be meant is refused, by its name, and the defaults are what is documented. Method: one of each.
func TestConfig(t *testing.T) {
	t.Parallel()
	for argument, config := range map[string]gocronlock.Config{
		"MaxHold": {},
		"AtLeast": {MaxHold: time.Minute, AtLeast: time.Hour},
		"TTL":     {MaxHold: time.Minute, TTL: 1500 * time.Millisecond},
	} {
		_, err := gocronlock.New(nil, config)
		var invalid *applock.InvalidError
		if !errors.As(err, &invalid) || invalid.Argument != argument {
			t.Errorf("new: %v, want %s to be refused", err, argument)
		}
	}
	for want, config := range map[time.Duration]gocronlock.Config{
		30 * time.Second: {MaxHold: time.Hour},
		5 * time.Second:  {MaxHold: time.Hour, AtLeast: 17 * time.Second},
		time.Second:      {MaxHold: time.Hour, AtLeast: time.Second},
		7 * time.Second:  {MaxHold: time.Hour, AtLeast: time.Minute, TTL: 7 * time.Second},
	} {
		asked := &recorder{}
		_, _ = mustNew(t, asked, config).Lock(t.Context(), "nightly")
		if asked.request.TTL != want {
			t.Errorf("%+v has a ttl of %s, want %s", config, asked.request.TTL, want)
		}
	}
}

// recorder notes what is asked for, and refuses it.
type recorder struct {
	lease.Locker

	request applock.AcquireRequest
}

func (r *recorder) TryAcquire(_ context.Context, request applock.AcquireRequest) (applock.Lease, error) {
	r.request = request
	return nil, &applock.HeldError{Object: request.Object}
}
