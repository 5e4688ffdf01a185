package choosing_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
)

// session is a connection of its own.
type session struct {
	t    *testing.T
	conn *sql.Conn
}

// sessions returns two connections that wait for each other's rows for a moment only.
func (b bank) sessions(t *testing.T) (one, other session) {
	t.Helper()
	soon := "SET lock_timeout = '100ms'"
	if b.product != onPostgres {
		soon = "SET innodb_lock_wait_timeout = 1"
	}
	open := func() session {
		conn, err := b.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		s := session{t, conn}
		s.must(soon)
		return s
	}
	return open(), open()
}

// try runs statements until one fails, and returns its SQLSTATE, or nothing.
func (s session) try(statements ...string) string {
	s.t.Helper()
	for _, statement := range statements {
		_, err := s.conn.ExecContext(s.t.Context(), statement)
		var ofPostgres *pgconn.PgError
		var ofMySQL *mysql.MySQLError
		switch {
		case errors.As(err, &ofPostgres):
			return ofPostgres.Code
		case errors.As(err, &ofMySQL):
			return string(ofMySQL.SQLState[:])
		case err != nil:
			s.t.Fatal(err)
		}
	}
	return ""
}

func (s session) must(statements ...string) {
	s.t.Helper()
	if state := s.try(statements...); state != "" {
		s.t.Fatalf("%q: %s", statements, state)
	}
}

