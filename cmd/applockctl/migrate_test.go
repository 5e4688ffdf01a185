package main

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testclient"
)

// onEveryProduct runs a test on an empty database of each product, as a user who may migrate it and no more, and on a file. Exec runs
// statements there, as an administrator.
func onEveryProduct(t *testing.T, test func(t *testing.T, u user, exec func(statements ...string))) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		u := fileUser(t)
		test(t, u, func(statements ...string) {
			withFile(t, u, func(exec func(string)) {
				for _, statement := range statements {
					exec(statement)
				}
			})
		})
	})
	onServers(t, func(t *testing.T, s server) {
		dsn := s.newDatabase(t)
		test(t, userOf(s.newOwner(t, dsn)), func(statements ...string) {
			for i := range statements {
				if !s.isMySQL() {
					statements[i] = strings.ReplaceAll(statements[i], "appl_lock", "applock.appl_lock")
					if strings.HasPrefix(statements[i], "DROP TABLE ") {
						statements[i] += " CASCADE"
					}
				}
			}
			s.exec(t, dsn, statements...)
		})
	})
}

// Goal: a program that is older than the schema says so, shows the step, and changes nothing. Method: the table of the
// steps has one more, as a later release leaves it; every command of migrate is tried, and locking goes on.
func TestHeavyProgramIsOlderThanTheSchema(t *testing.T) {
	t.Parallel()
	onEveryProduct(t, func(t *testing.T, u user, exec func(...string)) {
		u.must(t, "migrate", "up")
		later := testclient.NewestStep(t) + 1
		exec(fmt.Sprintf("INSERT INTO appl_lock_goose (version_id, is_applied) VALUES (%d, true)", later))
		older := fmt.Sprintf("this program is older than the schema, which has step %d: use a program that knows it, with contract >= 1", later)
		for _, args := range []string{
			"migrate up", "migrate up --dry-run", "migrate repair", "migrate down --force", "migrate goto 1", "migrate uninstall --yes",
		} {
			u.run(t, strings.Fields(args)...).check(t, exitError, older)
		}
		status := u.run(t, "migrate", "status", "--output", "json")
		status.check(t, exitNo, older)
		if last := fmt.Sprintf(`{"outcome":"UNKNOWN","version":%d,"name":"","applied_ts":"2`, later); !strings.Contains(status.stdout, last) {
			t.Errorf("the status lacks %s:\n%s", last, status.stdout)
		}
		u.must(t, "get", "customer:42", "--operator", "jdoe")
	})
}

// Goal: nobody loses a live lock by accident, the refusal says what would become of it and names a command that works, and what is asked for by force is
// done. Method: down, goto and uninstall while a lock is live, without --yes, with --force, without the procedures, and after a release; then
// nothing of ours is left.
func TestHeavyLiveLocksAreNotLostByAccident(t *testing.T) {
	t.Parallel()
	onEveryProduct(t, func(t *testing.T, u user, _ func(...string)) {
		u.must(t, "migrate", "up")
		u.must(t, "get", "customer:42", "--operator", "jdoe")
		const (
			kept  = "1 lock is live, and programs may be unable to renew or release live locks until the steps are applied again"
			lost  = "1 lock is live and would be lost"
			wayOn = "; list them with: applockctl list; --force continues"
		)
		for args, fate := range map[string]string{"migrate down": kept, "migrate goto 0": lost, "migrate goto 1": kept, "migrate uninstall --yes": lost} {
			u.run(t, strings.Fields(args)...).check(t, exitNo, "applockctl: "+strings.Join(strings.Fields(args)[:2], " ")+": "+fate+wayOn)
		}
		u.run(t, "migrate", "uninstall").check(t, exitUsage, "--yes is missing: all locks, live or not, ", "would be removed")
		u.run(t, "get", "customer:42", "--operator", "asmith").check(t, exitNo)
		undone := u.must(t, "migrate", "goto", "1", "--force", "--output", "json")
		if !strings.HasSuffix(undone.stdout, `{"outcome":"UNDONE","version":2,"name":"00002_procedures.sql","applied_ts":null,"problem":""}`+"\n") {
			t.Errorf("goto 1 --force: %s", undone.stdout)
		}
		u.run(t, "list").check(t, exitError, "applock", "applockctl migrate up")
		for _, args := range []string{"migrate down", "migrate goto 0", "migrate uninstall --yes"} {
			u.run(t, strings.Fields(args)...).check(t, exitNo, lost+"; to list or release them, run this first: applockctl migrate up; --force continues")
		}
		newest := testclient.NewestStep(t)
		again := u.must(t, "migrate", "goto", strconv.Itoa(newest), "--output", "json").stdout
		if !strings.HasPrefix(again, `{"outcome":"APPLIED","version":2,`) || !timeOfJSON.MatchString(again) {
			t.Errorf("goto %d: %s", newest, again)
		}
		u.run(t, "migrate", "goto", strconv.Itoa(newest+1)).check(t, exitUsage, fmt.Sprintf("applockctl: migrate goto: VERSION must lie between 0 and %d", newest))
		u.run(t, "migrate", "goto", "two").check(t, exitUsage, "VERSION must be a number")
		if renewed := u.must(t, "get", "customer:42", "--operator", "jdoe"); !strings.Contains(renewed.stdout, "RENEWED") {
			t.Errorf("after the way there and back: %s", renewed.stdout)
		}
		u.must(t, "release", "customer:42", "--operator", "jdoe")
		u.must(t, "migrate", "uninstall", "--yes")
		u.must(t, "migrate", "uninstall", "--yes")
	})
}

