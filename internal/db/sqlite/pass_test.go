package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testclient"
)

// rowOf is the row of a customer, as text; empty if there is none. What is a time is how much later it is than the grant; lock_ts
// in milliseconds, since one that would not grow is made a microsecond greater.
func rowOf(t *testing.T, handle *sql.DB, id string) (row string, fence int64) {
	t.Helper()
	err := handle.QueryRowContext(t.Context(), `
		SELECT fence, operator_id || '|' || department_id || '|' || (lock_ts - acquired_ts) / 1000 || '|' || ttl_seconds || '|' || (expires_ts - acquired_ts)
			|| '|' || note || '|' || history_fl || '|' || (released_ts IS NULL)
		FROM appl_lock WHERE object_type = 'customer' AND object_id = ?`, id).Scan(&fence, &row)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		t.Fatal(err)
	}
	return row, fence
}

func layDown(t *testing.T, driver db.Driver, policy db.SetApplLockPolicyParams) {
	t.Helper()
	if policy == (db.SetApplLockPolicyParams{}) {
		return
	}
	policy.ObjectType, policy.ActorID = "customer", "DBA"
	if _, err := driver.SetApplLockPolicy(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
}

// Goal: a pass takes into account a change of the grant between its read and its write. Method: another connection changes the row right
// before the write.
func TestPassSeesWhatHasBecomeOfTheGrant(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]db.Outcome{
		"lock_ts = lock_ts + 1, expires_ts = expires_ts + 1": db.Released, // a renewal
		"released_ts = 1":                                                  db.Free,
		"fence = fence + 1, operator_id = 'BOSS'":                          db.Held,
		"fence = fence + 1":                                                db.Held,
		"acquired_ts = 1, lock_ts = 1, expires_ts = 60000001":              db.Free,
		"acquired_ts = 1, lock_ts = lock_ts + 1, expires_ts = 60000001":    db.Free,
		"history_fl = 'Y', lock_ts = lock_ts + 1, expires_ts = expires_ts": db.Released, // now there is an event
	} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			recorder, handle, driver := recorded(t)
			var file string
			if err := handle.QueryRowContext(t.Context(), "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&file); err != nil {
				t.Fatal(err)
			}
			other, err := sql.Open("sqlite", "file:"+file)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = other.Close() }()
			fence := contract.TakeCustomer(t, driver, "500")
			recorder.forget()
			const write = 2
			recorder.before(write, func() { execute(t, other, "UPDATE appl_lock SET "+change+" WHERE object_id = '500'") })
			next := db.GetApplLockParams{ObjectType: "customer", ObjectID: "500", OperatorID: "ASMITH", TTLSeconds: 45}
			result, err := contract.Pass(t.Context(), driver, contract.ReleaseOf("500", fence), next)
			if err != nil || result.Released != want || (result.Next.Fence > fence) != (want == db.Released) {
				t.Errorf("pass: %+v, %v, want %s: %s", result, err, want, recorder)
			}
			lock, err := clients.Driver(testclient.SQLite(t, other)).InquireApplLock(t.Context(), db.InquireApplLockParams{ObjectType: "customer", ObjectID: "500"})
			if err != nil || (lock.Lock.OperatorID == "ASMITH") != (want == db.Released) {
				t.Errorf("it is held by %q, %v", lock.Lock.OperatorID, err)
			}
		})
	}
}

// Goal: a pass that the history records is one transaction: if an event cannot be written, nothing is released and nothing taken. Method: a
// trigger that refuses one of its events, where there are both, and where there is only this one.
func TestAPassIsOneWithItsEvents(t *testing.T) {
	t.Parallel()
	for _, history := range []struct {
		before, now db.HistoryLevel
		refused     db.EventKind
	}{
		{db.HistoryAll, db.HistoryAll, db.EventReleased}, {db.HistoryAll, db.HistoryChanges, db.EventReleased},
		{db.HistoryAll, db.HistoryAll, db.EventAcquired}, {db.HistoryChanges, db.HistoryAll, db.EventAcquired},
	} {
		t.Run(fmt.Sprintf("%s-%s-%s", history.before, history.now, history.refused), func(t *testing.T) {
			t.Parallel()
			handle, driver := plainDriver(t, "?_pragma=journal_mode(WAL)")
			layDown(t, driver, db.SetApplLockPolicyParams{HistoryLevel: history.before})
			fence := contract.TakeCustomer(t, driver, "1")
			layDown(t, driver, db.SetApplLockPolicyParams{HistoryLevel: history.now})
			wantRow, _ := rowOf(t, handle, "1")
			wantEvents := contract.EventsOf(t, driver, "1", fence)
			execute(t, handle, fmt.Sprintf(
				"CREATE TRIGGER refuse BEFORE INSERT ON appl_lock_event WHEN NEW.event = '%s' BEGIN SELECT RAISE(ABORT, 'no room'); END", history.refused))
			next := db.GetApplLockParams{ObjectType: "customer", ObjectID: "1", OperatorID: "ASMITH", TTLSeconds: 45}
			if result, err := contract.Pass(t.Context(), driver, contract.ReleaseOf("1", fence), next); err == nil {
				t.Errorf("pass: %+v, want an error", result)
			}
			if row, _ := rowOf(t, handle, "1"); row != wantRow {
				t.Errorf("the row is %s, want %s", row, wantRow)
			}
			if events := contract.EventsOf(t, driver, "1", fence); !reflect.DeepEqual(events, wantEvents) {
				t.Errorf("the history has %q, want %q", events, wantEvents)
			}
		})
	}
}
