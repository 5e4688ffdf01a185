//go:build linux && scale

package scale

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/applock"
)

const (
	// pairs is how often gets are timed alone and beside a purge, by turns, pairLong long each, by getters at a time.
	pairs    = 3
	pairLong = 10 * time.Second
	getters  = 4
)

// purgesBesideGets times gets alone and while what age has made old is purged.
func (p place) purgesBesideGets(t *testing.T) []purgeFigure {
	t.Helper()
	locks := p.purgeBesideGets(t, "locks", func(ctx context.Context, progress func(int64)) error {
		_, err := p.client.Purge(ctx, applock.PurgeRequest{Progress: progress})
		return err
	})
	events := p.purgeBesideGets(t, "events", func(ctx context.Context, progress func(int64)) error {
		_, err := p.client.PurgeHistory(ctx, applock.PurgeRequest{Progress: progress})
		return err
	})
	return []purgeFigure{locks, events}
}

// age has every second lock expire and the first half of the events happen long ago.
func (p place) age(t *testing.T) {
	t.Helper()
	schema, old, second := "", "expires_ts - 90 * 86400000000", "CAST(fence AS INTEGER) % 2 = 0"
	oldEvent := "event_ts - 450 * 86400000000"
	switch p.product {
	case "postgres":
		schema, old, second, oldEvent = "applock.", "expires_ts - interval '90 days'", "fence % 2 = 0", "event_ts - interval '450 days'"
	case "mariadb", "mysql":
		old, second, oldEvent = "expires_ts - INTERVAL 90 DAY", "fence MOD 2 = 0", "event_ts - INTERVAL 450 DAY"
	}
	p.do(t, fmt.Sprintf("UPDATE %sappl_lock SET expires_ts = %s WHERE %s AND object_id < '9'", schema, old, second))
	p.do(t, fmt.Sprintf("UPDATE %[1]sappl_lock_event SET event_ts = %[2]s WHERE event_id < (SELECT half FROM (SELECT max(event_id) / 2 AS half FROM %[1]sappl_lock_event) AS h)",
		schema, oldEvent))
}

func (p place) purgeBesideGets(t *testing.T, what string, purge func(ctx context.Context, progress func(int64)) error) purgeFigure {
	t.Helper()
	f := purgeFigure{What: what}
	var alone, beside []float64
	for range pairs {
		alone = append(alone, p.getsDuring(t, func(ctx context.Context) error { return waited(ctx, pairLong) })...)
		beside = append(beside, p.getsDuring(t, func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, pairLong)
			defer cancel()
			var purged int64
			began := time.Now()
			err := purge(ctx, func(now int64) { purged = now })
			f.Rows += purged
			f.Seconds += time.Since(began).Seconds()
			if ctx.Err() != nil {
				return nil //nolint:nilerr // its time is over
			}
			return err
		})...)
	}
	f.Alone, f.Beside = percentile(alone, 99), percentile(beside, 99)
	f.AloneP50, f.BesideP50 = percentile(alone, 50), percentile(beside, 50)
	t.Logf("purge of %s: %+v", what, f)
	return f
}

func waited(ctx context.Context, long time.Duration) error {
	select {
	case <-ctx.Done():
	case <-time.After(long):
	}
	return nil
}

// getsDuring returns the milliseconds of gets, by getters that take and release, while something else is done.
func (p place) getsDuring(t *testing.T, meanwhile func(ctx context.Context) error) []float64 {
	t.Helper()
	done := make(chan struct{})
	times, failed := make([][]float64, getters), make([]error, getters)
	var all sync.WaitGroup
	for getter := range getters {
		all.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				began := time.Now()
				object := applock.Object{Type: customer, ID: fmt.Sprintf("got%d.%d", getter, i%100)}
				if _, failed[getter] = p.client.Get(t.Context(), applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "G"}}); failed[getter] != nil {
					return
				}
				times[getter] = append(times[getter], float64(time.Since(began).Microseconds())/1000)
				key := applock.Key{Object: object, Operator: "G"}
				if _, failed[getter] = p.client.Release(t.Context(), applock.ReleaseRequest{Key: key}); failed[getter] != nil {
					return
				}
			}
		})
	}
	err := meanwhile(t.Context())
	close(done)
	all.Wait()
	if err := errors.Join(append(failed, err)...); err != nil {
		t.Fatal(err)
	}
	var joined []float64
	for _, of := range times {
		joined = append(joined, of...)
	}
	return joined
}