// Goal: what others have made of the tables keeps an installation whole, and is named. Method: a view, a table that inherits, one that refers to a
// table of ours, and ones with a column of our types; the application's call after each refusal; and an installation without them.
func TestHeavyUninstallRefusesDependents(t *testing.T) {
	t.Parallel()
	dsn := postgresServer.installedDatabase(t)
	u := userOf(dsn)
	for dependent, statement := range map[string]string{
		"view my_cases":       "CREATE VIEW my_cases AS SELECT object_id FROM applock.appl_lock",
		"view my_locks":       "CREATE VIEW my_locks AS SELECT object_id FROM applock.appl_lock_live",
		"table archive":       "CREATE TABLE archive () INHERITS (applock.appl_lock)",
		"on table lock_notes": "CREATE TABLE lock_notes (object_type text, FOREIGN KEY (object_type) REFERENCES applock.appl_lock_policy)",
		"table answers":       "CREATE TABLE answers (answer applock.get_appl_lock_answer)",
		"table copies":        "CREATE TABLE copies (locks applock.appl_lock[])",
	} {
		postgresServer.exec(t, dsn, statement)
		for _, command := range []string{"migrate uninstall --yes --force", "migrate goto 0 --force"} {
			u.run(t, strings.Fields(command)...).check(t, exitError, "nothing was undone: drop these objects first, which depend on applock's: ", dependent)
		}
		u.must(t, "get", "customer:42", "--operator", "jdoe")
		postgresServer.exec(t, dsn, "DROP "+strings.Replace(dependent, "on table", "table", 1))
	}
	postgresServer.exec(t, dsn, "CREATE VIEW my_locks AS SELECT object_id FROM applock.appl_lock_live")
	u.run(t, "migrate", "down", "--force").check(t, exitError, "nothing was undone: drop these objects first, which depend on applock's: ", "view my_locks")
	postgresServer.exec(t, dsn, "DROP VIEW my_locks")
	u.must(t, "migrate", "uninstall", "--yes", "--force")
}

// Goal: where nothing that was dropped comes back, what would stop the removal half-way is found before it begins, and named. Method: a table that
// refers to one of ours; the application's call after each refusal; and an installation without it, also in a schema that is named.
func TestHeavyUninstallRefusesForeignKeys(t *testing.T) {
	t.Parallel()
	onMySQL(t, func(t *testing.T, s server) {
		dsn := s.newDatabase(t)
		for _, schema := range []string{"", s.newSchema(t, dsn)} {
			u := userOf(dsn)
			in := func(line string) []string { return append([]string{"--schema", schema}, strings.Fields(line)...) }
			u.must(t, in("migrate up")...)
			table := cmp.Or(schema, databaseOf(t, dsn)) + ".lock_notes"
			s.exec(t, dsn, "CREATE TABLE "+table+" LIKE "+strings.Replace(table, "lock_notes", "appl_lock_policy", 1),
				"ALTER TABLE "+table+" ADD CONSTRAINT of_a_type FOREIGN KEY (object_type) REFERENCES "+strings.Replace(table, "lock_notes", "appl_lock_policy", 1)+" (object_type)")
			for _, line := range []string{"migrate uninstall --yes --force", "migrate goto 0 --force"} {
				u.run(t, in(line)...).check(t, exitError,
					"nothing was undone: drop these objects first, which depend on applock's: foreign key of_a_type of table "+table)
			}
			u.must(t, in("get customer:42 --operator jdoe")...)
			s.exec(t, dsn, "DROP TABLE "+table)
			u.must(t, in("migrate uninstall --yes --force")...)
		}
	})
}

