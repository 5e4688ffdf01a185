package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	mysqlclient "github.com/applock/applock/applock/mysql"
	mysqlmigrations "github.com/applock/applock/internal/migrate/mysql"

	driver "github.com/go-sql-driver/mysql"
	"github.com/pressly/goose/v3"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// otherSyntax is a sql_mode in which much SQL means something else.
const otherSyntax = "PIPES_AS_CONCAT,ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH"

// inMode sets the sql_mode of a pool's sessions.
func inMode(mode string) func(config *driver.Config) {
	return func(config *driver.Config) { config.Params = map[string]string{"sql_mode": "'" + mode + "'"} }
}

// newSchema returns the name of a database that does not exist yet, and drops it when the test ends.
func newSchema(t *testing.T, dsn string) string {
	t.Helper()
	handle := testdb.OpenMySQL(t, dsn, nil)
	name := strings.Replace(value(t, handle, "SELECT DATABASE()"), "_test_", "_also_", 1)
	t.Cleanup(func() {
		if _, err := handle.ExecContext(context.Background(), "DROP DATABASE IF EXISTS "+name); err != nil {
			t.Error(err)
		}
	})
	return name
}

// contents returns the names of the tables and routines of a database.
func contents(t *testing.T, handle *sql.DB, schema string) []string {
	t.Helper()
	return column(t, handle, `
		SELECT table_name FROM information_schema.tables WHERE table_schema = ?
		UNION ALL
		SELECT routine_name FROM information_schema.routines WHERE routine_schema = ?`, schema, schema)
}

