package main

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the database/sql driver "sqlite"

	"github.com/applock/applock/applock"
)

// withFile runs statements on the user's database file, past the program.
func withFile(t *testing.T, u user, do func(exec func(statement string))) {
	t.Helper()
	handle, err := sql.Open("sqlite", strings.TrimPrefix(u.getenv(dsnVariable), "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = handle.Close() }()
	do(func(statement string) {
		if _, err := handle.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	})
}

// Goal: a mistyped file is told, and is not a new database where everything is free. Method: every command on a file
// that does not exist, and look for it afterwards.
func TestOnlyMigrateUpCreatesAFile(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"get customer:42 --operator jdoe", "release customer:42 --operator jdoe", "inquire customer:42",
		"transfer customer:42 --from jdoe --to asmith --by boss", "list", "list --waiting", "purge", "version", "migrate status", "migrate down",
	} {
		u := fileUser(t)
		path := pathOf(u.getenv(dsnVariable))
		u.run(t, strings.Fields(args)...).check(t, exitError, "there is no file "+path+"; create it with: applockctl migrate up\n")
		if fileExists(path) {
			t.Errorf("%s has made a file", args)
		}
	}
	u := fileUser(t)
	u.must(t, "migrate", "up")
	u.must(t, "get", "customer:42", "--operator", "jdoe")
}

// Goal: a file of somebody else, and an empty one, are told from one that is not there. Method: a file without our table.
func TestFileWithoutTheTable(t *testing.T) {
	t.Parallel()
	u := fileUser(t)
	if err := os.WriteFile(pathOf(u.getenv(dsnVariable)), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	u.run(t, "list").check(t, exitError, "applock is not installed in the database of the DSN; create it with: applockctl migrate up\n")
	u.must(t, "migrate", "up")
	u.must(t, "list")
}

func TestMigratePrint(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args string
		dsn  string
		want []string
	}{
		{"", "sqlite:/no/such/directory/x.db", []string{"sqlite3", "CREATE TABLE appl_lock"}},
		{"", "postgres://nobody@127.0.0.1:1/nothing", []string{"psql", "CREATE SCHEMA IF NOT EXISTS applock;"}},
		{"--dialect sqlite", "postgres://nobody@127.0.0.1:1/nothing", []string{"sqlite3"}},
		{"--dialect postgres", "nonsense", []string{"psql", "schema applock,"}},
		{"--schema crm --dialect postgres", "", []string{"CREATE SCHEMA IF NOT EXISTS crm;", "crm.appl_lock_goose"}},
		{"--output json --dialect postgres", "", []string{"CREATE SCHEMA"}},
		{"", "mysql://nobody@127.0.0.1:1/nothing", []string{"mysql DATABASE < FILE", "DELIMITER $$", " appl_lock ("}},
		{"", "nobody@tcp(127.0.0.1:1)/nothing", []string{"DELIMITER $$", " appl_lock ("}},
		{"--schema crm --dialect mysql", "", []string{"CREATE DATABASE IF NOT EXISTS crm;\nUSE crm;"}},
	} {
		got := userOf(test.dsn).must(t, append([]string{"migrate", "print"}, strings.Fields(test.args)...)...)
		for _, want := range test.want {
			if !strings.Contains(got.stdout, want) {
				t.Errorf("print %s lacks %q", test.args, want)
			}
		}
		if got.stderr != "" {
			t.Errorf("stderr: %s", got.stderr)
		}
	}
}

func TestFileThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	missing := filepath.Join(directory, "missing", "applock.db")
	for path, args := range map[string]string{missing: "migrate up", directory: "list"} {
		userOf("sqlite:"+path).run(t, strings.Fields(args)...).check(t, exitError,
			"applockctl: "+args+": cannot open "+path+", check that its directory exists and that you may write there")
	}

	junk := filepath.Join(directory, "junk")
	if err := os.WriteFile(junk, []byte(strings.Repeat("This is a letter. ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	userOf("sqlite:"+junk).run(t, "list").check(t, exitError, "not a database")
	userOf("sqlite:"+junk).run(t, "migrate", "up").check(t, exitError, "applockctl: migrate up: ")
}

// Goal: on a file that may not be written reads answer, each change says what it needs, and verify is red; all say so where the directory may not be
// written either. Method: the rights of both, and processes without root's capability to pass them over.
func testProcessUnwritableFile(t *testing.T, b binary) {
	b, u := runBinary(t, b)
	u.must(t, "get", "customer:42", "--operator", "jdoe")
	addFreeRows(t, u, 1)
	if os.Geteuid() == 0 {
		script := filepath.Join(t.TempDir(), "without-capability")
		text := "#!/bin/sh\nexec setpriv --bounding-set=-dac_override,-dac_read_search " + b.path + ` "$@"`
		if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		b.path = script
	}
	const text = "the file cannot be written: give this account write permission on it and on its directory, which readers need, too: "
	for _, mode := range []os.FileMode{0o755, 0o555} {
		file := pathOf(b.dsn)
		_, _ = os.Remove(file+"-wal"), os.Remove(file+"-shm") // which readers leave, and then read without making any
		if err := errors.Join(os.Chmod(file, 0o444), os.Chmod(b.directory, mode)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(b.directory, 0o755) })
		for _, change := range []string{
			"get customer:42 --operator jdoe", "release customer:42 --operator jdoe", "run job:nightly -- true", "purge --older-than 1s", "migrate down --force",
		} {
			b.run(t.Context(), strings.Fields(change)...).check(t, exitError, text)
		}
		code, says := exitYes, []string(nil)
		if mode != 0o755 {
			code, says = exitError, []string{text}
		}
		for _, read := range []string{"list", "inquire customer:42", "history", "stats", "migrate status", "migrate up", "ping"} {
			b.run(t.Context(), strings.Fields(read)...).check(t, code, says...)
		}
		if got := b.run(t.Context(), "verify", "--look-only"); got.code == exitYes || !strings.Contains(got.stdout+got.stderr, text) {
			t.Errorf("exit code %d: %s%s", got.code, got.stdout, got.stderr)
		}
	}
}

func TestWhichDatabase(t *testing.T) {
	t.Parallel()
	byEnvironment := sqliteUser(t)
	other := "sqlite:" + filepath.Join(t.TempDir(), "other #1?%41@b.db")
	byEnvironment.must(t, "--dsn", other, "migrate", "up")
	byEnvironment.must(t, "get", "customer:1", "--operator", "jdoe")
	byEnvironment.run(t, "inquire", "customer:1", "--dsn", other).check(t, exitNo)
	byEnvironment.must(t, "--dsn", other, "get", "customer:2", "--operator", "jdoe")
	byEnvironment.run(t, "inquire", "customer:2").check(t, exitNo)
	userOf(other).must(t, "inquire", "customer:2")
	if _, err := os.Stat(strings.TrimPrefix(other, "sqlite:")); err != nil {
		t.Error(err)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	const contract = applock.ContractVersion
	for _, test := range []struct {
		user  user
		table string
		json  string
	}{
		{
			userOf(""), fmt.Sprintf("VERSION  CONTRACT\ndevel    %d\n", contract),
			fmt.Sprintf(`{"outcome":"NOT_ASKED","version":"devel","revision":"","revision_ts":null,"modified":false,"contract":%d,"installed_contract":null}`+"\n", contract),
		},
		{
			sqliteUser(t), fmt.Sprintf("VERSION  CONTRACT  INSTALLED\ndevel    %[1]d         %[1]d\n", contract),
			fmt.Sprintf(`{"outcome":"INSTALLED","version":"devel","revision":"","revision_ts":null,"modified":false,"contract":%[1]d,"installed_contract":%[1]d}`+"\n", contract),
		},
	} {
		if got := test.user.must(t, "version"); got.stdout != test.table {
			t.Errorf("%q, want %q", got.stdout, test.table)
		}
		if got := test.user.must(t, "version", "--output", "json"); got.stdout != test.json {
			t.Errorf("%q, want %q", got.stdout, test.json)
		}
	}
}

// checkOneGranted checks that one was granted, and the others were told who has it.
func checkOneGranted(t *testing.T, results []result) {
	t.Helper()
	granted := map[string]bool{}
	holders := map[string]bool{}
	for _, got := range results {
		fields := strings.Fields(got.stdout)
		switch {
		case got.stderr != "" || len(fields) < 11:
			t.Errorf("exit code %d: %s%s", got.code, got.stdout, got.stderr)
		case got.code == exitYes && fields[8] == "ACQUIRED":
			granted[fields[10]] = true
		case got.code == exitNo && fields[8] == "HELD":
			holders[fields[10]] = true
		default:
			t.Errorf("exit code %d: %s", got.code, got.stdout)
		}
	}
	if len(granted) != 1 || len(holders) != 1 {
		t.Errorf("granted to %v, held by %v", granted, holders)
	}
	for holder := range holders {
		if !granted[holder] {
			t.Errorf("granted to %v, held by %v", granted, holders)
		}
	}
}