// Goal: a schema that an administrator has created for the account that migrates stays the administrator's, and everything in it goes.
// Method: that account, which owns no schema, installs and removes, twice.
func TestHeavyUninstallLeavesASchemaOfOthers(t *testing.T) {
	t.Parallel()
	dsn := postgresServer.newDatabase(t)
	name := postgresServer.newUser(t, dsn, "0wner")
	postgresServer.exec(t, dsn, "CREATE SCHEMA applock", "GRANT CREATE, USAGE ON SCHEMA applock TO "+name)
	before := postgresServer.contents(t, dsn)
	migrator := userOf(withUser(t, dsn, name, "0wner"))
	for range 2 {
		migrator.must(t, "migrate", "up")
		migrator.must(t, "migrate", "uninstall", "--yes")
		if after := postgresServer.contents(t, dsn); after != before {
			t.Errorf("left behind: %s, before there was %s", after, before)
		}
	}
}

// Goal: uninstalling leaves nothing of ours. Method: compare the database with what it was before, with live locks and
// by force.
func TestHeavyUninstallLeavesNothing(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s server) {
		dsn := s.newDatabase(t)
		u, before := userOf(dsn), s.contents(t, dsn)
		u.must(t, "migrate", "up")
		u.must(t, "get", "customer:42", "--operator", "jdoe")
		u.must(t, "migrate", "uninstall", "--yes", "--force")
		if after := s.contents(t, dsn); after != before {
			t.Errorf("left behind: %s, before there was %s", after, before)
		}
		schema := s.newSchema(t, dsn)
		u.must(t, "--schema", schema, "migrate", "up")
		u.must(t, "--schema", schema, "migrate", "uninstall", "--yes")
		if s.hasSchema(t, dsn, schema) {
			t.Error("the schema is left behind")
		}
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		u := sqliteUser(t)
		u.must(t, "migrate", "uninstall", "--yes")
		withFile(t, u, func(exec func(string)) { // each of them would be there already
			for _, table := range []string{"appl_lock", "appl_lock_waiter", "appl_lock_goose"} {
				exec("CREATE TABLE " + table + " (id INTEGER)")
			}
		})
	})
}

// Goal: what is damaged beyond repair is called so, and can be removed. Method: on each product the tables are dropped, on
// servers also a routine; a command tells the way out that there is, and uninstall goes it. PostgreSQL drops a table with its
// views only; the others leave views that cannot be read.
func TestHeavyUninstallOfWhatIsDamaged(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, u user) {
		t.Helper()
		wayOut := "is damaged: table appl_lock is missing; see all with: applockctl migrate status, and restore it from a backup"
		u.run(t, "list").check(t, exitError, wayOut)
		u.run(t, "migrate", "uninstall", "--yes").check(t, exitError, wayOut)
		u.must(t, "migrate", "uninstall", "--yes", "--force")
		u.must(t, "migrate", "up")
		u.must(t, "get", "customer:42", "--operator", "jdoe")
	}
	onEveryProduct(t, func(t *testing.T, u user, exec func(...string)) {
		u.must(t, "migrate", "up")
		exec("DROP TABLE appl_lock_waiter", "DROP TABLE appl_lock")
		check(t, u)
	})
	onServers(t, func(t *testing.T, s server) {
		dsn := s.installedDatabase(t)
		u := userOf(dsn)
		s.exec(t, dsn, "DROP PROCEDURE "+strings.TrimSuffix(s.table(), "appl_lock")+"get_appl_lock", "DROP TABLE "+s.table()+" CASCADE")
		check(t, u)
	})
}

