package mysql_test

import (
	"testing"
	"time"

	"github.com/applock/applock/applock"
)

// Goal: a batch of a purge is one transaction, which waits for the disk once, not one for each row. Method: the second of three batches cannot
// remove one of its rows. The first is gone, and of the second nothing.
func TestPurgeCommitsByBatches(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := newPlace(t, product)
		fillBoth(t, place.SQL, 300)
		mustQuery(t, place.SQL, `UPDATE appl_lock SET acquired_ts = UTC_TIMESTAMP(6) - INTERVAL 90 DAY, lock_ts = UTC_TIMESTAMP(6) - INTERVAL 90 DAY,
			expires_ts = UTC_TIMESTAMP(6) - INTERVAL 89 DAY`)
		mustQuery(t, place.SQL, `CREATE TRIGGER refuse BEFORE DELETE ON appl_lock FOR EACH ROW
			IF OLD.object_id = '00150' THEN SIGNAL SQLSTATE '45000'; END IF`)
		purged, err := place.Client.Purge(t.Context(), applock.PurgeRequest{OlderThan: 30 * 24 * time.Hour, Batch: 100})
		if err == nil || purged != 100 {
			t.Errorf("%d rows purged, %v, want 100 and an error", purged, err)
		}
		if left := value(t, place.SQL, "SELECT COUNT(*) FROM appl_lock"); left != "200" {
			t.Errorf("%s rows are left, want 200", left)
		}
	})
}
