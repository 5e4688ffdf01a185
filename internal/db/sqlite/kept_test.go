package sqlite_test

import (
	"testing"

	"github.com/applock/applock/internal/db"
)

// Goal: the ttl that a NULL keeps is what the row says in whole seconds, to the nearest, and never less than one: also of
// a row that no operation has left so. Method: rows whose lock_ts was moved, and what get and transfer answer.
func TestKeptTTLIsOfWholeSeconds(t *testing.T) {
	t.Parallel()
	handle, driver := plainDriver(t, "?_pragma=journal_mode(WAL)")
	calls := map[string]func() (int64, error){
		"get": func() (int64, error) {
			result, err := driver.GetApplLock(t.Context(), db.GetApplLockParams{ObjectType: "customer", ObjectID: "1", OperatorID: "JDOE"})
			return result.SecondsLeft, err
		},
		"take": func() (int64, error) {
			result, err := driver.TakeApplLock(t.Context(), db.TakeApplLockParams{ObjectType: "customer", ObjectID: "1", OperatorID: "BOSS", Reason: "why"})
			return result.SecondsLeft, err
		},
		"transfer": func() (int64, error) {
			result, err := driver.TransferApplLock(t.Context(), db.TransferApplLockParams{
				ObjectType: "customer", ObjectID: "1", FromOperatorID: "JDOE", ToOperatorID: "ASMITH",
			})
			return result.SecondsLeft, err
		},
	}
	for _, row := range []struct {
		lockTS string
		want   int64
	}{
		{"lock_ts", 60},
		{"lock_ts + 1", 60},
		{"lock_ts + 499999", 60},
		{"lock_ts + 500001", 59},
		{"expires_ts - 1", 1},
		{"expires_ts", 1},
		{"expires_ts + 3600000000", 1},
	} {
		for name, call := range calls {
			_, err := handle.ExecContext(t.Context(), `
				DELETE FROM appl_lock;
				INSERT INTO appl_lock SELECT 'customer', '1', 'JDOE', '', 1, t.now_ts, t.now_ts, t.now_ts + 60000000, '', 'N'
				FROM (SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) * 1000 AS now_ts) AS t;
				UPDATE appl_lock SET lock_ts = `+row.lockTS)
			if err != nil {
				t.Fatal(err)
			}
			left, err := call()
			if err != nil || left != row.want {
				t.Errorf("lock_ts = %s: %s answers %d s, %v, want %d s", row.lockTS, name, left, err, row.want)
			}
		}
	}
}
