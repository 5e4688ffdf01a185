package db2_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/db"
)

const (
	lockTable    = "applock.appl_lock_migration"
	versionTable = "applock.appl_lock_goose"
	// theirSchema and theirPath are what a connection has before we get it.
	theirSchema = "ALICE"
	theirPath   = `"SYSIBM","SYSFUN","SYSPROC","SYSIBMADM","ALICE"`
)

// Goal: everything is migrated once, each migration in one transaction with its version, in one migrator's turn and with the schema in the
// registers; the status only reads, and a refusal removes nothing. Method: a catalog that refuses all else.
func TestMigrationStatements(t *testing.T) {
	t.Parallel()
	catalog, _, client := newCatalog(t)
	if status, err := migrate.Status(t.Context(), client); err != nil || len(status.Steps) != newestVersion() || len(catalog.tables) != 0 {
		t.Errorf("status %v, %v, want %d pending and no tables", status, err, newestVersion())
	}
	for _, want := range []int{newestVersion(), 0} {
		if done, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil || len(done.Steps) != want {
			t.Fatalf("migrated %v, %v, want %d steps", done, err, want)
		}
		catalog.check(t, allVersions()...)
	}
	catalog.locks = 3
	var live *migrate.LiveLocksError
	if _, err := migrate.Uninstall(t.Context(), client, migrate.UninstallRequest{}); !errors.As(err, &live) || live.Locks != 3 {
		t.Errorf("uninstall with live locks: %v, want a refusal", err)
	}
	catalog.check(t, allVersions()...)
	if _, err := migrate.Uninstall(t.Context(), client, migrate.UninstallRequest{Force: true}); err != nil {
		t.Fatal(err)
	}
	catalog.check(t, 0)
	if catalog.tables[lockTable] || catalog.tables[versionTable] {
		t.Errorf("tables %v, want none", catalog.tables)
	}
	if owners := catalog.owners; len(owners) < 2 || owners[0] == owners[1] {
		t.Errorf("the owners of the turns are %q", owners)
	}
}

// atStatement makes a server answer differently to the count-th statement that begins with a text.
func atStatement(prefix string, count int, answer hook) hook {
	var mu sync.Mutex
	seen := 0
	return func(statement fakeStatement, do func() fakeAnswer) fakeAnswer {
		mu.Lock()
		if strings.HasPrefix(statement.text, prefix) {
			seen++
		}
		isIt := strings.HasPrefix(statement.text, prefix) && seen == count
		mu.Unlock()
		if isIt {
			return answer(statement, do)
		}
		return do()
	}
}

// countOf counts what has reached the server.
func countOf(server *fake, prefix string) (count int) {
	for _, statement := range server.statements() {
		if strings.HasPrefix(statement.text, prefix) {
			count++
		}
	}
	return count
}

func failing(err error) hook {
	return func(fakeStatement, func() fakeAnswer) fakeAnswer { return fakeAnswer{err: err} }
}

// losing makes the server lose a connection for good, at some statement.
func losing(c *catalog, prefix string, count int) hook {
	lost := fakeAnswer{err: answer(-30081, "08001", "A communication error has been detected.")}
	var mu sync.Mutex
	lostConn := 0
	at := atStatement(prefix, count, func(statement fakeStatement, _ func() fakeAnswer) fakeAnswer {
		mu.Lock()
		defer mu.Unlock()
		lostConn = statement.conn
		return c.plainly(fakeStatement{conn: statement.conn, text: "ROLLBACK"})
	})
	return func(statement fakeStatement, do func() fakeAnswer) fakeAnswer {
		answer := at(statement, func() fakeAnswer {
			mu.Lock()
			isLost := statement.conn == lostConn
			mu.Unlock()
			if isLost {
				return lost
			}
			return do()
		})
		mu.Lock()
		defer mu.Unlock()
		if statement.conn == lostConn {
			return lost
		}
		return answer
	}
}

