package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// Each test here is about something that goes wrong on InnoDB, and fails without what guards against it.

const (
	getCall     = "CALL get_appl_lock_row('customer', ?, ?, 'CS', 3600, NULL)"
	releaseCall = "CALL release_appl_lock_row('customer', ?, ?, NULL, NULL, NULL)"
)

// inTx runs work in a transaction at REPEATABLE READ, the default, and rolls it back.
func inTx(t *testing.T, handle *sql.DB, work func(tx *sql.Tx)) {
	t.Helper()
	tx, err := handle.BeginTx(context.WithoutCancel(t.Context()), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit there is nothing to roll back
	work(tx)
}

// mustQuery returns the rows of a statement, a CALL for example.
func mustQuery(t *testing.T, client contract.Querier, statement string, args ...any) []map[string]any {
	t.Helper()
	rows, err := contract.RowsByColumn(t.Context(), client, statement, args...)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return rows
}

// value returns the one column of the one row of a query as text.
func value(t *testing.T, client contract.Querier, statement string, args ...any) string {
	t.Helper()
	for _, value := range mustQuery(t, client, statement, args...)[0] {
		return fmt.Sprint(value)
	}
	t.Fatalf("%s: no column", statement)
	return ""
}

// status returns a counter of the session.
func status(t *testing.T, client contract.Querier, name string) int {
	t.Helper()
	return counters(t, client, "SESSION", name)[name]
}

// counters returns some of the session's, or of the whole server's: the scope is SESSION or GLOBAL.
func counters(t *testing.T, client contract.Querier, scope string, names ...string) map[string]int {
	t.Helper()
	values := map[string]int{}
	for _, row := range mustQuery(t, client, "SHOW "+scope+" STATUS WHERE Variable_name IN ('"+strings.Join(names, "', '")+"')") {
		count, err := strconv.Atoi(fmt.Sprint(row["Value"]))
		if err != nil {
			t.Fatal(err)
		}
		values[fmt.Sprint(row["Variable_name"])] = count
	}
	if len(values) != len(names) {
		t.Fatalf("the counters are %v, want all of %q", values, names)
	}
	return values
}

func numberOf(err error) uint16 {
	var answer *driver.MySQLError
	if errors.As(err, &answer) {
		return answer.Number
	}
	return 0
}

// Goal: the operations are right whatever the session is set to, through the text and the prepared
// protocol. Method: the contract's scenarios through the ways of calling of settingsWays, with settings that have nothing to do
// with each other at the same time; each of them is in one of the groups. Without a list of warnings both forms run everywhere.
func TestSessionSettings(t *testing.T) {
	t.Parallel()
	settings := map[string]func(config *driver.Config){
		"found rows, text protocol, lax mode, east of UTC, case-blind": func(config *driver.Config) {
			config.ClientFoundRows, config.InterpolateParams = true, true
			config.Collation = "utf8mb4_general_ci"
			config.Params = map[string]string{"sql_mode": "''", "time_zone": "'+09:00'"}
		},
		"parsed times, strict mode, west of UTC, other charset": func(config *driver.Config) {
			config.ParseTime = true
			config.Collation = "utf8mb4_spanish_ci"
			config.Params = map[string]string{"sql_mode": "'TRADITIONAL,ONLY_FULL_GROUP_BY,NO_UNSIGNED_SUBTRACTION'", "time_zone": "'-11:00'"}
		},
		"local times, other syntax": func(config *driver.Config) {
			config.ParseTime, config.Loc = true, time.FixedZone("", 9*3600)
			config.Params = map[string]string{"sql_mode": "'ANSI_QUOTES,PIPES_AS_CONCAT,IGNORE_SPACE'"}
		},
		noWarnings: withoutWarnings,
	}
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		for name, change := range settings {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				ways := settingsWays()
				if name == noWarnings {
					ways = []string{"call", "row"}
				}
				contract.Scenarios(t, contract.Backend{New: lentPlaces(t, product, change), Ways: ways})
			})
		}
	})
}

const (
	noWarnings = "no list of warnings"
	// endsWithin is how long a call may take that could go on for ever.
	endsWithin = 2 * time.Minute
)

// withoutWarnings switches off the handlers of a SELECT ... INTO that finds no row: NOT FOUND is in the list of warnings only.
func withoutWarnings(config *driver.Config) {
	config.Params = map[string]string{"max_error_count": "0"}
	config.ReadTimeout = endsWithin
}

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

// Goal: no deadlock (1213) between single calls, however hot the objects are. Method: get, release and transfer from 32
// connections on 10 objects, and on some that have no row. It is a wide net and not the test of one guard: a release that
// also deletes its row passes, too (measured). The guards have tests of their own, such as TestNewObjectHasOneWinner. It
// runs before the parallel tests: they would slow each other down.
func TestStormHasNoDeadlock(t *testing.T) { //nolint:paralleltest // see above
	const rounds = 200
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		new(storm).run(t, place.SQL, rounds, func(conn *sql.Conn, connection, _ int) error {
			operator := fmt.Sprint("OPERATOR", connection)
			object := fmt.Sprint("hot", rand.IntN(10))
			switch rand.IntN(8) {
			case 0:
				_, err := contract.RowsByColumn(t.Context(), conn, releaseCall, fmt.Sprint("missing", rand.IntN(10)), operator)
				return err
			case 1:
				_, err := contract.RowsByColumn(t.Context(), conn, "CALL transfer_appl_lock_row('customer', ?, ?, ?, '', ?, NULL, NULL)",
					object, fmt.Sprint("OPERATOR", rand.IntN(stormConnections)), fmt.Sprint("OPERATOR", rand.IntN(stormConnections)), anyTTL())
				return err
			case 2, 3, 4:
				_, err := contract.RowsByColumn(t.Context(), conn, releaseCall, object, operator)
				return err
			}
			rows, err := contract.RowsByColumn(t.Context(), conn, "CALL get_appl_lock_row('customer', ?, ?, 'CS', ?, NULL)", object, operator, anyTTL())
			if err == nil && rows[0]["p_outcome"] == "HELD" && rows[0]["p_old_operator_id"] == operator {
				return fmt.Errorf("%s is refused what it holds itself", operator)
			}
			return err
		})
	})
}

// anyTTL is an hour, or NULL, which keeps what the grant has.
func anyTTL() any {
	if rand.IntN(2) == 0 {
		return nil
	}
	return 3600
}

