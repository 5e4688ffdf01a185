package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testfile"
)

// advised returns the lines of a message that have a text of messages.golden.
func advised(t *testing.T, message, text string) string {
	t.Helper()
	var pattern strings.Builder
	rest := text
	for _, hole := range regexp.MustCompile(`%(?:\[\d\])?[sdqw]|\.\.\.|\bNAME\b`).FindAllString(text, -1) {
		before, after, _ := strings.Cut(rest, hole)
		pattern.WriteString(regexp.QuoteMeta(before) + ".*")
		rest = after
	}
	lines := regexp.MustCompile("(?m)^.*"+pattern.String()+regexp.QuoteMeta(rest)+".*$").FindAllString(message, -1)
	if len(lines) == 0 {
		t.Fatalf("no line has %q: %s", text, message)
	}
	return strings.Join(lines, "\n")
}

// obey runs the commands of a message with a text of messages.golden by the account that they are for, as a person copies them: up to a
// punctuation mark. What only looks may answer no. It returns the last result.
func obey(t *testing.T, account user, message, text string) (got result) {
	t.Helper()
	word := `(?:'[^']*'|[^\s';<(]*[^\s';<(:,.])`
	commands := regexp.MustCompile(`\bapplockctl((?: `+word+`)+)`).FindAllStringSubmatch(advised(t, message, text), -1)
	if len(commands) == 0 {
		t.Fatalf("no command in %q", message)
	}
	for _, command := range commands {
		var args []string
		for _, arg := range regexp.MustCompile(word).FindAllString(command[1], -1) {
			args = append(args, strings.Trim(arg, "'"))
		}
		got = account.run(t, args...)
		looks := slices.Contains(args, "status") || slices.Contains(args, "verify")
		if got.code != exitYes && (!looks || got.code != exitNo) {
			t.Fatalf("%q: exit code %d: %s%s", args, got.code, got.stdout, got.stderr)
		}
	}
	return got
}

// obeySQL runs the SQL of a message with a text of messages.golden, or what a shell runs.
func obeySQL(t *testing.T, run func(statement string), message, text string) {
	t.Helper()
	statements := regexp.MustCompile(`(?m)(?:SQL|run|alone): (.+)$`).FindAllStringSubmatch(advised(t, message, text), -1)
	if len(statements) == 0 {
		t.Fatalf("no SQL in %q", message)
	}
	for _, statement := range statements {
		run(statement[1])
	}
}

// untried are the texts that name a command which no test obeys, and why.
func untried() map[string]string {
	const itself = "it is the command that was run, by another account or program"
	return map[string]string{
		"Versions of applockctl and of the installed contract; the value is 1.":        "no command",
		"The keys of applockctl watch":                                                 "a title",
		"%s: applock in %s has contract %d, and %d is needed; update it with: %s":      "the first contract follows none",
		"has %d characters, and a key has at least %d: openssl rand -hex 32 makes one": "a host may lack openssl",
		`needs a build with IBM's Db2 client. "make build-db2" makes applockctl-db2, and fetches the client unless IBM_DB_HOME names its directory, ` +
			"with include and lib. By hand: CGO_ENABLED=1 CGO_CFLAGS=-I$IBM_DB_HOME/include " +
			`CGO_LDFLAGS="-L$IBM_DB_HOME/lib -Wl,-rpath,$IBM_DB_HOME/lib" go build -tags db2 ./cmd/applockctl`: "make test-db2 builds so",
		"applock: step ... is applied already (migrate print --from ...)":                                     "it is for the command that has printed the script",
		"applock: step %d is not applied (migrate print --from %s)":                                           "it is for the command that has printed the script",
		"not checked: this account may not see them; run verify as the account that migrates":                 itself,
		"not compared: the schema has steps that this program does not know; run verify with a newer program": itself,
	}
}

// Goal: each message that names a command is run by a test, as it is printed, or it is told why not. Method: the texts of messages.golden
// that name one, and those that tests give to obey and obeySQL.
func TestEachAdviceIsTried(t *testing.T) {
	t.Parallel()
	names := regexp.MustCompile(`applockctl (?:-|[a-z])|\b(?:with|run|first|SQL): (?:%|\.\.\.|[A-Z])|--owner NAME|--help'|\bmigrate print --|\brun verify\b|\b(?:chmod|openssl|go build) `)
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, file := range files {
		tests.WriteString(testfile.Read(t, file))
	}
	known := untried()
	for line := range strings.SplitSeq(testfile.Read(t, filepath.Join("testdata", "messages.golden")), "\n") {
		if !names.MatchString(line) {
			continue
		}
		_, isKnown := known[line]
		delete(known, line)
		obeyed := regexp.MustCompile(`\bobey(?:SQL)?\([^\n]+(?:\n\t+)?` + regexp.QuoteMeta(strconv.Quote(line)) + `\)`)
		if isKnown == obeyed.MatchString(tests.String()) {
			t.Errorf("run what it names by obey or obeySQL, with this text, or say in untried why not: %s", line)
		}
	}
	if len(known) > 0 {
		t.Errorf("no such messages: %q", known)
	}
}

