package sqlite_test

import (
	"database/sql"
	"testing"

	"github.com/applock/applock/internal/db"
)

// setClockBack sets the clock back by an hour, by moving all times forward.
func setClockBack(t *testing.T, handle *sql.DB) {
	t.Helper()
	execute(t, handle, `UPDATE appl_lock SET fence = fence + ?1, acquired_ts = acquired_ts + ?1, lock_ts = lock_ts + ?1,
		expires_ts = expires_ts + ?1, released_ts = released_ts + ?1`, 3_600_000_000)
	execute(t, handle, "UPDATE appl_lock_fence SET fence = fence + ?1 WHERE fence > 0", 3_600_000_000)
}

// Goal: a NULL ttl keeps what was asked for, whatever the clock does. Method: a grant that was acquired, acquired again after a
// release, transferred or renewed; the clock goes back an hour, and then a renewal, a transfer or a take.
func TestKeptTTLOutlivesTheClock(t *testing.T) {
	t.Parallel()
	handle, driver := plainDriver(t, "?_pragma=journal_mode(WAL)")
	get := func(ttl int64) (int64, error) {
		result, err := driver.GetApplLock(t.Context(), db.GetApplLockParams{ObjectType: "customer", ObjectID: "1", OperatorID: "JDOE", TTLSeconds: ttl})
		return result.SecondsLeft, err
	}
	transfer := func(to string, ttl int64) (int64, error) {
		result, err := driver.TransferApplLock(t.Context(), db.TransferApplLockParams{
			ObjectType: "customer", ObjectID: "1", FromOperatorID: "JDOE", ToOperatorID: to, TTLSeconds: ttl,
		})
		return result.SecondsLeft, err
	}
	take := func() (int64, error) {
		result, err := driver.TakeApplLock(t.Context(), db.TakeApplLockParams{ObjectType: "customer", ObjectID: "1", OperatorID: "BOSS", Reason: "why"})
		return result.SecondsLeft, err
	}
	release := func() {
		if _, err := driver.ReleaseApplLock(t.Context(), db.ReleaseApplLockParams{ObjectType: "customer", ObjectID: "1", OperatorID: "JDOE"}); err != nil {
			t.Fatal(err)
		}
	}
	for before, prepare := range map[string]func() (int64, error){
		"acquire": func() (int64, error) { return get(60) },
		"acquire twice": func() (int64, error) {
			_, _ = get(60)
			return get(0)
		},
		"release": func() (int64, error) {
			_, _ = get(7)
			release()
			setClockBack(t, handle)
			return get(60)
		},
		"transfer": func() (int64, error) {
			_, _ = get(7)
			return transfer("JDOE", 60)
		},
	} {
		for after, call := range map[string]func() (int64, error){
			"renew":    func() (int64, error) { return get(0) },
			"transfer": func() (int64, error) { return transfer("ASMITH", 0) },
			"take":     take,
		} {
			execute(t, handle, "DELETE FROM appl_lock")
			if left, err := prepare(); err != nil || left != 60 {
				t.Fatalf("%s: %d s, %v", before, left, err)
			}
			setClockBack(t, handle)
			for range 2 { // the first call is made by the clock's new time, and so is what the second one finds
				left, err := call()
				if err != nil || left != 60 {
					t.Errorf("%s, clock set back, %s: %d s, %v, want 60 s", before, after, left, err)
				}
				if after == "transfer" {
					break // it is another's now
				}
			}
		}
	}
}

// Goal: a released lock stays released when the clock goes back, and no live one is purged. Method: release, clock back; then another
// operator's get, and a purge.
func TestReleasedOutlivesTheClock(t *testing.T) {
	t.Parallel()
	handle, driver := plainDriver(t, "?_pragma=journal_mode(WAL)")
	if err := get(t.Context(), driver, "1", "JDOE"); err != nil {
		t.Fatal(err)
	}
	if _, err := driver.ReleaseApplLock(t.Context(), db.ReleaseApplLockParams{ObjectType: "customer", ObjectID: "1", OperatorID: "JDOE"}); err != nil {
		t.Fatal(err)
	}
	setClockBack(t, handle)
	if purged, err := driver.PurgeApplLocks(t.Context(), db.PurgeApplLocksParams{OlderThanSeconds: 1, MaxRows: 10}); err != nil || purged.Purged != 0 {
		t.Errorf("purge of what is released in the future: %+v, %v", purged, err)
	}
	result, err := driver.GetApplLock(t.Context(), db.GetApplLockParams{ObjectType: "customer", ObjectID: "1", OperatorID: "ASMITH"})
	if err != nil || result.Outcome != db.Acquired {
		t.Errorf("get of what was released: %+v, %v", result, err)
	}
	events, err := driver.ApplLockHistory(t.Context(), db.ApplLockHistoryParams{MaxRows: 10})
	if err != nil || len(events) != 0 {
		t.Errorf("the history has %+v, %v: it was released, not overtaken", events, err)
	}
}

// Goal: a fence never falls, though its row is purged and the clock goes back. Method: a grant, released and purged; the clock
// goes back an hour; the next grant of the same object, and one of another.
func TestFenceOutlivesPurgeAndClock(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	grant := func(id string) int64 {
		t.Helper()
		result, err := place.Driver.GetApplLock(t.Context(), db.GetApplLockParams{ObjectType: "customer", ObjectID: id, OperatorID: "JDOE", TTLSeconds: 1})
		if err != nil || result.Outcome != db.Acquired {
			t.Fatalf("%+v, %v", result, err)
		}
		return result.Fence
	}
	first := grant("1")
	if err := place.Advance(t.Context(), 60_000_000_000); err != nil {
		t.Fatal(err)
	}
	purged, err := place.Driver.PurgeApplLocks(t.Context(), db.PurgeApplLocksParams{OlderThanSeconds: 10, MaxRows: 10})
	if err != nil || purged.Purged != 1 {
		t.Fatalf("purge: %+v, %v", purged, err)
	}
	var kept int64
	if err := place.SQL.QueryRowContext(t.Context(), "SELECT fence FROM appl_lock_fence").Scan(&kept); err != nil || kept != first {
		t.Errorf("the greatest fence purged is %d, %v, want %d", kept, err, first)
	}
	setClockBack(t, place.SQL)
	for _, id := range []string{"1", "2"} {
		if fence := grant(id); fence <= first+3_600_000_000 {
			t.Errorf("customer:%s: fence %d after %d", id, fence, first+3_600_000_000)
		}
	}
}
