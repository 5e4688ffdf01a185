// Package fromthesemaphore_test runs the SQL of docs/from-the-semaphore.md.
package fromthesemaphore_test

import (
	"database/sql"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the database/sql driver "pgx"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/open"
	"github.com/applock/applock/internal/testing/readme"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/testfile"
)

const postgres = "postgres"

// site is a database with applock and, in a schema of its own, the article's table.
type site struct {
	product, dsn string
	// schema is where applock is, and old where the article's table is.
	schema, old string
	handle      *sql.DB
	client      *applock.Client
}

func page(t *testing.T) string {
	t.Helper()
	return testfile.Read(t, "../from-the-semaphore.md")
}

func newSite(t *testing.T, product string) site {
	t.Helper()
	s := site{product: product, schema: "applock", old: "crm"}
	if product == postgres {
		s.dsn = testdb.Postgres(t)
		handle, err := sql.Open("pgx", s.dsn)
		if err != nil {
			t.Fatal("the test DSN cannot be parsed")
		}
		s.handle = handle
		t.Cleanup(func() { _ = handle.Close() })
	} else {
		s.dsn = testdb.MySQL(t, product)
		s.handle = testdb.OpenMySQL(t, s.dsn, nil)
		s.schema = one(t, s.handle, "SELECT DATABASE()")
		s.old = one(t, testdb.OpenMySQL(t, testdb.MySQL(t, product), nil), "SELECT DATABASE()")
	}
	client, err := open.ByDSN(t.Context(), s.dsn, open.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	s.client = client
	if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	statements := []string{s.named(`CREATE TABLE crm.businessobjectlock (
		uuid VARCHAR(32) NOT NULL, id VARCHAR(128) NOT NULL, locked_ts TIMESTAMP NOT NULL,
		CONSTRAINT pk_businessobjectlock PRIMARY KEY (uuid), CONSTRAINT id_businessobjectlock UNIQUE (id))`)}
	if product == postgres {
		statements = append([]string{"CREATE SCHEMA crm"}, statements...)
	}
	for _, statement := range statements {
		if _, err := s.handle.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// named puts the site's schemas in the place of the page's names.
func (s site) named(input string) string {
	return strings.NewReplacer("applock.", s.schema+".", "crm.", s.old+".").Replace(input)
}

func one(t *testing.T, handle *sql.DB, query string) (answer string) {
	t.Helper()
	if err := handle.QueryRowContext(t.Context(), query).Scan(&answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

// onProducts runs a test on each product that the page's SQL is for.
func onProducts(t *testing.T, test func(t *testing.T, s site)) {
	t.Helper()
	testdb.EachProduct(t, testdb.Servers(), func(t *testing.T, product string) { test(t, newSite(t, product)) })
}

var (
	block = regexp.MustCompile("(?s)```sql\n(.*?)```")
	note  = regexp.MustCompile(`(?m)^\s*--.*\n`)
)

// transaction returns the statements of the page's one transaction below a heading, without its COMMIT.
func transaction(t *testing.T, title string) []string {
	t.Helper()
	for _, found := range block.FindAllStringSubmatch(readme.Under(page(t), title), -1) {
		text, ends := strings.CutSuffix(strings.TrimSpace(note.ReplaceAllString(found[1], "")), "COMMIT;")
		if ends && strings.HasPrefix(text, "START TRANSACTION;") {
			statements := strings.Split(strings.TrimSpace(text), ";")
			return statements[:len(statements)-1]
		}
	}
	t.Fatalf("the page has no transaction under %q", title)
	return nil
}

// play runs statements on a connection until one fails.
func (s site) play(t *testing.T, conn *sql.Conn, statements ...string) error {
	t.Helper()
	for _, statement := range statements {
		if _, err := conn.ExecContext(t.Context(), s.named(statement)); err != nil {
			return err
		}
	}
	return nil
}

// Goal: programs keep each other out at each step of the page's way over, and those that only insert and those that only call do not.
// Method: the page's transactions in two sessions, the second of which has another uuid and does not wait for long; then the first ends.
func TestMovesOver(t *testing.T) {
	t.Parallel()
	now, both := transaction(t, "What becomes what"), transaction(t, "Move over")
	steps := map[string][]string{"inserts": both[:len(both)-1], "does both": both, "calls": now}
	onProducts(t, func(t *testing.T, s site) {
		connect := func(soon string) *sql.Conn {
			conn, err := s.handle.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			if soon == "" {
				return conn
			}
			if err := s.play(t, conn, soon); err != nil {
				t.Fatal(err)
			}
			return conn
		}
		soon := "SET lock_timeout = '100ms'"
		if s.product != postgres {
			soon = "SET innodb_lock_wait_timeout = 1"
		}
		first, second := connect(""), connect(soon)
		for one, firsts := range steps {
			for other, seconds := range steps {
				seconds := strings.Split(strings.ReplaceAll(strings.Join(seconds, ";"), "8e2f60c9", "11111111"), ";")
				if err := s.play(t, first, firsts...); err != nil {
					t.Fatalf("one that %s: %v", one, err)
				}
				err := s.play(t, second, seconds...)
				if wants := one+other != "insertscalls" && one+other != "callsinserts"; wants != (err != nil) {
					t.Errorf("while one that %s is inside, one that %s: %v", one, other, err)
				}
				for _, end := range []error{s.play(t, second, "ROLLBACK"), s.play(t, first, "COMMIT"), s.play(t, second, seconds...), s.play(t, second, "COMMIT")} {
					if end != nil {
						t.Errorf("one that %s, after one that %s: %v", other, one, end)
					}
				}
			}
		}
	})
}

// run runs SQL with the product's own client and returns the rows, with bars between the columns.
func (s site) run(t *testing.T, input string) string {
	t.Helper()
	if s.product != postgres {
		return strings.ReplaceAll(testdb.RunMySQLClient(t, s.product, s.dsn, input), "\t", "|")
	}
	command := exec.CommandContext(t.Context(), testdb.Psql(t), "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "-v", "ON_ERROR_STOP=1", s.dsn)
	command.Stdin = strings.NewReader(input)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("psql: %v\n%s", err, output)
	}
	return string(output)
}

// script returns the lines that a query answers.
func (s site) script(t *testing.T, query string) string {
	t.Helper()
	rows, err := s.handle.QueryContext(t.Context(), s.named(query))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var script strings.Builder
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		script.WriteString(line + "\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return script.String()
}

// Goal: rows that stay become locks of applock, whose operator is the uuid. Method: the page's statements, on a table with two of them.
func TestCopiesRowsThatStay(t *testing.T) {
	t.Parallel()
	onProducts(t, func(t *testing.T, s site) {
		look := s.named(block.FindStringSubmatch(readme.Under(page(t), "Move over"))[1])
		if got := s.run(t, look); got != "" {
			t.Errorf("the table has %q", got)
		}
		s.run(t, s.named(`INSERT INTO crm.businessobjectlock (uuid, id, locked_ts) VALUES
			('a7', 'BondBO:DK0015966592', CURRENT_TIMESTAMP), ('b''8', 'BondBO:DK:7', CURRENT_TIMESTAMP);`))
		if got := s.run(t, look); strings.Count(got, "\n") != 2 {
			t.Errorf("the table has %q, want two rows", got)
		}
		if s.product == postgres {
			copying, want := readme.Session(readme.Under(page(t), "Copy on PostgreSQL"))
			if got := s.run(t, s.named(copying)); got != want || want == "" {
				t.Errorf("psql answers\n%s\nthe page says\n%s", got, want)
			}
		} else {
			s.run(t, s.script(t, block.FindStringSubmatch(readme.Under(page(t), "Copy on MySQL and MariaDB"))[1]))
		}
		for id, uuid := range map[string]string{"DK0015966592": "a7", "DK:7": "b'8"} {
			lock, err := s.client.Inquire(t.Context(), applock.Object{Type: "BondBO", ID: id})
			if err != nil || lock.Owner.Operator != uuid {
				t.Errorf("%s is held by %q, %v, want %s", id, lock.Owner.Operator, err, uuid)
			}
		}
	})
}
