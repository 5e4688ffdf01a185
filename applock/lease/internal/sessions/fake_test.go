package sessions

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// fake is a server in memory. Like real ones it counts how often a session has taken a lock.
type fake struct {
	mutex      sync.Mutex
	locks      map[string]*fakeLock
	sessions   []*fakeSession // all that were ever opened
	statements int
	// opening, closing and answering, if set, are called by the waiting goroutine before a session is opened, before it is closed, and after a
	// statement has been executed. The server executes no statement that refusing refuses.
	opening   func(ctx context.Context) error
	closing   func(ctx context.Context)
	refusing  func(statement string) error
	answering func(ctx context.Context, statement string) error
	// sameName makes all objects one.
	sameName bool
}

type fakeLock struct {
	session *fakeSession
	count   int
}

type fakeSession struct {
	server *fake
	number int
	gone   bool // at the server
	closed bool // here
}

var (
	errAnswer = errors.New("refused by the server")
	errBroken = errors.New("connection lost")
)

func (f *fake) Name(object applock.Object) (string, error) {
	switch {
	case f.sameName:
		return "the same", nil
	case object == nameless:
		return "", &applock.InvalidError{Argument: "Object", Reason: "has no name"}
	}
	return object.String(), nil
}

// nameless is an object that has no lock.
var nameless = applock.Object{Type: "wallet", ID: "without a name"}

func (f *fake) Open(ctx context.Context, _ time.Duration) (Session[string], error) {
	f.mutex.Lock()
	opening := f.opening
	f.mutex.Unlock()
	if opening != nil {
		if err := opening(ctx); err != nil {
			return nil, err
		}
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	opened := &fakeSession{server: f, number: len(f.sessions)}
	f.sessions = append(f.sessions, opened)
	return opened, nil
}

// execute is a statement: executed at the server, and answered later.
func (s *fakeSession) execute(ctx context.Context, statement string, run func()) error {
	f := s.server
	f.mutex.Lock()
	answering := f.answering
	f.statements++
	var err error
	switch {
	case s.gone || s.closed:
		err = errBroken
	case f.refusing != nil:
		err = f.refusing(statement)
	}
	if err == nil {
		run()
	}
	f.mutex.Unlock()
	if err != nil || answering == nil {
		return err
	}
	return answering(ctx, statement)
}

// said returns how many statements there have been.
func (f *fake) said() int {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.statements
}

func (s *fakeSession) TryLock(ctx context.Context, name string) (holder string, err error) {
	err = s.execute(ctx, "try", func() {
		lock := s.server.locks[name]
		switch {
		case lock == nil:
			s.server.locks[name] = &fakeLock{session: s, count: 1}
		case lock.session == s:
			lock.count++
		default:
			holder = "another session"
		}
	})
	return holder, err
}

func (s *fakeSession) Unlock(ctx context.Context, name string, _ applock.Object) (had bool, err error) {
	err = s.execute(ctx, "unlock", func() {
		lock := s.server.locks[name]
		had = lock != nil && lock.session == s
		if !had {
			return
		}
		lock.count--
		if lock.count == 0 {
			delete(s.server.locks, name)
		}
	})
	return had, err
}

func (s *fakeSession) Locked(ctx context.Context, names []string) (locked []string, err error) {
	err = s.execute(ctx, "locked", func() {
		for _, name := range names {
			if lock := s.server.locks[name]; lock != nil && lock.session == s {
				locked = append(locked, name)
			}
		}
	})
	return locked, err
}

func (s *fakeSession) Free(ctx context.Context, names []string) (free []string, err error) {
	err = s.execute(ctx, "free", func() {
		for _, name := range names {
			if s.server.locks[name] == nil {
				free = append(free, name)
			}
		}
	})
	return free, err
}

func (s *fakeSession) Broken(err error) bool { return !errors.Is(err, errAnswer) }

func (s *fakeSession) Close(ctx context.Context) {
	s.server.mutex.Lock()
	closing := s.server.closing
	s.server.mutex.Unlock()
	if closing != nil {
		closing(ctx)
	}
	s.server.mutex.Lock()
	defer s.server.mutex.Unlock()
	s.closed = true
	s.server.end(s)
}

// end ends a session at the server; the mutex is held.
func (f *fake) end(s *fakeSession) {
	s.gone = true
	for name, lock := range f.locks {
		if lock.session == s {
			delete(f.locks, name)
		}
	}
}

// kill ends all sessions, as the server.
func (f *fake) kill() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, session := range f.sessions {
		f.end(session)
	}
}