// requireWorking goes through all operations, in the schema, which is empty for the one that is connected to.
func requireWorking(t *testing.T, client *applock.Client, handle *sql.DB, schema string) {
	t.Helper()
	ctx := t.Context()
	requireWaiting(t, handle, schema)
	object := applock.Object{Type: "customer", ID: `4"2\`}
	if _, err := client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "O'Brien"}}); err != nil {
		t.Fatal(err)
	}
	var held *applock.HeldError
	if _, err := client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "ASMITH"}}); !errors.As(err, &held) ||
		held.Holder.Owner.Operator != "O'Brien" {
		t.Errorf("get: %v, want held by O'Brien", err)
	}
	if _, err := client.Get(ctx, applock.GetRequest{Object: applock.Object{Type: "a:b"}}); !errors.Is(err, applock.ErrInvalid) {
		t.Errorf("get: %v, want ErrInvalid", err)
	}
	lock, err := client.Transfer(ctx, applock.TransferRequest{Object: object, From: "O'Brien", To: applock.Owner{Operator: "ASMITH"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Assert(ctx, applock.Key{Object: object, Operator: "ASMITH", Fence: lock.Fence}); err != nil {
		t.Error(err)
	}
	for listed, err := range client.List(ctx, applock.ListRequest{Operator: "ASMITH"}) {
		if err != nil || listed.Object != object {
			t.Errorf("list: %v, %v", listed, err)
		}
	}
	tx, err := handle.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := client.WithSQLTx(tx).Serialize(ctx, object); err != nil {
		t.Error(err)
	}
	if released, err := client.Release(ctx, applock.ReleaseRequest{Key: applock.Key{Object: object, Operator: "ASMITH", Fence: lock.Fence}}); err != nil || released != applock.OutcomeReleased {
		t.Errorf("release: %v, %v", released, err)
	}
	if _, err := client.Inquire(ctx, object); !errors.Is(err, applock.ErrNotHeld) {
		t.Errorf("inquire: %v, want ErrNotHeld", err)
	}
	if _, err := client.Purge(ctx, applock.PurgeRequest{}); err != nil {
		t.Error(err)
	}
}

// requireWaiting goes through the operations that the façade keeps to itself.
func requireWaiting(t *testing.T, handle *sql.DB, schema string) {
	t.Helper()
	driver := clients.Driver(testclient.MySQLIn(t, handle, schema))
	ctx := t.Context()
	var grant db.RenewableGrant
	err := driver.InTx(ctx, func(d db.Driver) error {
		result, err := d.GetApplLock(ctx, db.GetApplLockParams{ObjectType: "customer", ObjectID: `1\"`, OperatorID: "JDOE", TTLSeconds: 60})
		grant = db.RenewableGrant{ObjectType: "customer", ObjectID: `1\"`, OperatorID: "JDOE", Fence: result.Fence, TTLSeconds: 60}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := driver.AnnounceApplLockWaiter(ctx, db.AnnounceApplLockWaiterParams{ObjectType: "customer", ObjectID: `1\"`, OperatorID: "ASMITH", ClientID: "program"}); err != nil {
		t.Error(err)
	}
	if awaited, err := driver.PollApplLocks(ctx, db.PollApplLocksParams{ClientID: "program", MaxRows: 10}); err != nil || len(awaited) != 1 || awaited[0].FreeInUS == 0 {
		t.Errorf("poll: %v, %v", awaited, err)
	}
	if waiters, err := driver.ApplLockWaiting(ctx, db.ListedParams{OperatorID: "ASMITH", MaxRows: 10}); err != nil || len(waiters) != 1 {
		t.Errorf("waiters: %v, %v", waiters, err)
	}
	if err := driver.RetractApplLockWaiter(ctx, db.RetractApplLockWaiterParams{ObjectType: "customer", ObjectID: `1\"`, OperatorID: "ASMITH", ClientID: "program"}); err != nil {
		t.Error(err)
	}
	if renewed, err := driver.RenewApplLocks(ctx, db.RenewApplLocksParams{Grants: []db.RenewableGrant{grant}}); err != nil || len(renewed) != 1 || renewed[0].Outcome != db.Renewed {
		t.Errorf("renew: %v, %v", renewed, err)
	}
}

// Goal: plain goose installs everything from migrations/ under any sql_mode of the session, and the session keeps that. Method: goose
// without our code, up and down, on one connection.
func TestPlainGoose(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		for name, mode := range map[string]string{"no mode": "", "other syntax": otherSyntax} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				handle := oneConnection(t, testdb.MySQL(t, product), inMode(mode))
				fsys := mysqlmigrations.Migrations()
				provider, err := goose.NewProvider(goose.DialectMySQL, handle, fsys, goose.WithTableName("appl_lock_goose"))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := provider.Up(t.Context()); err != nil {
					t.Fatal(err)
				}
				requireMode(t, handle, mode)
				requireSource(t, handle, func(body string) string { return body })
				if got := column(t, handle, "SELECT DISTINCT sql_mode FROM information_schema.routines WHERE routine_schema = DATABASE()"); !slices.Equal(got, []string{pinnedMode}) {
					t.Errorf("the routines have the modes %q, want %q", got, pinnedMode)
				}
				if outcome := mustQuery(t, handle, "CALL get_appl_lock_row('customer', '42', 'JDOE', 'CS', NULL, NULL)")[0]["p_outcome"]; outcome != "ACQUIRED" {
					t.Errorf("get: %v, want ACQUIRED", outcome)
				}
				if _, err := provider.DownTo(t.Context(), 0); err != nil {
					t.Fatal(err)
				}
				requireMode(t, handle, mode)
				if left := contents(t, handle, value(t, handle, "SELECT DATABASE()")); !slices.Equal(left, []string{"appl_lock_goose"}) {
					t.Errorf("left behind: %q", left)
				}
			})
		}
	})
}

func requireMode(t *testing.T, handle *sql.DB, mode string) {
	t.Helper()
	if got := value(t, handle, "SELECT @@SESSION.sql_mode"); got != mode {
		t.Errorf("the session's sql_mode is %q, was %q", got, mode)
	}
}

