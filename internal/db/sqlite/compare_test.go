package sqlite_test

import (
	"database/sql"
	"errors"
	"testing"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// Goal: nothing is changed that is not as it was read. Method: a row is read, then each column that tells what became of it is moved;
// then the statements that compare and set.
func TestStatementsCompareWithWhatWasRead(t *testing.T) {
	t.Parallel()
	handle, driver := plainDriver(t, "?_pragma=journal_mode(WAL)")
	q := queries.New(handle)
	for change, want := range map[string]bool{
		"note = 'another'":              true, // says nothing about the grant
		"fence = fence + 1":             false,
		"lock_ts = lock_ts + 1":         false,
		"expires_ts = expires_ts + 1":   false,
		"released_ts = 1":               false,
		"expires_ts = 1":                false,
		"released_ts = expires_ts + 10": false,
	} {
		for name, set := range map[string]func(row queries.InquireApplLockRow) (int64, error){
			"get": func(row queries.InquireApplLockRow) (int64, error) {
				_, err := q.GetApplLock(t.Context(), queries.GetApplLockParams{
					OperatorID: "ASMITH", TTLSeconds: 60, HistoryFL: "N", ObjectType: "customer", ObjectID: "1",
					FromFence: row.Fence, FromLockTS: row.LockTS, FromExpiresTS: row.ExpiresTS, FromReleasedTS: row.ReleasedTS, FromLive: row.Live,
				})
				if errors.Is(err, sql.ErrNoRows) {
					return 0, nil
				}
				return 1, err
			},
			"release": func(row queries.InquireApplLockRow) (int64, error) {
				return q.ReleaseApplLock(t.Context(), queries.ReleaseApplLockParams{
					ObjectType: "customer", ObjectID: "1",
					FromFence: row.Fence, FromLockTS: row.LockTS, FromExpiresTS: row.ExpiresTS, FromReleasedTS: row.ReleasedTS, FromLive: row.Live,
				})
			},
			"note": func(row queries.InquireApplLockRow) (int64, error) {
				return q.NoteApplLock(t.Context(), queries.NoteApplLockParams{
					Note: "why", ObjectType: "customer", ObjectID: "1",
					FromFence: row.Fence, FromLockTS: row.LockTS, FromExpiresTS: row.ExpiresTS, FromReleasedTS: row.ReleasedTS, FromLive: row.Live,
				})
			},
		} {
			execute(t, handle, "DELETE FROM appl_lock")
			if err := get(t.Context(), driver, "1", "JDOE"); err != nil {
				t.Fatal(err)
			}
			row, err := q.InquireApplLock(t.Context(), queries.InquireApplLockParams{ObjectType: "customer", ObjectID: "1"})
			if err != nil || row.Live != 1 {
				t.Fatalf("%+v, %v", row, err)
			}
			execute(t, handle, "UPDATE appl_lock SET "+change)
			if changed, err := set(row); err != nil || (changed == 1) != want {
				t.Errorf("%s after %s: %d rows, %v", name, change, changed, err)
			}
		}
	}
}

// Goal: a lock that was read as live and has expired since is not renewed, released or noted as if it were live. Method: run the statements
// for an expired row, as for a live one.
func TestStatementsCompareTheTime(t *testing.T) {
	t.Parallel()
	handle, driver := plainDriver(t, "?_pragma=journal_mode(WAL)")
	q := queries.New(handle)
	if err := get(t.Context(), driver, "1", "JDOE"); err != nil {
		t.Fatal(err)
	}
	execute(t, handle, "UPDATE appl_lock SET expires_ts = 2")
	row, err := q.InquireApplLock(t.Context(), queries.InquireApplLockParams{ObjectType: "customer", ObjectID: "1"})
	if err != nil || row.Live != 0 {
		t.Fatalf("%+v, %v", row, err)
	}
	_, err = q.GetApplLock(t.Context(), queries.GetApplLockParams{
		OperatorID: "JDOE", TTLSeconds: 60, Renews: 1, HistoryFL: "N", ObjectType: "customer", ObjectID: "1",
		FromFence: row.Fence, FromLockTS: row.LockTS, FromExpiresTS: row.ExpiresTS, FromLive: 1,
	})
	if !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("a renewal of what has expired: %v", err)
	}
	released, err := driver.ReleaseApplLock(t.Context(), db.ReleaseApplLockParams{ObjectType: "customer", ObjectID: "1", OperatorID: "JDOE"})
	if err != nil || released.Outcome != db.Free {
		t.Errorf("release of what has expired: %+v, %v", released, err)
	}
	if row, err = q.InquireApplLock(t.Context(), queries.InquireApplLockParams{ObjectType: "customer", ObjectID: "1"}); err != nil || row.ReleasedTS == 0 {
		t.Errorf("release of one's own expired grant leaves %+v, %v", row, err)
	}
}

// Goal: no caller can store a name with a control character. Method: each control character and its neighbours, in each name of a lock and
// of a waiter, without the façade.
func TestNoControlCharacterIsStored(t *testing.T) {
	t.Parallel()
	_, driver := plainDriver(t, "?_pragma=journal_mode(WAL)&_pragma=synchronous(off)")
	for r := rune(0); r < 0x180; r++ {
		control := r < 0x20 || r >= 0x7f && r < 0xa0
		for place := range 4 {
			if r == ':' && place == 0 {
				continue
			}
			names := []string{"customer", "1", "JDOE", "CS"}
			names[place] = "a" + string(r) + "b"
			_, err := driver.GetApplLock(t.Context(), db.GetApplLockParams{
				ObjectType: names[0], ObjectID: names[1], OperatorID: names[2], DepartmentID: names[3], NewFL: true,
			})
			waitErr := driver.AnnounceApplLockWaiter(t.Context(), db.AnnounceApplLockWaiterParams{
				ObjectType: names[0], ObjectID: names[1], OperatorID: names[2], DepartmentID: names[3], ClientID: "p1",
			})
			if (err != nil) != control || (waitErr != nil) != control {
				t.Errorf("U+%04X in %s: get %v, announce %v", r, names[place], err, waitErr)
			}
			if !control { // so that the next one is a new lock
				_, err := driver.ReleaseApplLock(t.Context(), db.ReleaseApplLockParams{ObjectType: names[0], ObjectID: names[1], OperatorID: names[2]})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
