package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/internal/testing/testclient"
)

const (
	askCall   = "SELECT p_outcome FROM applock.ask_appl_lock_row('customer', $1, $2, '', 'tab', '', NULL)"
	inboxOf   = "SELECT * FROM applock.inbox_appl_locks($1, NULL, NULL)"
	yieldsNow = `INSERT INTO applock.appl_lock_policy (object_type, take_reason_fl, history_level, presence_fl, yield_after_seconds)
		VALUES ('customer', 'Y', 'CHANGES', 'Y', 600)`
)

// Goal: an inbox reads the requests for its operator's locks and the operator's own, and no others, whatever the statistics say. Method:
// ten thousand requests of others; count the rows that the statements inside handle.
func TestInboxReadsItsOwnRequests(t *testing.T) {
	t.Parallel()
	dsn := testclient.InstalledPostgres(t)
	e := newExplained(t, dsn)
	call(t, e.pool, "ALTER TABLE applock.appl_lock_ask SET (autovacuum_enabled = off)")
	call(t, e.pool, yieldsNow)
	for _, id := range []string{"1", "2"} {
		call(t, e.pool, getCall, id, "JDOE")
		call(t, e.pool, askCall, id, "BROWN")
	}
	call(t, e.pool, getCall, "3", "ASMITH")
	call(t, e.pool, askCall, "3", "JDOE")
	call(t, e.pool, `INSERT INTO applock.appl_lock_ask
			(object_type, object_id, operator_id, department_id, client_id, message, since_ts, expires_ts, holder_id, fence, answer, answer_reason)
		SELECT 'order', n, 'ASKER' || n, '', 'tab', '', now(), now() + interval '1 hour', 'HOLDER' || n % 100, n, 'LATER', ''
		FROM generate_series(1, 10000) AS n`)
	for _, statistics := range []string{
		"SELECT 1",
		"UPDATE pg_class SET relpages = 1, reltuples = 1 WHERE relname LIKE 'appl_lock_ask%' AND relkind IN ('r', 'i')",
		"ANALYZE applock.appl_lock_ask",
	} {
		call(t, e.pool, statistics)
		const enough = 60
		if rows := e.handledRows(t, inboxOf, "JDOE"); rows > enough {
			t.Errorf("after %s the inbox handles %d rows, want at most %d", statistics, rows, enough)
		}
	}
}

// Goal: an inbox writes once for each request, where the policy of the type lets the lock go to who asks, and never otherwise: not for a type
// without, not where a transaction only reads, and not in each heartbeat. Method: whether the transaction has got a number, which only
// one that writes does.
func TestInboxWritesOnceForARequest(t *testing.T) {
	t.Parallel()
	dsn := testclient.InstalledPostgres(t)
	pool := newPool(t, dsn)
	wrote := func(mode pgx.TxAccessMode) bool {
		t.Helper()
		tx, err := pool.BeginTx(t.Context(), pgx.TxOptions{AccessMode: mode})
		if err != nil {
			t.Fatal(err)
		}
		var rows int
		if err := tx.QueryRow(t.Context(), "SELECT count(*) FROM ("+inboxOf+") AS i", "JDOE").Scan(&rows); err != nil || rows != 1 {
			t.Fatalf("the inbox has %d rows, %v, want 1", rows, err)
		}
		var isNumbered bool
		if err := tx.QueryRow(t.Context(), "SELECT pg_current_xact_id_if_assigned() IS NOT NULL").Scan(&isNumbered); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		return isNumbered
	}
	call(t, pool, getCall, "1", "JDOE")
	call(t, pool, askCall, "1", "BROWN")
	if wrote(pgx.ReadWrite) {
		t.Error("the inbox has written, of a type that never yields")
	}
	call(t, pool, yieldsNow)
	if wrote(pgx.ReadOnly) {
		t.Error("the inbox has written in a transaction that only reads")
	}
	if !wrote(pgx.ReadWrite) {
		t.Error("the inbox has not marked what it has shown")
	}
	call(t, pool, askCall, "1", "BROWN")
	if wrote(pgx.ReadWrite) {
		t.Error("the inbox has marked a request twice")
	}
}
