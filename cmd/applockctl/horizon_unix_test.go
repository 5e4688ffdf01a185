//go:build unix

package main

import (
	"context"
	"database/sql"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/internal/testing/testdb"
)

// horizonOfVerify returns what verify says of held snapshots.
func (b binary) horizonOfVerify(t *testing.T) []verifyAnswer {
	t.Helper()
	answers, got := b.verified(t, "--look-only", "--held-longer-than", "1s")
	var found []verifyAnswer
	for _, answer := range answers {
		if answer.Check == "horizon" {
			found = append(found, answer)
		}
	}
	if len(found) == 0 {
		t.Fatalf("verify says nothing of the horizon: %s%s", got.stdout, got.stderr)
	}
	return found
}

// checkHolder fails the test unless verify names a holder with texts and the SQL that ends it. On a server with transactions of other tests it waits until
// the holder is among the oldest, which verify names.
func (b binary) checkHolder(t *testing.T, statement string, texts ...string) {
	t.Helper()
	isNamed := func(answer verifyAnswer) bool {
		return answer.Outcome == outcomeFailed && answer.Statement == statement
	}
	named := b.horizonOfVerify(t)
	for len(named) == mostHolders && !slices.ContainsFunc(named, isNamed) {
		time.Sleep(100 * time.Millisecond)
		named = b.horizonOfVerify(t)
	}
	at := slices.IndexFunc(named, isNamed)
	if at < 0 {
		t.Errorf("nobody whom %q ends is named: %v", statement, named)
		return
	}
	for _, text := range texts {
		if !strings.Contains(named[at].Text, text) {
			t.Errorf("%q lacks %q", named[at].Text, text)
		}
	}
}

// checkNoHolder fails the test unless verify says that nobody has held a snapshot for long.
func (b binary) checkNoHolder(t *testing.T) {
	t.Helper()
	if found := b.horizonOfVerify(t); len(found) != 1 || found[0].Outcome != outcomeOK {
		t.Errorf("of nobody verify says %v", found)
	}
}

func buildBinary(t *testing.T) binary {
	t.Helper()
	b := binary{path: testdb.Applockctl(t), directory: t.TempDir()}
	return b
}

