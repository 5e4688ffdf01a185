// Package gocronlock has gocron run each job on one of several schedulers at a time: a gocron.Locker on leases.
//
// Each run holds a lease on the object TYPE:NAME, where NAME is the job's: give each job one, by gocron.WithName. Whoever
// comes second does not wait, its run is skipped, and gocron tells the AfterLockError listener of the job why: applock.ErrHeld, with
// the holder, or what else went wrong. Runs of one scheduler exclude each other, too.
//
// That keeps two from running at the same time. The schedulers' clocks differ, though, and a scheduler that is late begins the same run
// again when a short one has ended. Config.AtLeast keeps the job locked for longer than the clocks differ.
//
// gocron gives the job no sign that its lease is lost, such as after a failover: ask for it by [Locker.Lease], and pass its fence
// to Assert in the transaction that writes.
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

// Config tells how jobs are locked.
type Config struct {
	// ObjectType is the type of the objects, "job" if it is empty. The id is the job's name, at most 255 characters.
	ObjectType string
	// Owner is who runs the jobs. Without an operator each run has one of its own, made of host, process and a random number. Name
	// none unless it is another one in each process: an operator takes over what it holds.
	Owner applock.Owner
	// MaxHold is how long a run may last. After it the job may begin elsewhere. It must be given.
	MaxHold time.Duration
	// TTL is how long a job stays locked after a crash of the process that runs it, in whole seconds. Zero is 30 s, or a third of
	// AtLeast if that is less, but at least 1 s.
	TTL time.Duration
	// AtLeast is how long a job stays locked from the beginning of a run on, also if that ends earlier: longer than the clocks of
	// the schedulers differ. The lock ends up to a TTL later than that, or a second if it is less: both together must be shorter
	// than the pause between two runs, or the next one is skipped. Zero frees the job when the run ends.
	AtLeast time.Duration
	// Logger gets what goes wrong when a run ends, which gocron tells nobody; nil logs nothing.
	Logger *slog.Logger
}

// Locker is a gocron.Locker, for gocron.WithDistributedLocker and gocron.WithDistributedJobLocker. It is safe for concurrent use.
type Locker struct {
	locks  lease.Locker
	config Config

	mutex   sync.Mutex
	running map[string]applock.Lease // by the names of the jobs
}

var (
	_ gocron.Locker = (*Locker)(nil)
	_ gocron.Lock   = (*run)(nil)
)

const (
	longestDefaultTTL = 30 * time.Second
	ttlsPerAtLeast    = 3
)

// New returns a locker that keeps its leases in locks, such as an *applock.Client. It sends nothing. It returns ErrInvalid for a
// configuration that cannot be used. Close what locks is after the schedulers have been shut down.
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

// Lock takes the lease for a run of the job with this name. It asks once. The error is applock.ErrHeld where somebody else
// runs the job, or has just run it.
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

// Lease returns the lease of the run of the job with this name that is under way here, nil if there is none. Its
// context ends when the lease is lost, or MaxHold is over.
func (l *Locker) Lease(key string) applock.Lease {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.running[key]
}

// end forgets the lease of a run, unless that has been lost and another run has begun.
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

// Unlock ends the lease, or leaves the job locked for the rest of AtLeast. It does so also when ctx has ended, which is the job's,
// and so ends with the scheduler. The error is applock.ErrLost where the run may not have been alone.
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
