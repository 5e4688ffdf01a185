package db2_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	db2migrations "github.com/applock/applock/internal/migrate/db2"

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

// shortened cuts statements down to their first words, and drops repetitions.
func shortened(statements []fakeStatement) []string {
	words := regexp.MustCompile(`^(BEGIN|COMMIT|ROLLBACK|SET .*|[A-Z]+( .*?)? FROM [\w.]+( WHERE \w+)?|[A-Z]+ \w+ [\w.]+|[A-Z]+ \w+)`)
	var texts []string
	for _, statement := range statements {
		text := words.FindString(statement.text)
		if tableName.FindString(statement.text) == "" && statement.inTx && text != "COMMIT" && text != "ROLLBACK" {
			text = "(migration)"
		}
		for _, arg := range statement.args {
			if owner, isText := arg.(string); isText && owner != "" {
				arg = "me"
			}
			text += fmt.Sprintf(" %v", arg)
		}
		texts = append(texts, text)
	}
	return slices.Compact(texts)
}

// countStatements counts those of the migrations' halves.
func countStatements(t *testing.T, up bool) int {
	t.Helper()
	migrations := db2migrations.Migrations()
	count := 0
	for version := range newestVersion {
		files, _ := fs.Glob(migrations, fmt.Sprintf("%05d_*.sql", version+1))
		text, err := fs.ReadFile(migrations, files[0])
		if err != nil {
			t.Fatal(err)
		}
		half, down, _ := strings.Cut(string(text), "-- +goose Down\n")
		if !up {
			half = down
		}
		count += strings.Count(half, "-- +goose StatementBegin\n")
	}
	return count
}

// checkTexts requires that Db2 can read every statement, and returns how many belong to migrations.
func checkTexts(t *testing.T, statements []fakeStatement) int {
	t.Helper()
	count := 0
	for _, statement := range statements {
		text := strings.TrimSpace(statement.text)
		if strings.HasSuffix(text, ";") || strings.Contains(text, "+goose") || strings.Contains(text, "--#SET") || strings.HasSuffix(text, "@") || text == "" {
			t.Errorf("sent a statement that Db2 refuses:\n%s", text)
		}
		if statement.inTx && text != "COMMIT" && text != "ROLLBACK" && tableName.FindString(text) == "" {
			count++
		}
	}
	return count
}

// ownerOf returns who took the turn.
func ownerOf(statements []fakeStatement) string {
	for _, statement := range statements {
		if strings.HasPrefix(statement.text, "INSERT INTO "+lockTable) {
			return statement.args[0].(string)
		}
	}
	return ""
}