// Goal: who asks what would be done is told, and nothing is done; CI sees by the exit code that steps are pending. Where nothing is applied,
// that is told. Method: before the installation, half-way, and after it.
func TestMigrateDryRunAndExitCode(t *testing.T) {
	t.Parallel()
	onEveryProduct(t, func(t *testing.T, u user, _ func(...string)) {
		u.must(t, "migrate", "up") // which makes a file
		u.must(t, "migrate", "goto", "0")
		u.run(t, "migrate", "down").check(t, exitYes, "nothing to do, no step is applied\n")
		newest := testclient.NewestStep(t)
		for applied := range newest + 1 {
			u.must(t, "migrate", "goto", strconv.Itoa(applied))
			pending := newest - applied
			for range 2 {
				got := u.must(t, "migrate", "up", "--dry-run", "--output", "json")
				if strings.Count(got.stdout, `{"outcome":"PENDING",`) != pending || strings.Count(got.stdout, "\n") != pending {
					t.Errorf("%d pending, the dry run says: %s", pending, got.stdout)
				}
			}
			u.must(t, "migrate", "status")
			u.run(t, "migrate", "status", "--exit-code").check(t, map[bool]int{true: exitYes, false: exitNo}[pending == 0])
		}
	})
}

// Goal: who repairs what was never installed is told to install it. Method: an empty database of each product.
func TestRepairBeforeTheInstallation(t *testing.T) {
	t.Parallel()
	onEveryProduct(t, func(t *testing.T, u user, _ func(...string)) {
		u.run(t, "migrate", "repair").check(t, exitError, "applockctl: migrate repair: ", "; create it with: applockctl migrate up\n")
	})
}

// Goal: who names an owner where there are none is told so. Method: an installation in a file.
func TestFilesHaveNoOwner(t *testing.T) {
	t.Parallel()
	sqliteUser(t).run(t, "migrate", "repair", "--owner", "applock_dba").check(t, exitUsage, "migrate repair: --owner is for PostgreSQL, MySQL and MariaDB only")
}

// Goal: who lacks the rights to migrate is told which they are. Method: a user who has none on the table of the steps,
// and one who may not create anything.
func TestHeavyRightsOfTheMigrator(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s server) {
		dsn := s.newDatabase(t)
		want := "; the account that migrates owns what it has installed, and needs CREATE on the database to install"
		if s.isMySQL() {
			want = "; do this as the account that migrates, which needs SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, CREATE VIEW, SHOW VIEW, CREATE ROUTINE, ALTER ROUTINE and EXECUTE"
		}
		name := s.newUser(t, dsn, "n0body")
		theirs := userOf(withUser(t, dsn, name, "n0body"))
		if s.isMySQL() {
			s.exec(t, dsn, "GRANT SHOW VIEW ON "+databaseOf(t, dsn)+".* TO "+name)
		}
		theirs.run(t, "migrate", "up").check(t, exitError, "a privilege is missing", want)
		userOf(dsn).must(t, "migrate", "up")
		if !s.isMySQL() {
			s.exec(t, dsn, "GRANT USAGE ON SCHEMA applock TO "+name)
			want = "; the installation in schema applock belongs to "
		}
		theirs.run(t, "migrate", "status").check(t, exitError, "appl_lock_goose", want)
	})
}

// told is a stderr that says when there is something on it.
type told chan string

func (t told) Write(text []byte) (int, error) {
	t <- string(text)
	return len(text), nil
}

// Goal: who watches while the program waits for another migrator is told so, and goes on when it is done. Method: somebody has the migrators' lock
// of a PostgreSQL server's database until the program has said that it waits.
func TestMigratorSaysThatItWaits(t *testing.T) {
	t.Parallel()
	dsn := postgresServer.newDatabase(t)
	handle := postgresServer.open(t, dsn)
	defer func() { _ = handle.Close() }()
	tx, err := handle.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(t.Context(), "SELECT pg_advisory_xact_lock(x'6170706c6f636b'::bigint)"); err != nil {
		t.Fatal(err)
	}
	stderr := make(told, 100)
	var stdout bytes.Buffer
	code := make(chan int)
	a := &app{stdout: &stdout, stderr: stderr, getenv: userOf(dsn).getenv, terminal: true}
	go func() { code <- a.run(t.Context(), []string{"migrate", "up"}) }()
	select {
	case text := <-stderr:
		if text != "migrate up: still at work, or waiting for another migrator; Ctrl-C ends it\n" {
			t.Errorf("stderr: %s", text)
		}
	case early := <-code:
		t.Fatalf("the program has not waited, exit code %d", early)
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	if got := <-code; got != exitYes || !strings.Contains(stdout.String(), "00002_procedures.sql") {
		t.Errorf("exit code %d, stdout: %s", got, &stdout)
	}
}
