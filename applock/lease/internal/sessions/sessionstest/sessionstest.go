// Package sessionstest has the tests for backends whose leases are locks of sessions on a server. Package locktest has the tests for all
// backends.
package sessionstest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/locktest"
	"github.com/applock/applock/internal/testing/wire"
)

// Config has the settings of a backend that the tests use.
type Config struct {
	DSN, Namespace string
	Grace          time.Duration
}

// Package is a backend of leases in sessions.
type Package struct {
	// New and NewBackend return what the package's functions of these names return.
	New        func(config Config) (*lease.Leases, error)
	NewBackend func(config Config) (lease.Backend, error)
}

// place is the argument of Open and Direct: a namespace and, after a blank, the DSN of the server.
func configOf(place string) Config {
	namespace, dsn, _ := strings.Cut(place, " ")
	return Config{DSN: dsn, Namespace: namespace}
}

// Open is [locktest.Open].
func (p Package) Open(_ context.Context, place string) (lease.Locker, func() error, error) {
	leases, err := p.New(configOf(place))
	if err != nil {
		return nil, nil, err
	}
	return leases, leases.Close, nil
}

// Direct is [locktest.Direct].
func (p Package) Direct(_ context.Context, place string) (lease.Backend, func() error, error) {
	backend, err := p.NewBackend(configOf(place))
	if err != nil {
		return nil, nil, err
	}
	return backend, backend.(io.Closer).Close, nil
}

// TestBadConfig requires that a bad configuration is refused without repeating the password. Method: a DSN of the scheme that cannot be
// parsed, and a bad namespace.
func (p Package) TestBadConfig(t *testing.T, scheme string) {
	t.Helper()
	for argument, config := range map[string]Config{
		"dsn":       {DSN: scheme + "://app:sesame@host:notaport/shop"},
		"namespace": {DSN: scheme + "://app:sesame@host/shop", Namespace: "a:b"},
	} {
		_, err := p.New(config)
		var invalid *applock.InvalidError
		if !errors.As(err, &invalid) || invalid.Argument != argument {
			t.Errorf("new: %v, want %s to be refused", err, argument)
		}
		if err != nil && strings.Contains(err.Error(), "sesame") {
			t.Errorf("the password is in %q", err)
		}
	}
}

// Product is a product whose server the tests use.
type Product struct {
	Package

	// DSN is the server's.
	DSN string
	// Holder returns the session that has the lock on an object, 0 for none.
	Holder func(t testing.TB, namespace string, object applock.Object) int
	// Alive reports whether a session exists.
	Alive func(t testing.TB, session int) bool
	// Kill ends a session. The tests wait until it has ended.
	Kill func(t testing.TB, session int)
	// Other returns a session of a program that knows nothing of the package, and takes the lock on an object by SQL.
	Other func(t testing.TB, namespace string, object applock.Object) Other
}

// Other is another program's session, for one lock.
type Other struct {
	// Name is the operator that refusals name.
	Name string
	// Lock takes the lock if it is free, and reports whether it has. Unlock releases it.
	Lock   func(t testing.TB) bool
	Unlock func(t testing.TB)
}

// Contract runs the tests of all backends.
func (p Product) Contract(t *testing.T) {
	t.Helper()
	locktest.Exercise(t, locktest.Backend{
		Place:   func(testing.TB) string { return rand.Text() + " " + p.DSN },
		Open:    p.Open,
		Direct:  p.Direct,
		Endless: true,
		Losses: map[string]func(t testing.TB, place string, object applock.Object){
			"KilledSession": func(t testing.TB, place string, object applock.Object) {
				t.Helper()
				p.end(t, p.Holder(t, configOf(place).Namespace, object))
			},
		},
	})
}

// end ends a session, and returns when it has ended, and so its locks are free.
func (p Product) end(t testing.TB, session int) {
	t.Helper()
	p.Kill(t, session)
	eventually(t, "a killed session has ended", func() bool { return !p.Alive(t, session) })
}

const (
	longHold = 10 * time.Minute
	// patience ends a test that hangs.
	patience = 5 * time.Minute
	// grace is short enough to wait for. A session is given up after a third of it without an answer, so a machine may stall for that long.
	grace = 10 * time.Second
)

// Exercise runs the tests, each in a namespace of its own.
func Exercise(t *testing.T, product Product) {
	t.Helper()
	tests := map[string]func(t *testing.T, product Product, namespace string){
		"OneSessionForAll": oneSessionForAll,
		"IdleSession":      idleSession,
		"LostNetwork":      lostNetwork,
		"Close":            closing,
		"OtherLanguages":   otherLanguages,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, product, fmt.Sprintf("%s/%d", name, time.Now().UnixNano()))
		})
	}
}

func wallet(id any) applock.Object {
	return applock.Object{Type: "wallet", ID: fmt.Sprint(id)}
}

func request(id any) applock.AcquireRequest {
	return applock.AcquireRequest{Object: wallet(id), MaxHold: longHold}
}

// open opens leases in a namespace of the test, which closes them.
func (p Product) open(t testing.TB, namespace string, grace time.Duration) *lease.Leases {
	t.Helper()
	leases, err := p.New(Config{DSN: p.DSN, Namespace: namespace, Grace: grace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = leases.Close() })
	return leases
}

func mustAcquire(t testing.TB, leases *lease.Leases, id any) applock.Lease {
	t.Helper()
	lease, err := acquire(t, leases, id)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// acquire is for other goroutines than the test's.
func acquire(t testing.TB, leases *lease.Leases, id any) (applock.Lease, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return leases.Acquire(ctx, request(id))
}

func mustRelease(t testing.TB, lease applock.Lease) {
	t.Helper()
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func requireLost(t testing.TB, lease applock.Lease) {
	t.Helper()
	select {
	case <-lease.Context().Done():
	case <-time.After(patience):
		t.Fatal("the context of a lost lease has not ended")
	}
	if cause := context.Cause(lease.Context()); !errors.Is(cause, applock.ErrLost) {
		t.Fatalf("the context ended with %v, want ErrLost", cause)
	}
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for limit := time.Now().Add(patience); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("not so in the end: %s", what)
		}
	}
}