// Goal: an error before or in a migrator's turn is told in Db2's words. A migration that fails is named, and rolled back with its version. The
// turn ends and the connection is as it was, so that the next migrator need not wait. Method: errors at each step, and the loss of the
// connection.
func TestMigrationFails(t *testing.T) {
	t.Parallel()
	cause := answer(-551, "42501", `"ALICE" does not have the required privilege.`)
	rolledBack := func(c *catalog) hook {
		return func(statement fakeStatement, _ func() fakeAnswer) fakeAnswer {
			c.plainly(fakeStatement{conn: statement.conn, text: "ROLLBACK"})
			return fakeAnswer{err: cause}
		}
	}
	at := func(prefix string, count int) func(*catalog) hook {
		return func(*catalog) hook { return atStatement(prefix, count, failing(cause)) }
	}
	const (
		procedure, version = "CREATE OR REPLACE PROCEDURE", "INSERT INTO " + versionTable
		privilege, waiting = "a privilege is missing", "wait for other migrators: "
	)
	for name, test := range map[string]struct {
		hook     func(c *catalog) hook
		failed   string
		versions []int64
		// rollback is false if the server has rolled back by itself.
		rollback bool
	}{
		"Tables":             {at("CREATE TABLE", 1), privilege, nil, false},
		"LastTurn":           {at("DELETE FROM "+lockTable, 1), waiting, []int64{0}, false},
		"Turn":               {at("INSERT INTO "+lockTable, 1), waiting, []int64{0}, false},
		"Registers":          {at("SELECT CURRENT SCHEMA", 1), privilege, []int64{0}, false},
		"Schema":             {at("SET CURRENT SCHEMA", 1), privilege, []int64{0}, false},
		"Path":               {at("SET CURRENT PATH", 1), privilege, []int64{0}, false},
		"First":              {at("ALTER TABLE", 1), "00001_", []int64{0}, true},
		"Second":             {at(procedure, 7), "00002_", []int64{0, 1}, true},
		"Version":            {at(version, 3), "00002_", []int64{0, 1}, true},
		"Commit":             {func(c *catalog) hook { return atStatement("COMMIT", 2, rolledBack(c)) }, "00002_", []int64{0, 1}, false},
		"Connection":         {func(c *catalog) hook { return losing(c, procedure, 7) }, "00002_", []int64{0, 1}, true},
		"ConnectionAtCommit": {func(c *catalog) hook { return losing(c, "COMMIT", 1) }, "00001_", []int64{0}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				catalog, server, client := newCatalog(t)
				catalog.hook = test.hook(catalog)
				done, err := migrate.Up(t.Context(), client, migrate.UpRequest{})
				if err == nil || !strings.Contains(err.Error(), test.failed) || !strings.Contains(err.Error(), "SQLSTATE=") {
					t.Errorf("migrated %v, %v, want an error of %s", done, err, test.failed)
				}
				if rolledBack := countOf(server, "ROLLBACK") > 0; rolledBack != test.rollback {
					t.Errorf("rolled back: %t", rolledBack)
				}
				catalog.check(t, test.versions...)
				begun := time.Now()
				if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
					t.Errorf("the next migrator: %v", err)
				}
				if waited := time.Since(begun); waited != 0 {
					t.Errorf("the next migrator waited %s", waited)
				}
				catalog.check(t, allVersions()...)
			})
		})
	}
}

// Goal: a cancelled migrator leaves nothing half done: its turn ends although database/sql rolls back and closes goose's connection.
// Method: a context that ends while the server works, at each statement of the turn; also with a pool of one connection.
func TestMigrationIsCancelled(t *testing.T) {
	t.Parallel()
	for prefix, count := range map[string]int{
		"INSERT INTO " + lockTable: 1, "SELECT CURRENT SCHEMA": 1, "SET CURRENT SCHEMA": 1, "SET CURRENT PATH": 1,
		"BEGIN": 2, "CREATE TABLE appl_lock": 1, "CREATE OR REPLACE PROCEDURE": 5, "INSERT INTO " + versionTable: 2, "COMMIT": 1,
	} {
		for _, connections := range []int{0, 1} {
			t.Run(fmt.Sprintf("%s, pool of %d", prefix, connections), func(t *testing.T) {
				t.Parallel()
				catalog, server, client := newCatalog(t)
				server.pool.SetMaxOpenConns(connections)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				catalog.hook = atStatement(prefix, count, func(_ fakeStatement, do func() fakeAnswer) fakeAnswer {
					cancel()
					time.Sleep(time.Millisecond) // database/sql wakes up and waits for the answer
					return do()
				})
				if _, err := migrate.Up(ctx, client, migrate.UpRequest{}); !errors.Is(err, context.Canceled) {
					t.Errorf("error = %v, want %v", err, context.Canceled)
				}
				catalog.checkTurn(t)
				ctx, cancelNext := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancelNext()
				if _, err := migrate.Up(ctx, client, migrate.UpRequest{}); err != nil {
					t.Errorf("the next migrator: %v", err)
				}
				catalog.check(t, allVersions()...)
			})
		}
	}
}

