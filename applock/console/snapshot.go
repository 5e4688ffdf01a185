package console

import (
	"context"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/applock/applock/applock"
)

// locksOfSnapshot bounds a snapshot: some 50 MB.
const locksOfSnapshot = 100_000

// row is a lock with how many wait for it, and for how long the first of them has.
type row struct {
	applock.Lock
	Waiters int
	Longest time.Duration
	// Here is who asks for it and who looks at it.
	Here here
	// Selects is true where the row can be selected.
	Selects bool
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

// readShared returns a snapshot that was begun after the call. All who ask at the time share it, and it goes on when the first of them has gone.
func (d *database) readShared(ctx context.Context, timeout time.Duration) (*snapshot, error) {
	return d.snapshots.get(ctx, struct{}{}, false, func() (*snapshot, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		defer cancel()
		return readSnapshot(ctx, d.client, d.snapshotMost)
	})
}

// countsKept is how long the statistics are not asked for again.
const countsKept = time.Minute

// readCounts returns the statistics of the last minute: how many locks there are of each type and department. Who has no right to them gets
// none.
func (d *database) readCounts(ctx context.Context, timeout time.Duration) []applock.Stats {
	stats, _ := d.counts.get(ctx, struct{}{}, true, func() ([]applock.Stats, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		defer cancel()
		stats, _ := d.client.Stats(ctx, applock.StatsRequest{})
		return stats, ctx.Err()
	})
	return stats
}
