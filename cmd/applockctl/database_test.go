package main

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/internal/secret"
)

// Without the schema each command says how to create it, in words that can be pasted.
func TestNotInstalled(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s server) {
		dsn := s.newDatabase(t)
		byEnvironment, other := userOf(dsn), s.newSchema(t, dsn)
		shown := secret.Quote(redactDSN(dsn))
		for _, args := range []string{
			"get customer:42 --operator jdoe", "release customer:42 --operator jdoe", "inquire customer:42", "list", "purge",
			"transfer customer:42 --from jdoe --to asmith --by boss",
		} {
			words := strings.Fields(args)
			operation := "applockctl: " + words[0]
			if len(words) > 1 {
				operation += " " + words[1]
			}
			byEnvironment.run(t, words...).check(t, exitError,
				operation+": applock is not installed in "+s.where()+"; create it with: applockctl migrate up\n")
			byEnvironment.run(t, append(words, "--schema", other)...).check(t, exitError, operation+
				": applock is not installed in schema "+other+"; create it with: applockctl --schema "+other+" migrate up\n")
			userOf("").run(t, append(words, "--dsn", dsn)...).check(t, exitError,
				operation+": applock is not installed in "+s.where()+"; create it with: applockctl --dsn "+shown+" migrate up\n")
		}
		version := byEnvironment.run(t, "version", "--output", "json")
		version.check(t, exitError, "applockctl: version: applock is not installed in "+s.where()+"; create it with: ")
		want := fmt.Sprintf(`{"outcome":"NOT_INSTALLED","version":"devel","revision":"","revision_ts":null,"modified":false,"contract":%d,"installed_contract":0}`+"\n", applock.ContractVersion)
		if version.stdout != want {
			t.Errorf("version prints %s", version.stdout)
		}
		for _, schema := range []string{"", other} {
			if got := byEnvironment.must(t, "migrate", "status", "--schema", schema); timeOfTable.MatchString(got.stdout) {
				t.Errorf("something was installed: %s", got.stdout)
			}
		}
		if s.hasSchema(t, dsn, other) {
			t.Errorf("the schema %s was made", other)
		}
	})
}

// The password in a DSN that is shown is not shown.
func TestNotInstalledHidesPassword(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s server) {
		dsn := s.newDatabase(t)
		const password = "Zq7x:/@#Secret"
		name := s.newUser(t, dsn, password)
		s.letIn(t, dsn, name)
		mine := withUser(t, dsn, name, password)
		scheme, _, _ := strings.Cut(dsn, ":")
		for form, want := range map[string]string{
			mine:                scheme + "://" + name + ":xxxxx@",
			clientForm(t, mine): name + ":xxxxx@tcp(",
		} {
			if form != mine && !s.isMySQL() {
				continue
			}
			got := userOf("").run(t, "inquire", "customer:42", "--dsn", form)
			got.check(t, exitError, "create it with: applockctl --dsn '"+want, "' migrate up\n")
			checkHidden(t, got)
		}
	})
}

// checkHidden looks for the pieces of which the tests make passwords.
func checkHidden(t *testing.T, got result) {
	t.Helper()
	for _, piece := range []string{"Zq7x", "Secret", "Geheim"} {
		if strings.Contains(got.stdout+got.stderr, piece) {
			t.Errorf("the password is in %s%s", got.stdout, got.stderr)
		}
	}
}

// Goal: the form in which Go programs write a DSN of MySQL works like the URL, whatever is in the password.
// Method: one user's work with each form on one database.
func TestBothFormsOfADSN(t *testing.T) {
	t.Parallel()
	onMySQL(t, func(t *testing.T, s server) {
		dsn := s.newDatabase(t)
		const password = "Zq7x:/@#?&(%40Secret"
		name := s.newUser(t, dsn, password)
		s.letIn(t, dsn, name)
		mine := withUser(t, dsn, name, password)
		userOf(clientForm(t, mine)).must(t, "migrate", "up")
		userOf(mine).must(t, "get", "customer:42", "--operator", "jdoe")
		userOf(clientForm(t, mine)+"?parseTime=true").run(t, "get", "customer:42", "--operator", "asmith").check(t, exitNo)
		userOf("").must(t, "--dsn", clientForm(t, mine), "release", "customer:42", "--operator", "jdoe")
		for _, wrong := range []string{withUser(t, dsn, name, password+"Geheim"), clientForm(t, withUser(t, dsn, name, password+"Geheim"))} {
			got := userOf(wrong).run(t, "list")
			got.check(t, exitError, "applockctl: list: the server refused the user or the password of the DSN")
			checkHidden(t, got)
		}
	})
}

