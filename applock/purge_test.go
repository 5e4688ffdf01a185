package applock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
)

// purgedInBatches has rows to purge, and each batch takes its time.
type purgedInBatches struct {
	db.Driver

	rows    int64
	took    time.Duration
	asked   []int64
	working time.Duration
}

func (p *purgedInBatches) PurgeApplLocks(_ context.Context, params db.PurgeParams) (db.PurgeResult, error) {
	time.Sleep(p.took)
	p.working += p.took
	p.asked = append(p.asked, params.MaxRows)
	purged := min(params.MaxRows, p.rows)
	p.rows -= purged
	return db.PurgeResult{Purged: purged}, nil
}

// Goal: a purge leaves half of the time to others, and a cancelled one ends while it rests. Method: a server whose batches take a
// second each, in virtual time.
func TestPurgeRests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const rows = 10*applock.DefaultPurgeBatch + 5
		server := &purgedInBatches{rows: rows, took: time.Second}
		client := clients.New[*applock.Client](server, nil, lease.Hooks{})
		began := time.Now()
		purged, err := client.Purge(t.Context(), applock.PurgeRequest{})
		if purged != rows || err != nil {
			t.Errorf("%d rows, %v", purged, err)
		}
		if len(server.asked) != 12 || server.asked[0] != applock.DefaultPurgeBatch || server.asked[11] != applock.MaxPageSize {
			t.Errorf("the batches were of %v rows", server.asked)
		}
		if lasted := time.Since(began); lasted != 22*time.Second { // the last batch is not full: the call for the dead comes at once
			t.Errorf("twelve batches took %s of work and %s in all", server.working, lasted)
		}

		server.rows = rows
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		began = time.Now()
		if purged, err = client.Purge(ctx, applock.PurgeRequest{}); purged != applock.DefaultPurgeBatch || err == nil {
			t.Errorf("cancelled after a batch: %d rows, %v", purged, err)
		}
		if lasted := time.Since(began); lasted != 1500*time.Millisecond {
			t.Errorf("a cancelled purge ends after %s", lasted)
		}
	})
}
