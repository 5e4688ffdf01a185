package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testdb"
)

// execAll runs statements on a server database, past the program.
func execAll(t *testing.T, dsn string, statements ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // also after the test has ended
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// newRole makes a role without rights, which belongs to the whole server, until the test ends.
func newRole(t *testing.T, dsn, password string) string {
	t.Helper()
	name := "applock_test_" + strings.ToLower(rand.Text())
	execAll(t, dsn, "CREATE ROLE "+name+" LOGIN PASSWORD '"+password+"'")
	t.Cleanup(func() { execAll(t, dsn, "DROP ROLE "+name) })
	return name
}

// withUser returns a DSN for another user.
func withUser(t *testing.T, dsn, name, password string) string {
	t.Helper()
	parsed, err := url.Parse(dsn)
	if err != nil {
		t.Fatal("the test DSN is no URL")
	}
	parsed.User = url.UserPassword(name, password)
	return parsed.String()
}

// Without the schema each command says how to create it, in words that can be pasted.
func TestNotInstalled(t *testing.T) {
	t.Parallel()
	byEnvironment := userOf(testdb.Postgres(t))
	dsn := byEnvironment.getenv(dsnVariable)
	shown := quote(redactDSN(dsn))
	for _, args := range []string{
		"get customer:42 --operator jdoe", "release customer:42 --operator jdoe", "inquire customer:42", "list", "purge",
		"transfer customer:42 --from jdoe --to asmith",
	} {
		words := strings.Fields(args)
		operation := "applockctl: " + words[0]
		if len(words) > 1 {
			operation += " " + words[1]
		}
		byEnvironment.run(t, words...).check(t, exitError,
			operation+": applock is not installed in schema applock; create it with: applockctl migrate up\n")
		byEnvironment.run(t, append(words, "--schema", "other")...).check(t, exitError,
			operation+": applock is not installed in schema other; create it with: applockctl --schema other migrate up\n")
		userOf("").run(t, append(words, "--dsn", dsn)...).check(t, exitError,
			operation+": applock is not installed in schema applock; create it with: applockctl --dsn "+shown+" migrate up\n")
	}
	version := byEnvironment.run(t, "version", "--output", "json")
	version.check(t, exitError, "applockctl: version: applock is not installed in schema applock; create it with: ")
	if want := fmt.Sprintf(`{"version":"devel","contract":%d,"installed_contract":0}`+"\n", applock.ContractVersion); version.stdout != want {
		t.Errorf("version prints %s", version.stdout)
	}
	if got := byEnvironment.must(t, "migrate", "status"); strings.Contains(got.stdout, "UTC") {
		t.Errorf("something was installed: %s", got.stdout)
	}
}

// The password in a DSN that is shown is not shown.
func TestNotInstalledHidesPassword(t *testing.T) {
	t.Parallel()
	dsn := testdb.Postgres(t)
	const password = "Zq7x:/@#Secret"
	role := newRole(t, dsn, password)
	mine := withUser(t, dsn, role, password)
	got := userOf("").run(t, "inquire", "customer:42", "--dsn", mine)
	got.check(t, exitError, "create it with: applockctl --dsn 'postgres://"+role+":xxxxx@", "' migrate up\n")
	for _, piece := range []string{"Zq7x", "Secret"} {
		if strings.Contains(got.stderr, piece) {
			t.Errorf("the password is in %s", got.stderr)
		}
	}
}

// Schemas of one database are independent.
func TestSchema(t *testing.T) {
	t.Parallel()
	u := userOf(testdb.Postgres(t))
	u.must(t, "migrate", "up")
	u.must(t, "--schema", "crm", "migrate", "up")
	u.must(t, "get", "customer:42", "--operator", "jdoe")
	u.must(t, "--schema", "crm", "get", "customer:42", "--operator", "asmith")
	u.run(t, "get", "customer:42", "--operator", "asmith").check(t, exitNo)
	u.must(t, "--schema", "crm", "migrate", "down")
	u.run(t, "--schema", "crm", "list").check(t, exitError, "applock is not installed in schema crm")
	u.must(t, "inquire", "customer:42")
}

// What migrate print prints and what migrate up does are the same.
func TestMigratePrintInstalls(t *testing.T) {
	t.Parallel()
	u := userOf(testdb.Postgres(t))
	execAll(t, u.getenv(dsnVariable), u.must(t, "--schema", "crm", "migrate", "print").stdout)
	if got := u.must(t, "--schema", "crm", "migrate", "up"); got.stderr != "nothing to do, all steps were applied before\n" {
		t.Errorf("up after print: %s%s", got.stdout, got.stderr)
	}
	u.must(t, "--schema", "crm", "get", "customer:42", "--operator", "jdoe")
}

// A user without rights is told that rights are missing, and a database that does not exist is told so.
func TestMissingGrantAndDatabase(t *testing.T) {
	t.Parallel()
	dsn := testdb.Postgres(t)
	admin := userOf(dsn)
	admin.must(t, "migrate", "up")
	stranger := userOf(withUser(t, dsn, newRole(t, dsn, "Zq7xSecret"), "Zq7xSecret"))
	for _, args := range []string{
		"get customer:42 --operator jdoe", "list", "purge", "version", "--schema crm migrate up", "demo",
	} {
		got := stranger.run(t, strings.Fields(args)...).withoutNotice()
		got.check(t, exitError, "a privilege is missing, ask the database administrator to grant it")
	}
	parsed, err := url.Parse(dsn)
	if err != nil {
		t.Fatal("the test DSN is no URL")
	}
	parsed.Path = "/applock_test_no_such_database"
	userOf(parsed.String()).run(t, "list").check(t, exitError, "applockctl: list: the server has no such database, check the DSN")
}

// An object whose row another transaction is changing: no answer after 1 s, and nothing has happened.
func TestBusy(t *testing.T) {
	t.Parallel()
	u := userOf(testdb.Postgres(t))
	u.must(t, "migrate", "up")
	u.must(t, "get", "customer:42", "--operator", "jdoe")
	conn, err := pgx.Connect(t.Context(), u.getenv(dsnVariable))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if _, err := conn.Exec(t.Context(), "BEGIN; UPDATE applock.appl_lock SET lock_ts = lock_ts"); err != nil {
		t.Fatal(err)
	}
	u.run(t, "get", "customer:42", "--operator", "jdoe").check(t, exitError,
		"applockctl: get customer:42: another transaction is changing the lock, try again: ")
	u.run(t, "get", "customer:42", "--operator", "asmith").check(t, exitNo)
}

// A purge of several batches, and an answer for each dialect's count.
func TestPurgeOnPostgres(t *testing.T) {
	t.Parallel()
	u := userOf(testdb.Postgres(t))
	u.must(t, "migrate", "up")
	execAll(t, u.getenv(dsnVariable), `
		INSERT INTO applock.appl_lock
		SELECT 'customer', i::text, 'jdoe', '', 1, 'epoch', 'epoch', 'epoch' FROM generate_series(1, 2500) AS i`)
	if got := u.must(t, "purge", "--output", "json"); got.stdout != `{"purged":2500}`+"\n" {
		t.Errorf("purge prints %s", got.stdout)
	}
}
