package mysql_test

import (
	"testing"
)

// Goal: a stored function can transfer and release, with events, in the caller's transaction. Method: one that does both, in a
// transaction that is rolled back and in one that commits.
func TestHistoryFromAFunction(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := newPlace(t, product)
		mustQuery(t, place.SQL, `CREATE FUNCTION end_of_a_shift() RETURNS VARCHAR(64) MODIFIES SQL DATA
			BEGIN
				CALL transfer_appl_lock('customer', '1', 'JDOE', 'ASMITH', NULL, NULL, 'BOSS', 'ill', @a, @b, @c, @d, @e, @f, @g);
				CALL release_appl_lock('customer', '1', 'ASMITH', NULL, 'BOSS', 'ill', @h, @i, @j, @k);
				RETURN CONCAT(@b, ' ', @i);
			END`)
		conn, err := place.SQL.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }() // gives it back to the pool
		mustQuery(t, conn, getCall, "1", "JDOE")
		for _, test := range []struct{ end, events, holder string }{
			{"ROLLBACK", "0", "JDOE"},
			{"COMMIT", "2", ""},
		} {
			mustQuery(t, conn, "START TRANSACTION")
			if got := value(t, conn, "SELECT end_of_a_shift()"); got != "TRANSFERRED RELEASED" {
				t.Errorf("the function answers %s", got)
			}
			mustQuery(t, conn, test.end)
			events := value(t, place.SQL, "SELECT COUNT(*) FROM appl_lock_event")
			if holder := value(t, place.SQL, "SELECT COALESCE(MAX(operator_id), '') FROM appl_lock_live"); events != test.events || holder != test.holder {
				t.Errorf("after %s: %s events, held by %q; want %s and %q", test.end, events, holder, test.events, test.holder)
			}
		}
	})
}
