// Package gooselock has several programs that migrate one database by goose take turns: a lock.Locker of goose on leases.
//
// goose's own lockers know PostgreSQL and MySQL. This one is on whatever applock is: the table of any engine, in the database that is
// migrated or in another one, or a backend such as Redis. It shows who migrates (applockctl list), and a crashed migrator is
// overtaken after a TTL. What applock itself needs, the table, is there before: by applockctl migrate up, or package applock/migrate.
//
// goose gives a migration no sign that its lease is lost. Unlock returns applock.ErrLost then, and so do Up, Down and the others of the
// provider: look whether two have migrated at the same time.
package gooselock

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/pressly/goose/v3/lock"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// Config tells which lock it is.
type Config struct {
	// Object is what migrators take turns on: the same for all that migrate one database. Zero is goose:migrations.
	Object applock.Object
	// Owner is who migrates. Without an operator each turn has one of its own, made of host, process and a random number. Name
	// none unless it is another one in each process: an operator takes over what it holds.
	Owner applock.Owner
	// MaxHold is how long the migrations may take. Zero is 1 h.
	MaxHold time.Duration
	// TTL is how long the others wait after a crash, in whole seconds. Zero is 30 s.
	TTL time.Duration
	// MaxWait is how long to wait for another migrator. Zero is as long as the context of Up allows.
	MaxWait time.Duration
}

// Locker is a lock.Locker, for goose.WithLocker. Providers may share it: they take turns, too.
type Locker struct {
	locks   lease.Locker
	request applock.AcquireRequest
	maxWait time.Duration

	// turn is full from Lock to Unlock, and whoever has filled it has the lease.
	turn  chan struct{}
	lease applock.Lease
}

var _ lock.Locker = (*Locker)(nil)

const (
	defaultMaxHold = time.Hour
	defaultTTL     = 30 * time.Second
)

// New returns a locker that keeps its lease in locks, such as an *applock.Client. It sends nothing. It returns ErrInvalid for a
// configuration that cannot be used.
//
// In SQLite, keep the lock in another file than the one that is migrated: a migration's transaction has the file for itself.
func New(locks lease.Locker, config Config) (*Locker, error) {
	request := applock.AcquireRequest{
		Object:  cmp.Or(config.Object, applock.Object{Type: "goose", ID: "migrations"}),
		Owner:   config.Owner,
		MaxHold: cmp.Or(config.MaxHold, defaultMaxHold),
		TTL:     cmp.Or(config.TTL, defaultTTL),
	}
	switch {
	case request.MaxHold < 0 || request.MaxHold > applock.MaxTTL:
		return nil, invalid("MaxHold", "must be positive, and at most 3650 days")
	case request.TTL < time.Second || request.TTL%time.Second != 0:
		return nil, invalid("TTL", "must be a whole number of seconds")
	case config.MaxWait < 0:
		return nil, invalid("MaxWait", "must not be negative")
	}
	return &Locker{locks: locks, request: request, maxWait: config.MaxWait, turn: make(chan struct{}, 1)}, nil
}

func invalid(argument, reason string) error {
	return fmt.Errorf("gooselock: %w", &applock.InvalidError{Argument: argument, Reason: reason})
}

// Lock waits for its turn, until ctx ends or for MaxWait. goose calls it once for each Up, Down and so on. The database is goose's,
// and is not used. The error is why the wait has ended, and where somebody else was seen to migrate, applock.ErrHeld, too.
func (l *Locker) Lock(ctx context.Context, _ *sql.DB) error {
	if l.maxWait > 0 {
		limited, cancel := context.WithTimeout(ctx, l.maxWait)
		defer cancel()
		ctx = limited
	}
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("gooselock: another provider of this process migrates: %w", context.Cause(ctx))
	}
	lease, err := l.locks.Acquire(ctx, l.request)
	if err != nil {
		<-l.turn
		return fmt.Errorf("gooselock: %w", err)
	}
	l.lease = lease
	return nil
}

// Unlock ends the turn, also when ctx has ended. The error is applock.ErrLost where two may have migrated at the same time. After
// another one the lock ends by itself, after the TTL.
func (l *Locker) Unlock(ctx context.Context, _ *sql.DB) error {
	err := l.lease.Release(ctx)
	<-l.turn
	if err != nil {
		return fmt.Errorf("gooselock: %w", err)
	}
	return nil
}
