package postgres_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/internal/testing/testclient"
)

// reader polls the inbox of an operator by safe_event_id, and remembers what it was told.
type reader struct {
	pool  *pgxpool.Pool
	after int64
	told  map[int64]bool
	// safe is how the next call goes on from a row.
	safe string
}

func (r *reader) poll(t *testing.T) {
	t.Helper()
	rows, err := r.pool.Query(t.Context(), "SELECT event_id, "+r.safe+" FROM applock.inbox_appl_locks('JDOE', nullif($1, 0), 10000)", r.after)
	if err != nil {
		t.Error(err)
		return
	}
	defer rows.Close()
	for rows.Next() {
		var id, next int64
		if err := rows.Scan(&id, &next); err != nil {
			t.Error(err)
		}
		r.told[id] = true
		r.after = max(r.after, next)
	}
	if err := rows.Err(); err != nil {
		t.Error(err)
	}
}

// missed counts the events of the operator that the reader was not told of.
func (r *reader) missed(t *testing.T) int {
	t.Helper()
	missed := 0
	for _, id := range column(t, r.pool, "SELECT event_id::text FROM applock.appl_lock_event WHERE from_operator_id = 'JDOE' AND event = 'TAKEN'") {
		var number int64
		if _, err := fmt.Sscan(id, &number); err != nil {
			t.Fatal(err)
		}
		if !r.told[number] {
			missed++
		}
	}
	return missed
}

// takeOne takes JDOE's lock on an object, in a transaction that stays open for a while after that.
func takeOne(t *testing.T, pool *pgxpool.Pool, level pgx.TxIsoLevel, id string, open time.Duration) {
	t.Helper()
	tx, err := pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	for _, statement := range []string{
		"SELECT applock.get_appl_lock_row('t', $1, 'JDOE', NULL, 600)",
		"SELECT applock.take_appl_lock_row('t', $1, 'BOSS', NULL, 'why', NULL, NULL)",
	} {
		if _, err := tx.Exec(t.Context(), statement, id); err != nil {
			t.Error(err)
			return
		}
	}
	time.Sleep(open)
	if err := tx.Commit(t.Context()); err != nil {
		t.Error(err)
	}
}

// Goal: a reader that goes on from safe_event_id misses no event of a transaction that commits after a later number was read, at each
// isolation level of the writers. Method: many transactions, every fifth of which stays open for up to 60 ms, one that stays open for the
// whole time, and a reader that polls every 15 ms; it must find each event in the end.
func TestInboxMissesNothing(t *testing.T) {
	t.Parallel()
	for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			pool := migratedPool(t)
			r := &reader{pool: pool, told: map[int64]bool{}, safe: "safe_event_id"}
			pollBesideWriters(t, r, level)
			if missed := r.missed(t); missed > 0 {
				t.Errorf("%d of %d events were never told", missed, missed+len(r.told))
			}
		})
	}
}

// Goal: the method above finds a reader that goes on from the greatest number that it has read. Method: such a reader misses some.
func TestInboxFromTheGreatestNumberMisses(t *testing.T) {
	t.Parallel()
	pool := migratedPool(t)
	r := &reader{pool: pool, told: map[int64]bool{}, safe: "event_id"}
	for range 5 {
		pollBesideWriters(t, r, pgx.ReadCommitted)
		if missed := r.missed(t); missed > 0 {
			return
		}
	}
	t.Error("a reader that goes on from the greatest number has missed nothing: the transactions do not overlap")
}

func pollBesideWriters(t *testing.T, r *reader, level pgx.TxIsoLevel) {
	t.Helper()
	const writers, takes = 6, 60
	run := time.Now().UnixNano()
	done := make(chan struct{})
	var all, polls sync.WaitGroup
	long, err := r.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	execute(t, long, "SELECT applock.get_appl_lock_row('t', 'long', 'JDOE', NULL, 600)")
	execute(t, long, "SELECT applock.take_appl_lock_row('t', 'long', 'BOSS', NULL, 'why', NULL, NULL)")
	polls.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(15 * time.Millisecond):
				r.poll(t)
			}
		}
	})
	for w := range writers {
		all.Go(func() {
			for n := range takes {
				open := time.Duration(0)
				if n%5 == 0 {
					open = time.Duration(n) * time.Millisecond
				}
				takeOne(t, r.pool, level, fmt.Sprintf("%d-%d-%d", run, w, n), open)
			}
		})
	}
	all.Wait()
	if err := long.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(done)
	polls.Wait()
	r.poll(t)
}

