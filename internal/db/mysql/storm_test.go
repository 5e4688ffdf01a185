package mysql_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql"
	"github.com/applock/applock/internal/testing/contract"
)

// storm is calls from many connections, each a transaction of its own, half of them at either level.
type storm struct {
	calls, contended, busy atomic.Int64
}

const stormConnections = 32

// run calls work on each connection for that many rounds, numbered from 0. It fails for any error but LK003 and a lock wait timeout, which
// say nothing about deadlocks. It counts rounds, so that a busy machine tries as much as an idle one.
func (s *storm) run(t *testing.T, handle *sql.DB, rounds int, work func(conn *sql.Conn, connection, round int) error) {
	t.Helper()
	handle.SetMaxOpenConns(stormConnections + 2)
	handle.SetMaxIdleConns(stormConnections + 2)
	var connections sync.WaitGroup
	for connection := range stormConnections {
		conn, err := handle.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		level := []string{"READ COMMITTED", "REPEATABLE READ"}[connection%2]
		if _, err := conn.ExecContext(t.Context(), "SET SESSION TRANSACTION ISOLATION LEVEL "+level); err != nil {
			t.Fatal(err)
		}
		connections.Go(func() {
			defer func() { _ = conn.Close() }() // gives it back to the pool
			for round := range rounds {
				s.calls.Add(1)
				err := work(conn, connection, round)
				switch db.KindOf(mysql.InterpretError(err)) {
				case db.KindContention:
					s.contended.Add(1)
				case db.KindBusy:
					s.busy.Add(1)
				default:
					if err != nil {
						t.Errorf("%s: %v", level, err)
						return
					}
				}
			}
		})
	}
	connections.Wait()
	t.Logf("%d calls, of which %d met LK003 and %d waited too long", s.calls.Load(), s.contended.Load(), s.busy.Load())
}

// stormCalls are what a storm makes of an object, an operator and one of its programs. What asks for HOLDER is not called for a free object.
// Who asks again after the holder has looked gets the object.
func stormCalls() []string {
	return []string{
		"CALL get_appl_lock_row('customer', 'OBJECT', 'OPERATOR', 'CS', 3600, NULL)",
		"CALL get_appl_lock_row('customer', 'OBJECT', 'OPERATOR', NULL, NULL, NULL)",
		"CALL get_appl_lock_row('new', 'NUMBER', 'OPERATOR', NULL, NULL, NULL)",
		"CALL release_appl_lock_row('customer', 'OBJECT', 'OPERATOR', NULL, NULL, NULL)",
		"CALL transfer_appl_lock_row('customer', 'OBJECT', 'HOLDER', 'OPERATOR', '', NULL, NULL, NULL)",
		"CALL ask_appl_lock_row('customer', 'OBJECT', 'OPERATOR', 'CS', 'PROGRAM', '', NULL)",
		"CALL ask_appl_lock_row('customer', 'OBJECT', 'OPERATOR', 'CS', 'PROGRAM', '', NULL); " +
			"CALL inbox_appl_locks('HOLDER', NULL, NULL); " +
			"CALL ask_appl_lock_row('customer', 'OBJECT', 'OPERATOR', 'CS', 'PROGRAM', '', NULL)",
		"CALL ask_appl_lock_row('customer', 'OBJECT', 'OPERATOR', NULL, 'PROGRAM', NULL, 0)",
		"CALL answer_appl_lock_row('customer', 'OBJECT', 'HOLDER', FENCE, 'ASKER', NULL, 'GIVE', NULL)",
		"CALL answer_appl_lock_row('customer', 'OBJECT', 'HOLDER', FENCE, 'ASKER', NULL, 'LATER', NULL)",
		"CALL inbox_appl_locks('HOLDER', NULL, NULL)",
		`CALL renew_appl_locks('[{"object_type": "customer", "object_id": "OBJECT", "operator_id": "HOLDER", "fence": FENCE, "ttl_seconds": 60}]')`,
		"CALL announce_appl_lock_waiter_row('customer', 'OBJECT', 'OPERATOR', '', 'PROGRAM', NULL)",
		"CALL retract_appl_lock_waiter_row('customer', 'OBJECT', 'OPERATOR', 'PROGRAM')",
		"CALL poll_appl_locks('PROGRAM', NULL)",
		"CALL serialize_appl_lock_row('customer', 'OBJECT')",
		"UPDATE appl_lock_ask SET expires_ts = expires_ts - INTERVAL 120 SECOND WHERE object_type = 'customer' AND object_id = 'OBJECT' AND operator_id = 'OPERATOR' AND client_id = 'PROGRAM'",
		"CALL purge_appl_locks_row(1, 10)",
	}
}

// Goal: no deadlock (1213) between single calls, whatever they share. Method: 32 connections, each an operator of its own with two programs,
// on 3 objects of a type that yields at once. It is a wide net; the interleavings test the guards one by one.
func TestHeavyStormHasNoDeadlock(t *testing.T) {
	t.Parallel()
	calls := stormCalls()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		letYield(t, place.SQL, 0)
		new(storm).run(t, place.SQL, 200, func(conn *sql.Conn, connection, _ int) error {
			object, call := fmt.Sprint(rand.IntN(3)), calls[rand.IntN(len(calls))]
			if strings.Contains(call, "HOLDER") {
				rows, err := contract.RowsByColumn(t.Context(), conn, `SELECT l.operator_id, l.fence, COALESCE(a.operator_id, 'NOBODY') AS asker_id
					FROM appl_lock_live AS l LEFT JOIN appl_lock_asking AS a ON a.object_type = l.object_type AND a.object_id = l.object_id
					WHERE l.object_type = 'customer' AND l.object_id = ? ORDER BY RAND() LIMIT 1`, object)
				if err != nil || len(rows) == 0 {
					return err
				}
				call = strings.NewReplacer("HOLDER", fmt.Sprint(rows[0]["operator_id"]), "FENCE", fmt.Sprint(rows[0]["fence"]), "ASKER", fmt.Sprint(rows[0]["asker_id"])).Replace(call)
			}
			operator := fmt.Sprint("OP", connection)
			if strings.Contains(call, "'"+operator+"', 'OPERATOR'") {
				return nil // a transfer to its holder is refused
			}
			call = strings.NewReplacer("OBJECT", object, "OPERATOR", operator,
				"PROGRAM", fmt.Sprint(operator, rand.IntN(2)), "NUMBER", fmt.Sprint(rand.IntN(100))).Replace(call)
			for statement := range strings.SplitSeq(call, "; ") {
				if _, err := contract.RowsByColumn(t.Context(), conn, statement); err != nil {
					return err
				}
			}
			return nil
		})
		if moved := value(t, place.SQL, "SELECT COUNT(DISTINCT event) FROM appl_lock_event WHERE event IN ('GIVEN', 'YIELDED', 'TRANSFERRED')"); moved != "3" {
			t.Errorf("%s of three events, want all: the storm has not tried what it is for", moved)
		}
	})
}
