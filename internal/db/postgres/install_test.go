package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"os/exec"
	"strings"
	"testing"

	postgresclient "github.com/applock/applock/applock/postgres"
	postgresmigrations "github.com/applock/applock/internal/migrate/postgres"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// Goal: plain goose installs everything from migrations/, in the schema applock by default and in another one by a setting. Method: goose
// without our code.
func TestPlainGoose(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{"applock", "locks"} {
		t.Run(schema, func(t *testing.T) {
			t.Parallel()
			handle, provider := plainGoose(t, testdb.Postgres(t), schema)
			if _, err := handle.ExecContext(t.Context(), "CALL "+schema+".get_appl_lock('customer', '42', 'JDOE', 'CS', NULL)"); err != nil {
				t.Error(err)
			}
			if _, err := provider.DownTo(t.Context(), 0); err != nil {
				t.Error(err)
			}
		})
	}
}

// plainGoose migrates as a user of goose does.
func plainGoose(t *testing.T, dsn, schema string) (*sql.DB, *goose.Provider) {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	if schema != "applock" {
		config.RuntimeParams["applock.schema"] = schema
	}
	handle := stdlib.OpenDB(*config)
	t.Cleanup(func() { _ = handle.Close() })
	fsys := postgresmigrations.Migrations()
	provider, err := goose.NewProvider(goose.DialectPostgres, handle, fsys)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	return handle, provider
}

// Goal: two schemas of one database are two independent sets of locks, and the client needs no
// search_path. Method: the same object in both; a release in one.
func TestSchemasAreIndependent(t *testing.T) {
	t.Parallel()
	pool := migratedPool(t)
	first := testclient.Postgres(t, pool)
	second := testclient.PostgresIn(t, pool, "locks")
	ctx := t.Context()
	if _, err := migrate.Up(ctx, second, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	object := applock.Object{Type: "customer", ID: "42"}
	for operator, client := range map[string]*applock.Client{"JDOE": first, "ASMITH": second} {
		if _, err := client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: operator}}); err != nil {
			t.Error(err)
		}
	}
	if _, err := migrate.Uninstall(ctx, second, migrate.UninstallRequest{Force: true}); err != nil {
		t.Fatal(err)
	}
	if lock, err := first.Inquire(ctx, object); err != nil || lock.Owner.Operator != "JDOE" {
		t.Errorf("inquire: %v, %v, want JDOE", lock, err)
	}
	for _, name := range []string{"Locks", "a b", `x"; DROP SCHEMA applock; --`, strings.Repeat("x", 31), "1st"} {
		if _, err := postgresclient.New(pool, postgresclient.Config{Schema: name}); !errors.Is(err, applock.ErrInvalid) {
			t.Errorf("schema %q: %v, want ErrInvalid", name, err)
		}
	}
}

// Goal: the printed script, run by psql, is the same as migrating. Method: psql runs it; the client
// finds every step applied and the operations working.
func TestScriptRunsInPsql(t *testing.T) {
	t.Parallel()
	psql := testdb.Psql(t)
	for _, schema := range []string{"applock", "locks"} {
		t.Run(schema, func(t *testing.T) {
			t.Parallel()
			dsn := testdb.Postgres(t)
			script, err := migrate.Script(migrate.ScriptRequest{Dialect: "postgres", Schema: schema})
			if err != nil {
				t.Fatal(err)
			}
			command := exec.CommandContext(t.Context(), psql, "--no-psqlrc", "--quiet", "-v", "ON_ERROR_STOP=1", dsn)
			command.Stdin = strings.NewReader(script)
			if output, err := command.CombinedOutput(); err != nil {
				t.Fatalf("psql: %v\n%s", err, output)
			}
			client := testclient.PostgresIn(t, newPool(t, dsn), schema)
			if done, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil || len(done.Steps) != 0 {
				t.Errorf("migrate up after the script: %v, %v, want nothing to do", done, err)
			}
			lockStory(t, client, applock.Object{Type: "customer", ID: "42"})
		})
	}
}