// Goal: advice is a command that works. Method: each situation is provoked, the command that stderr prints is run to the letter by the account that it
// is for, and what was refused works then.
func TestAdviceWorks(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s server) {
		dsn := s.newDatabase(t)
		administrator := userOf(dsn)
		owner := userOf(s.newOwner(t, dsn))
		name := s.newUser(t, dsn, "secret")
		program := userOf(withUser(t, dsn, name, "secret"))

		t.Log("not installed")
		obey(t, owner, owner.run(t, "list").stderr, "%s: applock is not installed in %s; create it with: %s")
		owner.must(t, "list")
		if s.isMySQL() {
			administrator.must(t, "grant", "--to", name, "--as", "janitor") // otherwise the server hides the database itself
		}
		for _, refused := range []struct{ command, role string }{
			{"list", "auditor"},
			{"get customer:1 --operator jdoe", "operator"},
			{"take customer:1 --operator boss --reason ill", "supervisor"},
			{"policy set customer --default-ttl 1h --by boss", "administrator"},
		} {
			command := strings.Fields(refused.command)
			got := program.run(t, command...)
			got.check(t, exitError, "applockctl grant --to "+name, "--as "+refused.role)
			obey(t, administrator, got.stderr, "%s: %w with: %s: %w")
			program.must(t, command...)
		}

		t.Log("damaged, for an account that may not see the steps")
		view := strings.TrimSuffix(s.table(), "appl_lock") + "appl_lock_live"
		s.exec(t, dsn, "DROP VIEW "+view)
		status := obey(t, owner, program.run(t, "list").stderr,
			"%s: applock in %s is missing or damaged, and this account may not see which; the account that migrates does, with: %s")
		obey(t, owner, status.stderr, "mend it with: ...")
		owner.must(t, "list")

		t.Log("down takes the rights")
		down := owner.must(t, "migrate", "down", "--force")
		owner.must(t, "migrate", "up")
		program.run(t, "get", "customer:2", "--operator", "jdoe").check(t, exitError)
		obey(t, administrator, down.stderr, "%s: %s: %s, as %s, has lost rights; after \"migrate up\" grant them with: %s")
		program.must(t, "get", "customer:2", "--operator", "jdoe")
		program.must(t, "take", "customer:2", "--operator", "boss", "--reason", "ill")
		gone := owner.must(t, "migrate", "uninstall", "--yes", "--force")
		owner.must(t, "migrate", "up")
		obey(t, administrator, gone.stderr, "%s: %s: %s, as %s, has lost rights; after \"migrate up\" grant them with: %s")
		program.must(t, "get", "customer:2", "--operator", "jdoe")
	})
}

// Goal: who has no right at all, not even to the schema, is told the least role for each command, also for one that no operation has its name
// from. Method: commands of an account without a grant, on PostgreSQL, whose error names the schema alone.
func TestNoRightNamesTheLeastRole(t *testing.T) {
	t.Parallel()
	dsn := postgresServer.installedDatabase(t)
	name := postgresServer.newUser(t, dsn, "secret")
	program := userOf(withUser(t, dsn, name, "secret"))
	for command, role := range map[string]string{
		"run job:nightly -- true": "operator", "get job:nightly --operator a --permits 2": "operator", "release --all --operator a --by b --reason ill": "operator",
		"list": "auditor", "list --waiting": "auditor", "stats": "auditor", "watch --output json": "auditor", "policy list": "auditor",
		"policy set job --default-ttl 1h --by boss": "administrator", "policy drop job --by boss": "administrator",
		"purge": "janitor", "purge-history --older-than 500d": "administrator", "take job:nightly --operator a --reason ill": "supervisor",
	} {
		program.run(t, strings.Fields(command)...).check(t, exitError, "permission denied for schema applock", " with: applockctl grant --to "+name+" --as "+role+": ")
	}
}

