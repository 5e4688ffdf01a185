package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testdb"
)

// place is an installation that somebody damages.
type place struct {
	binary
	// product is the server, empty for a file.
	product server
	// exec runs statements past the program.
	exec func(t *testing.T, statements ...string)
	// owner is the user who owns everything, and spare is another who may.
	owner, spare string
}

// table returns a table's name as statements have it.
func (p place) table(name string) string {
	if p.product == postgresServer {
		return "applock." + name
	}
	return name
}

// procedure returns how a product's statements name a procedure.
func (p place) procedure(name string) string {
	if p.product == postgresServer {
		return "PROCEDURE applock." + name
	}
	return "PROCEDURE " + name
}

// onEveryPlace runs a test on an installation of its own on each product.
func onEveryPlace(t *testing.T, b binary, test func(t *testing.T, p place)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		p := place{binary: b}
		p.dsn = sqliteUser(t).getenv(dsnVariable)
		p.exec = func(t *testing.T, statements ...string) {
			t.Helper()
			withFile(t, userOf(p.dsn), func(exec func(string)) {
				for _, statement := range statements {
					exec(statement)
				}
			})
		}
		test(t, p)
	})
	onServers(t, func(t *testing.T, s server) {
		p := place{binary: b, product: s}
		p.dsn = s.newDatabase(t)
		p.owner, p.spare = s.installAsOwner(t, p.dsn), userName(t, s.newOwner(t, p.dsn))
		p.exec = func(t *testing.T, statements ...string) {
			t.Helper()
			s.exec(t, p.dsn, statements...)
		}
		test(t, p)
	})
}

// verified is what verify prints as JSON.
func (b binary) verified(t *testing.T, args ...string) ([]verifyAnswer, result) {
	t.Helper()
	got := b.run(t.Context(), append([]string{"verify", "--output", "json", "--timeout", "2m"}, args...)...)
	var answers []verifyAnswer
	for line := range strings.Lines(got.stdout) {
		var answer verifyAnswer
		if err := json.Unmarshal([]byte(line), &answer); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		answers = append(answers, answer)
	}
	return answers, got
}

// failures returns what has failed.
func failures(answers []verifyAnswer) []verifyAnswer {
	var failed []verifyAnswer
	for _, answer := range answers {
		if answer.Outcome == outcomeFailed {
			failed = append(failed, answer)
		}
	}
	return failed
}

// checkGreen fails the test unless everything is as it should be.
func (b binary) checkGreen(t *testing.T, args ...string) []verifyAnswer {
	t.Helper()
	answers, got := b.verified(t, args...)
	if got.code != exitYes || len(failures(answers)) > 0 || len(answers) < 10 {
		t.Errorf("exit code %d: %s%s", got.code, got.stdout, got.stderr)
	}
	return answers
}

// grantedOperator returns a user with the role of an operator.
func grantedOperator(t *testing.T, p place) string {
	t.Helper()
	name := p.product.newUser(t, p.dsn, "secret")
	if got := p.run(t.Context(), "grant", "--to", name, "--as", "operator"); got.code != exitYes {
		t.Fatalf("grant: %s", got.stderr)
	}
	return name
}

// repairRounds is how often somebody follows what verify says: a procedure that was made anew on MySQL has to be granted anew.
const repairRounds = 3

// args are those of verify: the round is played where nothing else finds the harm.
func (h harm) args() []string {
	if h.check == "round" {
		return nil
	}
	return []string{"--look-only"}
}