// Goal: of many callers who want an object that has no row yet, one gets it, and none meets a deadlock: ON
// DUPLICATE KEY UPDATE takes an exclusive lock, where a failed INSERT takes a shared one and an UPDATE of a
// missing row the gap. Method: 32 connections get the same new object in each of 100 rounds; they count changed rows, or found ones.
func TestNewObjectHasOneWinner(t *testing.T) {
	t.Parallel()
	for _, foundRows := range []bool{false, true} {
		t.Run(fmt.Sprint("found rows ", foundRows), func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, product string) {
				t.Helper()
				place := newPlace(t, product)
				newObjectsHaveOneWinner(t, testdb.OpenMySQL(t, place.DSN, func(config *driver.Config) { config.ClientFoundRows = foundRows }))
			})
		})
	}
}

func newObjectsHaveOneWinner(t *testing.T, handle *sql.DB) {
	t.Helper()
	const rounds = 100
	var granted [rounds]atomic.Int64
	new(storm).run(t, handle, rounds, func(conn *sql.Conn, connection, round int) error {
		rows, err := contract.RowsByColumn(t.Context(), conn, getCall, fmt.Sprint("new", round), fmt.Sprint("OPERATOR", connection))
		if err == nil && rows[0]["p_outcome"] == "ACQUIRED" {
			granted[round].Add(1)
		}
		return err
	})
	for round := range granted {
		if winners := granted[round].Load(); winners != 1 {
			t.Errorf("object %d was granted to %d callers, want 1", round, winners)
		}
	}
}

// Goal: a grant is released once, whatever its operator does in other sessions at the same time. Method: four
// sessions of one operator get and release the grant that they got; no fence is RELEASED twice, nor granted
// again after that.
func TestGrantIsReleasedOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		var released sync.Map // by fence
		var sessions sync.WaitGroup
		for range 4 {
			sessions.Go(func() {
				for range 200 {
					grant, err := contract.RowsByColumn(t.Context(), place.SQL, "CALL get_appl_lock_row('customer', '1', 'JDOE', '', 60, NULL)")
					if err != nil {
						t.Error(err)
						return
					}
					answer, err := contract.RowsByColumn(t.Context(), place.SQL, "CALL release_appl_lock_row('customer', '1', 'JDOE', ?, NULL, NULL)", grant[0]["p_fence"])
					if err != nil {
						t.Error(err)
						return
					}
					if answer[0]["p_outcome"] != "RELEASED" {
						continue
					}
					if _, before := released.LoadOrStore(grant[0]["p_fence"], true); before {
						t.Errorf("the grant %v was released twice", grant[0]["p_fence"])
					}
				}
			})
		}
		sessions.Wait()
	})
}

// Goal: waiters for a new object get an answer from the façade when its insertion is rolled back, although InnoDB picks a deadlock's
// victim among them. Method: two wait behind such a transaction.
func TestWaitersSurviveARollback(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		var granted atomic.Int64
		var waiters sync.WaitGroup
		inTx(t, place.SQL, func(first *sql.Tx) {
			mustQuery(t, first, getCall, "1", "FIRST")
			for i := range 2 {
				waiters.Go(func() {
					_, err := place.Client.Get(t.Context(), applock.GetRequest{
						Object: applock.Object{Type: "customer", ID: "1"},
						Owner:  applock.Owner{Operator: fmt.Sprint("WAITER", i)},
					})
					if err == nil {
						granted.Add(1)
					} else if !errors.Is(err, applock.ErrHeld) {
						t.Errorf("waiter %d: %v", i, err)
					}
				})
			}
			untilWaiting(t, place, 2)
		})
		waiters.Wait()
		if granted.Load() != 1 {
			t.Errorf("%d waiters have got it, want 1", granted.Load())
		}
	})
}

// Goal: transactions that wait for a new object do not deadlock once it is taken, as they would after a failed INSERT. Method: two wait
// behind the winner.
func TestWaitersForANewObjectDoNotDeadlock(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		inTx(t, place.SQL, func(winner *sql.Tx) {
			mustQuery(t, winner, getCall, "1", "WINNER")
			var waiters sync.WaitGroup
			for i := range 2 {
				waiters.Go(func() {
					tx, err := place.SQL.BeginTx(context.WithoutCancel(t.Context()), nil)
					if err != nil {
						t.Error(err)
						return
					}
					defer func() { _ = tx.Rollback() }() // lets the other one go on
					rows, err := contract.RowsByColumn(t.Context(), tx, getCall, "1", fmt.Sprint("WAITER", i))
					if err != nil || rows[0]["p_outcome"] != "HELD" {
						t.Errorf("waiter %d: %v, %v, want HELD", i, rows, err)
					}
				})
			}
			untilWaiting(t, place, 2)
			if err := winner.Commit(); err != nil {
				t.Error(err)
			}
			waiters.Wait()
		})
	})
}

// Goal: serialize makes no deadlock with many sessions, on commit and on rollback, lets one in at a time,
// and leaves nothing behind. Method: 32 connections serialize on 3 objects and count up a number in two
// statements; every other transaction rolls back.
func TestSerializeHasNoDeadlock(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := newPlace(t, product)
		mustQuery(t, place.SQL, "CREATE TABLE counter (id INTEGER PRIMARY KEY, value INTEGER NOT NULL)")
		mustQuery(t, place.SQL, "INSERT INTO counter VALUES (0, 0), (1, 0), (2, 0)")
		const rounds = 50
		var committed atomic.Int64
		new(storm).run(t, place.SQL, rounds, func(conn *sql.Conn, _, _ int) error {
			object := rand.IntN(3)
			tx, err := conn.BeginTx(t.Context(), nil)
			if err != nil {
				return err
			}
			defer func() { _ = tx.Rollback() }() // after a commit there is nothing to roll back
			if _, err := contract.RowsByColumn(t.Context(), tx, "CALL serialize_appl_lock_row('counter', ?)", fmt.Sprint(object)); err != nil {
				return err
			}
			var read int
			if err := tx.QueryRowContext(t.Context(), "SELECT value FROM counter WHERE id = ?", object).Scan(&read); err != nil {
				return err
			}
			if _, err := tx.ExecContext(t.Context(), "UPDATE counter SET value = ? WHERE id = ?", read+1, object); err != nil {
				return err
			}
			if rand.IntN(2) == 0 {
				return tx.Rollback()
			}
			err = tx.Commit()
			if err == nil {
				committed.Add(1)
			}
			return err
		})
		if got := value(t, place.SQL, "SELECT CAST(SUM(value) AS CHAR) FROM counter"); got != fmt.Sprint(committed.Load()) {
			t.Errorf("counted %s, want %d: an update was lost", got, committed.Load())
		}
		if rows := value(t, place.SQL, "SELECT COUNT(*) FROM appl_lock_serialize"); rows != "65536" {
			t.Errorf("appl_lock_serialize has %s rows, want 65536 as before", rows)
		}
		if rows := value(t, place.SQL, "SELECT COUNT(*) FROM appl_lock"); rows != "0" {
			t.Errorf("appl_lock has %s rows, want none", rows)
		}
	})
}

