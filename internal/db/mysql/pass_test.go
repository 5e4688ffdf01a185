package mysql_test

import (
	"database/sql"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql"
	"github.com/applock/applock/internal/testing/contract"
)

// take gets a customer anew for JDOE, with a note, and returns the fence.
func take(t *testing.T, place contract.Place, id string) int64 {
	t.Helper()
	mustQuery(t, place.SQL, "DELETE FROM appl_lock WHERE object_id = ?", id)
	mustQuery(t, place.SQL, "DELETE FROM appl_lock_event")
	return contract.TakeCustomer(t, place.Driver, id)
}

const rowQuery = `SELECT CONCAT_WS('|', operator_id, department_id, lock_ts = acquired_ts, ttl_seconds, TIMESTAMPDIFF(SECOND, acquired_ts, expires_ts), note,
	history_fl, released_ts IS NULL) FROM appl_lock WHERE object_type = 'customer' AND object_id = ? UNION ALL SELECT 'none' LIMIT 1`

// turned is the row and the events that a turn has left, but for times and fences.
type turned struct {
	row    string
	events []string
}

func whatIs(t *testing.T, place contract.Place, fences ...int64) turned {
	t.Helper()
	return turned{row: value(t, place.SQL, rowQuery, "1"), events: contract.EventsOf(t, place.Driver, "1", fences...)}
}

// Goal: a pass takes into account a change of the grant before it locks the row. Method: the routine itself changes the row there. The
// history records everything, so that there is a transaction.
func TestPassSeesWhatHasBecomeOfTheGrant(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := newPlace(t, product)
		contract.LayDown(t, place, db.SetApplLockPolicyParams{HistoryLevel: db.HistoryAll})
		next := db.GetApplLockParams{ObjectType: "customer", ObjectID: "1", OperatorID: "ASMITH", TTLSeconds: 45}
		for change, want := range map[string]db.Outcome{
			"lock_ts = lock_ts + INTERVAL 1 MICROSECOND":                                        db.Released, // a renewal
			"expires_ts = expires_ts + INTERVAL 1 SECOND":                                       db.Released,
			"released_ts = UTC_TIMESTAMP(6)":                                                    db.Free,
			"fence = fence + 1, operator_id = 'BOSS'":                                           db.Held,
			"fence = fence + 1":                                                                 db.Held,
			"acquired_ts = '2020-01-01', lock_ts = '2020-01-01', expires_ts = '2020-01-02'":     db.Free,
			"history_fl = 'N', lock_ts = lock_ts + INTERVAL 1 MICROSECOND":                      db.Released,
			"operator_id = 'BOSS', fence = fence + 1, lock_ts = lock_ts + INTERVAL 1 SECOND":    db.Held,
			"released_ts = UTC_TIMESTAMP(6), lock_ts = lock_ts + INTERVAL 1 MICROSECOND":        db.Free,
			"expires_ts = '2020-01-02', lock_ts = '2020-01-01', acquired_ts = '2020-01-01 0:0'": db.Free,
		} {
			fence := take(t, place, "1")
			undo := interrupt(t, place.SQL, "release_appl_lock_pass_core", "-- S2:", "UPDATE appl_lock SET "+change+";")
			result, err := contract.Pass(t.Context(), place.Driver, contract.ReleaseOf("1", fence), next)
			undo()
			holder := value(t, place.SQL, "SELECT COALESCE(MAX(operator_id), '') FROM appl_lock_live")
			if err != nil || result.Released != want || (result.Next.Fence > fence) != (want == db.Released) || (holder == "ASMITH") != (want == db.Released) {
				t.Errorf("%s: %+v, %v, held by %q; want %s", change, result, err, holder, want)
			}
		}
	})
}

// Goal: the events of a pass are those of the row that it changes. Method: a pass stops at a gate once it has read which events there are;
// a supervisor takes the object meanwhile: the pass has it until it ends.
func TestPassKeepsTheRowThatItHasRead(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := newPlace(t, product)
		contract.LayDown(t, place, db.SetApplLockPolicyParams{HistoryLevel: db.HistoryAll})
		fence := take(t, place, "1")
		open, answer := stoppedPass(t, place, "-- S1:", fence)
		_, err := contract.RowsByColumn(t.Context(), place.SQL, "CALL take_appl_lock_row('customer', '1', 'BOSS', '', 'why', ?, NULL)", fence)
		if kind := db.KindOf(mysql.InterpretError(err)); kind != db.KindBusy {
			t.Errorf("the take: %v, want that it has waited in vain", err)
		}
		open()
		if result, err := answer(); err != nil || result.Released != db.Released {
			t.Errorf("the pass answers %+v, %v", result, err)
		}
		if holder := value(t, place.SQL, "SELECT operator_id FROM appl_lock_live"); holder != "ASMITH" {
			t.Errorf("%s holds it", holder)
		}
	})
}

