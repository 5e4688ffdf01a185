package sessions

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// notifying is a server whose sessions send messages.
type notifying struct {
	*fake

	released chan applock.Object
	asked    chan []string // the names whose releases send messages
}

func (s *notifying) Listen(context.Context) (lease.Listener, error) { return s, nil }

func (s *notifying) Next(ctx context.Context) (lease.Message, error) {
	select {
	case <-ctx.Done():
		return lease.Message{}, context.Cause(ctx)
	case object := <-s.released:
		return lease.Message{Object: object}, nil
	}
}

func (s *notifying) Close() error { return nil }

func (s *notifying) Open(ctx context.Context, grace time.Duration) (Session[string], error) {
	opened, err := s.fake.Open(ctx, grace)
	return &notifyingSession{Session: opened, server: s}, err
}

type notifyingSession struct {
	Session[string]

	server *notifying
}

func (s *notifyingSession) Free(ctx context.Context, names []string) ([]string, error) {
	select {
	case s.server.asked <- names:
	default:
	}
	return s.Session.Free(ctx, names)
}

// Goal: a waiter gets the lock as soon as a session reports it free, and a lock that ends without a message within 250 ms, after any wait.
// Without waiters sessions must send no messages. Method: another program's lock ends after an hour, once with a message and once without.
func TestReleasesNotify(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]time.Duration{"message": 0, "silent": pollAtLeast + pollAtLeast/5} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := &notifying{
					fake: &fake{locks: map[string]*fakeLock{}}, released: make(chan applock.Object), asked: make(chan []string, 1),
				}
				leases := New(server, checked(t, Config{}))
				lock := wallet("1").String()
				server.do(func() { server.locks[lock] = &fakeLock{count: 1} })
				const holds = time.Hour + 33*time.Millisecond
				freed := time.Now().Add(holds)
				time.AfterFunc(holds, func() {
					server.do(func() { delete(server.locks, lock) })
					if name == "message" {
						server.released <- wallet("1")
					}
				})
				lease, err := leases.Acquire(t.Context(), applock.AcquireRequest{Object: wallet("1"), MaxHold: time.Hour})
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(freed); took > late {
					t.Errorf("it took %s, want %s at the most", took, late)
				}
				<-server.asked
				if err := lease.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
				if names := <-server.asked; len(names) != 0 {
					t.Errorf("sessions are to send messages of %q, and nobody waits", names)
				}
				if err := leases.Close(); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}