// Goal: one migrator at a time. The others wait as long as their contexts allow, and report that; a crashed one blocks them until its row
// expires, and no longer. Method: another migrator's row, and the bubble's clock.
func TestMigratorsTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		catalog, server, client := newCatalog(t)
		somebody := turn{"somebody", time.Now().Add(time.Minute)}
		catalog.turns = []turn{somebody}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := migrate.Up(ctx, client, migrate.UpRequest{})
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "wait for other migrators") {
			t.Errorf("error = %v, want %v for having waited", err, context.DeadlineExceeded)
		}
		if !slices.Equal(catalog.turns, []turn{somebody}) {
			t.Errorf("it is the turn of %v, want that of %v", catalog.turns, somebody)
		}
		if tries := countOf(server, "INSERT INTO "+lockTable); tries < 40 || tries > 60 {
			t.Errorf("tried %d times in ten seconds", tries)
		}
		begun := time.Now()
		if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
			t.Error(err)
		}
		if waited := time.Since(begun); waited < 50*time.Second || waited > 51*time.Second {
			t.Errorf("waited %s for a row that expires after 50s", waited)
		}
		catalog.check(t, allVersions()...)
	})
}

// Goal: two migrators on an empty database do not disturb each other. Method: each table, and the version 0, appears
// just before this one creates it.
func TestFasterMigrator(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"CREATE TABLE " + lockTable, "CREATE TABLE " + versionTable, "INSERT INTO " + versionTable} {
		catalog, _, client := newCatalog(t)
		catalog.hook = atStatement(prefix, 1, func(_ fakeStatement, do func() fakeAnswer) fakeAnswer {
			do()
			return do()
		})
		if done, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil || len(done.Steps) != newestVersion() {
			t.Errorf("%s: migrated %v, %v", prefix, done, err)
		}
		catalog.check(t, allVersions()...)
	}
}

// Goal: an installation by the printed script can be undone. Method: the script leaves the versions, and no table of the migrators.
func TestDownAfterScript(t *testing.T) {
	t.Parallel()
	catalog, _, client := newCatalog(t)
	catalog.tables[versionTable] = true
	for _, version := range allVersions() {
		catalog.versions[version] = true
	}
	if done, err := migrate.Down(t.Context(), client, migrate.DownRequest{}); err != nil || len(done.Steps) != 1 || done.Steps[0].Version != int64(newestVersion()) {
		t.Errorf("undone %v, %v, want the newest", done, err)
	}
	catalog.check(t, allVersions()[:newestVersion()]...)
}

// Goal: a connection that is lost outside of the turn leaves the pool, too: a program that tries again must not get
// it again.
func TestMigratorLosesConnection(t *testing.T) {
	t.Parallel()
	for name, migrate := range map[string]func(client *applock.Client) error{
		"Up": func(client *applock.Client) error {
			_, err := migrate.Up(t.Context(), client, migrate.UpRequest{})
			return err
		},
		"Status": func(client *applock.Client) error {
			_, err := migrate.Status(t.Context(), client)
			return err
		},
	} {
		catalog, server, client := newCatalog(t)
		catalog.hook = losing(catalog, "SELECT COUNT(*)", 1)
		if err := migrate(client); db.KindOf(err) != db.KindInFlight {
			t.Errorf("%s: error = %v", name, err)
		}
		if open := server.open(); open != 0 {
			t.Errorf("%s: %d connections are open", name, open)
		}
		if err := migrate(client); err != nil {
			t.Errorf("%s: the next try: %v", name, err)
		}
	}
}