// Goal: an installation that has lost the rows of appl_lock_serialize says so; nobody is let in without a
// turn. Method: empty the table.
func TestSerializeNeedsItsRows(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := newPlace(t, product)
		mustQuery(t, place.SQL, "DELETE FROM appl_lock_serialize")
		inTx(t, place.SQL, func(tx *sql.Tx) {
			err := place.Client.WithSQLTx(tx).Serialize(t.Context(), applock.Object{Type: "customer", ID: "1"})
			if !errors.Is(err, applock.ErrSchema) {
				t.Errorf("serialize: %v, want ErrSchema", err)
			}
		})
	})
}

// Goal: in transactions on several objects a deadlock is possible, and reaches the caller as 1213, so that
// it begins again. Method: two transactions get two objects in opposite order.
func TestDeadlockReachesTheCaller(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		inTx(t, place.SQL, func(one *sql.Tx) {
			inTx(t, place.SQL, func(other *sql.Tx) {
				mustQuery(t, one, getCall, "1", "ONE")
				mustQuery(t, other, getCall, "2", "OTHER")
				waited := make(chan error, 1)
				go func() {
					_, err := contract.RowsByColumn(t.Context(), one, getCall, "2", "ONE")
					waited <- err
				}()
				untilWaiting(t, place, 1)
				_, err := contract.RowsByColumn(t.Context(), other, getCall, "1", "OTHER")
				victim := <-waited
				if victim == nil {
					victim = err
				} else if err != nil {
					t.Errorf("both failed: %v and %v", victim, err)
				}
				if numberOf(victim) != 1213 || db.KindOf(mysql.InterpretError(victim)) != db.KindRetry {
					t.Errorf("the victim got %v, want 1213", victim)
				}
			})
		})
	})
}

// pollInterval leaves the processor to those who are waited for.
const pollInterval = 2 * time.Millisecond

// patience is for what must happen soon, however busy the machine is: only where it cannot happen any more, a test would
// wait for ever.
const patience = 2 * time.Minute

// untilWaiting returns when that many sessions wait for a row.
func untilWaiting(t *testing.T, place contract.Place, sessions int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for waiting := 0; waiting < sessions; time.Sleep(pollInterval) {
		var err error
		if waiting, err = place.Waiting(ctx); err != nil {
			t.Fatalf("%d of %d sessions wait: %v", waiting, sessions, err)
		}
	}
}