// stoppedPass passes JDOE's grant on to ASMITH. It returns when the pass has stopped at a gate before a text of the core. open opens the gate.
// answer waits for the result of the pass, and takes the gate away.
func stoppedPass(t *testing.T, place contract.Place, text string, fence int64) (open func(), answer func() (db.PassApplLockResult, error)) {
	t.Helper()
	gate, err := place.SQL.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mustQuery(t, gate, "DO GET_LOCK(DATABASE(), 60)")
	undo := interrupt(t, place.SQL, "release_appl_lock_pass_core", text, "DO GET_LOCK(DATABASE(), 60); DO RELEASE_LOCK(DATABASE());")
	var result db.PassApplLockResult
	answered := make(chan error, 1)
	go func() {
		next := db.GetApplLockParams{ObjectType: "customer", ObjectID: "1", OperatorID: "ASMITH", TTLSeconds: 45}
		var err error
		result, err = contract.Pass(t.Context(), place.Driver, contract.ReleaseOf("1", fence), next)
		answered <- err
	}()
	untilInState(t, place.SQL, "User lock")
	open = func() { mustQuery(t, gate, "DO RELEASE_LOCK(DATABASE())") }
	return open, func() (db.PassApplLockResult, error) {
		err := <-answered
		open() // a killed pass has not waited for it
		undo()
		_ = gate.Close() // gives it back to the pool
		return result, err
	}
}

// Goal: a pass that the history records is one transaction, even in a caller's: if an event cannot be written, nothing is released and
// nothing taken. Method: a trigger that refuses one of its events, where there are both, and where there is only this one.
func TestAPassIsOneWithItsEvents(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := newPlace(t, product)
		next := db.GetApplLockParams{ObjectType: "customer", ObjectID: "1", OperatorID: "ASMITH", TTLSeconds: 45}
		for _, history := range []struct {
			before, now db.HistoryLevel
			refused     db.EventKind
		}{
			{db.HistoryAll, db.HistoryAll, db.EventReleased}, {db.HistoryAll, db.HistoryChanges, db.EventReleased},
			{db.HistoryAll, db.HistoryAll, db.EventAcquired}, {db.HistoryChanges, db.HistoryAll, db.EventAcquired},
		} {
			contract.LayDown(t, place, db.SetApplLockPolicyParams{HistoryLevel: history.before})
			fence := take(t, place, "1")
			contract.LayDown(t, place, db.SetApplLockPolicyParams{HistoryLevel: history.now})
			wantRow, wantEvents := value(t, place.SQL, rowQuery, "1"), contract.EventsOf(t, place.Driver, "1", fence)
			mustQuery(t, place.SQL, fmt.Sprintf(`CREATE TRIGGER refuse BEFORE INSERT ON appl_lock_event FOR EACH ROW
				BEGIN IF NEW.event = '%s' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no room'; END IF; END`, history.refused))
			result, err := contract.Pass(t.Context(), place.Driver, contract.ReleaseOf("1", fence), next)
			mustQuery(t, place.SQL, "DROP TRIGGER refuse")
			row, events := value(t, place.SQL, rowQuery, "1"), contract.EventsOf(t, place.Driver, "1", fence)
			if err == nil || row != wantRow || !reflect.DeepEqual(events, wantEvents) {
				t.Errorf("%+v: %+v, %v; the row is %s, want %s; the history has %q, want %q", history, result, err, row, wantRow, events, wantEvents)
			}
		}
	})
}

// Goal: a pass that is killed halfway has happened as a whole, with its events, or not at all, and leaves no lock on the row: its holder
// releases it. An answered pass has happened. Method: the pass stops at a gate once it has changed the row, and its query or its connection is
// killed there, with and without a history of all.
func TestKilledPassIsWholeOrNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := newPlace(t, product)
		next := db.GetApplLockParams{ObjectType: "customer", ObjectID: "1", OperatorID: "ASMITH", TTLSeconds: 45}
		for _, level := range []db.HistoryLevel{db.HistoryChanges, db.HistoryAll} {
			contract.LayDown(t, place, db.SetApplLockPolicyParams{HistoryLevel: level})
			fence := take(t, place, "1")
			if _, err := contract.Pass(t.Context(), place.Driver, contract.ReleaseOf("1", fence), next); err != nil {
				t.Fatal(err)
			}
			passed := whatIs(t, place, fence, fenceOf(t, place))
			for _, kill := range []string{"KILL QUERY ", "KILL CONNECTION "} {
				fence := take(t, place, "1")
				former := whatIs(t, place, fence)
				err := killedPass(t, place, kill, fence)
				now := fenceOf(t, place)
				is := whatIs(t, place, slices.Compact([]int64{fence, now})...)
				hasPassed := is.row == passed.row && reflect.DeepEqual(is.events, passed.events)
				if !hasPassed && (err == nil || is.row != former.row || !reflect.DeepEqual(is.events, former.events)) {
					t.Errorf("%s, %s: %v, then %+v, want %+v or %+v", level, kill, err, is, former, passed)
				}
				mustQuery(t, place.SQL, "CALL release_appl_lock_row('customer', '1', ?, ?, NULL, NULL)", strings.Split(is.row, "|")[0], now)
				if row := value(t, place.SQL, rowQuery, "1"); !strings.HasSuffix(row, "|0") {
					t.Errorf("%s, %s: after a release the row is %s", level, kill, row)
				}
			}
		}
	})
}