// Goal: rights are per verb and need no privilege on the table: each role may do what docs/grants.md gives it, and
// nothing else. Method: users with these grants.
func TestGrants(t *testing.T) {
	t.Parallel()
	dsn := testclient.InstalledPostgres(t)
	owner := newPool(t, dsn)
	calls := map[string]string{
		"get":          "CALL applock.get_appl_lock('customer', '1', 'JDOE', '', NULL)",
		"get row":      "SELECT * FROM applock.get_appl_lock_row('customer', '1', 'JDOE', '', NULL)",
		"release":      "CALL applock.release_appl_lock('customer', '1', 'JDOE', NULL, NULL, NULL)",
		"note":         "CALL applock.note_appl_lock('customer', '1', 'JDOE', NULL, 'why')",
		"inquire":      "CALL applock.inquire_appl_lock('customer', '1')",
		"list":         "SELECT * FROM applock.appl_lock_live",
		"serialize":    "CALL applock.serialize_appl_lock('customer', '1')",
		"announce":     "CALL applock.announce_appl_lock_waiter('customer', '1', 'JDOE', '', 'p1', NULL)",
		"announce row": "SELECT * FROM applock.announce_appl_lock_waiter_row('customer', '1', 'JDOE', '', 'p1', NULL)",
		"retract":      "CALL applock.retract_appl_lock_waiter('customer', '1', 'JDOE', 'p1')",
		"ask":          "CALL applock.ask_appl_lock('customer', '1', 'JDOE', '', 'p1', '', NULL)",
		"ask row":      "SELECT * FROM applock.ask_appl_lock_row('customer', '1', 'JDOE', '', 'p1', '', NULL)",
		"answer":       "CALL applock.answer_appl_lock('customer', '1', 'JDOE', 1, 'BROWN', NULL, 'NO', NULL)",
		"answer row":   "SELECT * FROM applock.answer_appl_lock_row('customer', '1', 'JDOE', 1, 'BROWN', NULL, 'NO', NULL)",
		"asking":       "SELECT * FROM applock.appl_lock_asking",
		"see":          "SELECT * FROM applock.see_appl_lock('customer', '1', 'JDOE', '', 'p1', 'EDITING', NULL)",
		"viewers":      "SELECT * FROM applock.appl_lock_viewers",
		"presence":     "SELECT * FROM applock.appl_lock_viewer",
		"look":         "INSERT INTO applock.appl_lock_viewers (object_type) VALUES ('customer')",
		"requests":     "SELECT * FROM applock.appl_lock_ask",
		"permit":       "SELECT * FROM applock.get_appl_lock_permit('customer', '1', 1, 'JDOE', '', NULL)",
		"poll":         "SELECT * FROM applock.poll_appl_locks('p1', NULL)",
		"waiters":      "SELECT * FROM applock.appl_lock_waiting",
		"stats":        "SELECT * FROM applock.appl_lock_stats",
		"history":      "SELECT * FROM applock.appl_lock_history",
		"renew":        "SELECT * FROM applock.renew_appl_locks('[]')",
		"version":      "SELECT applock.appl_lock_version()",
		"transfer":     "CALL applock.transfer_appl_lock('customer', '1', 'JDOE', 'ASMITH', '', NULL, NULL, NULL)",
		"take":         "CALL applock.take_appl_lock('customer', '1', 'BOSS', '', 'why', NULL, NULL)",
		"take row":     "SELECT * FROM applock.take_appl_lock_row('customer', '1', 'BOSS', '', 'why', NULL, NULL)",
		"inbox":        "SELECT * FROM applock.inbox_appl_locks('JDOE', NULL, NULL)",
		"transfers":    "SELECT * FROM applock.transfer_appl_locks('JDOE', 'none', 'ASMITH', '', NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
		"releases":     "SELECT * FROM applock.release_appl_locks('JDOE', 'none', NULL, NULL, NULL, NULL, NULL, NULL)",
		"set":          "CALL applock.set_appl_lock_policy('customer', NULL, NULL, NULL, 'BOSS', NULL, NULL, NULL, NULL)",
		"set row":      "SELECT * FROM applock.set_appl_lock_policy_row('customer', NULL, NULL, NULL, 'BOSS', NULL, NULL)",
		"drop":         "CALL applock.drop_appl_lock_policy('customer', 'BOSS', NULL)",
		"policies":     "SELECT * FROM applock.appl_lock_policies",
		"policy":       "SELECT * FROM applock.appl_lock_policy",
		"lay down":     "DELETE FROM applock.appl_lock_policy",
		"purge":        "CALL applock.purge_appl_locks(NULL, NULL)",
		"purge events": "CALL applock.purge_appl_lock_history(NULL, NULL)",
		"fence":        "SELECT * FROM applock.appl_lock_fence",
		"unlock":       "DELETE FROM applock.appl_lock_live",
		"seize":        "UPDATE applock.appl_lock_live SET operator_id = 'ASMITH'",
		"misreport":    "UPDATE applock.appl_lock_history SET reason = ''",
		"allow":        "INSERT INTO applock.appl_lock_policies (object_type, take_reason_fl, history_level) VALUES ('customer', 'N', 'ALL')",
		"peep":         "SELECT * FROM applock.appl_lock AS l JOIN applock.appl_lock_live AS v USING (object_type, object_id)",
		"move":         "SELECT * FROM applock.appl_lock_move('r', 'TAKEN', 'customer', '1', NULL, NULL, 'ASMITH', '', 1, '', '', NULL, NULL)",
		"table":        "SELECT * FROM applock.appl_lock",
		"write":        "DELETE FROM applock.appl_lock",
		"waiting":      "SELECT * FROM applock.appl_lock_waiter",
		"events":       "SELECT * FROM applock.appl_lock_event",
		"rewrite":      "UPDATE applock.appl_lock_event SET reason = ''",
		"forget":       "DELETE FROM applock.appl_lock_event",
		"invent":       "INSERT INTO applock.appl_lock_event DEFAULT VALUES",
		"record":       "SELECT applock.appl_lock_record('RELEASED', 't', 'i', 'a', '', '', 0, '', '', 0, '')",
		"internal":     "SELECT applock.appl_lock_text('r', 'a', 'v', 1, true)",
	}
	operator := []string{
		"get", "get row", "release", "note", "inquire", "list", "serialize", "version",
		"announce", "announce row", "retract", "permit", "poll", "waiters", "history", "policies", "inbox", "renew", "releases",
		"ask", "ask row", "answer", "answer row", "asking", "see", "viewers",
	}
	for role, allowed := range map[string][]string{
		"operator":      operator,
		"supervisor":    append([]string{"transfer", "take", "take row", "transfers", "stats"}, operator...),
		"auditor":       {"inquire", "list", "waiters", "asking", "viewers", "history", "stats", "policies", "version"},
		"administrator": {"set", "set row", "drop", "purge events", "policies", "history", "version"},
		"janitor":       {"purge", "stats", "version"},
		"nobody":        nil,
	} {
		t.Run(role, func(t *testing.T) { // not parallel: two grants on one routine at once are an error
			user := roleWithGrants(t, owner, role)
			for name, call := range calls {
				err := asUser(t, owner, user, call)
				may := false
				for _, verb := range allowed {
					may = may || verb == name
				}
				if may && err != nil {
					t.Errorf("%s may not %s: %v", role, name, err)
				}
				if !may && (err == nil || !strings.Contains(err.Error(), "42501")) {
					t.Errorf("%s may %s: %v, want 42501", role, name, err)
				}
			}
		})
	}
}

