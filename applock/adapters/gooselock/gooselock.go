// Package gooselock implements goose's lock.Locker on leases, so that several programs that migrate one database take turns.
//
// goose's own lockers need PostgreSQL or MySQL. This one works with all that applock supports: the table of any engine, in the migrated
// database or in another one, or a backend such as Redis. "applockctl list" shows the migrator, and after a crash the next one continues
// after a TTL. applock's own table must exist before: run "applockctl migrate up" or use package applock/migrate.
//
// goose does not notify a migration when its lease is lost. Unlock then returns applock.ErrLost, and so do the provider's Up, Down and
// other methods: check whether two programs have migrated at the same time.
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

// Config configures the lock.
type Config struct {
	// Object is the object to lock, the same in all programs that migrate one database. Zero is goose:migrations.
	Object applock.Object
	// Owner migrates. Without an operator each turn gets a new one from host, process and a random number. If you set one, set a different
	// one in each process: an operator may re-enter its own lock.
	Owner applock.Owner
	// MaxHold limits the migrations. Zero is 1 h.
	MaxHold time.Duration
	// TTL is how long others wait after a crash, in whole seconds. Zero is 30 s.
	TTL time.Duration
	// MaxWait limits the wait for another migrator. Zero waits as long as the context of Up allows.
	MaxWait time.Duration
}

// Locker is a lock.Locker, for goose.WithLocker. Providers may share it: they take turns as well.
type Locker struct {
	locks   lease.Locker
	request applock.AcquireRequest
	maxWait time.Duration

	// turn is full from Lock to Unlock. The caller that filled it owns lease.
	turn  chan struct{}
	lease applock.Lease
}

var _ lock.Locker = (*Locker)(nil)

const (
	defaultMaxHold = time.Hour
	defaultTTL     = 30 * time.Second
)

// New returns a locker that takes its lease from locks, such as an *applock.Client. It does not connect. It returns ErrInvalid for an
// invalid configuration.
//
// With SQLite, keep the lock in another file than the one to migrate: a migration's transaction blocks other writers of its file.
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

// Lock waits for its turn, at most until ctx ends or for MaxWait. goose calls it once for each Up, Down and so on. It does not use goose's
// database. The error is the reason why the wait ended. It is also applock.ErrHeld if another migrator was seen.
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

// Unlock ends the turn, even after the end of ctx. The error is applock.ErrLost if two may have migrated at the same time. After any other
// error the lock expires after the TTL.
func (l *Locker) Unlock(ctx context.Context, _ *sql.DB) error {
	err := l.lease.Release(ctx)
	<-l.turn
	if err != nil {
		return fmt.Errorf("gooselock: %w", err)
	}
	return nil
}