// Goal: no message of a server repeats a password that was written in the wrong place of the DSN, where
// MySQL's client makes a statement of it. Method: all such places on a server that answers.
func TestNoPasswordInMessagesOfTheServer(t *testing.T) {
	t.Parallel()
	onMySQL(t, func(t *testing.T, s server) {
		dsn := s.newDatabase(t)
		parsed := parseURL(t, dsn)
		for _, wrong := range []string{
			dsn + "?password=Zq7xSecret", dsn + "?Password=%27Zq7xSecret%27", dsn + "?user=u&password=Zq7xSecret",
			clientForm(t, dsn) + "?password=Zq7xSecret",
			"mysql:Zq7xSecret@tcp(" + parsed.Host + ")" + parsed.Path, // the user mysql, not the scheme
			withDatabase(t, dsn, "Zq7xSecret@"+databaseOf(t, dsn)),    // an unescaped / in the password
		} {
			got := userOf(wrong).run(t, "list")
			if got.code != exitUsage && got.code != exitError {
				t.Errorf("exit code %d", got.code)
			}
			checkHidden(t, got)
		}
	})
}

// Schemas of one server are independent.
func TestSchema(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s server) {
		dsn := s.installedDatabase(t)
		u, crm := userOf(dsn), s.newSchema(t, dsn)
		u.must(t, "--schema", crm, "migrate", "up")
		u.must(t, "get", "customer:42", "--operator", "jdoe")
		u.must(t, "--schema", crm, "get", "customer:42", "--operator", "asmith")
		u.run(t, "get", "customer:42", "--operator", "asmith").check(t, exitNo)
		u.must(t, "--schema", crm, "migrate", "goto", "0", "--force")
		elsewhere := ", but in schema applock: add --schema with that name, or install it here with: "
		if s.isMySQL() {
			elsewhere = "; create it with: "
		}
		refused := u.run(t, "--schema", crm, "list")
		refused.check(t, exitError, "applock is not installed in schema "+crm+elsewhere)
		if !s.isMySQL() {
			obey(t, u, refused.stderr, "%s: applock is not installed in %s, but in schema %s: add --schema with that name, or install it here with: %s")
			u.must(t, "--schema", crm, "list")
		}
		u.must(t, "inquire", "customer:42")
	})
}

// Goal: on MySQL a DSN without a database is enough where --schema names one, and is explained elsewhere.
// Method: both, with each kind of command.
func TestNoDatabaseInTheDSN(t *testing.T) {
	t.Parallel()
	onMySQL(t, func(t *testing.T, s server) {
		dsn := s.newDatabase(t)
		u, crm := userOf(withDatabase(t, dsn, "")), s.newSchema(t, dsn)
		u.must(t, "--schema", crm, "migrate", "up")
		u.must(t, "--schema", crm, "migrate", "repair", "--owner", userName(t, s.newOwner(t, dsn, crm)))
		u.must(t, "--schema", crm, "get", "customer:42", "--operator", "jdoe")
		if got := u.must(t, "--schema", crm, "migrate", "status"); strings.Contains(got.stdout, "pending") {
			t.Errorf("status prints %s", got.stdout)
		}
		for _, args := range []string{
			"get customer:42 --operator jdoe", "inquire customer:42", "version", "migrate up", "migrate down", "migrate status",
		} {
			u.run(t, strings.Fields(args)...).check(t, exitError, "the server has no such database, or the DSN names none: check it", "No database selected")
		}
	})
}