// Goal: a call leaves the caller's session as it was: LAST_INSERT_ID(), which the caller may still need, the
// limit of its lock waits and its safe updates. Method: each operation on a connection with these set, with a
// good answer, a refusal, a bad argument and a wait that is cut off.
func TestCallerKeepsItsSession(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := newPlace(t, product)
		mustQuery(t, place.SQL, "CREATE TABLE invoice (id INTEGER AUTO_INCREMENT PRIMARY KEY) AUTO_INCREMENT = 4711")
		fence := mustQuery(t, place.SQL, getCall, "held", "JDOE")[0]["p_fence"]
		conn, err := place.SQL.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }() // gives it back to the pool
		letYield(t, place.SQL, 3600)
		mustQuery(t, conn, "SET SESSION innodb_lock_wait_timeout = 42")
		mustQuery(t, conn, "SET SESSION sql_safe_updates = TRUE")
		mustQuery(t, conn, "INSERT INTO invoice VALUES ()")
		inTx(t, place.SQL, func(tx *sql.Tx) {
			busy := granted(t, tx, "busy", "JDOE").Fence
			mustQuery(t, tx, announceCall, "busy", "ASMITH", "p1")
			mustQuery(t, tx, askCall, "held", "BROWN", "busy")
			for _, call := range []string{
				"get_appl_lock_row('customer', '1', 'JDOE', '', 60, NULL)",
				"get_appl_lock_row('customer', '1', 'JDOE', '', 60, NULL)",
				"get_appl_lock_row('customer', '1', 'JDOE', NULL, NULL, NULL)",
				"get_appl_lock_row('customer', 'held', 'ASMITH', '', 60, NULL)",
				"get_appl_lock_row('customer', '1', '', '', 60, NULL)",
				"get_appl_lock_row('customer', 'busy', 'ASMITH', '', 60, NULL)",
				"release_appl_lock_row('customer', 'busy', 'ASMITH', NULL, NULL, NULL)",
				fmt.Sprintf("release_appl_lock_pass('customer', 'busy', 'JDOE', %d, 'ASMITH', NULL, 60)", busy),
				"release_appl_lock_pass('customer', 'held', 'JDOE', 1, 'ASMITH', NULL, 60)",
				"release_appl_lock_pass('customer', 'held', 'JDOE', 1, '', NULL, 60)",
				"transfer_appl_lock_row('customer', 'busy', 'JDOE', 'ASMITH', '', 60, NULL, NULL)",
				"take_appl_lock_row('customer', 'busy', 'BOSS', '', 'why', NULL, 60)",
				"note_appl_lock_row('customer', 'busy', 'JDOE', NULL, 'why')",
				"assert_appl_lock_row('customer', 'busy', 'JDOE', 1)",
				"transfer_appl_lock_row('customer', '1', 'JDOE', 'ASMITH', '', 60, NULL, NULL)",
				"transfer_appl_lock_row('customer', '1', 'JDOE', 'ASMITH', '', 60, NULL, NULL)",
				"transfer_appl_lock_row('customer', '2', 'JDOE', 'ASMITH', '', 60, NULL, NULL)",
				"transfer_appl_lock_row('customer', '1', 'ASMITH', 'ASMITH', '', NULL, NULL, NULL)",
				"transfer_appl_lock_row('customer', '1', 'JDOE', 'ASMITH', '', NULL, NULL, NULL)",
				"transfer_appl_lock_row('customer', '2', 'JDOE', 'ASMITH', '', NULL, NULL, NULL)",
				"transfer_appl_lock_row('customer', '2', 'JDOE', '', '', 60, NULL, NULL)",
				"take_appl_lock_row('customer', '1', 'BOSS', '', 'why', NULL, 60)",
				"take_appl_lock_row('customer', '1', 'ASMITH', '', 'why', NULL, NULL)",
				"take_appl_lock_row('customer', '1', 'ASMITH', '', 'why', NULL, NULL)",
				"take_appl_lock_row('customer', '1', 'BOSS', '', 'why', 1, NULL)",
				"take_appl_lock_row('customer', '2', 'BOSS', '', 'why', NULL, NULL)",
				"take_appl_lock_row('customer', '1', 'BOSS', '', '', NULL, NULL)",
				"inbox_appl_locks('JDOE', NULL, NULL)",
				"inbox_appl_locks('', NULL, NULL)",
				"see_appl_lock('customer', '1', 'JDOE', NULL, 'tab', 'EDITING', NULL)",
				"see_appl_lock('customer', '1', 'ASMITH', NULL, 'tab', 'VIEWING', 60)",
				"see_appl_lock('customer', '1', 'JDOE', NULL, 'tab', 'SOME', NULL)",
				"see_appl_lock('customer', '1', 'JDOE', NULL, 'tab', NULL, NULL)",
				"note_appl_lock_row('customer', '1', 'JDOE', NULL, 'why')",
				"note_appl_lock_row('customer', '1', 'ASMITH', NULL, 'why')",
				"note_appl_lock_row('customer', '1', 'ASMITH', 0, 'why')",
				"note_appl_lock_row('customer', '2', 'ASMITH', NULL, 'why')",
				"set_appl_lock_policy_row('order', 60, 3600, 'Y', 'BOSS', 'why', 'ALL', 'N', 60)",
				"set_appl_lock_policy_row('order', 60, 3600, 'SOME', 'BOSS', 'why', 'ALL', 'N', 60)",
				"drop_appl_lock_policy_row('order', 'BOSS', 'why')",
				"drop_appl_lock_policy_row('order', 'BOSS', 'why')",
				"drop_appl_lock_policy_row('order', '', 'why')",
				"get_appl_lock_row('customer', '1', 'ASMITH', NULL, 60, NULL)",
				"release_appl_lock_row('customer', '1', 'JDOE', NULL, NULL, NULL)",
				"release_appl_lock_row('customer', '1', 'ASMITH', NULL, NULL, NULL)",
				"release_appl_lock_row('customer', '1', 'ASMITH', NULL, NULL, NULL)",
				"release_appl_lock_row('customer', '1', 'ASMITH', 0, NULL, NULL)",
				fmt.Sprintf("assert_appl_lock_row('customer', 'held', 'JDOE', %v)", fence),
				fmt.Sprintf("release_appl_lock_pass('customer', 'held', 'JDOE', %v, 'JDOE', NULL, 60)", fence),
				"assert_appl_lock_row('customer', '1', 'ASMITH', 1)",
				"assert_appl_lock_row('customer', '1', 'ASMITH', 0)",
				"serialize_appl_lock_row('customer', '1')",
				"announce_appl_lock_waiter_row('customer', '1', 'ASMITH', '', 'p1', 60)",
				"announce_appl_lock_waiter_row('customer', '1', 'ASMITH', '', 'p1', 0)",
				"announce_appl_lock_waiter_row('customer', 'busy', 'ASMITH', '', 'p1', 60)",
				"retract_appl_lock_waiter_row('customer', 'busy', 'ASMITH', 'p1')",
				"retract_appl_lock_waiter_row('customer', '1', 'ASMITH', 'p1')",
				"retract_appl_lock_waiter_row('customer', '1', 'ASMITH', '')",
				"ask_appl_lock_row('customer', 'held', 'ASMITH', '', 'p1', 'may I?', 60)",
				"inbox_appl_locks('JDOE', NULL, NULL)",
				"ask_appl_lock_row('customer', 'held', 'BROWN', '', 'busy', '', 60)",
				"ask_appl_lock_row('customer', 'held', 'JDOE', '', 'p1', '', 60)",
				"ask_appl_lock_row('customer', '2', 'ASMITH', '', 'p1', '', 60)",
				"ask_appl_lock_row('customer', '2', 'ASMITH', '', 'p1', '', 0)",
				"ask_appl_lock_row('customer', '2', 'ASMITH', '', '', '', 60)",
				fmt.Sprintf("answer_appl_lock_row('customer', 'held', 'JDOE', %v, 'ASMITH', 'p1', 'LATER', 'soon')", fence),
				fmt.Sprintf("answer_appl_lock_row('customer', 'held', 'JDOE', %v, 'ASMITH', NULL, 'NO', 'soon')", fence),
				fmt.Sprintf("answer_appl_lock_row('customer', 'held', 'JDOE', %v, 'BROWN', 'busy', 'GIVE', '')", fence),
				fmt.Sprintf("answer_appl_lock_row('customer', 'held', 'JDOE', %v, 'ASMITH', 'p2', 'GIVE', '')", fence),
				"answer_appl_lock_row('customer', 'held', 'JDOE', 1, 'ASMITH', NULL, 'GIVE', '')",
				"answer_appl_lock_row('customer', '2', 'JDOE', 1, 'ASMITH', NULL, 'GIVE', '')",
				"answer_appl_lock_row('customer', '2', 'JDOE', 1, 'ASMITH', NULL, 'PERHAPS', '')",
				"answer_appl_lock_row('customer', 'busy', 'JDOE', 1, 'ASMITH', NULL, 'GIVE', '')",
				"transfer_appl_locks('ASMITH', 'customer', 'KIM', '', 60, 'BOSS', 'ill', NULL, NULL, NULL, 'Y')",
				"transfer_appl_locks('ASMITH', 'customer', 'KIM', '', 60, 'BOSS', 'ill', NULL, NULL, NULL, NULL)",
				"transfer_appl_locks('ASMITH', 'customer', 'KIM', '', 60, 'BOSS', 'ill', NULL, NULL, NULL, 'X')",
				"transfer_appl_locks('JDOE', 'customer', 'KIM', '', 60, NULL, NULL, 'customer', '1', 2, NULL)",
				"release_appl_locks('KIM', 'customer', 'BOSS', 'ill', NULL, NULL, NULL, 'Y')",
				"release_appl_locks('KIM', 'customer', 'BOSS', 'ill', NULL, NULL, NULL, NULL)",
				"release_appl_locks('JDOE', 'customer', NULL, NULL, 'customer', 'c', 2, NULL)",
				"release_appl_locks('', 'customer', NULL, NULL, NULL, NULL, NULL, NULL)",
				"get_appl_lock_permit('room', 'desk', 2, 'JDOE', '', 60)",
				"get_appl_lock_permit('room', 'desk', 1, 'ASMITH', '', 60)",
				"get_appl_lock_permit('room', 'desk', 0, 'ASMITH', '', 60)",
				"poll_appl_locks('p1', 10)",
				"poll_appl_locks('p1', 0)",
				fmt.Sprintf("renew_appl_locks('%s')", document(t, db.RenewableGrant{
					ObjectType: "customer", ObjectID: "busy", OperatorID: "JDOE", Fence: busy, TTLSeconds: 60,
				})),
				"renew_appl_locks('[1]')",
				"inquire_appl_lock_row('customer', '1')",
				"purge_appl_locks_row(1, 1)",
				fmt.Sprintf("answer_appl_lock_row('customer', 'held', 'JDOE', %v, 'ASMITH', NULL, 'GIVE', 'why')", fence),
				"ask_appl_lock_row('customer', 'held', 'BROWN', '', 'p9', '', 60)",
			} {
				_, _ = contract.RowsByColumn(t.Context(), conn, "CALL "+call) // refusals and errors are part of it
				if got := value(t, conn, "SELECT CONCAT_WS(' ', LAST_INSERT_ID(), @@SESSION.innodb_lock_wait_timeout, @@SESSION.sql_safe_updates + 0)"); got != "4711 42 1" {
					t.Fatalf("after %s: LAST_INSERT_ID(), innodb_lock_wait_timeout and sql_safe_updates are %s, want 4711 42 1", call, got)
				}
			}
		})
	})
}