// checkTransactions requires that each migration is one transaction with its version, and what each of the last statements is.
func checkTransactions(t *testing.T, statements []fakeStatement, change string, versions []int, last ...string) {
	t.Helper()
	var want []string
	for _, version := range versions {
		want = append(want, "BEGIN", "(migration)", fmt.Sprintf(change, versionTable, version), "COMMIT")
	}
	want = append(want, "SELECT MAX(version_id) FROM "+versionTable, `SET CURRENT SCHEMA = "`+theirSchema+`"`, "SET CURRENT PATH = "+theirPath,
		"BEGIN", "DELETE FROM "+lockTable+" WHERE owner me", "COMMIT")
	want = append(want, last...)
	if got := shortened(statements); len(got) < len(want) || !slices.Equal(got[len(got)-len(want):], want) {
		t.Errorf("sent\n%s\n\nwant in the end\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Goal: the statements for the server are complete and readable for Db2. Each migration is one transaction with its version, in one
// migrator's turn and with the schema in the registers. Method: the statements of a first migrate.Up, of one that finds nothing to do, and of
// Uninstall, against the files.
func TestMigrationStatements(t *testing.T) {
	t.Parallel()
	catalog, server, client := newCatalog(t)
	done, err := migrate.Up(t.Context(), client, migrate.UpRequest{})
	if err != nil || len(done.Steps) != newestVersion {
		t.Fatalf("migrated %v, %v, want two", done, err)
	}
	got := server.statements()
	checkTransactions(t, got, "INSERT INTO %s %d true", []int{1, 2})
	if count, want := checkTexts(t, got), countStatements(t, true); count != want {
		t.Errorf("sent %d statements of migrations, want %d", count, want)
	}
	catalog.check(t, allVersions()...)

	if done, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil || len(done.Steps) != 0 {
		t.Errorf("migrated %v, %v, want nothing to do", done, err)
	}
	again := server.statements()
	checkTexts(t, again)
	if first, second := ownerOf(got), ownerOf(again); first == second || len(first) < 20 || len(first) > 64 {
		t.Errorf("the owners of the turns are %q and %q", first, second)
	}
	catalog.check(t, allVersions()...)

	catalog.locks = 3
	var live *migrate.LiveLocksError
	if _, err := migrate.Uninstall(t.Context(), client, migrate.UninstallRequest{}); !errors.As(err, &live) || live.Locks != 3 {
		t.Errorf("uninstall with live locks: %v, want a refusal", err)
	}
	if sent := shortened(server.statements()); slices.Contains(sent, "(migration)") {
		t.Errorf("a refusal sends %q", sent)
	}
	if _, err := migrate.Uninstall(t.Context(), client, migrate.UninstallRequest{Force: true}); err != nil {
		t.Fatal(err)
	}
	got = server.statements()
	if count, want := checkTexts(t, got), countStatements(t, false); count != want {
		t.Errorf("sent %d statements of migrations, want %d", count, want)
	}
	checkTransactions(t, got, "DELETE FROM %s WHERE version_id %d", []int{2, 1}, "DROP TABLE "+versionTable, "DROP TABLE "+lockTable)
	catalog.check(t, 0)
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

// Goal: a migration that fails is named, and rolled back with its version; the turn ends and the connection is as it
// was, so that the next migrator need not wait. Method: errors at each step, and the loss of the connection.
func TestMigrationFails(t *testing.T) {
	t.Parallel()
	cause := answer(-964, "57011", "The transaction log for the database is full.")
	rolledBack := func(c *catalog) hook {
		return func(statement fakeStatement, _ func() fakeAnswer) fakeAnswer {
			c.plainly(fakeStatement{conn: statement.conn, text: "ROLLBACK"})
			return fakeAnswer{err: cause}
		}
	}
	const procedure, version = "CREATE OR REPLACE PROCEDURE", "INSERT INTO " + versionTable
	for name, test := range map[string]struct {
		hook     func(c *catalog) hook
		failed   string
		versions []int64
		// rollback is false if the server has rolled back by itself.
		rollback bool
	}{
		"First":              {func(*catalog) hook { return atStatement("ALTER TABLE", 1, failing(cause)) }, "00001_", []int64{0}, true},
		"Second":             {func(*catalog) hook { return atStatement(procedure, 7, failing(cause)) }, "00002_", []int64{0, 1}, true},
		"Version":            {func(*catalog) hook { return atStatement(version, 3, failing(cause)) }, "00002_", []int64{0, 1}, true},
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
				statements := shortened(server.statements())
				if slices.Contains(statements, "ROLLBACK") != test.rollback {
					t.Errorf("rolled back: %t\n%s", !test.rollback, strings.Join(statements, "\n"))
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

// Goal: an error before or while a migrator takes its turn is reported in Db2's words, ends the turn, and migrates nothing.
func TestTurnFails(t *testing.T) {
	t.Parallel()
	cause := answer(-551, "42501", `"ALICE" does not have the required privilege.`)
	for _, test := range []struct {
		prefix   string
		waits    bool
		versions []int64
	}{
		{"CREATE TABLE", false, nil},
		{"DELETE FROM " + lockTable, true, []int64{0}},
		{"INSERT INTO " + lockTable, true, []int64{0}},
		{"SELECT CURRENT SCHEMA", false, []int64{0}},
		{"SET CURRENT SCHEMA", false, []int64{0}},
		{"SET CURRENT PATH", false, []int64{0}},
	} {
		catalog, server, client := newCatalog(t)
		catalog.hook = atStatement(test.prefix, 1, failing(cause))
		_, err := migrate.Up(t.Context(), client, migrate.UpRequest{})
		checkText(t, err, cause)
		if err == nil || !strings.Contains(err.Error(), "a privilege is missing") || strings.Contains(err.Error(), "wait for other migrators") != test.waits {
			t.Errorf("%s: error = %v", test.prefix, err)
		}
		if sent := shortened(server.statements()); slices.Contains(sent, "(migration)") {
			t.Errorf("%s: migrated all the same:\n%s", test.prefix, strings.Join(sent, "\n"))
		}
		catalog.check(t, test.versions...)
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
		sent := shortened(server.statements())
		first := slices.Index(sent, "DELETE FROM "+lockTable+" WHERE expires_ts")
		if first < 0 || slices.Contains(sent, "(migration)") || len(sent) < first+80 || len(sent) > first+120 {
			t.Fatalf("sent\n%s", strings.Join(sent, "\n"))
		}
		for i, statement := range sent[first : first+80] {
			if want := []string{"DELETE FROM " + lockTable + " WHERE expires_ts", "INSERT INTO " + lockTable + " me"}[i%2]; statement != want {
				t.Fatalf("%s, want %s", statement, want)
			}
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
		if done, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil || len(done.Steps) != newestVersion {
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
	if done, err := migrate.Down(t.Context(), client, migrate.DownRequest{}); err != nil || len(done.Steps) != 1 || done.Steps[0].Version != newestVersion {
		t.Errorf("undone %v, %v, want the newest", done, err)
	}
	catalog.check(t, allVersions()[:newestVersion]...)
	if _, err := migrate.Uninstall(t.Context(), client, migrate.UninstallRequest{}); err != nil {
		t.Error(err)
	}
	if catalog.tables[lockTable] || catalog.tables[versionTable] {
		t.Errorf("tables %v, want none", catalog.tables)
	}
}

// Goal: the status only reads, tells what is there, and takes no error for an empty database.
func TestMigrationStatus(t *testing.T) {
	t.Parallel()
	catalog, server, client := newCatalog(t)
	status, err := migrate.Status(t.Context(), client)
	if err != nil || len(status.Steps) != newestVersion || !status.Steps[0].AppliedAt.IsZero() || !status.Steps[1].AppliedAt.IsZero() {
		t.Errorf("status %v, %v, want %d pending", status, err, newestVersion)
	}
	catalog.tables[versionTable] = true
	catalog.versions = map[int64]driver.Value{0: true, 1: true}
	status, err = migrate.Status(t.Context(), client)
	if err != nil || len(status.Steps) != newestVersion || status.Steps[0].AppliedAt != time.Date(2026, 7, 31, 12, 0, 0, 0, time.UTC) || !status.Steps[1].AppliedAt.IsZero() {
		t.Errorf("status %v, %v, want the first applied", status, err)
	}
	for _, statement := range server.statements() {
		if !strings.HasPrefix(statement.text, "SELECT ") {
			t.Errorf("sent %v", statement)
		}
	}
	catalog.versions[2] = true
	catalog.routines = []string{"get_appl_lock"}
	status, err = migrate.Status(t.Context(), client)
	if missing := func(f migrate.Finding) bool { return f.Problem == "is missing" && f.Repairable }; err != nil ||
		len(status.Findings) < 20 || slices.ContainsFunc(status.Findings, func(f migrate.Finding) bool { return !missing(f) }) {
		t.Errorf("findings %v, %v, want all routines but one", status.Findings, err)
	}
	cause := answer(-551, "42501", "The required privilege is missing.")
	catalog.hook = atStatement("SELECT COUNT(*)", 1, failing(cause))
	_, err = migrate.Status(t.Context(), client)
	checkText(t, err, cause)
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