// roleWithGrants makes a role with the grants that docs/grants/postgres.sql has, and drops it at the end.
func roleWithGrants(t *testing.T, owner *pgxpool.Pool, role string) string {
	t.Helper()
	user := "applock_test_" + role + strings.TrimPrefix(owner.Config().ConnConfig.Database, "applock_test")
	grants := grantsOf(t, role)
	for _, statement := range append([]string{"CREATE ROLE " + user}, grants...) {
		if _, err := owner.Exec(t.Context(), strings.ReplaceAll(statement, "TO applock_"+role, "TO "+user)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if _, err := owner.Exec(context.Background(), "DROP OWNED BY "+user+"; DROP ROLE "+user); err != nil {
			t.Error(err)
		}
	})
	return user
}

func asUser(t *testing.T, owner *pgxpool.Pool, user, call string) error {
	t.Helper()
	tx, err := owner.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	execute(t, tx, "SET LOCAL ROLE "+user)
	_, err = tx.Exec(t.Context(), call)
	return err
}

// Goal: a caller cannot make the procedures use tables or functions of its own. Method: a temporary
// table appl_lock and a function clock_timestamp in a schema that the caller puts first.
func TestSearchPathIsPinned(t *testing.T) {
	t.Parallel()
	pool := migratedPool(t)
	inTx(t, pool, func(tx pgx.Tx) {
		execute(t, tx, "CREATE SCHEMA evil")
		execute(t, tx, "CREATE FUNCTION evil.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ SELECT timestamptz '2000-01-01' $$")
		execute(t, tx, "CREATE TEMPORARY TABLE appl_lock (LIKE applock.appl_lock INCLUDING ALL)")
		execute(t, tx, "SET LOCAL search_path = evil, pg_temp, pg_catalog, applock")
		execute(t, tx, "CALL applock.get_appl_lock('customer', '1', 'JDOE', '', NULL)")
		if rows := value[int](t, tx, "SELECT count(*) FROM pg_temp.appl_lock"); rows != 0 {
			t.Error("the lock went into the caller's temporary table")
		}
		if rows := value[int](t, tx, "SELECT count(*) FROM applock.appl_lock WHERE acquired_ts > '2020-01-01'"); rows != 1 {
			t.Error("the lock is not in the table, or has the caller's time")
		}
	})
}
