// Package sessions keeps leases as locks of sessions on a database server. It is the common part of pgadvisory and getlock.
//
// A few sessions of its own have the locks of all leases. No statement waits for a lock, so a session is busy only while a statement runs,
// and one session is enough for any number of holders and waiters. Each object belongs to one session, by the name of its lock, so that all
// calls for an object run there one after the other.
//
// A lock ends with its session, and the two sides learn of that at different times. So each side gives up the other after some silence,
// this side first. The server ends a session that has been silent for the grace; a session with locks sends something more often. This side
// gives up a session that has not answered for a third of the grace, and its leases are lost. That is at most two thirds of the grace after
// the last answered statement was sent, so the holders learn of it before other operators get their objects.
package sessions

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// Server opens sessions. Name is the server's name for a lock.
type Server[Name comparable] interface {
	// Name returns the name of the lock on an object, always the same one. It returns ErrInvalid for an object without one.
	Name(object applock.Object) (Name, error)
	// Open opens a session that the server ends after a silence of grace.
	Open(ctx context.Context, grace time.Duration) (Session[Name], error)
}

// Session is one session on a server. Its methods are called one at a time.
type Session[Name comparable] interface {
	// TryLock takes a lock that no session has, without waiting. Otherwise it returns the session that has it.
	TryLock(ctx context.Context, name Name) (holder string, err error)
	// Unlock releases the lock on an object, and reports whether this session had it.
	Unlock(ctx context.Context, name Name, object applock.Object) (had bool, err error)
	// Locked returns which of the locks this session has. It may add others of its locks.
	Locked(ctx context.Context, names []Name) ([]Name, error)
	// Free returns which of the locks no session has. If the server is a Notifier, releases of these locks send messages from now on, until the
	// next call.
	Free(ctx context.Context, names []Name) ([]Name, error)
	// Broken reports whether an error of one of its methods means that the session is unusable.
	Broken(err error) bool
	// Close ends the session, and so its locks.
	Close(ctx context.Context)
}

// Notifier is a Server whose sessions send messages of releases.
type Notifier interface {
	// Listen is [lease.Notifier.Listen].
	Listen(ctx context.Context) (lease.Listener, error)
}

// Config has the settings that getlock and pgadvisory share.
type Config struct {
	Namespace string
	Sessions  int
	Grace     time.Duration
	Logger    *slog.Logger
	Hooks     lease.Hooks
}

const (
	defaultNamespace = "applock"
	maxNamespace     = 64
	maxSessions      = 100
	defaultGrace     = 30 * time.Second
	minGrace         = 3 * time.Second
	maxGrace         = time.Hour

	// checkInterval is how often leases are checked. It is short compared with a third of the shortest grace.
	checkInterval = 500 * time.Millisecond
	// patiencePerGrace and beatsPerGrace divide the grace: into the longest time for an answer, and into the longest silence of a session with
	// locks.
	patiencePerGrace = 3
	beatsPerGrace    = 6
	// freshFor is how long after its last answer a session is assumed to have its locks.
	freshFor = time.Second
	// closeLimit limits the end of a session.
	closeLimit = 5 * time.Second
	// pollAtLeast is how often locks are polled even if sessions send messages: a lock that ends with its session, or that another program
	// releases, sends none.
	pollAtLeast = 250 * time.Millisecond
	// pollNames is how many names one statement asks about, well below the limits of servers.
	pollNames = 10_000
)

// Checked returns the configuration with its defaults, or an error that names the invalid field.
func (c Config) Checked() (Config, error) {
	c.Namespace = cmp.Or(c.Namespace, defaultNamespace)
	c.Sessions = cmp.Or(c.Sessions, 1)
	c.Grace = cmp.Or(c.Grace, defaultGrace)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	switch {
	case strings.Contains(c.Namespace, ":") || len(c.Namespace) > maxNamespace:
		return c, &applock.InvalidError{Argument: "namespace", Reason: fmt.Sprintf("must have at most %d bytes, and no colon", maxNamespace)}
	case c.Sessions < 1 || c.Sessions > maxSessions:
		return c, &applock.InvalidError{Argument: "sessions", Reason: fmt.Sprintf("must be 1 to %d", maxSessions)}
	case c.Grace < minGrace || c.Grace > maxGrace:
		return c, &applock.InvalidError{Argument: "grace", Reason: fmt.Sprintf("must lie between %s and %s", minGrace, maxGrace)}
	}
	return c, nil
}

// ProgramName is how this program's sessions are named on the server, unless the DSN names them.
func ProgramName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("applock %s/%d", host, os.Getpid())
}

// Text is NAMESPACE:TYPE:ID. Neither a namespace nor a type has a colon.
func Text(namespace string, object applock.Object) string {
	return cmp.Or(namespace, defaultNamespace) + ":" + object.String()
}

// Digest is the SHA-256 of the Text, from which the names of locks are made.
func Digest(namespace string, object applock.Object) [sha256.Size]byte {
	return sha256.Sum256([]byte(Text(namespace, object)))
}

// New returns leases on a server, with a checked configuration. It does not connect yet.
func New[Name comparable](server Server[Name], config Config) *lease.Leases {
	return lease.New(NewBackend(server, config), lease.Config{
		CheckInterval: checkInterval,
		Logger:        config.Logger,
		Hooks:         config.Hooks,
	})
}