// follow does what verify says until there is nothing more, or ends the test.
func (p place) follow(t *testing.T, harm harm, failed []verifyAnswer) {
	t.Helper()
	var got result
	for range repairRounds {
		for _, answer := range failed {
			switch {
			case answer.Repair != "":
				shell := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(answer.Repair, "--owner NAME", "--owner "+p.spare, 1))
				shell.Env = []string{"PATH=" + filepath.Dir(p.path) + ":" + os.Getenv("PATH"), dsnVariable + "=" + p.dsn}
				if output, err := shell.CombinedOutput(); err != nil {
					t.Errorf("%s: %s: %v: %s", harm.name, answer.Repair, err, output)
				}
			case answer.Statement != "" && p.product == postgresServer:
				psql := exec.CommandContext(t.Context(), testdb.PostgresTool(t, "psql"), "-v", "ON_ERROR_STOP=1", "-c", answer.Statement, p.dsn)
				if output, err := psql.CombinedOutput(); err != nil {
					t.Errorf("%s: %s: %v: %s", harm.name, answer.Statement, err, output)
				}
			case answer.Statement != "":
				p.exec(t, answer.Statement)
			}
		}
		if len(harm.undo) > 0 {
			p.exec(t, harm.undo...)
		}
		var answers []verifyAnswer
		answers, got = p.verified(t, harm.args()...)
		if failed = failures(answers); len(failed) == 0 && got.code == exitYes {
			return
		}
	}
	t.Fatalf("%s, and mended: exit code %d: %s%s", harm.name, got.code, got.stdout, got.stderr)
}

// Goal: whatever has happened to an installation, verify names it with the command that mends it, and is content after that.
// Method: on each product, as processes, every harm by itself; what verify says; the commands that it names, run by a shell, or
// the SQL, or where there is neither, the opposite of the harm; and verify again.
func testVerifyFindsHarm(t *testing.T, b binary) {
	onEveryPlace(t, b, func(t *testing.T, p place) {
		p.checkGreen(t)
		for _, harm := range harmsOf(t, p) {
			p.exec(t, harm.do...)
			answers, got := p.verified(t, harm.args()...)
			failed := failures(answers)
			found := false
			for _, answer := range failed {
				found = found || answer.Check == harm.check && strings.Contains(answer.Text, harm.text) &&
					answer.Repair == strings.TrimSuffix("applockctl "+harm.repair, "applockctl ") && strings.HasPrefix(answer.Statement, harm.statement)
			}
			if !found || got.code != exitNo {
				t.Errorf("%s: exit code %d: %s%s", harm.name, got.code, got.stdout, got.stderr)
			}
			p.follow(t, harm, failed)
		}
		p.checkGreen(t)
	})
}

// Goal: verify tells people and scripts what it looked at, and leaves nothing behind. Method: a healthy installation of each product; the
// lines, the quiet form, and the rows afterwards. A session that is read only, which a server's administrator has not to do
// anything for.
func testVerifyHealthy(t *testing.T, b binary) {
	onEveryPlace(t, b, func(t *testing.T, p place) {
		got := p.run(t.Context(), "verify", "--timeout", "2m")
		if got.code != exitYes || got.stderr != "" || !roundPlayed.MatchString(got.stdout) {
			t.Errorf("exit code %d: %s%s", got.code, got.stdout, got.stderr)
		}
		if got := p.run(t.Context(), "verify", "--quiet", "--timeout", "2m"); got.code != exitYes || got.stdout != "" || got.stderr != "" {
			t.Errorf("quiet: exit code %d: %s%s", got.code, got.stdout, got.stderr)
		}
		if rows := p.rows(t); rows != "0" {
			t.Errorf("%s rows are left", rows)
		}
		got = p.run(t.Context(), "verify", "--look-only")
		if got.code != exitYes || !strings.Contains(got.stdout, "NOTE     round       not played: --look-only\n") {
			t.Errorf("look only: exit code %d: %s%s", got.code, got.stdout, got.stderr)
		}
		p.checkOthersAreLeftAlone(t)
		option := map[server]string{"mysql": "transaction_read_only=1", "mariadb": "tx_read_only=1"}[p.product]
		if option == "" {
			return
		}
		readOnly := p.binary
		readOnly.dsn += "?" + option
		answers, got := readOnly.verified(t)
		failed := failures(answers)
		if got.code != exitNo || len(failed) == 0 || failed[0].Check != "primary" || !strings.Contains(failed[0].Text, "transactions are read only") {
			t.Errorf("read only: exit code %d: %s%s", got.code, got.stdout, got.stderr)
		}
	})
}