// Goal: one session has the locks of all. Method: 50 objects held at once, each with a waiter; the server names their session.
func oneSessionForAll(t *testing.T, product Product, namespace string) {
	const objects = 50
	leases := product.open(t, namespace, 0)
	held := make([]applock.Lease, objects)
	var group sync.WaitGroup
	for i := range held {
		group.Go(func() {
			var err error
			if held[i], err = acquire(t, leases, i); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if t.Failed() {
		return
	}
	session := product.Holder(t, namespace, wallet(0))
	var waiters sync.WaitGroup
	for i := range held {
		if other := product.Holder(t, namespace, wallet(i)); other != session {
			t.Errorf("session %d has a lock, and session %d another one", session, other)
		}
		waiters.Go(func() {
			lease, err := acquire(t, leases, i)
			if err == nil {
				err = lease.Release(t.Context())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	for _, lease := range held {
		mustRelease(t, lease)
	}
	waiters.Wait()
	for i := range held {
		if session := product.Holder(t, namespace, wallet(i)); session != 0 {
			t.Errorf("session %d has a lock after its release", session)
		}
	}
}

// Goal: the server does not end an idle session with locks. Method: hold for longer than the grace.
func idleSession(t *testing.T, product Product, namespace string) {
	leases := product.open(t, namespace, grace)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	lease, err := leases.Acquire(ctx, applock.AcquireRequest{Object: wallet(1), MaxHold: longHold, TTL: longHold})
	if err != nil {
		t.Fatal(err)
	}
	session := product.Holder(t, namespace, wallet(1))
	time.Sleep(grace + grace/5)
	if now := product.Holder(t, namespace, wallet(1)); now != session {
		t.Errorf("session %d had the lock, now session %d has it", session, now)
	}
	mustRelease(t, lease)
	eventually(t, "a session without locks ends after the grace", func() bool { return !product.Alive(t, session) })
}

// Goal: when the network is gone, the holder gives up before the server gives the object to another operator, and the server does so.
// Method: a connection that carries nothing from one moment on, and a waiter.
func lostNetwork(t *testing.T, product Product, namespace string) {
	wired := product
	wire, dsn := wire.Through(t, product.DSN)
	wired.DSN = dsn
	lease := mustAcquire(t, wired.open(t, namespace, grace), 1)
	ended := make(chan time.Time, 1)
	context.AfterFunc(lease.Context(), func() { ended <- time.Now() })
	next := product.open(t, namespace, grace)
	taken := make(chan time.Time, 1)
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := acquire(t, next, 1); err != nil {
			t.Error(err)
		}
		taken <- time.Now()
	})
	time.Sleep(grace / 2)
	cut := time.Now()
	wire.Silence()
	group.Wait()
	requireLost(t, lease)
	if t.Failed() {
		return
	}
	given, got := (<-ended).Sub(cut), (<-taken).Sub(cut)
	t.Logf("given up after %s, taken over after %s, of %s", given, got, grace)
	if given >= got {
		t.Errorf("the holder gave up %s after somebody else had the object", given-got)
	}
}

// Goal: Close ends the session. Method: ask the server.
func closing(t *testing.T, product Product, namespace string) {
	leases := product.open(t, namespace, 0)
	mustAcquire(t, leases, 1)
	session := product.Holder(t, namespace, wallet(1))
	_ = leases.Close()
	eventually(t, "the session has ended", func() bool { return !product.Alive(t, session) })
	if _, err := leases.TryAcquire(t.Context(), request(2)); err == nil {
		t.Error("a lease from what was closed")
	}
}

// Goal: programs in other languages exclude ours, and are excluded. Method: objects of all kinds, whose locks such a program takes by the
// SQL of the documentation.
func otherLanguages(t *testing.T, product Product, namespace string) {
	for _, id := range []string{"42", "a:b", "ä🔒'\\", strings.Repeat("x", applock.MaxObjectIDLength)} {
		product.Other(t, namespace, wallet(id)).Excludes(t, product.open(t, namespace, 0), wallet(id))
	}
}

// Excludes requires that another program and leases exclude each other, that a refusal names the session, and that a waiter comes in after
// it.
func (o Other) Excludes(t testing.TB, leases *lease.Leases, object applock.Object) {
	t.Helper()
	if !o.Lock(t) {
		t.Fatal("the other program did not get a free lock")
	}
	asked := applock.AcquireRequest{Object: object, MaxHold: longHold}
	_, err := leases.TryAcquire(t.Context(), asked)
	var held *applock.HeldError
	if !errors.As(err, &held) || held.Holder.Owner.Operator != o.Name {
		t.Errorf("refused: %v, want %q as the holder", err, o.Name)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	waiter := make(chan error, 1)
	go func() {
		waiter <- leases.Do(ctx, asked, func(context.Context, applock.Lease) error { return nil })
	}()
	o.Unlock(t)
	if err := <-waiter; err != nil {
		t.Error(err)
	}
	lease, err := leases.TryAcquire(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	if o.Lock(t) {
		t.Error("the other program got the lock of a lease")
	}
	if err := lease.Renew(t.Context()); err != nil { // the session is seen to have it
		t.Error(err)
	}
	mustRelease(t, lease)
	if !o.Lock(t) {
		t.Error("the other program did not get the lock after the release")
	}
	o.Unlock(t)
}