// idle begins a transaction that has read once and goes on until the test ends.
func idle(t *testing.T, handle *sql.DB, identity string) (id string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // a transaction ends with its context
	tx, err := handle.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	if err := tx.QueryRowContext(ctx, identity).Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

// Goal: verify names the idle session, the prepared transaction and the replication slot for which PostgreSQL keeps old versions of rows,
// with the SQL that ends them, and that SQL does; stats and the page on health name them as well; and who may not see the
// sessions of others is told so. Method: a server of the test's own, with a standby that has an idle snapshot; real ones of each kind.
func TestHeavyHorizonOnPostgres(t *testing.T) {
	t.Parallel()
	b := buildBinary(t)
	primary := testdb.OwnPostgres(t, "fsync = off\nmax_prepared_transactions = 5\nautovacuum = off\n")
	b.dsn = primary.DSN()
	if got := b.run(t.Context(), "migrate", "up"); got.code != exitYes {
		t.Fatalf("migrate up: %s", got.stderr)
	}
	exec := func(statements ...string) {
		t.Helper()
		postgresServer.exec(t, b.dsn, statements...)
	}
	handle := postgresServer.open(t, b.dsn+"&application_name=report")
	defer func() { _ = handle.Close() }()
	b.checkNoHolder(t)

	session := idle(t, handle, "SELECT pg_backend_pid()::text FROM pg_class LIMIT 1")
	exec("SELECT pg_sleep(2.1)") // until it is too old
	end := "SELECT pg_terminate_backend(" + session + ")"
	b.checkHolder(t, end, "session "+session, "user applock", "from report", "idle in transaction", "dead rows in appl_lock")
	b.checkSessionsAreHidden(t)
	exec(end)
	for postgresServer.query(t, b.dsn, "SELECT COUNT(*)::text FROM pg_stat_activity WHERE pid = "+session) != "0" {
		time.Sleep(10 * time.Millisecond) // a session does not end in the very moment that it is terminated
	}
	b.checkNoHolder(t)

	exec("BEGIN; SELECT pg_current_xact_id(); PREPARE TRANSACTION 'left behind'", "SELECT pg_sleep(2.1)")
	end = "ROLLBACK PREPARED 'left behind'"
	b.checkHolder(t, end, "prepared transaction left behind", "user applock", "dead rows in appl_lock")
	exec(end)
	b.checkNoHolder(t)

	exec("SELECT pg_create_physical_replication_slot('left_behind')")
	replica := testdb.StandbyOf(t, primary, "primary_slot_name = 'left_behind'\nhot_standby_feedback = on\nwal_receiver_status_interval = 1s\n")
	standby := postgresServer.open(t, replica.DSN())
	defer func() { _ = standby.Close() }()
	idle(t, standby, "SELECT pg_backend_pid()::text FROM pg_class LIMIT 1")
	held := "SELECT coalesce((SELECT xmin::text FROM pg_replication_slots), '')"
	for postgresServer.query(t, b.dsn, held) == "" {
		time.Sleep(50 * time.Millisecond) // until the standby has told its oldest snapshot
	}
	exec("DO $$ BEGIN FOR i IN 1..10001 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$")
	b.checkHolder(t, "", "replication slot left_behind", "active: end the session on its replica", "transactions")
	if got := b.run(t.Context(), "stats"); got.code != exitYes || !strings.Contains(got.stderr, "replication slot left_behind") {
		t.Errorf("stats: exit code %d, %s%s", got.code, got.stdout, got.stderr)
	}
	metrics := b.run(t.Context(), "stats", "--output", "prometheus").stdout
	if !strings.Contains(metrics, "\napplock_held_snapshot_transactions 10") {
		t.Errorf("stats for Prometheus: %s", metrics)
	}
	console := serveConsole(t, userOf(b.dsn))
	status, text := console.fetch(t, "health", func(*http.Request) {})
	if status != http.StatusServiceUnavailable || !strings.Contains(text, "replication slot left_behind") {
		t.Errorf("the page on health: status %d, %s", status, text)
	}
	console.stop()
	postgresServer.exec(t, replica.DSN(), "ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()") // as if it were gone
	for postgresServer.query(t, b.dsn, "SELECT active::text FROM pg_replication_slots") != "false" {
		time.Sleep(10 * time.Millisecond)
	}
	obeySQL(t, func(statement string) { exec(statement) }, b.run(t.Context(), "stats").stderr, "%s; end it with the SQL: %s")
	b.checkNoHolder(t)
}

// checkSessionsAreHidden has an account look that may not see the sessions of others, until it is in pg_monitor.
func (b binary) checkSessionsAreHidden(t *testing.T) {
	t.Helper()
	plain := b
	dsn, err := url.Parse(b.dsn)
	if err != nil {
		t.Fatal(err)
	}
	dsn.User = url.User("plain")
	plain.dsn = dsn.String()
	postgresServer.exec(t, b.dsn, "CREATE ROLE plain LOGIN", "GRANT USAGE ON SCHEMA applock TO plain")
	plain.checkHidden(t)
	postgresServer.exec(t, b.dsn, "GRANT pg_monitor TO plain")
	if found := plain.horizonOfVerify(t); found[0].Outcome != outcomeFailed {
		t.Errorf("in pg_monitor verify says %v", found)
	}
}

// checkHidden fails the test unless verify says that it could not look.
func (b binary) checkHidden(t *testing.T) {
	t.Helper()
	if found := b.horizonOfVerify(t); len(found) != 1 || found[0].Outcome != outcomeNote || found[0].Text != "not checked: "+mayNotSeeSessions {
		t.Errorf("without the right verify says %v", found)
	}
}

// Goal: the same on MariaDB and MySQL, whose oldest transaction keeps old versions for the whole server. Method: a real idle snapshot, which is
// ended by the SQL that verify tells; an account without PROCESS. Not in parallel: other tests have transactions, too.
func TestHeavyHorizonOnMySQL(t *testing.T) { //nolint:paralleltest // see above
	b := buildBinary(t)
	onServers(t, func(t *testing.T, s server) {
		if !s.isMySQL() {
			return
		}
		b := b
		b.dsn = s.installedDatabase(t)
		handle := s.open(t, b.dsn)
		defer func() { _ = handle.Close() }()
		session := idle(t, handle, "SELECT CONNECTION_ID() FROM appl_lock_goose LIMIT 1")
		s.exec(t, b.dsn, "DO SLEEP(2.1)") // until it is too old
		end := "KILL " + session
		b.checkHolder(t, end, "session "+session, "idle in transaction", "history list length")
		s.exec(t, b.dsn, end)
		for s.query(t, b.dsn, "SELECT COUNT(*) FROM information_schema.processlist WHERE id = "+session) != "0" {
			time.Sleep(10 * time.Millisecond) // a session does not end in the very moment that it is killed
		}
		s.exec(t, b.dsn, "DO SLEEP(0.2)") // innodb_trx is not refreshed earlier
		for _, answer := range b.horizonOfVerify(t) {
			if answer.Statement == end {
				t.Errorf("after %s it is named all the same: %v", end, answer)
			}
		}
		name := s.newUser(t, b.dsn, "secret")
		s.letIn(t, b.dsn, name)
		b.dsn = withUser(t, b.dsn, name, "secret")
		b.checkHidden(t)
	})
}