// Goal: of a view or a routine that is missing, verify gives one advice, and it is right. Method: a view is dropped, which the round reads.
func TestVerifyGivesOneAdvice(t *testing.T) {
	t.Parallel()
	onEveryProduct(t, func(t *testing.T, u user, exec func(...string)) {
		u.must(t, "migrate", "up")
		exec("DROP VIEW appl_lock_live")
		got := u.run(t, "verify")
		if got.code != exitNo || strings.Count(got.stdout, "mend it with") != 1 || strings.Contains(got.stdout, "migrate up") ||
			!strings.Contains(got.stdout, "NOTE     round       not played: first mend what is missing\n") {
			t.Errorf("exit code %d: %s%s", got.code, got.stdout, got.stderr)
		}
		obey(t, u, got.stdout, "mend it with: ...")
		u.must(t, "migrate", "status")
	})
}

// roundPlayed is the line of a round with all scenarios.
var roundPlayed = regexp.MustCompile(`OK       round       \d{3} steps played, with the answers that they should have`)

// checkOthersAreLeftAlone plays beside a lock and a free row whose names the scenarios have, too.
func (p place) checkOthersAreLeftAlone(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{
		{"get", "customer:42", "--operator", "JDOE"}, {"get", "customer:43", "--operator", "JDOE"}, {"release", "customer:43", "--operator", "JDOE"},
	} {
		if got := p.run(t.Context(), args...); got.code != exitYes {
			t.Fatalf("%s: %s", args, got.stderr)
		}
	}
	before := p.everything(t)
	p.checkGreen(t)
	if after := p.everything(t); after != before {
		t.Errorf("verify has changed rows:\n%s\n%s", before, after)
	}
}

// everything is what is in the table, as text.
func (p place) everything(t *testing.T) string {
	t.Helper()
	handle, err := sql.Open("sqlite", pathOf(p.dsn))
	if p.product != "" {
		handle = p.product.open(t, p.dsn)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = handle.Close() }()
	_, rows, err := contract.Rows(t.Context(), handle, "SELECT * FROM "+p.table("appl_lock")+" ORDER BY object_id")
	if err != nil || len(rows) == 0 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	return fmt.Sprint(rows)
}

// rows tells how many rows a round has left.
func (p place) rows(t *testing.T) string {
	t.Helper()
	var counts []string
	for _, table := range []string{"appl_lock", "appl_lock_waiter", "appl_lock_ask", "appl_lock_viewer", "appl_lock_event", "appl_lock_policy"} {
		counts = append(counts, "(SELECT COUNT(*) FROM "+p.table(table)+")")
	}
	query := "SELECT " + strings.Join(counts, " + ")
	if p.product != "" {
		return p.product.query(t, p.dsn, query)
	}
	handle, err := sql.Open("sqlite", pathOf(p.dsn))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = handle.Close() }()
	var rows int
	if err := handle.QueryRowContext(t.Context(), query).Scan(&rows); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(rows)
}

// Goal: who migrates where another program's goose has noted its steps is told that, and not to use a later program. Method: such
// a step in a file.
func TestUpBesideForeignSteps(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	withFile(t, u, func(exec func(string)) {
		exec("INSERT INTO appl_lock_goose (version_id, is_applied) VALUES (20240101120000, true)")
	})
	const told = "appl_lock_goose has step 20240101120000, which is not a step of applock"
	u.run(t, "migrate", "up").check(t, exitError, told)
	u.run(t, "migrate", "status").check(t, exitNo, "mend it with the SQL: DELETE FROM appl_lock_goose WHERE version_id = 20240101120000")
}