// Goal: safe_event_id goes on once nothing is open any more, and not beyond a transaction that has an id, whether it has a
// number yet or not. Method: events with and without such a transaction.
func TestSafeEventIDGoesOn(t *testing.T) {
	t.Parallel()
	pool := migratedPool(t)
	safe := func() int64 {
		var safe, last int64
		err := pool.QueryRow(t.Context(), `SELECT max(i.safe_event_id), max(i.event_id)
			FROM applock.inbox_appl_locks('JDOE', NULL, NULL) AS i`).Scan(&safe, &last)
		if err != nil {
			t.Fatal(err)
		}
		return last - safe
	}
	for n := range 3 {
		takeOne(t, pool, pgx.ReadCommitted, fmt.Sprint(n), 0)
	}
	for safe() != 0 { // as long as other tests have transactions of the server's open
		time.Sleep(time.Millisecond)
	}
	inTx(t, pool, func(tx pgx.Tx) {
		execute(t, tx, "SELECT pg_current_xact_id()")
		for n := range 20 {
			takeOne(t, pool, pgx.ReadCommitted, fmt.Sprint("more", n), 0)
		}
		if behind := safe(); behind < 20 {
			t.Errorf("beside a transaction from before 20 events the last one lies %d above safe_event_id, want 20 or more", behind)
		}
	})
}

// Goal: a page that is full of events lets the next one begin behind it, and not behind events that it has no room for. Method: pages of
// two, until nothing comes.
func TestInboxPages(t *testing.T) {
	t.Parallel()
	pool := migratedPool(t)
	for n := range 7 {
		takeOne(t, pool, pgx.ReadCommitted, fmt.Sprint(n), 0)
	}
	told, after := map[string]bool{}, int64(0)
	for {
		page := column(t, pool, "SELECT event_id || ' ' || safe_event_id FROM applock.inbox_appl_locks('JDOE', nullif($1, 0), 2)", after)
		if len(page) == 0 {
			break
		}
		// While other tests have transactions of the server's open the page comes again.
		for _, row := range page {
			id, safe, _ := strings.Cut(row, " ")
			told[id] = true
			if _, err := fmt.Sscan(safe, &after); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(told) != 7 {
		t.Errorf("pages of two tell %d events, want 7", len(told))
	}
}

// Goal: an inbox reads neither table from end to end, whatever the statistics say: events and waiters by their indexes, locks by their key.
// Method: a million nobody's rows are not needed: the server counts scans of tables.
func TestInboxReadsByIndexOnly(t *testing.T) {
	t.Parallel()
	dsn := testclient.InstalledPostgres(t)
	e := newExplained(t, dsn)
	fillBoth(t, e.pool, plannedRows, live)
	call(t, e.pool, "UPDATE applock.appl_lock_waiter SET holder_id = CASE WHEN object_id::int % 2000 = 0 THEN 'JDOE' ELSE 'OTHER' END")
	for _, statistics := range []string{"SELECT 1", analyze} {
		call(t, e.pool, statistics)
		if rows := e.handledRows(t, "SELECT * FROM applock.inbox_appl_locks('JDOE', NULL, NULL)"); rows > 200 {
			t.Errorf("after %s an inbox with ten waiters handles %d rows, want at most 200", statistics, rows)
		}
	}
}

// Goal: the inbox shows a waiter to the holder of now, also after the lock was handed on: what announce has stored is verified, and poll
// refreshes it. Method: a transfer between announcement and inbox, before and after a poll.
func TestInboxFollowsTheHolder(t *testing.T) {
	t.Parallel()
	pool := migratedPool(t)
	awaited := func(operator string) int {
		return len(column(t, pool, "SELECT other_operator_id FROM applock.inbox_appl_locks($1, NULL, NULL) WHERE kind = 'AWAITED'", operator))
	}
	call(t, pool, getCall, "1", "JDOE")
	call(t, pool, announceCall, "1", "ASMITH")
	if awaited("JDOE") != 1 || awaited("BOSS") != 0 {
		t.Errorf("JDOE is awaited %d times, BOSS %d times, want 1 and 0", awaited("JDOE"), awaited("BOSS"))
	}
	call(t, pool, "CALL applock.take_appl_lock('customer', '1', 'BOSS', NULL, 'why')")
	if awaited("JDOE") != 0 {
		t.Error("JDOE is awaited although it holds nothing any more")
	}
	call(t, pool, pollCall)
	if awaited("JDOE") != 0 || awaited("BOSS") != 1 {
		t.Errorf("after a poll JDOE is awaited %d times, BOSS %d times, want 0 and 1", awaited("JDOE"), awaited("BOSS"))
	}
}