// What migrate print prints and what migrate up does are the same.
func TestHeavyMigratePrintInstalls(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s server) {
		dsn, dialect := s.newDatabase(t), "postgres"
		if s.isMySQL() {
			dialect = "mysql"
		}
		second := s.newSchema(t, dsn)
		dsn = s.newOwner(t, dsn, second)
		u := userOf(dsn)
		for _, schema := range [][]string{{}, {"--schema", second}} {
			script := userOf("").must(t, append(schema, "migrate", "print", "--dialect", dialect)...)
			if byDSN := u.must(t, append(schema, "migrate", "print")...); byDSN != script {
				t.Error("print for the DSN and print for its dialect differ")
			}
			s.run(t, dsn, script.stdout)
			if got := u.must(t, append(schema, "migrate", "status")...); strings.Contains(got.stdout, "pending") {
				t.Errorf("status after print: %s", got.stdout)
			}
			if got := u.must(t, append(schema, "migrate", "up")...); !strings.HasSuffix(got.stderr, "nothing to do, all steps were applied before\n") {
				t.Errorf("up after print: %s%s", got.stdout, got.stderr)
			}
			u.must(t, append(schema, "get", "customer:42", "--operator", "jdoe")...)
			u.must(t, append(schema, "release", "customer:42", "--operator", "jdoe")...)
			u.must(t, append(schema, "migrate", "down")...)
			u.must(t, append(schema, "migrate", "up")...)
		}
	})
}

// A user without rights is told that rights are missing, and a database that does not exist is told so, and
// a wrong password.
func TestMissingGrantAndDatabase(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s server) {
		dsn := s.installedDatabase(t)
		name := s.newUser(t, dsn, "Zq7xSecret")
		places := []string{withUser(t, dsn, name, "Zq7xSecret")}
		if s.isMySQL() { // which lets nobody into a database without a right
			places = append(places, withDatabase(t, places[0], ""))
		}
		for _, place := range places {
			for _, args := range []string{
				"get customer:42 --operator jdoe", "list", "purge", "version", "--schema crm migrate up", "demo",
			} {
				words := strings.Fields(args)
				if s.isMySQL() && words[0] != "--schema" && words[0] != "demo" {
					words = append(words, "--schema", databaseOf(t, dsn))
				}
				got := userOf(place).run(t, words...).withoutNotice()
				got.check(t, exitError, "a privilege is missing, ask the database administrator to grant it")
				checkHidden(t, got)
			}
		}
		for _, args := range []string{"list", "migrate status", "migrate up", "version"} {
			words := strings.Fields(args)
			userOf(withDatabase(t, dsn, "applock_no_such_database")).run(t, words...).check(t, exitError,
				"applockctl: "+args+": the server has no such database, or the DSN names none: check it")
			got := userOf(withUser(t, dsn, name, "Geheim")).run(t, words...)
			if s.isMySQL() { // a PostgreSQL server may trust its host, see TestRefusedLogin
				got.check(t, exitError, "applockctl: "+args+": the server refused the user or the password of the DSN")
			}
			checkHidden(t, got)
		}
	})
}

// Goal: get --wait waits for another transaction as it does for a holder, and gets the object when that has ended.
// Method: on each product a transaction has the row for longer than a call waits for it, until the program has said that
// it waits; once for the holder, who only renews, and once for a stranger.
func TestGetWaitsForATransaction(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s server) {
		dsn := s.lentDatabase(t)
		u := userOf(dsn)
		u.must(t, "get", "customer:42", "--operator", "jdoe")
		for _, test := range []struct{ operator, change string }{
			{"jdoe", "UPDATE " + s.table() + " SET department_id = 'sales'"},
			{"asmith", "DELETE FROM " + s.table()},
		} {
			handle := s.open(t, dsn)
			defer func() { _ = handle.Close() }()
			tx, err := handle.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback() }()
			if _, err := tx.ExecContext(t.Context(), test.change); err != nil {
				t.Fatal(err)
			}
			stderr := make(told, 100)
			code := make(chan int, 1)
			a := &app{stdout: io.Discard, stderr: stderr, getenv: u.getenv}
			go func() {
				code <- a.run(t.Context(), []string{"get", "customer:42", "--operator", test.operator, "--wait", "1m"})
			}()
			select {
			case text := <-stderr:
				if !strings.HasSuffix(text, "; waiting 1m at the most\n") {
					t.Errorf("%s: stderr: %s", test.operator, text)
				}
			case early := <-code:
				t.Fatalf("%s has not waited, exit code %d", test.operator, early)
			}
			if err := tx.Commit(); err != nil {
				t.Error(err)
			}
			if got := <-code; got != exitYes {
				t.Errorf("%s: exit code %d", test.operator, got)
			}
		}
	})
}

// A list longer than a page, and than what a table keeps back, is complete and in order.
func TestLongListOnServers(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s server) {
		dsn := s.lentDatabase(t)
		u := userOf(dsn)
		s.addRows(t, dsn, 2500, "2101-02-03")
		checkLongList(t, u, 2500)
	})
}
