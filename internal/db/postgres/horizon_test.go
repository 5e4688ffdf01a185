package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/internal/testing/testclient"
)

// Goal: while another session holds a snapshot, so that no former version of a row can be removed, a get, a refusal, a renewal and a
// release of a hot object still look at a few pages. Method: 6,000 changes of one row under a snapshot at REPEATABLE READ; auto_explain
// counts the pages of the greatest statement before and after. Of several calls the least counts: the rare change that begins a new page
// looks at all former versions to insert its index entry.
func TestHeavyHeldSnapshotLeavesCallsCheap(t *testing.T) {
	t.Parallel()
	const cycles, more = 2000, 4
	dsn := testclient.InstalledPostgres(t)
	e := newExplained(t, dsn)
	// An ANALYZE of a table of one page gives a session a sequential scan, until the next ANALYZE. This test is about the index.
	call(t, e.pool, "ALTER TABLE applock.appl_lock SET (autovacuum_enabled = off)")
	call(t, e.pool, "SET synchronous_commit = off")
	held := "SELECT * FROM applock.get_appl_lock_row('hot', '1', 'JDOE', NULL, 60)"
	call(t, e.pool, held)
	call(t, e.pool, "UPDATE applock.appl_lock SET fence = 1") // so that a renewal can name it
	renewed := `SELECT * FROM applock.renew_appl_locks('[{"object_type": "hot", "object_id": "1", "operator_id": "JDOE", "fence": 1, "ttl_seconds": 60}]')`
	calls := []struct{ name, query string }{
		{"get", held},
		{"refused get", "SELECT * FROM applock.get_appl_lock_row('hot', '1', 'ASMITH', NULL, 60)"},
		{"renewal", renewed},
		{"release", "SELECT * FROM applock.release_appl_lock_row('hot', '1', 'JDOE')"},
	}
	const asBefore = "UPDATE applock.appl_lock SET released_ts = NULL, fence = 1"

	snapshot, err := newPool(t, dsn).BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = snapshot.Rollback(t.Context()) })
	if _, err := snapshot.Exec(t.Context(), "SELECT FROM applock.appl_lock"); err != nil {
		t.Fatal(err)
	}

	pagesOf := func(query string) int {
		const attempts = 5
		least := 0
		for attempt := range attempts {
			call(t, e.pool, asBefore)
			most := 0
			for _, plan := range e.plansOf(t, query) {
				most = max(most, plan.Hit+plan.Read)
			}
			if attempt == 0 || most < least {
				least = most
			}
		}
		return least
	}
	before := map[string]int{}
	for _, each := range calls {
		before[each.name] = pagesOf(each.query)
	}
	for range cycles {
		call(t, e.pool, calls[0].query)
		call(t, e.pool, renewed)
		call(t, e.pool, calls[3].query)
	}
	for _, each := range calls {
		if pages := pagesOf(each.query); pages > before[each.name]+more {
			t.Errorf("%s: %d pages after %d cycles under a held snapshot, and %d before", each.name, pages, cycles, before[each.name])
		}
	}
}