// Goal: a refusal changes nothing. Method: a transaction that is only refused has modified no row.
func TestRefusalWritesNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		fence := mustQuery(t, place.SQL, getCall, "1", "JDOE")[0]["p_fence"]
		for _, refused := range []string{
			"get_appl_lock_row('customer', '1', 'ASMITH', '', NULL, NULL)",
			"release_appl_lock_row('customer', '1', 'ASMITH', NULL, NULL, NULL)",
			"release_appl_lock_row('customer', '1', 'JDOE', 1, NULL, NULL)",
			"transfer_appl_lock_row('customer', '1', 'ASMITH', 'BROWN', '', NULL, NULL, NULL)",
			"take_appl_lock_row('customer', '1', 'BOSS', '', 'why', 1, NULL)",
			"inbox_appl_locks('JDOE', NULL, NULL)",
			"note_appl_lock_row('customer', '1', 'ASMITH', NULL, 'why')",
			"note_appl_lock_row('customer', '1', 'JDOE', 1, 'why')",
			"ask_appl_lock_row('customer', '1', 'ASMITH', '', 'p1', '', 0)",
			"answer_appl_lock_row('customer', '1', 'ASMITH', 1, 'BROWN', NULL, 'GIVE', '')",
			"answer_appl_lock_row('customer', '2', 'JDOE', 1, 'BROWN', NULL, 'GIVE', '')",
			fmt.Sprintf("answer_appl_lock_row('customer', '1', 'JDOE', %v, 'BROWN', NULL, 'NO', '')", fence),
		} {
			inTx(t, place.SQL, func(tx *sql.Tx) {
				mustQuery(t, tx, "CALL "+refused)
				if modified := rowsModified(t, tx); modified != "0" {
					t.Errorf("%s: %s rows modified, want 0", refused, modified)
				}
			})
		}
		inTx(t, place.SQL, func(tx *sql.Tx) {
			mustQuery(t, tx, getCall, "1", "JDOE")
			if modified := rowsModified(t, tx); modified != "1" {
				t.Errorf("a renewal: %s rows modified, want 1", modified)
			}
		})
	})
}

// rowsModified asks until the server's copy of its transactions has this one.
func rowsModified(t *testing.T, tx *sql.Tx) string {
	t.Helper()
	for {
		time.Sleep(150 * time.Millisecond) // the copy is kept for 100 ms after each look at it
		rows := mustQuery(t, tx, `SELECT trx_rows_modified AS modified FROM information_schema.innodb_trx
			WHERE trx_mysql_thread_id = CONNECTION_ID()`)
		if len(rows) == 1 {
			return fmt.Sprint(rows[0]["modified"])
		}
	}
}

// Goal: a purge at REPEATABLE READ locks the rows that it removes, and no other one that it passes.
// Method: purge in a transaction; meanwhile others renew a live lock and take new ones on both sides.
func TestPurgeLocksNothingElse(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		for _, id := range []string{"b", "d", "f"} {
			mustQuery(t, place.SQL, getCall, id, "JDOE")
		}
		mustQuery(t, place.SQL, "UPDATE appl_lock SET expires_ts = expires_ts - INTERVAL 60 DAY WHERE object_id = 'd'")
		inTx(t, place.SQL, func(tx *sql.Tx) {
			if purged := value(t, tx, "CALL purge_appl_locks_row(NULL, NULL)"); purged != "1" {
				t.Fatalf("purged %s, want 1", purged)
			}
			for _, id := range []string{"b", "f", "a", "c", "e", "g"} {
				mustQuery(t, place.SQL, getCall, id, "JDOE")
			}
		})
	})
}

// Goal: a failed assert, after which MySQL goes on with the transaction, has not fixed its snapshot. Method: another session writes and
// releases after the assert; a get comes with the data.
func TestFailedAssertFixesNoSnapshot(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := newPlace(t, product)
		mustQuery(t, place.SQL, "CREATE TABLE data (value INTEGER NOT NULL)")
		mustQuery(t, place.SQL, getCall, "held", "JDOE")
		mustQuery(t, place.SQL, getCall, "2", "JDOE")
		inTx(t, place.SQL, func(tx *sql.Tx) {
			for _, id := range []string{"held", "nobody's"} {
				if _, err := contract.RowsByColumn(t.Context(), tx, "CALL assert_appl_lock_row('customer', ?, 'ASMITH', 1)", id); err == nil {
					t.Fatalf("assert %s: no error", id)
				}
			}
			mustQuery(t, place.SQL, "INSERT INTO data VALUES (1)")
			mustQuery(t, place.SQL, releaseCall, "2", "JDOE")
			mustQuery(t, tx, getCall, "2", "ASMITH")
			if rows := value(t, tx, "SELECT COUNT(*) FROM data"); rows != "1" {
				t.Errorf("the new holder sees %s rows of the former one, want 1", rows)
			}
		})
	})
}

// Goal: outside a transaction a refusal takes no row lock and waits for none. Method: get an object whose holder's transaction is just
// renewing it.
func TestRefusalOutsideATransactionLocksNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		mustQuery(t, place.SQL, getCall, "1", "JDOE")
		inTx(t, place.SQL, func(tx *sql.Tx) {
			mustQuery(t, tx, getCall, "1", "JDOE")
			if row := mustQuery(t, place.SQL, getCall, "1", "ASMITH")[0]; row["p_outcome"] != "HELD" || row["p_old_operator_id"] != "JDOE" {
				t.Errorf("get: %v, want HELD by JDOE", row)
			}
		})
	})
}

