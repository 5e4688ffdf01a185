package sqlite_test

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/applock/applock/internal/db"
)

// looksAt is the heartbeat of a viewer.
func looksAt(object, operator string) db.SeeApplLockParams {
	return db.SeeApplLockParams{ObjectType: "customer", ObjectID: object, OperatorID: operator, ClientID: "tab", State: db.StateViewing}
}

// pagesOfCall returns how many statements a heartbeat runs, and how many pages they look at.
func pagesOfCall(t *testing.T, recorder *recorder, driver db.Driver, params db.SeeApplLockParams) (statements, pages int) {
	t.Helper()
	recorder.forget()
	if _, err := driver.SeeApplLock(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	for _, statement := range recorder.ran {
		pages += statement.pages
	}
	return len(recorder.ran), pages
}

// Goal: a heartbeat costs no more among a thousand viewers than among ten: neither the viewers of other objects nor the dead rows of its
// own count. Method: a thousand viewers of a hundred objects call as in three heartbeats of 15 s, and each call's statements and pages are
// counted; then two hundred viewers of one object are dead: one call removes them, and the next looks at as many pages as before.
func TestHeavyThousandViewers(t *testing.T) {
	t.Parallel()
	const statements, mostPages, objects, viewers = 5, 60, 100, 1000
	recorder, handle, driver := recorded(t)
	for range 3 {
		for viewer := range viewers {
			ran, pages := pagesOfCall(t, recorder, driver, looksAt(fmt.Sprint(viewer%objects), fmt.Sprintf("V%d", viewer)))
			if ran != statements || pages > mostPages {
				t.Fatalf("a heartbeat runs %d statements and looks at %d pages, want %d and at most %d: %s", ran, pages, statements, mostPages, recorder)
			}
		}
		execute(t, handle, "UPDATE appl_lock_viewer SET since_ts = since_ts - 15000000, seen_ts = seen_ts - 15000000, expires_ts = expires_ts - 15000000")
	}
	if rows := count(t, handle, "SELECT count(*) FROM appl_lock_viewer"); rows != viewers {
		t.Errorf("%d rows of %d viewers", rows, viewers)
	}

	// However busy the machine is, no viewer is removed that has called.
	execute(t, handle, "UPDATE appl_lock_viewer SET expires_ts = 4102444800000000")
	_, before := pagesOfCall(t, recorder, driver, looksAt("7", "V7"))
	execute(t, handle, `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
		INSERT INTO appl_lock_viewer SELECT 'customer', '7', 'DEAD' || i, '', 'tab', 'VIEWING', 1, 1, 1 FROM n`)
	pagesOfCall(t, recorder, driver, looksAt("7", "V7"))
	if rows := count(t, handle, "SELECT count(*) FROM appl_lock_viewer WHERE object_id = '7'"); rows != viewers/objects {
		t.Errorf("%d rows of the object are left, want those of its %d viewers", rows, viewers/objects)
	}
	if _, after := pagesOfCall(t, recorder, driver, looksAt("7", "V7")); after > before+1 {
		t.Errorf("the call after the dead are gone looks at %d pages, and before they came at %d", after, before)
	}
}

// Goal: an answer has an end, and the dead of objects that nobody looks at are purged. Method: more viewers of one object than the answer
// has room for; all of them die, and another object's viewer, too; purge.
func TestViewersEnd(t *testing.T) {
	t.Parallel()
	_, handle, driver := recorded(t)
	for viewer := range 205 {
		if _, err := driver.SeeApplLock(t.Context(), looksAt("7", fmt.Sprintf("V%03d", viewer))); err != nil {
			t.Fatal(err)
		}
	}
	present, err := driver.SeeApplLock(t.Context(), looksAt("7", "V000"))
	if err != nil || len(present) != 200 || present[0].Kind != "HOLDER" {
		t.Errorf("%d rows, %v, want 200 and the holder first", len(present), err)
	}
	execute(t, handle, "UPDATE appl_lock_viewer SET expires_ts = expires_ts - 120000000")
	if _, err := driver.PurgeApplLocks(t.Context(), db.PurgeParams{OlderThanSeconds: 60, MaxRows: 200}); err != nil {
		t.Fatal(err)
	}
	if rows := count(t, handle, "SELECT count(*) FROM appl_lock_viewer"); rows != 5 {
		t.Errorf("a purge of 200 rows has left %d of 205", rows)
	}
}

func count(t *testing.T, handle *sql.DB, query string) int {
	t.Helper()
	var rows int
	if err := handle.QueryRowContext(t.Context(), query).Scan(&rows); err != nil {
		t.Fatal(err)
	}
	return rows
}