// Goal: Ctrl-C leaves nothing behind. Method: a signal as soon as there is a row of the round, which lasts longer than a second.
func testVerifyInterrupted(t *testing.T, b binary) {
	onEveryPlace(t, b, func(t *testing.T, p place) {
		var stderr strings.Builder
		command := p.command(t.Context(), "verify", "--timeout", "2m")
		command.Stderr = &stderr
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		for p.rows(t) == "0" {
			time.Sleep(5 * time.Millisecond) // between two looks
		}
		if err := command.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if code := codeOf(command.Wait()); code != exitInterrupted || stderr.String() != "applockctl: verify: interrupted\n" {
			t.Errorf("exit code %d: %s", code, stderr.String())
		}
		if rows := p.rows(t); rows != "0" {
			t.Errorf("%s rows are left", rows)
		}
	})
}

// Goal: verify says what is in between, and is content with it. Method: PgBouncer in transaction mode, and a node of Galera.
func testVerifyInBetween(t *testing.T, b binary) {
	for name, test := range map[string]struct {
		dsn  func(t *testing.T) string
		want string
	}{
		"pgbouncer": {func(t *testing.T) string {
			t.Helper()
			dsn := testdb.Postgres(t)
			postgresServer.installAsOwner(t, dsn)
			return testdb.PgBouncer(t, dsn) + "&default_query_exec_mode=exec"
		}, "a connection pooler, such as PgBouncer"},
		"galera": {func(t *testing.T) string {
			t.Helper()
			dsn := testdb.Galera(t)
			server("galera").installAsOwner(t, dsn)
			return dsn
		}, "a Galera cluster, size 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := b
			b.dsn = test.dsn(t)
			told := ""
			for _, answer := range b.checkGreen(t) {
				if answer.Check == "between" {
					told += answer.Text
				}
			}
			if told != test.want {
				t.Errorf("in between is %q, want %q", told, test.want)
			}
		})
	}
}

// Goal: an account that has what migrating needs on MySQL and MariaDB, and no more, is told what it cannot see, and that the rest
// is good. Method: the rights of docs/dba.md.
func testVerifyAsOthers(t *testing.T, b binary) {
	onMySQL(t, func(t *testing.T, s server) {
		b := b
		dsn := s.newDatabase(t)
		name := s.newUser(t, dsn, "secret")
		s.exec(t, dsn, "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, CREATE VIEW, SHOW VIEW, CREATE ROUTINE, ALTER ROUTINE, EXECUTE ON "+databaseOf(t, dsn)+".* TO "+name)
		b.dsn = withUser(t, dsn, name, "secret")
		if got := b.run(t.Context(), "migrate", "up"); got.code != exitYes {
			t.Fatalf("migrate up: %s", got.stderr)
		}
		notes := ""
		for _, answer := range b.checkGreen(t) {
			if answer.Outcome == outcomeNote && strings.Contains(answer.Text, "this account may not read the database mysql") {
				notes += answer.Check + " "
			}
		}
		if notes != "owners rights grants " {
			t.Errorf("it is told that it cannot see: %s", notes)
		}
	})
}

// Goal: an account that only locks is told that it cannot see the steps, which is no failure. Method: the rights of an operator.
func testVerifyAsOperator(t *testing.T, b binary) {
	onServers(t, func(t *testing.T, s server) {
		b := b
		dsn := s.installedDatabase(t)
		operator := s.newUser(t, dsn, "secret")
		userOf(dsn).must(t, "grant", "--to", operator, "--as", "operator")
		b.dsn = withUser(t, dsn, operator, "secret")
		answers, got := b.verified(t)
		if failed := failures(answers); got.code != exitYes || len(failed) != 0 || !strings.Contains(got.stdout, mayNotSee) {
			t.Errorf("exit code %d: %s%s", got.code, got.stdout, got.stderr)
		}
	})
}