// Goal: two schemas, which are databases here, are two independent sets of locks, and the client need not be
// connected to the one it uses. Method: the same object in both; one is uninstalled.
func TestSchemasAreIndependent(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		ctx := t.Context()
		place := newPlace(t, product)
		first := place.Client
		second := testclient.MySQLIn(t, place.SQL, newSchema(t, place.DSN))
		if _, err := migrate.Up(ctx, second, migrate.UpRequest{}); err != nil {
			t.Fatal(err)
		}
		object := applock.Object{Type: "customer", ID: "42"}
		for operator, client := range map[string]*applock.Client{"JDOE": first, "ASMITH": second} {
			if _, err := client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: operator}}); err != nil {
				t.Error(err)
			}
		}
		if lock, err := second.Inquire(ctx, object); err != nil || lock.Owner.Operator != "ASMITH" {
			t.Errorf("inquire: %v, %v, want ASMITH", lock, err)
		}
		if _, err := migrate.Uninstall(ctx, second, migrate.UninstallRequest{Force: true}); err != nil {
			t.Fatal(err)
		}
		if lock, err := first.Inquire(ctx, object); err != nil || lock.Owner.Operator != "JDOE" {
			t.Errorf("inquire: %v, %v, want JDOE", lock, err)
		}
		for _, name := range []string{"Locks", "a b", "x`; DROP DATABASE applock; --", strings.Repeat("x", 31), "1st"} {
			if _, err := mysqlclient.New(place.SQL, mysqlclient.Config{Schema: name}); !errors.Is(err, applock.ErrInvalid) {
				t.Errorf("schema %q: %v, want ErrInvalid", name, err)
			}
		}
	})
}

// Goal: the printed script, run by the product's own client, is the same as migrating. Method: the client
// runs it as it is; then every step is applied, the bodies are whole, and the operations work.
func TestScriptRunsInClient(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		for name, schemaOf := range map[string]func(t *testing.T, dsn string) string{
			"connected database": func(*testing.T, string) string { return "" },
			"schema":             newSchema,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				dsn := testdb.MySQL(t, product)
				schema := schemaOf(t, dsn)
				script, err := migrate.Script(migrate.ScriptRequest{Dialect: "mysql", Schema: schema})
				if err != nil {
					t.Fatal(err)
				}
				if output := testdb.RunMySQLClient(t, product, dsn, script); output != "" {
					t.Errorf("the client answers\n%s", output)
				}
				handle := testdb.OpenMySQL(t, dsn, nil)
				client := testclient.MySQL(t, handle)
				installed := handle
				if schema != "" {
					client = testclient.MySQLIn(t, handle, schema)
					installed = testdb.OpenMySQL(t, dsn, func(config *driver.Config) { config.DBName = schema })
					if found := contents(t, handle, value(t, handle, "SELECT DATABASE()")); len(found) != 0 {
						t.Errorf("beside the schema the script created %q", found)
					}
				}
				if done, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil || len(done.Steps) != 0 {
					t.Errorf("migrate up after the script: %v, %v, want nothing to do", done, err)
				}
				requireSource(t, installed, func(body string) string {
					if product == "mariadb" { // its client does not send comments
						body = regexp.MustCompile(`(?m)^ *(--.*)?\n`).ReplaceAllString(body, "")
					}
					return body
				})
				requireWorking(t, client, handle, schema)
				if _, err := migrate.Uninstall(t.Context(), client, migrate.UninstallRequest{Force: true}); err != nil {
					t.Error(err)
				}
			})
		}
	})
}

// Goal: uninstalling leaves nothing of ours, and everything of others: a database goes only if it was given
// as the schema and holds nothing else. Method: look into the databases afterwards.
func TestUninstallLeavesNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		ctx := t.Context()
		place := newPlace(t, product)
		if _, err := migrate.Uninstall(ctx, place.Client, migrate.UninstallRequest{Force: true}); err != nil {
			t.Fatal(err)
		}
		if left := contents(t, place.SQL, value(t, place.SQL, "SELECT DATABASE()")); len(left) != 0 {
			t.Errorf("left behind: %q", left)
		}
		schema := newSchema(t, place.DSN)
		client := testclient.MySQLIn(t, place.SQL, schema)
		for _, theirs := range []string{"", "theirs"} {
			if _, err := migrate.Up(ctx, client, migrate.UpRequest{}); err != nil {
				t.Fatal(err)
			}
			if theirs != "" {
				mustQuery(t, place.SQL, "CREATE TABLE "+schema+"."+theirs+" (id INT)")
			}
			if _, err := migrate.Uninstall(ctx, client, migrate.UninstallRequest{Force: true}); err != nil {
				t.Fatal(err)
			}
			exists := value(t, place.SQL, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = ?", schema) == "1"
			if left := strings.Join(contents(t, place.SQL, schema), " "); left != theirs || exists != (theirs != "") {
				t.Errorf("the database exists: %t; in it: %q, want %q", exists, left, theirs)
			}
		}
	})
}

