// Package gocronlock implements gocron.Locker on leases, so that each job of several schedulers runs once at a time.
//
// Each run holds a lease on the object TYPE:NAME. NAME is the job's name: set it by gocron.WithName. A second run does not wait: gocron
// skips it, and passes the reason to the job's AfterLockError listener, such as applock.ErrHeld with the holder. Runs of one scheduler
// exclude each other, too.
//
// This prevents simultaneous runs. The schedulers' clocks differ, though, and a late scheduler repeats a run that was short. Config.AtLeast
// keeps the job locked for longer than the clocks differ.
//
// gocron does not notify a job when its lease is lost, such as after a failover. The job can get the lease from [Locker.Lease], and pass
// its fence to Assert in the transaction that writes.
package gocronlock

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// Config configures the locks of jobs.
type Config struct {
	// ObjectType is the type of the objects; empty is "job". The id is the job's name, at most 255 characters.
	ObjectType string
	// Owner runs the jobs. Without an operator each run gets a new one from host, process and a random number. If you set one, set a
	// different one in each process: an operator may re-enter its own lock.
	Owner applock.Owner
	// MaxHold limits a run. After it the job may start elsewhere. It is mandatory.
	MaxHold time.Duration
	// TTL is how long a job stays locked after a crash of its process, in whole seconds. Zero is 30 s, or a third of AtLeast if that is
	// less, but at least 1 s.
	TTL time.Duration
	// AtLeast keeps a job locked for that long from the start of a run, even if it ends earlier. It must exceed the difference between the
	// schedulers' clocks. The lock ends up to a TTL later, or a second if that is less. AtLeast plus that must be shorter than the pause
	// between two runs, or the next run is skipped. Zero unlocks the job when the run ends.
	AtLeast time.Duration
	// Logger gets errors at the end of a run, which gocron drops; nil logs nothing.
	Logger *slog.Logger
}

// Locker is a gocron.Locker, for gocron.WithDistributedLocker and gocron.WithDistributedJobLocker. It is safe for concurrent use.
type Locker struct {
	locks  lease.Locker
	config Config

	mutex   sync.Mutex
	running map[string]applock.Lease // by job name
}

var (
	_ gocron.Locker = (*Locker)(nil)
	_ gocron.Lock   = (*run)(nil)
)

const (
	longestDefaultTTL = 30 * time.Second
	ttlsPerAtLeast    = 3
)

// New returns a locker that takes its leases from locks, such as an *applock.Client. It does not connect. It returns ErrInvalid for an
// invalid configuration. Shut down the schedulers before you close locks.
func New(locks lease.Locker, config Config) (*Locker, error) {
	config.ObjectType = cmp.Or(config.ObjectType, "job")
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.TTL == 0 {
		config.TTL = longestDefaultTTL
		if config.AtLeast > 0 {
			config.TTL = min(config.TTL, max(config.AtLeast/ttlsPerAtLeast, time.Second)).Truncate(time.Second)
		}
	}
	switch {
	case config.MaxHold <= 0 || config.MaxHold > applock.MaxTTL:
		return nil, invalid("MaxHold", "must be given, and at most 3650 days")
	case config.AtLeast < 0 || config.AtLeast > config.MaxHold:
		return nil, invalid("AtLeast", "must not be longer than MaxHold")
	case config.TTL < time.Second || config.TTL%time.Second != 0:
		return nil, invalid("TTL", "must be a whole number of seconds")
	}
	return &Locker{locks: locks, config: config, running: map[string]applock.Lease{}}, nil
}

func invalid(argument, reason string) error {
	return fmt.Errorf("gocronlock: %w", &applock.InvalidError{Argument: argument, Reason: reason})
}

// Lock tries once to acquire the lease for a run of the job with this name. The error is applock.ErrHeld if another run holds it, or
// AtLeast has not passed.
func (l *Locker) Lock(ctx context.Context, key string) (gocron.Lock, error) {
	began := time.Now()
	lease, err := l.locks.TryAcquire(ctx, applock.AcquireRequest{
		Object:  applock.Object{Type: l.config.ObjectType, ID: key},
		Owner:   l.config.Owner,
		MaxHold: l.config.MaxHold,
		TTL:     l.config.TTL,
	})
	if err != nil {
		return nil, err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.running[key] = lease
	return &run{locker: l, key: key, lease: lease, began: began}, nil
}

// Lease returns the lease of the job's current run in this process, nil if there is none. Its context ends when the lease is lost or
// MaxHold is over.
func (l *Locker) Lease(key string) applock.Lease {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.running[key]
}

// end forgets the lease of a run, unless another run has begun after a loss.
func (l *Locker) end(r *run) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.running[r.key] == r.lease {
		delete(l.running, r.key)
	}
}

// run is one run of a job.
type run struct {
	locker *Locker
	key    string
	lease  applock.Lease
	began  time.Time
}

// unlockLimit bounds the call at the end of a run.
const unlockLimit = 10 * time.Second

// Unlock releases the lease, or leaves the job locked for the rest of AtLeast. It ignores the end of ctx, which ends with the scheduler.
// The error is applock.ErrLost if another run may have overlapped.
func (r *run) Unlock(ctx context.Context) error {
	defer r.locker.end(r)
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockLimit)
	defer cancel()
	var err error
	if rest := r.locker.config.AtLeast - time.Since(r.began); rest > 0 {
		err = r.lease.Leave(limited, rest.Truncate(time.Second)+time.Second)
	} else {
		err = r.lease.Release(limited)
	}
	if err != nil {
		r.locker.config.Logger.WarnContext(ctx, "the lock of a job has not ended as it should",
			slog.String("object", r.lease.Object().String()), slog.Any("error", err))
	}
	return err
}
