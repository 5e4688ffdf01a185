package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

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

// Goal: a pass is a release and a get in one: the same answer, row and events, for any next operator, and a greater fence. Method: the same
// with both, under each policy that makes a difference, even if the policy has changed by then.
func TestPassIsAReleaseAndAGet(t *testing.T) {
	t.Parallel()
	for name, policies := range contract.PassPolicies() {
		for operator, next := range contract.PassNexts() {
			t.Run(name+"/"+operator, func(t *testing.T) {
				t.Parallel()
				want := turn(t, policies, next, contract.ReleaseAndGet)
				if got := turn(t, policies, next, contract.Pass); !reflect.DeepEqual(got, want) {
					t.Errorf("a pass is\n%+v, want\n%+v", got, want)
				}
			})
		}
	}
}

// turned is what a turn has answered and left, but for times and fences.
type turned struct {
	result db.PassApplLockResult
	row    string
	events []string
}

// turn passes JDOE's grant on, under one policy when it begins and another one then.
func turn(t *testing.T, policies [2]db.SetApplLockPolicyParams, next db.GetApplLockParams, pass contract.Passing) turned {
	t.Helper()
	handle, driver := plainDriver(t, "?_pragma=journal_mode(WAL)")
	layDown(t, driver, policies[0])
	fence := contract.TakeCustomer(t, driver, "1")
	layDown(t, driver, policies[1])
	next.ObjectType, next.ObjectID = "customer", "1"
	result, err := pass(t.Context(), driver, contract.ReleaseOf("1", fence), next)
	if err != nil {
		t.Fatal(err)
	}
	row, now := rowOf(t, handle, "1")
	if result.Next.Fence != now || now <= fence || result.Next.ExpiresTS.IsZero() {
		t.Errorf("it answers %+v; the row has fence %d after %d", result, now, fence)
	}
	result.Next.Fence, result.Next.ExpiresTS = 0, time.Time{}
	return turned{result: result, row: row, events: contract.EventsOf(t, driver, "1", fence, now)}
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

// Goal: a pass takes nothing unless the grant that it names is live. Method: what may have become of that grant; the answer and the row
// are those of a release alone.
func TestPassTakesNothing(t *testing.T) {
	t.Parallel()
	for name, became := range map[string]func(t *testing.T, handle *sql.DB, driver db.Driver, id string, fence int64) (stale int64){
		"an older fence":  func(_ *testing.T, _ *sql.DB, _ db.Driver, _ string, fence int64) int64 { return fence - 1 },
		"a greater fence": func(_ *testing.T, _ *sql.DB, _ db.Driver, _ string, fence int64) int64 { return fence + 1 },
		"released": func(t *testing.T, _ *sql.DB, driver db.Driver, id string, fence int64) int64 {
			t.Helper()
			if _, err := driver.ReleaseApplLock(t.Context(), contract.ReleaseOf(id, fence)); err != nil {
				t.Fatal(err)
			}
			return fence
		},
		"expired": func(t *testing.T, handle *sql.DB, _ db.Driver, id string, fence int64) int64 {
			t.Helper()
			execute(t, handle, "UPDATE appl_lock SET acquired_ts = 1, lock_ts = 1, expires_ts = 60000001 WHERE object_id = ?", id)
			return fence
		},
		"passed already": func(t *testing.T, _ *sql.DB, driver db.Driver, id string, fence int64) int64 {
			t.Helper()
			next := db.GetApplLockParams{ObjectType: "customer", ObjectID: id, OperatorID: "JDOE", TTLSeconds: 60}
			if result, err := contract.Pass(t.Context(), driver, contract.ReleaseOf(id, fence), next); err != nil || result.Released != db.Released {
				t.Fatalf("pass: %+v, %v", result, err)
			}
			return fence
		},
		"another's": func(t *testing.T, _ *sql.DB, driver db.Driver, id string, fence int64) int64 {
			t.Helper()
			_, err := driver.TransferApplLock(t.Context(), db.TransferApplLockParams{
				ObjectType: "customer", ObjectID: id, FromOperatorID: "JDOE", ToOperatorID: "BOSS", ActorID: "BOSS",
			})
			if err != nil {
				t.Fatal(err)
			}
			return fence
		},
		"purged": func(t *testing.T, handle *sql.DB, _ db.Driver, id string, fence int64) int64 {
			t.Helper()
			execute(t, handle, "DELETE FROM appl_lock WHERE object_id = ?", id)
			return fence
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handle, driver := plainDriver(t, "?_pragma=journal_mode(WAL)")
			stale := func(id string) int64 { return became(t, handle, driver, id, contract.TakeCustomer(t, driver, id)) }
			released, err := driver.ReleaseApplLock(t.Context(), contract.ReleaseOf("1", stale("1")))
			if err != nil || released.Outcome == db.Released {
				t.Fatalf("release: %+v, %v: this shows nothing", released, err)
			}
			next := db.GetApplLockParams{ObjectType: "customer", ObjectID: "2", OperatorID: "ASMITH", TTLSeconds: 45}
			result, err := contract.Pass(t.Context(), driver, contract.ReleaseOf("2", stale("2")), next)
			if want := (db.PassApplLockResult{Released: released.Outcome}); err != nil || result != want {
				t.Errorf("pass: %+v, %v, want %+v", result, err, want)
			}
			wantRow, _ := rowOf(t, handle, "1")
			if row, _ := rowOf(t, handle, "2"); row != wantRow {
				t.Errorf("the row is %s, want %s", row, wantRow)
			}
		})
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
