// Package sessionstest has the tests for backends whose leases are locks of sessions on a server. Package locktest has the tests for all
// backends.
package sessionstest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// Product is a product whose server the tests use.
type Product struct {
	// Open opens leases in a namespace of the test. Via, if not empty, is the server's address to use.
	Open func(t testing.TB, namespace, via string, grace time.Duration) *lease.Leases
	// Address is the server's address.
	Address string
	// Holder returns the session that has the lock on an object, 0 for none.
	Holder func(t testing.TB, namespace string, object applock.Object) int
	// Alive reports whether a session exists.
	Alive func(t testing.TB, session int) bool
	// Kill ends a session, and returns when its locks are free.
	Kill func(t testing.TB, session int)
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
		"Nested":           nested,
		"KilledSession":    killedSession,
		"IdleSession":      idleSession,
		"LostNetwork":      lostNetwork,
		"Refusal":          refusal,
		"Close":            closing,
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

// open opens leases that the test closes.
func (p Product) open(t testing.TB, namespace, via string, grace time.Duration) *lease.Leases {
	t.Helper()
	leases := p.Open(t, namespace, via, grace)
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
	leases := product.open(t, namespace, "", 0)
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

// Goal: a holder acquires a second object inside the first, in one session, while others wait for both. Method: ten goroutines that all do
// so.
func nested(t *testing.T, product Product, namespace string) {
	leases := product.open(t, namespace, "", 0)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			err := leases.Do(ctx, request("outer"), func(ctx context.Context, _ applock.Lease) error {
				return leases.Do(ctx, request("inner"), func(context.Context, applock.Lease) error { return nil })
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// Goal: when a session ends, all its leases are lost, each holder learns of it, and the next acquisition has a new session at once. Method:
// kill the session.
func killedSession(t *testing.T, product Product, namespace string) {
	leases := product.open(t, namespace, "", 0)
	held := []applock.Lease{mustAcquire(t, leases, 1), mustAcquire(t, leases, 2), mustAcquire(t, leases, 3)}
	first := product.Holder(t, namespace, wallet(1))
	product.Kill(t, first)
	killed := time.Now()
	for _, lease := range held {
		requireLost(t, lease)
	}
	t.Logf("the holders heard of it after %s", time.Since(killed))
	for i, lease := range held {
		if err := lease.Release(t.Context()); !errors.Is(err, applock.ErrLost) {
			t.Errorf("release after the loss: %v, want ErrLost", err)
		}
		mustAcquire(t, leases, i+1)
	}
	if session := product.Holder(t, namespace, wallet(1)); session == 0 || session == first {
		t.Errorf("session %d has the lock, after session %d was killed", session, first)
	}
	// An acquisition finds the session dead while nothing is held.
	idle := product.open(t, namespace, "", 0)
	lease := mustAcquire(t, idle, 4)
	session := product.Holder(t, namespace, wallet(4))
	mustRelease(t, lease)
	product.Kill(t, session)
	mustAcquire(t, idle, 4)
}

// Goal: the server does not end an idle session with locks. Method: hold for longer than the grace.
func idleSession(t *testing.T, product Product, namespace string) {
	leases := product.open(t, namespace, "", grace)
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
	wire := newWire(t, product.Address)
	holder := product.open(t, namespace, wire.address, grace)
	lease := mustAcquire(t, holder, 1)
	ended := make(chan time.Time, 1)
	context.AfterFunc(lease.Context(), func() { ended <- time.Now() })
	next := product.open(t, namespace, "", grace)
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
	wire.cut()
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

// Goal: a refusal names the owner within the same program, and the session to others. Method: ask from both.
func refusal(t *testing.T, product Product, namespace string) {
	leases := product.open(t, namespace, "", 0)
	lease := mustAcquire(t, leases, 1)
	session := product.Holder(t, namespace, wallet(1))
	_, err := leases.TryAcquire(t.Context(), request(1))
	var held *applock.HeldError
	if !errors.As(err, &held) || held.Holder.Owner != lease.Owner() {
		t.Errorf("refused: %v, want %s as the holder", err, lease.Owner())
	}
	_, err = product.open(t, namespace, "", 0).TryAcquire(t.Context(), request(1))
	if !errors.As(err, &held) || !strings.HasPrefix(held.Holder.Owner.Operator, fmt.Sprintf("session %d", session)) {
		t.Errorf("refused: %v, want session %d as the holder", err, session)
	}
}

// Goal: Close ends the session. Method: ask the server.
func closing(t *testing.T, product Product, namespace string) {
	leases := product.Open(t, namespace, "", 0)
	mustAcquire(t, leases, 1)
	session := product.Holder(t, namespace, wallet(1))
	_ = leases.Close()
	eventually(t, "the session has ended", func() bool { return !product.Alive(t, session) })
	if _, err := leases.TryAcquire(t.Context(), request(2)); err == nil {
		t.Error("a lease from what was closed")
	}
}

// wire carries connections to a server until it is cut. Then it swallows everything.
type wire struct {
	address string
	mutex   sync.Mutex
	isCut   bool
}

func newWire(t testing.TB, server string) *wire {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{address: listener.Addr().String()}
	var group sync.WaitGroup
	ends := []io.Closer{listener}
	t.Cleanup(func() {
		w.mutex.Lock()
		for _, end := range ends {
			_ = end.Close()
		}
		w.mutex.Unlock()
		group.Wait()
	})
	group.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			upstream, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server)
			if err != nil {
				_ = client.Close()
				continue
			}
			w.mutex.Lock()
			ends = append(ends, client, upstream)
			w.mutex.Unlock()
			group.Go(func() { w.carry(upstream, client) })
			group.Go(func() { w.carry(client, upstream) })
		}
	})
	return w
}

func (w *wire) cut() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.isCut = true
}

// carry carries the end of a connection only while the wire is whole, as a network does.
func (w *wire) carry(to, from net.Conn) {
	buffer := make([]byte, 32*1024)
	for {
		n, err := from.Read(buffer)
		w.mutex.Lock()
		isCut := w.isCut
		w.mutex.Unlock()
		switch {
		case isCut && err == nil:
			continue
		case isCut:
			return
		case err != nil:
			_ = to.Close()
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}
