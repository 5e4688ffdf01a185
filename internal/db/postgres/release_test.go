package postgres_test

import "testing"

// Goal: a release only sets released_ts, even for an operator's own expired grant, and a released grant stays released after any change of
// the clock. Method: compare the row with its former state, and with an end in the future again.
func TestReleaseSetsReleasedOnly(t *testing.T) {
	t.Parallel()
	pool := migratedPool(t)
	const row = "SELECT to_jsonb(l) - 'released_ts' || jsonb_build_object('released', released_ts IS NOT NULL) FROM applock.appl_lock AS l"
	outcome := func(want string) {
		t.Helper()
		got := column(t, pool, "SELECT p_outcome FROM applock.release_appl_lock_row('customer', '1', 'JDOE')")
		if got[0] != want {
			t.Errorf("a release answers %s, want %s", got[0], want)
		}
	}
	for _, expired := range []bool{false, true} {
		call(t, pool, getCall, "1", "JDOE")
		want := "RELEASED"
		if expired {
			call(t, pool, "UPDATE applock.appl_lock SET expires_ts = now() - interval '1 minute'")
			want = "FREE"
		}
		before := column(t, pool, row+" WHERE released_ts IS NULL")
		outcome(want)
		outcome("FREE")
		after := column(t, pool, row+" WHERE released_ts IS NOT NULL")
		if len(before) != 1 || len(after) != 1 || len(before[0]) != len(after[0])+1 {
			t.Errorf("the row was %s, and is %s", before, after)
		}
		call(t, pool, "UPDATE applock.appl_lock SET expires_ts = now() + interval '1 hour', released_ts = now() + interval '1 minute'")
		if live := column(t, pool, "SELECT object_id FROM applock.appl_lock_live"); len(live) != 0 {
			t.Errorf("%s is live after its release", live)
		}
		if held := column(t, pool, "SELECT p_ok_fl FROM applock.inquire_appl_lock_row('customer', '1')"); held[0] != "N" {
			t.Error("inquire finds the lock after its release")
		}
	}
}
