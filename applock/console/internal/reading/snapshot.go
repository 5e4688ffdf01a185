package reading

import (
	"context"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
)

// locksOfSnapshot bounds a snapshot's memory to about 50 MB.
const locksOfSnapshot = 100_000

// row is a lock with the number of its waiters and the longest wait.
type row struct {
	applock.Lock
	Waiters int
	Longest time.Duration
	// Here are the others at the object.
	Here here
	// Selects is true if the row has a check box.
	Selects bool
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

// fold lowers a text for a search.
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

// countsKept is how long statistics are cached.
const countsKept = time.Minute

// readCounts returns the number of locks by type and department, at most a minute old. It returns none without the right to the statistics.
func (r *Reader) readCounts(ctx context.Context) []applock.Stats {
	stats, _ := r.Counts.Get(ctx, struct{}{}, true, func(ctx context.Context) ([]applock.Stats, error) {
		stats, _ := r.client.Stats(ctx, applock.StatsRequest{})
		return stats, ctx.Err()
	})
	return stats
}
