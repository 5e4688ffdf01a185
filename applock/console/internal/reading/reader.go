// Package reading makes the pages of the console that only read: the lists of locks, waiters, events and numbers, and the data for them. It
// changes nothing in the database.
package reading

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
	"github.com/applock/applock/applock/console/internal/pages"
)

// Reader reads the pages of all visitors who share a client. It is safe for concurrent use.
type Reader struct {
	client *applock.Client
	pages  *pages.Pages
	// Most is the number of locks that a snapshot holds.
	Most int
	// Counts are the statistics, and Names the operators that filters suggest.
	Counts *Shared[struct{}, counts]
	Names  *Shared[struct{}, []string]

	snapshots *Shared[struct{}, *snapshot]
	present   *Shared[struct{}, *present]
	given     *Shared[string, []pages.GivenLock]
}

// Config limits the reads.
type Config struct {
	// Timeout bounds a read that visitors share.
	Timeout time.Duration
	// Interval is how often an open page asks whether anything has changed.
	Interval time.Duration
}

// New returns a reader.
func New(client *applock.Client, written *pages.Pages, config Config) *Reader {
	return &Reader{
		client: client, pages: written, Most: locksOfSnapshot,
		Counts:    NewShared[struct{}, counts](countsKept, config.Timeout),
		Names:     NewShared[struct{}, []string](countsKept, config.Timeout),
		snapshots: NewShared[struct{}, *snapshot](config.Interval/2, config.Timeout),
		present:   NewShared[struct{}, *present](config.Interval/2, config.Timeout),
		given:     NewShared[string, []pages.GivenLock](config.Interval/2, config.Timeout),
	}
}

// locksOfSnapshot bounds a snapshot's memory to about 50 MB.
const locksOfSnapshot = 100_000

// row is a lock with the number of its waiters and the longest wait.
type row struct {
	applock.Lock
	Waiters int
	Longest time.Duration
	Here    here
	// Selects is true if the row has a check box.
	Selects bool
	// Verbs are its buttons.
	Verbs []string
}

// snapshot holds all locks and waiters of one read of the database. It is immutable.
//
// Search, sorted lists, totals and the first page are made from it in memory. All concurrent readers share one read, and search folds case
// in the same way on every database.
type snapshot struct {
	// rows are sorted by object.
	rows    []row
	waiters []applock.Waiter
	// cut is true if there are more locks than the snapshot holds.
	cut bool
	// folded returns the text that a search compares, for each row. The first search computes it.
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

func fold(text string) string { return strings.Map(unicode.ToLower, text) }

// search reports whether each word occurs in the row's object, operator, department or note.
func (s *snapshot) search(number int, words []string) bool {
	for _, word := range words {
		if !strings.Contains(s.folded()[number], word) {
			return false
		}
	}
	return true
}

// readShared returns a snapshot whose read began after the call, or a moment before for an open page that its reader shares with nobody. All
// concurrent callers share it, and one caller's end does not cancel it.
func (r *Reader) readShared(ctx context.Context, who access.Visitor) (*snapshot, error) {
	return r.snapshots.Get(ctx, struct{}{}, who.Polls && who.Person != "", func(ctx context.Context) (*snapshot, error) {
		return readSnapshot(ctx, r.client, r.Most)
	})
}

const countsKept = time.Minute

// counts are the statistics, or why they cannot be read.
type counts struct {
	stats []applock.Stats
	err   error
}

// readCounts returns the number of locks by type and department, at most a minute old. It returns none without the right to the statistics.
func (r *Reader) readCounts(ctx context.Context) []applock.Stats {
	stats, _ := r.readStats(ctx, true)
	return stats
}

// readStats returns the statistics, which may be a minute old for a page that knows some already.
func (r *Reader) readStats(ctx context.Context, known bool) ([]applock.Stats, error) {
	found, err := r.Counts.Get(ctx, struct{}{}, known, func(ctx context.Context) (counts, error) {
		stats, err := r.client.Stats(ctx, applock.StatsRequest{})
		return counts{stats, err}, ctx.Err()
	})
	return found.stats, cmp.Or(err, found.err)
}

const (
	// sharedMost limits the stored results.
	sharedMost = 200
	// A result serves for restFactor times as long as its read took, so that reading takes at most a fifth of the time. restMost bounds its
	// age.
	restFactor = 4
	restMost   = 10 * time.Second
)

// Shared lets concurrent requests for the same key share one read. Its methods are safe for concurrent use.
type Shared[K comparable, V any] struct {
	// Age is how old a result may be for requests that do not need a fresh one.
	Age     time.Duration
	timeout time.Duration

	mutex   sync.Mutex
	results map[K]*result[V]
}

// result is the result of a read. It is complete once done is closed.
type result[V any] struct {
	began time.Time
	done  chan struct{}
	took  time.Duration
	value V
	err   error
}

// NewShared returns an empty one. A result may be of that age for requests that do not need a fresh one; timeout bounds a read.
func NewShared[K comparable, V any](age, timeout time.Duration) *Shared[K, V] {
	return &Shared[K, V]{Age: age, timeout: timeout, results: map[K]*result[V]{}}
}

var errReadFailed = errors.New("the read that this request has joined has failed")

// Get returns the result of a read for key. A result serves all requests that came before its read began. For a moment it also serves those
// that know a version already. An error serves only the requests that waited for it.
func (s *Shared[K, V]) Get(ctx context.Context, key K, known bool, read func(context.Context) (V, error)) (V, error) {
	asked := time.Now()
	for {
		r, mine := s.latest(key, known, asked)
		if mine {
			return r.run(ctx, s.timeout, read)
		}
		select {
		case <-r.done:
			if s.serves(r, known, asked) {
				return r.value, r.err
			}
		case <-ctx.Done():
			var none V
			return none, ctx.Err()
		}
	}
}

// latest returns a running or recent read of the key that serves the request. Otherwise it returns a new one, which the caller must run.
func (s *Shared[K, V]) latest(key K, known bool, asked time.Time) (r *result[V], mine bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if r = s.results[key]; r != nil && (!r.ended() || r.err == nil && s.serves(r, known, asked)) {
		return r, false
	}
	for other, old := range s.results {
		if old.ended() && (len(s.results) >= sharedMost || !s.serves(old, true, asked)) {
			delete(s.results, other)
		}
	}
	r = &result[V]{began: time.Now(), done: make(chan struct{}), err: errReadFailed}
	s.results[key] = r
	return r, true
}

// serves reports whether a result is new enough for a request that came at the time asked.
func (s *Shared[K, V]) serves(r *result[V], known bool, asked time.Time) bool {
	if known {
		asked = asked.Add(-max(s.Age, min(restFactor*r.took, restMost)))
	}
	return !r.began.Before(asked)
}

func (r *result[V]) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// run runs the read. It ignores the cancellation of its caller, since others wait for the same read. If the read panics, they get errReadFailed.
func (r *result[V]) run(ctx context.Context, timeout time.Duration, read func(context.Context) (V, error)) (V, error) {
	defer close(r.done)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	r.value, r.err = read(ctx)
	r.took = time.Since(r.began)
	return r.value, r.err
}