// Goal: a refusal does not fix the caller's snapshot: in a transaction, with or without autocommit, and in a stored function, which is one
// statement of the caller's. Method: after a refusal another session writes and releases another object; a get of that one comes with the
// data.
func TestRefusalFixesNoSnapshot(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		for name, begin := range map[string]string{"transaction": "START TRANSACTION", "no autocommit": "SET autocommit = 0"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				place := placeWithData(t, product)
				conn, err := place.SQL.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = conn.Close() }() // gives it back to the pool
				mustQuery(t, conn, begin)
				mustQuery(t, conn, getCall, "held", "ASMITH")
				mustQuery(t, place.SQL, "INSERT INTO data VALUES (1)")
				mustQuery(t, place.SQL, releaseCall, "2", "JDOE")
				mustQuery(t, conn, getCall, "2", "ASMITH")
				if rows := value(t, conn, "SELECT COUNT(*) FROM data"); rows != "1" {
					t.Errorf("the new holder sees %s rows of the former one, want 1", rows)
				}
				mustQuery(t, conn, "ROLLBACK")
				mustQuery(t, conn, "SET autocommit = 1")
			})
		}
		t.Run("function", func(t *testing.T) {
			t.Parallel()
			place := placeWithData(t, product)
			mustQuery(t, place.SQL, `CREATE FUNCTION second_try() RETURNS INT MODIFIES SQL DATA
				BEGIN
					CALL get_appl_lock('customer', 'held', 'ASMITH', NULL, NULL, NULL, @a, @b, @c, @d, @e, @f, @g, @h);
					DO GET_LOCK(DATABASE(), 60);
					CALL get_appl_lock('customer', '2', 'ASMITH', NULL, NULL, NULL, @a, @b, @c, @d, @e, @f, @g, @h);
					RETURN IF(@b = 'ACQUIRED', (SELECT COUNT(*) FROM data), -1);
				END`)
			conn, err := place.SQL.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }() // gives it back to the pool
			mustQuery(t, conn, "DO GET_LOCK(DATABASE(), 60)")
			seen := make(chan []map[string]any, 1)
			go func() {
				rows, err := contract.RowsByColumn(t.Context(), place.SQL, "SELECT second_try() AS seen")
				if err != nil {
					t.Error(err)
				}
				seen <- rows
			}()
			untilInState(t, place.SQL, "User lock")
			mustQuery(t, place.SQL, "INSERT INTO data VALUES (1)")
			mustQuery(t, place.SQL, releaseCall, "2", "JDOE")
			mustQuery(t, conn, "DO RELEASE_LOCK(DATABASE())")
			if rows := <-seen; len(rows) != 1 || fmt.Sprint(rows[0]["seen"]) != "1" {
				t.Errorf("the function has seen %v rows of the former holder, want 1", rows)
			}
		})
	})
}

// placeWithData has a table of data, and two objects that JDOE holds: held and 2.
func placeWithData(t *testing.T, product string) contract.Place {
	t.Helper()
	place := newPlace(t, product)
	mustQuery(t, place.SQL, "CREATE TABLE data (value INTEGER NOT NULL)")
	mustQuery(t, place.SQL, getCall, "held", "JDOE")
	mustQuery(t, place.SQL, getCall, "2", "JDOE")
	return place
}

// untilInState returns when a session of the database is in a state.
func untilInState(t *testing.T, handle *sql.DB, state string) {
	t.Helper()
	for began := time.Now(); time.Since(began) < patience; time.Sleep(pollInterval) {
		if value(t, handle, "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND state = ?", state) != "0" {
			return
		}
	}
	t.Fatalf("no session is in the state %s", state)
}

// Goal: an object that a read has found free is judged again when its row is locked: nobody loses a grant, and no fence falls. Method:
// another session comes between the read and the update.
func TestFreeIsJudgedWhenLocked(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		handle := newPlace(t, product).SQL
		const year = 31_536_000_000_000 // of microseconds
		for name, test := range map[string]struct{ change, outcome, holder, fence string }{
			"nobody": {"DO 0;", "ACQUIRED", "", "0"},
			"taken":  {"UPDATE appl_lock SET operator_id = 'BROWN', released_ts = NULL;", "HELD", "BROWN", "0"},
			"taken and released, by a clock that goes before": {
				fmt.Sprintf("UPDATE appl_lock SET fence = fence + %d;", year), "ACQUIRED", "", fmt.Sprint(year),
			},
			"purged": {"DELETE FROM appl_lock;", "ACQUIRED", "", "0"},
		} {
			mustQuery(t, handle, "DELETE FROM appl_lock")
			mustQuery(t, handle, getCall, "1", "JDOE")
			mustQuery(t, handle, releaseCall, "1", "JDOE")
			before := value(t, handle, "SELECT fence FROM appl_lock")
			undo := interrupt(t, handle, "get_appl_lock_row_core", "-- S3:", "IF v_round = 0 THEN "+test.change+" END IF;")
			row := mustQuery(t, handle, getCall, "1", "ASMITH")[0]
			undo()
			if row["p_outcome"] != test.outcome || row["p_old_operator_id"] != test.holder {
				t.Errorf("%s: %v, want %s by %q", name, row, test.outcome, test.holder)
			}
			if test.outcome == "HELD" {
				continue
			}
			if value(t, handle, "SELECT fence > ? + ? AND fence = ? FROM appl_lock", before, test.fence, row["p_fence"]) != "1" {
				t.Errorf("%s: fence %v after %s", name, row["p_fence"], before)
			}
		}
	})
}

// Goal: a page of a list costs its own rows, also the last of many and that of a type in the middle.
// Method: count the index entries that the server reads.
func TestListReadsItsPageOnly(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := newPlace(t, product)
		mustQuery(t, place.SQL, `INSERT INTO appl_lock
			SELECT CONCAT('type', s.slot DIV 1000), LPAD(s.slot MOD 1000, 3, '0'), 'JDOE', '', 1, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), 86400, UTC_TIMESTAMP(6) + INTERVAL 1 DAY, '', 'N', NULL
			FROM appl_lock_serialize AS s WHERE s.slot < 9000`)
		mustQuery(t, place.SQL, "ANALYZE TABLE appl_lock")
		conn, err := place.SQL.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }() // gives it back to the pool
		for call, want := range map[string]int{
			"SELECT * FROM appl_lock_live WHERE (object_type > '' OR object_type = '' AND object_id > '') ORDER BY object_type, object_id LIMIT 10":                                           10,
			"SELECT * FROM appl_lock_live WHERE (object_type > 'type8' OR object_type = 'type8' AND object_id > '900') ORDER BY object_type, object_id LIMIT 10":                              10,
			"SELECT * FROM appl_lock_live WHERE (object_type > '' OR object_type = '' AND object_id > '') AND object_type = 'type5' ORDER BY object_type, object_id LIMIT 10":                 10,
			"SELECT * FROM appl_lock_live WHERE (object_type > 'type5' OR object_type = 'type5' AND object_id > '990') AND object_type = 'type5' ORDER BY object_type, object_id LIMIT 1000":  9,
			"SELECT * FROM appl_lock_live WHERE (object_type > 'type8' OR object_type = 'type8' AND object_id > '990') AND object_type = 'type8' ORDER BY object_type, object_id LIMIT 10000": 9,
		} {
			before := status(t, conn, "Handler_read_next") + status(t, conn, "Handler_read_rnd_next")
			if rows := mustQuery(t, conn, call); len(rows) != want {
				t.Errorf("%s: %d rows, want %d", call, len(rows), want)
			}
			if read := status(t, conn, "Handler_read_next") + status(t, conn, "Handler_read_rnd_next") - before; read > 1500 {
				t.Errorf("%s: read %d entries for %d rows", call, read, want)
			}
		}
	})
}

