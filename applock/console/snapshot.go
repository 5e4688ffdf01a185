package console

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/applock/applock/applock"
)

const (
	// locksOfSnapshot bounds a snapshot: some 50 MB.
	locksOfSnapshot = 100_000
	// snapshotKept is how long a snapshot serves pages, if nothing is known to have changed since.
	snapshotKept = time.Second
)

// row is a lock with how many wait for it, and for how long the first of them has.
type row struct {
	applock.Lock
	Waiters int
	Longest time.Duration
}

// snapshot is all locks and all who wait, as one look at the database has found them. Nobody changes it.
//
// Search, the orders of the list, its totals, and the page of what is on now are made from it in memory. So one look at the database serves
// all who ask at the time, and upper and lower case are the same on every database.
type snapshot struct {
	// rows are in the order of the objects.
	rows    []row
	waiters []applock.Waiter
	// cut is true where there are more locks than a snapshot has.
	cut bool
	// folded returns what a search looks at, for each row. It is made when somebody searches.
	folded func() []string
}

func readSnapshot(ctx context.Context, client *applock.Client, most int) (*snapshot, error) {
	s := &snapshot{}
	waiting := map[applock.Object]row{}
	for waiter, err := range client.Waiters(ctx, applock.WaitersRequest{PageSize: applock.MaxPageSize}) {
		if err != nil {
			return nil, err
		}
		s.waiters = append(s.waiters, waiter)
		counted := waiting[waiter.Object]
		waiting[waiter.Object] = row{Waiters: counted.Waiters + 1, Longest: max(counted.Longest, waiter.Waited)}
	}
	for lock, err := range client.List(ctx, applock.ListRequest{PageSize: applock.MaxPageSize}) {
		if err != nil {
			return nil, err
		}
		if len(s.rows) == most {
			s.cut = true
			break
		}
		counted := waiting[lock.Object]
		counted.Lock = lock
		s.rows = append(s.rows, counted)
	}
	s.folded = sync.OnceValue(func() []string {
		texts := make([]string, len(s.rows))
		for i, row := range s.rows {
			texts[i] = fold(row.Object.String() + "\n" + row.Owner.Operator + "\n" + row.Owner.Department + "\n" + row.Note)
		}
		return texts
	})
	return s, nil
}

// fold returns a text as a search compares it.
func fold(text string) string { return strings.Map(unicode.ToLower, text) }

// search returns whether the row of that number has each word somewhere: in its object, operator, department or note.
func (s *snapshot) search(number int, words []string) bool {
	for _, word := range words {
		if !strings.Contains(s.folded()[number], word) {
			return false
		}
	}
	return true
}

// snapshots reads snapshots of one client, each for all who ask while it is read or shortly after.
type snapshots struct {
	read    func(ctx context.Context) (*snapshot, error)
	version func() string
	now     func() time.Time

	mutex sync.Mutex
	last  *reading
}

// reading is a snapshot that is being read, or was.
type reading struct {
	version string
	begun   time.Time
	done    chan struct{}
	result  *snapshot
	err     error
}

// newSnapshots has a snapshot end with the version that it was begun in.
func newSnapshots(client *applock.Client, version func() string, timeout time.Duration) *snapshots {
	return &snapshots{now: time.Now, version: version, read: func(ctx context.Context) (*snapshot, error) {
		// All who wait for it share it: it goes on when the first of them has gone.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(timeout, DefaultTimeout))
		defer cancel()
		return readSnapshot(ctx, client, locksOfSnapshot)
	}}
}

// get returns a snapshot that is no older than snapshotKept, and has all that was known to have changed.
func (s *snapshots) get(ctx context.Context) (*snapshot, error) {
	r := s.current(ctx)
	select {
	case <-r.done:
		return r.result, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// current returns what is being read or was read lately, or begins to read.
func (s *snapshots) current(ctx context.Context) *reading {
	version := s.version()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.last != nil && s.last.version == version && s.last.usable(s.now()) {
		return s.last
	}
	r := &reading{version: version, begun: s.now(), done: make(chan struct{})}
	s.last = r
	go func() {
		defer close(r.done)
		r.result, r.err = s.read(ctx)
	}()
	return r
}

// usable is true while it is read, and for as long after its begin as it is kept. A failure is not kept.
func (r *reading) usable(now time.Time) bool {
	select {
	case <-r.done:
		return r.err == nil && now.Sub(r.begun) < snapshotKept
	default:
		return true
	}
}

// forget has the next page read anew: who has changed something sees it at once.
func (s *snapshots) forget() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.last = nil
}

// countsKept is how long the statistics are not asked for again.
const countsKept = time.Minute

// counts are the statistics, which are for once a minute: how many locks there are of each type and department.
type counts struct {
	client *applock.Client
	now    func() time.Time

	mutex sync.Mutex
	stats []applock.Stats
	until time.Time
}

// read returns the statistics of the last minute. Who has no right to them gets none.
func (n *counts) read(ctx context.Context) []applock.Stats {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.now().Before(n.until) {
		return n.stats
	}
	stats, err := n.client.Stats(ctx, applock.StatsRequest{})
	if err == nil || ctx.Err() == nil {
		n.stats, n.until = stats, n.now().Add(countsKept)
	}
	return n.stats
}