func fenceOf(t *testing.T, place contract.Place) int64 {
	t.Helper()
	fence, err := strconv.ParseInt(value(t, place.SQL, "SELECT fence FROM appl_lock WHERE object_id = '1'"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return fence
}

// killedPass kills a pass once it has changed the row, and returns the pass's error.
func killedPass(t *testing.T, place contract.Place, kill string, fence int64) error {
	t.Helper()
	_, answer := stoppedPass(t, place, "SET v_released = 'RELEASED';", fence)
	mustQuery(t, place.SQL, kill+value(t, place.SQL, "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND state = 'User lock'"))
	_, err := answer()
	return err
}

// Goal: a pass is part of the caller's transaction, and it reads nothing that would fix what that one sees. Method: a transaction at REPEATABLE
// READ whose first statement is a pass; another one's commit; what the first one sees, also after a rollback.
func TestPassInACallersTransaction(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := newPlace(t, product)
		mustQuery(t, place.SQL, "CREATE TABLE balance (amount INT)")
		fence := take(t, place, "1")
		before := value(t, place.SQL, rowQuery, "1")
		inTx(t, place.SQL, func(tx *sql.Tx) {
			row := mustQuery(t, tx, "CALL release_appl_lock_pass('customer', '1', 'JDOE', ?, 'ASMITH', NULL, 60)", fence)[0]
			if row["released"] != "RELEASED" || row["outcome"] != "ACQUIRED" {
				t.Errorf("the pass answers %v", row)
			}
			mustQuery(t, place.SQL, "INSERT INTO balance VALUES (1)")
			if got := value(t, tx, "SELECT COUNT(*) FROM balance"); got != "1" {
				t.Errorf("the transaction sees %s rows, want 1", got)
			}
			if row := value(t, place.SQL, rowQuery, "1"); row != before {
				t.Errorf("others see %s, want %s", row, before)
			}
			if err := tx.Rollback(); err != nil {
				t.Error(err)
			}
		})
		if row := value(t, place.SQL, rowQuery, "1"); row != before {
			t.Errorf("after the rollback the row is %s, want %s", row, before)
		}
	})
}

// Goal: a wrong argument of a pass is refused before anything is released. Method: one fault each.
func TestRefusedPasses(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		fence := take(t, place, "1")
		before := value(t, place.SQL, rowQuery, "1")
		for _, arguments := range []string{
			"'', '1', 'JDOE', FENCE, 'ASMITH', NULL, 60", "'customer', NULL, 'JDOE', FENCE, 'ASMITH', NULL, 60",
			"'customer', '1', '', FENCE, 'ASMITH', NULL, 60", "'customer', '1', 'JDOE', NULL, 'ASMITH', NULL, 60",
			"'customer', '1', 'JDOE', 0, 'ASMITH', NULL, 60", "'customer', '1', 'JDOE', FENCE, '', NULL, 60",
			"'customer', '1', 'JDOE', FENCE, REPEAT('A', 256), NULL, 60", "'customer', '1', 'JDOE', FENCE, 'ASMITH', REPEAT('A', 65), 60",
			"'customer', '1', 'JDOE', FENCE, 'ASMITH', NULL, 0",
		} {
			call := fmt.Sprintf("CALL release_appl_lock_pass(%s)", arguments)
			_, err := contract.RowsByColumn(t.Context(), place.SQL, strings.ReplaceAll(call, "FENCE", fmt.Sprint(fence)))
			if db.KindOf(mysql.InterpretError(err)) != db.KindInvalid {
				t.Errorf("%s: %v, want LK001", call, err)
			}
		}
		if row := value(t, place.SQL, rowQuery, "1"); row != before {
			t.Errorf("the row is %s, want %s", row, before)
		}
	})
}