// Goal: times are UTC for every session, and a lock ends for all at the same moment. Method: sessions in
// three time zones take, inquire and list the same locks.
func TestTimeZonesAgree(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		dsn := lentPlace(t, product).DSN
		var clients []*applock.Client
		for _, zone := range []string{"+00:00", "+13:00", "-11:00"} {
			clients = append(clients, testclient.MySQL(t, testdb.OpenMySQL(t, dsn, func(config *driver.Config) {
				config.Params = map[string]string{"time_zone": "'" + zone + "'"}
			})))
		}
		for i, taker := range clients {
			object := applock.Object{Type: "zone", ID: fmt.Sprint(i)}
			grant, err := taker.Get(t.Context(), applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE"}, TTL: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			if left := time.Until(grant.ExpiresAt); left < 55*time.Minute || left > 65*time.Minute {
				t.Errorf("client %d: expires in %s, want 1h", i, left)
			}
			for j, other := range clients {
				if lock, err := other.Inquire(t.Context(), object); err != nil || !lock.ExpiresAt.Equal(grant.ExpiresAt) {
					t.Errorf("taken by client %d until %s, client %d sees %s, %v", i, grant.ExpiresAt, j, lock.ExpiresAt, err)
				}
			}
		}
	})
}

// Goal: the time of an operation is that of its statement, not of the transaction. Method: in one
// transaction a lock of a second ends, and is free for others there.
func TestTimeIsStatementTime(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		inTx(t, place.SQL, func(tx *sql.Tx) {
			mustQuery(t, tx, "CALL get_appl_lock_row('customer', '1', 'JDOE', '', 1, NULL)")
			mustQuery(t, tx, "DO SLEEP(1.05)")
			rows := mustQuery(t, tx, getCall, "1", "ASMITH")
			if rows[0]["p_outcome"] != "ACQUIRED" {
				t.Errorf("after its second has passed the lock is %s for others, want ACQUIRED", rows[0]["p_outcome"])
			}
		})
	})
}

// Goal: a grant that had to wait for a release does not begin before that release. Method: a get waits
// behind a transaction that takes and releases.
func TestGrantBeginsAfterRelease(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		var released string
		inTx(t, place.SQL, func(tx *sql.Tx) {
			mustQuery(t, tx, getCall, "1", "JDOE")
			waited := make(chan error, 1)
			go func() {
				_, err := contract.RowsByColumn(t.Context(), place.SQL, getCall, "1", "ASMITH")
				waited <- err
			}()
			untilWaiting(t, place, 1)
			mustQuery(t, tx, releaseCall, "1", "JDOE")
			released = value(t, tx, "SELECT CAST(released_ts AS CHAR) FROM appl_lock")
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			if err := <-waited; err != nil {
				t.Fatal(err)
			}
		})
		acquired := value(t, place.SQL, "SELECT CAST(acquired_ts AS CHAR) FROM appl_lock WHERE operator_id = 'ASMITH'")
		if acquired < released {
			t.Errorf("the grant begins at %s, before the release at %s", acquired, released)
		}
	})
}

// Goal: a wait is cut off after about a second, whatever the operation and however many wait in line.
// Method: callers behind an open transaction, whose sessions would wait for 50 s.
func TestWaitIsBounded(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		fence := granted(t, place.SQL, "asked", "JDOE").Fence
		inTx(t, place.SQL, func(tx *sql.Tx) {
			mustQuery(t, tx, getCall, "1", "JDOE")
			mustQuery(t, tx, announceCall, "1", "ASMITH", "p1")
			mustQuery(t, tx, "CALL ask_appl_lock_row('customer', 'asked', 'ASMITH', '', 'p1', '', NULL)")
			ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
			defer cancel()
			var waiters sync.WaitGroup
			for _, call := range []string{
				"get_appl_lock_row('customer', '1', 'ASMITH', '', 60, NULL)",
				"get_appl_lock_row('customer', '1', 'BROWN', '', 60, NULL)",
				"release_appl_lock_row('customer', '1', 'JDOE', NULL, NULL, NULL)",
				"transfer_appl_lock_row('customer', '1', 'JDOE', 'ASMITH', '', 60, NULL, NULL)",
				"take_appl_lock_row('customer', '1', 'BOSS', '', 'why', NULL, NULL)",
				"note_appl_lock_row('customer', '1', 'JDOE', NULL, 'why')",
				"assert_appl_lock_row('customer', '1', 'JDOE', 1)",
				"announce_appl_lock_waiter_row('customer', '1', 'ASMITH', '', 'p1', NULL)",
				"retract_appl_lock_waiter_row('customer', '1', 'ASMITH', 'p1')",
				"ask_appl_lock_row('customer', 'asked', 'ASMITH', '', 'p1', '', NULL)",
				"ask_appl_lock_row('customer', 'asked', 'ASMITH', '', 'p1', '', 0)",
				fmt.Sprintf("answer_appl_lock_row('customer', 'asked', 'JDOE', %d, 'ASMITH', NULL, 'NO', '')", fence),
				fmt.Sprintf("answer_appl_lock_row('customer', 'asked', 'JDOE', %d, 'ASMITH', NULL, 'GIVE', '')", fence),
			} {
				waiters.Go(func() {
					began := time.Now()
					_, err := contract.RowsByColumn(ctx, place.SQL, "CALL "+call)
					if numberOf(err) != 1205 || db.KindOf(mysql.InterpretError(err)) != db.KindBusy {
						t.Errorf("%s: %v, want 1205", call, err)
					}
					t.Logf("%s: %s", call, time.Since(began))
				})
			}
			waiters.Wait()
		})
	})
}

