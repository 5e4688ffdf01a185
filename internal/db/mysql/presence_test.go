package mysql_test

import (
	"fmt"
	"testing"
)

// Goal: a heartbeat costs no more among a thousand viewers than among ten, nor among sixty thousand of other objects; the dead of its
// object cost one call. Method: a thousand viewers of a hundred objects call as in three heartbeats of 15 s; the rows that the
// session reads are counted, before and after there are strangers and dead.
func TestHeavyThousandViewers(t *testing.T) {
	t.Parallel()
	const (
		heartbeat               = "CALL see_appl_lock('customer', ?, ?, 'CS', 'tab', 'VIEWING', NULL)"
		objects, viewers        = 100, 1000
		mostReads, readsOfADead = 120, 10
		deadViewers             = 200
		// However busy the machine is, no viewer is removed that has called.
		stay = "UPDATE appl_lock_viewer SET expires_ts = UTC_TIMESTAMP(6) + INTERVAL 1 HOUR"
	)
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		handle := newPlace(t, product).SQL
		conn, err := handle.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }() // gives it back to the pool
		reads := func() int {
			before := handledReads(t, conn)
			mustQuery(t, conn, heartbeat, "7", "V7")
			return handledReads(t, conn) - before
		}
		for range 3 {
			for viewer := range viewers {
				if viewer%objects == 0 {
					mustQuery(t, conn, stay)
				}
				mustQuery(t, conn, heartbeat, fmt.Sprint(viewer%objects), fmt.Sprintf("V%d", viewer))
			}
			mustQuery(t, conn, `UPDATE appl_lock_viewer SET since_ts = since_ts - INTERVAL 15 SECOND, seen_ts = seen_ts - INTERVAL 15 SECOND,
				expires_ts = expires_ts - INTERVAL 15 SECOND`)
		}
		mustQuery(t, conn, stay)
		if rows := value(t, conn, "SELECT COUNT(*) FROM appl_lock_viewer"); rows != fmt.Sprint(viewers) {
			t.Errorf("%s rows of %d viewers", rows, viewers)
		}
		if got := reads(); got > mostReads {
			t.Errorf("among a thousand viewers a heartbeat reads %d rows, want at most %d", got, mostReads)
		}
		mustQuery(t, conn, `INSERT INTO appl_lock_viewer SELECT 'customer', CONCAT('x', slot), 'STRANGER', '', 'tab', 'VIEWING', UTC_TIMESTAMP(6),
			UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + INTERVAL 1 HOUR FROM appl_lock_serialize WHERE slot < 60000`)
		if got := reads(); got > mostReads {
			t.Errorf("among strangers a heartbeat reads %d rows, want at most %d", got, mostReads)
		}
		mustQuery(t, conn, `INSERT INTO appl_lock_viewer SELECT 'customer', '7', CONCAT('DEAD', slot), '', 'tab', 'VIEWING', UTC_TIMESTAMP(6),
			UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) - INTERVAL 1 HOUR FROM appl_lock_serialize WHERE slot < ?`, deadViewers)
		if got := reads(); got > mostReads+readsOfADead*deadViewers {
			t.Errorf("the heartbeat that removes %d dead reads %d rows", deadViewers, got)
		}
		if rows := value(t, conn, "SELECT COUNT(*) FROM appl_lock_viewer WHERE object_id = '7'"); rows != fmt.Sprint(viewers/objects) {
			t.Errorf("%s rows of the object are left, want those of its %d viewers", rows, viewers/objects)
		}
		if got := reads(); got > mostReads {
			t.Errorf("after the dead have gone a heartbeat reads %d rows, want at most %d", got, mostReads)
		}
	})
}