func (f *fake) do(change func()) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	change()
}

// count returns how many locks there are, each as often as it was taken, and how many sessions.
func (f *fake) count() (locks, sessions int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, lock := range f.locks {
		locks += lock.count
	}
	for _, session := range f.sessions {
		if !session.gone && !session.closed {
			sessions++
		}
	}
	return locks, sessions
}

func checked(t *testing.T, config Config) Config {
	t.Helper()
	config, err := config.Checked()
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// play runs a test in which time passes only while everybody waits.
func play(t *testing.T, sessions int, test func(t *testing.T, server *fake, b *backend[string])) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := &fake{locks: map[string]*fakeLock{}}
		b := NewBackend(server, checked(t, Config{Sessions: sessions})).(*backend[string])
		test(t, server, b)
		for _, line := range b.lines {
			line.mutex.Lock()
			if len(line.overdue) > 0 {
				t.Errorf("%d locks are overdue in the end", len(line.overdue))
			}
			line.mutex.Unlock()
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		server.requireLocks(t, 0)
		if _, sessions := server.count(); sessions != 0 {
			t.Errorf("%d sessions are left", sessions)
		}
	})
}

func (f *fake) requireLocks(t *testing.T, want int) {
	t.Helper()
	if locks, _ := f.count(); locks != want {
		t.Fatalf("the sessions have %d locks, want %d", locks, want)
	}
}

var (
	jdoe   = applock.Owner{Operator: "JDOE", Department: "CS"}
	asmith = applock.Owner{Operator: "ASMITH"}
)

func wallet(id string) applock.Object { return applock.Object{Type: "wallet", ID: id} }

func mustTake(t *testing.T, b *backend[string], object applock.Object, owner applock.Owner) applock.Grant {
	t.Helper()
	grant, err := b.Get(t.Context(), object, owner, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return grant
}

// requireAlive requires that exactly these grants are live.
func requireAlive(t *testing.T, b *backend[string], grants []applock.Grant, want ...applock.Grant) {
	t.Helper()
	renewals := make([]lease.Renewal, len(grants))
	for i, grant := range grants {
		renewals[i] = lease.Renewal{Grant: grant, TTL: time.Minute}
	}
	answers, err := b.Renew(t.Context(), renewals)
	if err != nil {
		t.Fatal(err)
	}
	if len(answers) != len(grants) {
		t.Fatalf("%d answers to %d renewals", len(answers), len(grants))
	}
	for _, answer := range answers {
		wanted := slices.ContainsFunc(want, func(grant applock.Grant) bool { return grant.Object == answer.Object })
		if (answer.Lost == nil) != wanted {
			t.Errorf("%s: lost because of %v, want it to be live: %t", answer.Object, answer.Lost, wanted)
		}
	}
}

// after answers after some time, unless the context ends before.
func after(delay time.Duration) func(ctx context.Context, statement string) error {
	return func(ctx context.Context, _ string) error {
		select {
		case <-time.After(delay):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

const never = 1000 * time.Hour

// occupied keeps the session busy for some time from now on, while other calls are queued. It returns when they are done.
func (b *backend[Name]) occupied(delay time.Duration, calls ...func()) {
	l := b.lines[0]
	l.turn <- struct{}{}
	var group sync.WaitGroup
	for _, call := range calls {
		group.Go(call)
		synctest.Wait() // they are served in this order
	}
	time.Sleep(delay)
	<-l.turn
	group.Wait()
}
