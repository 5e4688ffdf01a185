package migrate_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// obstacle is a database with something that keeps a late statement of the removal from succeeding, which only that statement meets.
type obstacle struct {
	client *applock.Client
	handle *sql.DB
	// statements put it there, and away takes it away.
	statements []string
	away       string
	// words are from the error.
	words string
}

// behindAForeignKey has a row of the user's that refers to a lock.
func behindAForeignKey(t *testing.T) obstacle {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.db")
	handle, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = handle.Close() })
	return obstacle{
		client: testclient.SQLite(t, handle), handle: handle,
		statements: []string{
			"CREATE TABLE mine (type TEXT, id TEXT, FOREIGN KEY (type, id) REFERENCES appl_lock)",
			"INSERT INTO mine VALUES ('customer', '42')",
		},
		away: "DROP TABLE mine", words: "FOREIGN KEY constraint failed",
	}
}

func postgresHandle(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	handle := stdlib.OpenDB(*config)
	t.Cleanup(func() { _ = handle.Close() })
	return handle
}

// behindATrigger has a trigger of the user's that keeps the first table.
func behindATrigger(t *testing.T) obstacle {
	t.Helper()
	dsn := testdb.Postgres(t)
	return obstacle{
		client: testclient.Open(t, dsn, "", nil), handle: postgresHandle(t, dsn),
		statements: []string{
			`CREATE FUNCTION keep() RETURNS event_trigger LANGUAGE plpgsql AS $$
			BEGIN
				IF EXISTS (SELECT 1 FROM pg_event_trigger_dropped_objects() WHERE object_identity = 'applock.appl_lock') THEN
					RAISE 'this table is kept';
				END IF;
			END
			$$`,
			"CREATE EVENT TRIGGER keeping ON sql_drop EXECUTE FUNCTION keep()",
		},
		away: "DROP EVENT TRIGGER keeping", words: "this table is kept",
	}
}

// requireWhole fails unless nothing is missing of the installation, and the lock is held.
func requireWhole(t *testing.T, client *applock.Client, object applock.Object, fence applock.Fence) {
	t.Helper()
	status, err := migrate.Status(t.Context(), client)
	if err != nil {
		t.Errorf("status: %v", err)
	}
	for _, finding := range status.Findings {
		if finding.Part != migrate.PartOwners { // the tests' account is a superuser
			t.Errorf("status: %+v", finding)
		}
	}
	for _, step := range status.Steps {
		if step.AppliedAt.IsZero() {
			t.Errorf("step %d is undone", step.Version)
		}
	}
	if lock, err := client.Inquire(t.Context(), object); err != nil || lock.Fence != fence {
		t.Errorf("inquire: %v, %v, want fence %d", lock, err, fence)
	}
}

// Goal: where transactions undo what was dropped, a removal that fails half-way leaves all as it was, locks and callers too. Method: something of the user's
// that a late statement meets, and no look beforehand; uninstall and goto 0 fail; without it uninstall removes everything.
func TestARemovalThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) obstacle{"sqlite": behindAForeignKey, "postgres": behindATrigger} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := open(t)
			install(t, is.client)
			object := applock.Object{Type: "customer", ID: "42"}
			grant, err := is.client.Get(t.Context(), applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE"}})
			if err != nil {
				t.Fatal(err)
			}
			execute(t, is.handle, is.statements...)
			_, err = migrate.Uninstall(t.Context(), is.client, migrate.UninstallRequest{Force: true})
			if err == nil || !strings.Contains(err.Error(), is.words) {
				t.Errorf("uninstall: %v, want %q", err, is.words)
			}
			requireWhole(t, is.client, object, grant.Fence)
			undone, err := migrate.Goto(t.Context(), is.client, migrate.GotoRequest{Force: true})
			if err == nil || !strings.Contains(err.Error(), is.words) {
				t.Errorf("goto 0: %v, %v, want %q", undone, err, is.words)
			}
			requireWhole(t, is.client, object, grant.Fence)
			execute(t, is.handle, is.away)
			if _, err := migrate.Uninstall(t.Context(), is.client, migrate.UninstallRequest{Force: true}); err != nil {
				t.Fatal(err)
			}
			if lock, err := is.client.Inquire(t.Context(), object); !errors.Is(err, applock.ErrSchema) {
				t.Errorf("inquire afterwards: %v, %v, want ErrSchema", lock, err)
			}
			install(t, is.client)
		})
	}
}

func execute(t *testing.T, handle *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := handle.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// Goal: whoever comes second to remove an installation finds nothing to do. Method: five at once on each database whose removal is one transaction.
func TestRemovalsAtOnce(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) obstacle{"sqlite": behindAForeignKey, "postgres": behindATrigger} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := open(t).client
			install(t, client)
			var removing sync.WaitGroup
			for range 5 {
				removing.Go(func() {
					if _, err := migrate.Uninstall(t.Context(), client, migrate.UninstallRequest{}); err != nil {
						t.Error(err)
					}
				})
			}
			removing.Wait()
			install(t, client)
		})
	}
}