// count returns the one number of a query.
func (s session) count(query string) (n int) {
	s.t.Helper()
	if err := s.conn.QueryRowContext(s.t.Context(), query).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// Goal: what the page says about other ways of keeping two apart is what the databases do. Method: two sessions, whose statements are
// played in turns, on the products that people use these ways on.
func TestOtherWays(t *testing.T) {
	t.Parallel()
	for way, test := range map[string]func(t *testing.T, b bank){
		"validation":        testValidation,
		"unique constraint": testUniqueConstraint,
		"trigger":           testTrigger,
		"table lock":        testTableLock,
		"for update":        testForUpdate,
	} {
		for _, product := range []string{onPostgres, onMariaDB, onMySQL} {
			t.Run(way+"/"+product, func(t *testing.T) {
				t.Parallel()
				test(t, newBank(t, product))
			})
		}
	}
}

const noSuchName = "SELECT count(*) FROM person WHERE name = 'jdoe'"

func testValidation(t *testing.T, b bank) {
	t.Helper()
	one, other := b.sessions(t)
	one.must("CREATE TABLE person (name VARCHAR(20))", "BEGIN")
	other.must("BEGIN")
	for _, s := range []session{one, other} {
		if n := s.count(noSuchName); n != 0 {
			t.Errorf("the validation finds %d", n)
		}
	}
	for _, s := range []session{one, other} {
		s.must("INSERT INTO person (name) VALUES ('jdoe')", "COMMIT")
	}
	if n := one.count(noSuchName); n != 2 {
		t.Errorf("%d persons, want the two that the validation has let in", n)
	}
}

// states returns the SQLSTATEs of a wait that the server has ended, of a key that is there, and of a deadlock.
func (b bank) states() (waited, duplicate, deadlock string) {
	if b.product == onPostgres {
		return "55P03", "23505", "40P01"
	}
	return "HY000", "23000", "40001"
}

func testUniqueConstraint(t *testing.T, b bank) {
	t.Helper()
	one, other := b.sessions(t)
	waited, duplicate, _ := b.states()
	const insert = "INSERT INTO person (name) VALUES ('jdoe')"
	one.must("CREATE TABLE person (name VARCHAR(20) PRIMARY KEY)", "BEGIN", insert)
	if state := other.try(insert); state != waited {
		t.Errorf("the second insert: %q, want that it waits (%s)", state, waited)
	}
	one.must("COMMIT")
	if state := other.try(insert); state != duplicate {
		t.Errorf("the second insert after the commit: %q, want %s", state, duplicate)
	}
}

func testTrigger(t *testing.T, b bank) {
	t.Helper()
	one, other := b.sessions(t)
	one.must("CREATE TABLE invoice (id INTEGER PRIMARY KEY, number INTEGER)")
	if b.product == onPostgres {
		one.must(`CREATE FUNCTION numbered() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN NEW.number := (SELECT coalesce(max(number), 0) + 1 FROM invoice); RETURN NEW; END'`,
			"CREATE TRIGGER numbered BEFORE INSERT ON invoice FOR EACH ROW EXECUTE FUNCTION numbered()")
	} else {
		one.must("CREATE TRIGGER numbered BEFORE INSERT ON invoice FOR EACH ROW SET NEW.number = (SELECT coalesce(max(number), 0) + 1 FROM invoice)")
	}
	waited, _, _ := b.states()
	one.must("BEGIN", "INSERT INTO invoice (id) VALUES (1)")
	state := other.try("INSERT INTO invoice (id) VALUES (2)")
	one.must("COMMIT")
	if b.product != onPostgres {
		if state != waited {
			t.Errorf("the second insert: %q, want that it waits (%s)", state, waited)
		}
		return
	}
	if n := one.count("SELECT count(*) FROM invoice WHERE number = 1"); n != 2 {
		t.Errorf("%d invoices have the number 1, want the two that the trigger has given it", n)
	}
}

func testTableLock(t *testing.T, b bank) {
	t.Helper()
	one, other := b.sessions(t)
	waited, _, _ := b.states()
	if b.product != onPostgres {
		one.must("CREATE TABLE person (name VARCHAR(20) PRIMARY KEY)", "BEGIN", "INSERT INTO person (name) VALUES ('jdoe')",
			"LOCK TABLES person WRITE", "ROLLBACK", "UNLOCK TABLES")
		if n := one.count(noSuchName); n != 1 {
			t.Errorf("%d rows, want the one that LOCK TABLES has committed", n)
		}
		return
	}
	one.must("CREATE TABLE person (name VARCHAR(20) PRIMARY KEY)", "BEGIN", "LOCK TABLE person IN EXCLUSIVE MODE")
	if state := other.try("INSERT INTO person (name) VALUES ('another')"); state != waited {
		t.Errorf("an insert with another key: %q, want that it waits (%s)", state, waited)
	}
}

func testForUpdate(t *testing.T, b bank) {
	t.Helper()
	one, other := b.sessions(t)
	waited, duplicate, deadlock := b.states()
	const there, missing = "SELECT * FROM person WHERE name = 'asmith' FOR UPDATE", "SELECT * FROM person WHERE name = 'jdoe' FOR UPDATE"
	one.must("CREATE TABLE person (name VARCHAR(20) PRIMARY KEY)", "INSERT INTO person (name) VALUES ('asmith')", "BEGIN", there)
	if state := other.try("BEGIN", there); state != waited {
		t.Errorf("of a row that is there: %q, want that the second waits (%s)", state, waited)
	}
	one.must("ROLLBACK", "BEGIN", missing)
	other.must("ROLLBACK", "BEGIN", missing)

	const insert = "INSERT INTO person (name) VALUES ('jdoe')"
	if b.product == onPostgres {
		one.must(insert, "COMMIT")
		if state := other.try(insert); state != duplicate {
			t.Errorf("the second insert: %q, want %s", state, duplicate)
		}
		return
	}
	// A deadlock needs no clock: whichever insert comes second closes the circle.
	one.must("SET innodb_lock_wait_timeout = 50")
	other.must("SET innodb_lock_wait_timeout = 50")
	first := make(chan string)
	go func() { first <- one.try(insert, "COMMIT") }()
	ended := []string{other.try(insert, "COMMIT"), <-first}
	if strings.Join(ended, "") != deadlock {
		t.Errorf("the inserts of both: %q, want one deadlock (%s)", ended, deadlock)
	}
}