// Goal: the same for a file. Method: each situation, and the command that leads out of it.
func TestAdviceOnAFileWorks(t *testing.T) { //nolint:paralleltest // it changes the directory
	t.Chdir(t.TempDir())
	newcomer, u := user{}, fileUser(t)
	obey(t, newcomer, newcomer.run(t, "list").stderr, "is missing: write --dsn DSN, or set ... or ...; to try it out: applockctl --dsn sqlite:applock.db migrate up")
	newcomer.must(t, "--dsn", "sqlite:applock.db", "list")
	dsn := u.getenv(dsnVariable)
	obey(t, newcomer, newcomer.run(t, "--dsn", dsn, "list").stderr, "%s: there is no file %s; create it with: %s")
	u.must(t, "list")
	u.must(t, "migrate", "goto", "0")
	version := func() error {
		_, err := testclient.Open(t, dsn, "", nil).Version(t.Context())
		return err
	}
	if err := version(); err == nil || !strings.Contains(err.Error(), applock.ErrSchema.Error()) {
		t.Fatalf("a program is told %v", err)
	}
	obey(t, u, version().Error(), "applock is not installed there or too old, install it with: applockctl migrate up")
	if err := version(); err != nil {
		t.Error(err)
	}

	withFile(t, u, func(exec func(string)) { exec("DELETE FROM appl_lock_goose") }) // as a copy of the schema without rows
	obey(t, u, u.run(t, "migrate", "status").stderr, "mend it with: ...")
	withFile(t, u, func(exec func(string)) { exec("DROP VIEW appl_lock_live") })
	obey(t, u, u.run(t, "list").stderr, "%s: applock in %s is damaged: %s %s; see all with: %s, and %s")
	u.must(t, "list")
	u.must(t, "migrate", "status", "--exit-code")

	u.must(t, "get", "customer:42", "--operator", "jdoe")
	obey(t, u, u.run(t, "list", "customer:42").stderr, "%w; look at one object with: %s")
	obey(t, u, u.run(t, "list", "--type", "cust*").stderr, "%s has no wildcards; to list what begins with it, run: %s")
	seesLock := func(listed result) {
		t.Helper()
		if !strings.Contains(listed.stdout, "customer:42") {
			t.Errorf("it lists %s%s", listed.stdout, listed.stderr)
		}
	}
	seesLock(obey(t, u, u.run(t, "migrate", "down").stderr, "list them with: ..."))
	seesLock(obey(t, u, u.run(t, "migrate", "uninstall").stderr,
		"is missing: all locks, live or not, the tables, the procedures and the record of the steps would be removed from ...; see the live ones with: ..."))
	u.must(t, "migrate", "goto", "1", "--force")
	obey(t, u, u.run(t, "migrate", "goto", "0").stderr, "to list or release them, run this first: ...")
	seesLock(u.must(t, "list"))
	obey(t, u, u.run(t, "migrate").stderr, "Run '%s --help' for usage.")
}

// Goal: the same for files with secrets that others may read. Method: a shell runs the command, and the file is read.
func TestAdviceOnSecretsWorks(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a secret")
	if err := os.WriteFile(file, []byte("junk"), 0o640); err != nil {
		t.Fatal(err)
	}
	shell := func(command string) {
		t.Helper()
		if output, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", command, err, output)
		}
	}
	u := user{environment: map[string]string{dsnFileVariable: file}}
	obeySQL(t, shell, u.run(t, "list").stderr, "%s has group or world access, make it yours alone: chmod 600 %s")
	u.run(t, "list").check(t, exitUsage, "must begin with")
	shell("chmod 640 '" + file + "'")
	console := []string{"console", "--passwords", file}
	obeySQL(t, shell, sqliteUser(t).run(t, console...).stderr, "has group or world access, make it yours alone: chmod 600 %s")
	sqliteUser(t).run(t, console...).check(t, exitUsage, "line 1 is not NAME:PASSWORD")
}

// Goal: who migrates without the right for routines is told which rights are missing, and goes on with them. Method: an account that may make
// tables only gets the rights that are told, and no other, and runs the same command again.
func TestUpGoesOnWithTheRightsThatAreTold(t *testing.T) {
	t.Parallel()
	onMySQL(t, func(t *testing.T, s server) {
		dsn := s.newDatabase(t)
		name := s.newUser(t, dsn, "secret")
		s.exec(t, dsn, "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP ON "+databaseOf(t, dsn)+".* TO "+name)
		migrator := userOf(withUser(t, dsn, name, "secret"))
		got := migrator.run(t, "migrate", "up")
		got.check(t, exitError, "00002_procedures.sql: ", "; then run it again\n")
		_, told, _ := strings.Cut(got.stderr, "the account that migrates, which needs ")
		told, _, _ = strings.Cut(told, " on the database")
		s.exec(t, dsn, "GRANT "+strings.Replace(told, " and ", ", ", 1)+" ON "+databaseOf(t, dsn)+".* TO "+name)
		migrator.must(t, "migrate", "up")
		migrator.must(t, "get", "customer:42", "--operator", "jdoe")
	})
}

// Goal: an alert with the wrong account sounds. Method: verify --look-only as an auditor, who may not see the steps.
func TestAlertOfAnAuditorFails(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s server) {
		dsn := s.installedDatabase(t)
		name := s.newUser(t, dsn, "secret")
		userOf(dsn).must(t, "grant", "--to", name, "--as", "auditor")
		got := userOf(withUser(t, dsn, name, "secret")).run(t, "verify", "--look-only")
		if got.code != exitNo || !strings.Contains(got.stdout, "cannot be checked") || strings.Contains(got.stdout, "no step is known") {
			t.Errorf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
		}
	})
}
