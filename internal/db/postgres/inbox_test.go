package postgres_test

import (
	"testing"

	"github.com/applock/applock/internal/testing/testclient"
)

// Goal: an inbox reads neither table from end to end, whatever the statistics say: events and waiters by their indexes, locks by their key.
// Method: a million nobody's rows are not needed: the server counts scans of tables.
func TestInboxReadsByIndexOnly(t *testing.T) {
	t.Parallel()
	dsn := testclient.InstalledPostgres(t)
	e := newExplained(t, dsn)
	fillBoth(t, e.pool, plannedRows, live)
	call(t, e.pool, "UPDATE applock.appl_lock_waiter SET holder_id = CASE WHEN object_id::int % 2000 = 0 THEN 'JDOE' ELSE 'OTHER' END")
	for _, statistics := range []string{"SELECT 1", analyze} {
		call(t, e.pool, statistics)
		if rows := e.handledRows(t, "SELECT * FROM applock.inbox_appl_locks('JDOE', NULL, NULL)"); rows > 200 {
			t.Errorf("after %s an inbox with ten waiters handles %d rows, want at most 200", statistics, rows)
		}
	}
}