// Goal: the status tells when each step was applied. Method: a pool that does not parse times, in
// another time zone than the server.
func TestStatusWithoutParseTime(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		for _, zone := range []string{"+00:00", "+09:00"} {
			client := testclient.MySQL(t, testdb.OpenMySQL(t, testdb.MySQL(t, product), func(config *driver.Config) {
				config.Params = map[string]string{"time_zone": "'" + zone + "'"}
			}))
			if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
				t.Fatal(err)
			}
			steps, err := migrate.Status(t.Context(), client)
			if err != nil || len(steps.Steps) == 0 {
				t.Fatalf("status: %v, %v", steps, err)
			}
			for _, step := range steps.Steps {
				if age := time.Since(step.AppliedAt); age < -5*time.Second || age > time.Minute {
					t.Errorf("time zone %s: %s was applied at %s, %s ago", zone, step.Name, step.AppliedAt, age)
				}
			}
		}
	})
}

// Goal: migrating gives the pool's connections back as they were, also when a step fails half-way, and leaves
// alone what the caller has set since. Method: compare database, sql_mode and named lock of all of them
// before and afterwards; an account that may not create procedures fails half-way.
func TestMigratingLeavesThePoolAlone(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		for _, name := range []string{"connected database", "schema", "failure"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				dsn := testdb.MySQL(t, product)
				root := testdb.OpenMySQL(t, dsn, nil)
				database := value(t, root, "SELECT DATABASE()")
				as := func(*driver.Config) {}
				if name == "failure" {
					as = account(t, root)
					var config driver.Config
					as(&config)
					mustQuery(t, root, "GRANT CREATE, INSERT, SELECT, UPDATE ON "+database+".* TO '"+config.User+"'")
				}
				handle := testdb.OpenMySQL(t, dsn, func(config *driver.Config) { inMode(otherSyntax)(config); as(config) })
				client := testclient.MySQL(t, handle)
				if name == "schema" {
					client = testclient.MySQLIn(t, handle, newSchema(t, dsn))
				}
				requireMigrating := func() {
					t.Helper()
					if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); (err != nil) != (name == "failure") {
						t.Fatalf("migrate up: %v", err)
					}
				}
				requireMigrating()
				requireSessions(t, handle, database+" "+otherSyntax+" 0")
				for _, conn := range allConns(t, handle) {
					mustQuery(t, conn, "SET SESSION sql_mode = ''")
					_ = conn.Close() // gives it back to the pool
				}
				requireMigrating()
				requireSessions(t, handle, database+"  0")
			})
		}
	})
}

// allConns takes all connections out of a pool.
func allConns(t *testing.T, handle *sql.DB) []*sql.Conn {
	t.Helper()
	conns := make([]*sql.Conn, handle.Stats().OpenConnections)
	for i := range conns {
		conn, err := handle.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		conns[i] = conn
	}
	return conns
}

func requireSessions(t *testing.T, handle *sql.DB, want string) {
	t.Helper()
	conns := allConns(t, handle)
	for _, conn := range conns {
		got := value(t, conn, `SELECT CONCAT_WS(' ', DATABASE(), @@SESSION.sql_mode,
			COALESCE(IS_USED_LOCK('applock.migrate') = CONNECTION_ID(), FALSE))`)
		if got != want {
			t.Errorf("a connection has database, sql_mode and lock %q, want %q", got, want)
		}
		_ = conn.Close() // gives it back to the pool
	}
	if len(conns) == 0 {
		t.Error("the pool has no connection to look at")
	}
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
		if _, err := migrate.Uninstall(t.Context(), client, migrate.UninstallRequest{Force: true}); err != nil {
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