// NewBackend returns the backend of New. It is an [io.Closer].
func NewBackend[Name comparable](server Server[Name], config Config) lease.Backend {
	b := &backend[Name]{server: server, seed: maphash.MakeSeed()}
	for range config.Sessions {
		b.lines = append(b.lines, newLine(server, config))
	}
	return b
}

type backend[Name comparable] struct {
	server Server[Name]
	seed   maphash.Seed
	lines  []*line[Name]
}

var (
	_ lease.Backend  = (*backend[int64])(nil)
	_ lease.Poller   = (*backend[int64])(nil)
	_ lease.Notifier = (*backend[int64])(nil)
	_ lease.Passer   = (*backend[int64])(nil)
)

func (b *backend[Name]) lineOf(object applock.Object) (Name, *line[Name], error) {
	name, err := b.server.Name(object)
	number := maphash.Comparable(b.seed, name) % uint64(len(b.lines))
	return name, b.lines[number], err
}

// Get is [lease.Backend.Get]. The grant has no ExpiresAt: the session keeps it until a release.
func (b *backend[Name]) Get(
	ctx context.Context, object applock.Object, owner applock.Owner, _ time.Duration,
) (applock.Grant, error) {
	name, line, err := b.lineOf(object)
	if err != nil {
		return applock.Grant{}, err
	}
	renewed, err := line.take(ctx, name, &holding{object: object, owner: owner})
	if err != nil {
		return applock.Grant{}, err
	}
	outcome := applock.OutcomeAcquired
	if renewed {
		outcome = applock.OutcomeRenewed
	}
	return applock.Grant{Object: object, Owner: owner, Outcome: outcome}, nil
}

func (b *backend[Name]) Release(ctx context.Context, grant applock.Grant) error {
	name, line, err := b.lineOf(grant.Object)
	if err != nil {
		return err
	}
	return line.release(ctx, name, &holding{object: grant.Object, owner: grant.Owner})
}

// Pass is [lease.Passer.Pass]. The session keeps the lock, so the server need not be asked.
func (b *backend[Name]) Pass(ctx context.Context, grant applock.Grant, to applock.Owner, _ time.Duration) (applock.Grant, error) {
	name, line, err := b.lineOf(grant.Object)
	if err != nil {
		return applock.Grant{}, err
	}
	err = line.pass(ctx, name, &holding{object: grant.Object, owner: grant.Owner}, &holding{object: grant.Object, owner: to})
	if err != nil {
		return applock.Grant{}, err
	}
	return applock.Grant{Object: grant.Object, Owner: to, Outcome: applock.OutcomeAcquired}, nil
}

// Renew is [lease.Backend.Renew]: it asks each session whether it still has its locks.
func (b *backend[Name]) Renew(ctx context.Context, renewals []lease.Renewal) ([]lease.Renewed, error) {
	grants := map[*line[Name]]map[Name]*holding{}
	for _, renewal := range renewals {
		name, line, err := b.lineOf(renewal.Grant.Object)
		if err != nil {
			return nil, err
		}
		if grants[line] == nil {
			grants[line] = map[Name]*holding{}
		}
		grants[line][name] = &holding{object: renewal.Grant.Object, owner: renewal.Grant.Owner}
	}
	var mutex sync.Mutex
	var answers []lease.Renewed
	var errs []error
	var group sync.WaitGroup
	for line, of := range grants {
		group.Go(func() {
			some, err := line.check(ctx, of)
			mutex.Lock()
			defer mutex.Unlock()
			answers = append(answers, some...)
			errs = append(errs, err)
		})
	}
	group.Wait()
	if len(answers) > 0 { // the missing ones could not be checked
		return answers, nil
	}
	return nil, errors.Join(errs...)
}

// Poll is [lease.Poller.Poll]. Any session can answer, so the first one does.
func (b *backend[Name]) Poll(ctx context.Context, waited iter.Seq[applock.Object]) (answer lease.PollAnswer, err error) {
	objects := map[Name][]applock.Object{}
	var names []Name
	for object := range waited {
		name, _, err := b.lineOf(object)
		if err != nil {
			return lease.PollAnswer{}, err
		}
		if objects[name] == nil {
			names = append(names, name)
		}
		objects[name] = append(objects[name], object)
	}
	for some := range slices.Chunk(names, pollNames) {
		names, err := b.lines[0].free(ctx, some)
		if err != nil {
			return lease.PollAnswer{}, err
		}
		for _, name := range names {
			answer.Free = append(answer.Free, objects[name]...)
		}
	}
	answer.Next = pollAtLeast
	return answer, nil
}

func (b *backend[Name]) Listen(ctx context.Context) (lease.Listener, error) {
	notifier, ok := b.server.(Notifier)
	if !ok {
		return nil, fmt.Errorf("%w: sessions of this server send no messages of releases", errors.ErrUnsupported)
	}
	releases, err := notifier.Listen(ctx)
	if err != nil {
		return nil, err
	}
	return listening{Listener: releases, end: b.lines[0].awaitNothing}, nil
}

// listening is a listener, and what its end needs.
type listening struct {
	lease.Listener

	end func()
}

// Close ends the messages.
func (h listening) Close() error {
	err := h.Listener.Close()
	h.end()
	return err
}

// Close ends the sessions.
func (b *backend[Name]) Close() error {
	var group sync.WaitGroup
	for _, line := range b.lines {
		group.Go(line.close)
	}
	group.Wait()
	return nil
}