// Goal: a call whose connection dies under it, or that is cancelled in flight, says that its outcome is
// unknown; in a transaction it does not, because nothing has happened before the commit; repeating is safe.
// Method: end the session, and cancel, while the call waits for a row.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		request := applock.GetRequest{Object: applock.Object{Type: "customer", ID: "1"}, Owner: applock.Owner{Operator: "ASMITH"}}
		inTx(t, place.SQL, func(tx *sql.Tx) {
			mustQuery(t, tx, getCall, "1", "JDOE")
			call := func(ctx context.Context, client *applock.Client, interrupt func()) error {
				failed := make(chan error, 1)
				go func() {
					_, err := client.Get(ctx, request)
					failed <- err
				}()
				untilWaiting(t, place, 1)
				interrupt()
				return <-failed
			}
			if err := call(t.Context(), place.Client, func() { killWaiter(t, tx) }); !errors.Is(err, applock.ErrOutcomeUnknown) {
				t.Errorf("get on a connection that dies: %v, want ErrOutcomeUnknown", err)
			}
			untilNobodyWaits(t, place)
			cancelled, cancel := context.WithCancel(t.Context())
			if err := call(cancelled, place.Client, cancel); !errors.Is(err, applock.ErrOutcomeUnknown) || !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled get: %v, want ErrOutcomeUnknown and the cause", err)
			}
			untilNobodyWaits(t, place)
			inTx(t, place.SQL, func(other *sql.Tx) {
				cancelled, cancel := context.WithCancel(t.Context())
				err := call(cancelled, place.Client.WithSQLTx(other), cancel)
				if err == nil || errors.Is(err, applock.ErrOutcomeUnknown) {
					t.Errorf("cancelled get in a transaction: %v, want an error that is not ErrOutcomeUnknown", err)
				}
			})
		})
		if _, err := place.Client.Get(t.Context(), request); err != nil {
			t.Errorf("the same get again: %v", err)
		}
	})
}

// untilNobodyWaits returns when the server has noticed that a caller has gone.
func untilNobodyWaits(t *testing.T, place contract.Place) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		waiting, err := place.Waiting(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if waiting == 0 {
			return
		}
		time.Sleep(pollInterval)
	}
}

// killWaiter ends the sessions of the database that are in a call.
func killWaiter(t *testing.T, client contract.Querier) {
	t.Helper()
	for _, row := range mustQuery(t, client, `SELECT id FROM information_schema.processlist
		WHERE db = DATABASE() AND id <> CONNECTION_ID() AND command <> 'Sleep'
			AND (info LIKE '%INSERT INTO appl_lock%' OR info LIKE 'CALL get_appl_lock%')`) {
		mustQuery(t, client, fmt.Sprint("KILL CONNECTION ", row["id"]))
	}
}

// Goal: where MariaDB checks a locking read against the snapshot, its refusal is one to begin again after.
// Method: a transaction that has read gets a lock that was released meanwhile.
func TestSnapshotIsolationOfMariaDB(t *testing.T) {
	t.Parallel()
	place := placeOn(t, testdb.MySQL(t, "mariadb"), func(config *driver.Config) {
		config.Params = map[string]string{"innodb_snapshot_isolation": "ON"}
	})
	mustQuery(t, place.SQL, getCall, "1", "JDOE")
	inTx(t, place.SQL, func(tx *sql.Tx) {
		mustQuery(t, tx, "SELECT COUNT(*) FROM appl_lock")
		mustQuery(t, place.SQL, releaseCall, "1", "JDOE")
		_, err := contract.RowsByColumn(t.Context(), tx, getCall, "1", "ASMITH")
		if numberOf(err) != 1020 || db.KindOf(mysql.InterpretError(err)) != db.KindRetry {
			t.Errorf("get: %v, want 1020, to be begun again", err)
		}
	})
}

// Goal: the text of a failed assert names the holder, however long the name is: MySQL cuts messages off at
// 128 characters. Method: a holder of 64 characters that take three bytes each (of those that take four, a
// message has question marks).
func TestAssertNamesTheHolder(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		holder := strings.Repeat("日", 64)
		mustQuery(t, place.SQL, getCall, strings.Repeat("x", 255), holder)
		_, err := contract.RowsByColumn(t.Context(), place.SQL, "CALL assert_appl_lock_row('customer', ?, 'JDOE', 1)", strings.Repeat("x", 255))
		var answer *driver.MySQLError
		if !errors.As(err, &answer) || string(answer.SQLState[:]) != "LK002" || !strings.Contains(answer.Message, holder+" holds it with fence 1") {
			t.Errorf("assert: %v, want LK002 that names the holder and the fence", err)
		}
	})
}

// Goal: a foreign table with the same name is neither taken for ours nor dropped. Method: one with other columns exists before the
// migration, and after an uninstallation.
func TestForeignTableIsLeftAlone(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		handle := testdb.OpenMySQL(t, testdb.MySQL(t, product), nil)
		mustQuery(t, handle, "CREATE TABLE appl_lock (id INTEGER PRIMARY KEY)")
		client := testclient.MySQL(t, handle)
		if done, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err == nil {
			t.Errorf("migrate up: %v, want an error", done)
		}
		if err := migrate.Uninstall(t.Context(), client, migrate.UninstallRequest{Force: true}); err != nil {
			t.Error(err)
		}
		mustQuery(t, handle, "SELECT id FROM appl_lock")
	})
}

// Goal: a migration that broke off half-way can simply be run again, and no lock is lost: there are no
// transactions around CREATE. Method: forget that they have been applied, and lose routines and some rows, as
// after a connection that broke; then up, and all the way down in the same way.
func TestMigrationsRunAgain(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := newPlace(t, product)
		object := applock.Object{Type: "customer", ID: "1"}
		grant, err := place.Client.Get(t.Context(), applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE"}})
		if err != nil {
			t.Fatal(err)
		}
		mustQuery(t, place.SQL, "DROP PROCEDURE transfer_appl_lock_row")
		mustQuery(t, place.SQL, "DROP PROCEDURE poll_appl_locks_core")
		mustQuery(t, place.SQL, "DELETE FROM appl_lock_serialize WHERE slot > 1000")
		mustQuery(t, place.SQL, "DELETE FROM appl_lock_goose WHERE version_id > 0")
		if done, err := migrate.Up(t.Context(), place.Client, migrate.UpRequest{}); err != nil || len(done.Steps) != 2 {
			t.Fatalf("migrate up again: %v, %v, want both migrations", done, err)
		}
		if lock, err := place.Client.Inquire(t.Context(), object); err != nil || lock.Fence != grant.Fence {
			t.Errorf("inquire: %v, %v, want fence %d", lock, err, grant.Fence)
		}
		if rows := value(t, place.SQL, "SELECT COUNT(*) FROM appl_lock_serialize"); rows != "65536" {
			t.Errorf("appl_lock_serialize has %s rows, want 65536", rows)
		}
		mustQuery(t, place.SQL, "DROP PROCEDURE get_appl_lock_core")
		mustQuery(t, place.SQL, "DROP PROCEDURE renew_appl_locks")
		mustQuery(t, place.SQL, "DROP TABLE appl_lock_serialize")
		mustQuery(t, place.SQL, "DROP TABLE appl_lock_waiter")
		for range 2 {
			if _, err := migrate.Down(t.Context(), place.Client, migrate.DownRequest{Force: true}); err != nil {
				t.Errorf("migrate down: %v", err)
			}
		}
	})
}
