package migrate_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// site is a database with applock and a table of entries, each of which belongs to a document.
type site struct {
	shell
	client *applock.Client
	pool   *sql.DB
	// forgets is true where the end of a transaction ends what it has asserted.
	forgets bool
}

func newSite(t *testing.T, product string) site {
	t.Helper()
	s := site{shell: shells(t)[product](t)}
	s.client = testclient.Open(t, s.dsn, "", nil)
	if _, err := migrate.Up(t.Context(), s.client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	if product == "postgres" {
		config, err := pgx.ParseConfig(s.dsn)
		if err != nil {
			t.Fatal(err)
		}
		config.RuntimeParams["search_path"] = "applock"
		s.pool, s.forgets = stdlib.OpenDB(*config), true
		t.Cleanup(func() { _ = s.pool.Close() })
	} else {
		s.pool = testdb.OpenMySQL(t, s.dsn, func(config *mysql.Config) { config.MultiStatements = true })
	}
	s.paste(t, `CREATE TABLE entry (document_id VARCHAR(40) NOT NULL, n INTEGER NOT NULL, body VARCHAR(100) NOT NULL, PRIMARY KEY (document_id, n));
		INSERT INTO entry VALUES ('1', 1, 'old'), ('1', 2, 'old'), ('2', 1, 'old');`)
	return s
}

// paste gives SQL to the product's client.
func (s site) paste(t *testing.T, script string) {
	t.Helper()
	if output, err := s.run(script); err != nil {
		t.Fatalf("%v\n%s\n%s", err, output, script)
	}
}

// guard pastes a guard, that of the entries unless the request names another table.
func (s site) guard(t *testing.T, request migrate.GuardScriptRequest) {
	t.Helper()
	if request.Table == "" {
		request.Table, request.ObjectType, request.IDColumn = "entry", "document", "document_id"
	}
	request.Dialect = s.dialect
	script, err := migrate.GuardScript(request)
	if err != nil {
		t.Fatal(err)
	}
	s.paste(t, script)
}

// get locks a document for an operator and returns the fence.
func (s site) get(t *testing.T, id, operator string) int64 {
	t.Helper()
	grant, err := s.client.Get(t.Context(), applock.GetRequest{
		Object: applock.Object{Type: "document", ID: id}, Owner: applock.Owner{Operator: operator}, TTL: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	return int64(grant.Fence)
}

func (s site) release(ctx context.Context, id, operator string) error {
	_, err := s.client.Release(ctx, applock.ReleaseRequest{Key: applock.Key{Object: applock.Object{Type: "document", ID: id}, Operator: operator}})
	return err
}

// desk is a session, as a pool gives it to one user after the other.
type desk struct {
	*testing.T
	conn *sql.Conn
}

func (s site) desk(t *testing.T) desk {
	t.Helper()
	conn, err := s.pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return desk{t, conn}
}

// does runs statements that have to work.
func (d desk) does(statements ...string) {
	d.Helper()
	for _, statement := range statements {
		if _, err := d.conn.ExecContext(d.Context(), statement); err != nil {
			d.Fatalf("%s: %v", statement, err)
		}
	}
}

// mayNot runs a statement that a guard has to refuse.
func (d desk) mayNot(statement string) {
	d.Helper()
	_, err := d.conn.ExecContext(d.Context(), statement)
	if state := stateOf(err); state != "LK002" {
		d.Errorf("%s: %v, want SQLSTATE LK002", statement, err)
	}
}

// refused runs a transaction whose last statement a guard has to refuse.
func (d desk) refused(statements ...string) {
	d.Helper()
	d.does("BEGIN")
	d.does(statements[:len(statements)-1]...)
	d.mayNot(statements[len(statements)-1])
	d.does("ROLLBACK")
}

// done runs a transaction that has to work.
func (d desk) done(statements ...string) {
	d.Helper()
	d.does("BEGIN")
	d.does(statements...)
	d.does("COMMIT")
}

// count returns what a query counts.
func (d desk) count(query string) int {
	d.Helper()
	var n int
	if err := d.conn.QueryRowContext(d.Context(), query).Scan(&n); err != nil {
		d.Fatal(err)
	}
	return n
}

func stateOf(err error) string {
	var inPostgres *pgconn.PgError
	var inMySQL *mysql.MySQLError
	switch {
	case errors.As(err, &inPostgres):
		return inPostgres.Code
	case errors.As(err, &inMySQL):
		return string(inMySQL.SQLState[:])
	}
	return ""
}

func asserting(id, operator string, fence int64) string {
	return fmt.Sprintf("CALL assert_appl_lock('document', '%s', '%s', %d)", id, operator, fence)
}

const (
	write1  = "UPDATE entry SET body = 'new' WHERE document_id = '1' AND n = 1"
	write2  = "UPDATE entry SET body = 'new' WHERE document_id = '2'"
	delete1 = "DELETE FROM entry WHERE document_id = '1' AND n = 2"
	changed = "SELECT count(*) FROM entry WHERE body = 'new'"
)

func onServers(t *testing.T, test func(t *testing.T, s site)) {
	t.Helper()
	testdb.EachProduct(t, testdb.Servers(), func(t *testing.T, product string) { test(t, newSite(t, product)) })
}

// Goal: a row is written by who has asserted its object, and by nobody else, whatever the statement is.
// Method: statements with the assertion, without it, and with that of another object or another grant.
func TestGuardAsksForTheAssertion(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s site) {
		t.Helper()
		s.guard(t, migrate.GuardScriptRequest{})
		fence := s.get(t, "1", "JDOE")
		other := s.get(t, "2", "ASMITH")
		s.desk(t).refused(write1)
		s.desk(t).refused(delete1)
		s.desk(t).mayNot(write1) // under autocommit
		s.desk(t).refused(asserting("2", "ASMITH", other), write1)
		if n := s.desk(t).count(changed); n != 0 {
			t.Fatalf("%d rows have changed", n)
		}
		s.desk(t).done("INSERT INTO entry VALUES ('3', 1, 'old')", asserting("1", "JDOE", fence), write1, delete1, write1)
		if n := s.desk(t).count(changed); n != 1 {
			t.Fatalf("%d rows have changed, want 1", n)
		}
		s.desk(t).done(asserting("1", "JDOE", fence), asserting("2", "ASMITH", other), write2, write1)

		tx, err := s.pool.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		err = s.client.WithSQLTx(tx).Assert(t.Context(), applock.Key{
			Object: applock.Object{Type: "document", ID: "2"}, Operator: "ASMITH", Fence: applock.Fence(other),
		})
		if err != nil {
			t.Error(err)
		}
		if _, err := tx.ExecContext(t.Context(), write2); err != nil {
			t.Error(err)
		}
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}

		d := s.desk(t)
		d.does("BEGIN", asserting("1", "JDOE", fence), "UPDATE appl_lock SET expires_ts = acquired_ts WHERE object_id = '1'")
		d.mayNot(write1)
		d.does("ROLLBACK")
	})
}

// Goal: a program installs and removes a guard by its own pool. Method: the statements, each by itself, in a session that takes one at a time.
func TestGuardByAProgram(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s site) {
		t.Helper()
		pool := s.pool
		if !s.forgets { // PostgreSQL takes several if there are no arguments
			pool = testdb.OpenMySQL(t, s.dsn, nil)
		}
		request := migrate.GuardScriptRequest{Dialect: s.dialect, Table: "entry", ObjectType: "document", IDColumn: "document_id", Insert: true}
		for _, request.Down = range []bool{false, true} {
			statements, err := migrate.GuardStatements(request)
			if err != nil {
				t.Fatal(err)
			}
			for _, statement := range statements {
				if _, err := pool.ExecContext(t.Context(), statement); err != nil {
					t.Fatalf("%s: %v", statement, err)
				}
			}
			if d := s.desk(t); request.Down {
				d.does(write1)
			} else {
				d.mayNot(write1)
			}
		}
	})
	request := migrate.GuardScriptRequest{Dialect: "sqlite", Table: "entry", ObjectType: "document", IDColumn: "document_id"}
	if statements, err := migrate.GuardStatements(request); !errors.Is(err, applock.ErrInvalid) {
		t.Errorf("%v, %v, want ErrInvalid", statements, err)
	}
}

// Goal: what a session has kept of former users lets nobody write whose grant is not live, and on PostgreSQL nobody.
// Method: one session asserts; then it writes in other transactions and behind a savepoint, while the grant is live, while
// somebody else has the object, and when the same operator has got it again.
func TestGuardOfAPooledSession(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s site) {
		t.Helper()
		s.guard(t, migrate.GuardScriptRequest{})
		d := s.desk(t)
		write := d.done // here the write itself asserts, with what the session remembers
		if s.forgets {
			write = d.refused
		}
		fence := s.get(t, "1", "JDOE")
		d.done(asserting("1", "JDOE", fence), write1)
		write(write1)
		if !s.forgets {
			d.refused("SET @appl_lock_asserted = NULL", write1)
			d.done(asserting("1", "JDOE", fence), write1)
		}
		write("SAVEPOINT a", asserting("1", "JDOE", fence), "ROLLBACK TO SAVEPOINT a", write1)
		d.done("SAVEPOINT a", asserting("1", "JDOE", fence), "RELEASE SAVEPOINT a", write1)
		d.done(asserting("1", "JDOE", fence), "SAVEPOINT a", write1, "ROLLBACK TO SAVEPOINT a", write1)

		if err := s.release(t.Context(), "1", "JDOE"); err != nil {
			t.Fatal(err)
		}
		d.refused(write1)
		s.get(t, "1", "ASMITH")
		d.refused(write1)
		if err := s.release(t.Context(), "1", "ASMITH"); err != nil {
			t.Fatal(err)
		}
		again := s.get(t, "1", "JDOE")
		d.refused(write1)
		d.done(asserting("1", "JDOE", again), write1)
	})
}

// Goal: until the writer's transaction ends nobody gets its object, also where the write was what has asserted.
// Method: somebody releases and gets after the write; he waits for the row, and is told so.
func TestGuardKeepsTheGrant(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s site) {
		t.Helper()
		s.guard(t, migrate.GuardScriptRequest{})
		d := s.desk(t)
		assert := asserting("1", "JDOE", s.get(t, "1", "JDOE"))
		before := []string{"BEGIN", assert}
		if !s.forgets {
			before = []string{assert, "BEGIN"}
		}
		d.does(append(before, write1)...)
		if err := s.release(t.Context(), "1", "JDOE"); !errors.Is(err, applock.ErrBusy) {
			t.Errorf("release during the transaction: %v, want ErrBusy", err)
		}
		d.does("COMMIT")
		if err := s.release(t.Context(), "1", "JDOE"); err != nil {
			t.Error(err)
		}
	})
}

// Goal: an UPDATE that gives a row to another object needs both, and one of many rows needs the objects of all.
// Method: each with one object too few, and with all; a thousand rows of one object, and hundreds of objects.
func TestGuardOfManyRows(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s site) {
		t.Helper()
		var rows, asserts []string
		for n := range 1000 {
			rows = append(rows, fmt.Sprintf("('many', %d, 'old')", n))
		}
		const objects = 300
		for n := range objects {
			id := "each-" + strconv.Itoa(n)
			rows = append(rows, fmt.Sprintf("('%s', 1, 'old')", id))
			asserts = append(asserts, asserting(id, "JDOE", s.get(t, id, "JDOE")))
		}
		s.paste(t, "INSERT INTO entry VALUES "+strings.Join(rows, ", "))
		s.guard(t, migrate.GuardScriptRequest{})
		one := asserting("1", "JDOE", s.get(t, "1", "JDOE"))
		two := asserting("2", "JDOE", s.get(t, "2", "JDOE"))
		many := asserting("many", "JDOE", s.get(t, "many", "JDOE"))

		const move = "UPDATE entry SET document_id = '2', n = 9 WHERE document_id = '1' AND n = 1"
		s.desk(t).refused(one, move)
		s.desk(t).refused(two, move)
		s.desk(t).done(one, two, move)

		s.desk(t).refused(many, "UPDATE entry SET body = 'new' WHERE document_id IN ('many', '2')")
		s.desk(t).done(many, "UPDATE entry SET body = 'new' WHERE document_id = 'many'")
		each := "UPDATE entry SET body = 'new' WHERE document_id LIKE 'each-%'"
		s.desk(t).refused(append(asserts[1:objects:objects], each)...)
		s.desk(t).done(append(asserts[:objects:objects], each)...)
		if n := s.desk(t).count(changed); n != 1000+objects {
			t.Errorf("%d rows have changed, want %d", n, 1000+objects)
		}
	})
}

// Goal: new rows are guarded on demand, and no longer when the guard is replaced; nothing is left of a guard that is removed.
// Method: insert before and after; count triggers and routines.
func TestGuardOfNewRowsAndItsEnd(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s site) {
		t.Helper()
		const insert = "INSERT INTO entry VALUES ('3', 1, 'new')"
		here := "DATABASE()"
		if s.forgets {
			here = "current_schema()"
		}
		left := "SELECT count(*) FROM information_schema.routines WHERE routine_name LIKE 'appl_lock_guard%' AND routine_schema = " + here
		triggers := "SELECT count(*) FROM information_schema.triggers WHERE trigger_name LIKE 'appl_lock_guard%' AND trigger_schema = " + here
		s.guard(t, migrate.GuardScriptRequest{Insert: true})
		assert := asserting("3", "JDOE", s.get(t, "3", "JDOE"))
		s.desk(t).refused(insert)
		s.desk(t).done(assert, insert)
		if l, n := s.desk(t).count(left), s.desk(t).count(triggers); l != 1 || n != 3 {
			t.Errorf("%d routines and %d triggers, want 1 and 3", l, n)
		}
		s.guard(t, migrate.GuardScriptRequest{})
		s.desk(t).done("INSERT INTO entry VALUES ('4', 1, 'new')")
		s.desk(t).refused(write1)
		for range 2 {
			s.guard(t, migrate.GuardScriptRequest{Down: true})
			s.desk(t).done(write1)
			if l, n := s.desk(t).count(left), s.desk(t).count(triggers); l != 0 || n != 0 {
				t.Errorf("%d routines and %d triggers are left", l, n)
			}
		}
	})
}

// Goal: names and types mean what they say, whatever is in them, and nothing gets out of its quotes.
// Method: tables, columns and types with reserved words, quotes, dollars, backslashes, the words of the templates, and SQL.
func TestGuardQuotes(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s site) {
		t.Helper()
		quote := "`"
		if s.forgets {
			quote = `"`
		}
		long := strings.Repeat("long_", 12)
		for i, words := range []struct{ table, column, objectType string }{
			{"order", "select", "table"},
			{"Two Words", "Größe", "a type of its own"},
			{"o'clock", `back\slash`, `back\slash'`},
			{"a.b", "$guard$", "$guard$ $$ $_guard$"},
			{"GUARD_DOLLARS", "GUARD_TYPE", "GUARD_COLUMN"},
			{"x" + quote + quote + "; DROP TABLE entry; --x", "y" + quote + "; DROP TABLE entry; --y", "z'; DROP TABLE entry; -- 'Ω"},
			{"$$DELIMITER", "$$; DROP TABLE entry", "$$\\' DROP TABLE entry"},
			{long, "id", "long"},
		} {
			write := func(name string) string { return quote + strings.ReplaceAll(name, quote, quote+quote) + quote }
			table, column := write(words.table), write(words.column)
			s.paste(t, fmt.Sprintf("CREATE TABLE %s (%s VARCHAR(20) PRIMARY KEY, body VARCHAR(20)); INSERT INTO %[1]s VALUES ('%[3]d', 'old');", table, column, i))
			s.guard(t, migrate.GuardScriptRequest{Table: table, IDColumn: column, ObjectType: words.objectType})
			grant, err := s.client.Get(t.Context(), applock.GetRequest{
				Object: applock.Object{Type: words.objectType, ID: strconv.Itoa(i)}, Owner: applock.Owner{Operator: "JDOE"},
			})
			if err != nil {
				t.Fatal(err)
			}
			update := fmt.Sprintf("UPDATE %s SET body = 'new'", table)
			s.desk(t).refused(update)
			d := s.desk(t)
			d.does("BEGIN")
			placeholders := "?, ?, ?, ?"
			if s.forgets {
				placeholders = "$1, $2, $3, $4"
			}
			if _, err := d.conn.ExecContext(t.Context(), "CALL assert_appl_lock("+placeholders+")",
				words.objectType, strconv.Itoa(i), "JDOE", grant.Fence); err != nil {
				t.Fatal(err)
			}
			d.does(update, "COMMIT")
			s.guard(t, migrate.GuardScriptRequest{Table: table, Down: true})
			d.done(update)
		}
		if n := s.desk(t).count("SELECT count(*) FROM entry"); n != 3 {
			t.Errorf("%d entries, want 3", n)
		}
	})
}

// Goal: what is no name is refused before it is in any SQL, and says which flag it was.
// Method: names with something behind them, without an end, of too many parts, too long.
func TestGuardScriptRefuses(t *testing.T) {
	t.Parallel()
	good := migrate.GuardScriptRequest{Dialect: "postgres", Table: "crm.entry", IDColumn: "id", ObjectType: "document"}
	for _, test := range []struct {
		argument string
		change   func(request *migrate.GuardScriptRequest)
	}{
		{"Table", func(r *migrate.GuardScriptRequest) { r.Table = "" }},
		{"Table", func(r *migrate.GuardScriptRequest) { r.Table = "entry; DROP TABLE entry" }},
		{"Table", func(r *migrate.GuardScriptRequest) { r.Table = `"entry` }},
		{"Table", func(r *migrate.GuardScriptRequest) { r.Table = `"entry"x` }},
		{"Table", func(r *migrate.GuardScriptRequest) { r.Table = `""` }},
		{"Table", func(r *migrate.GuardScriptRequest) { r.Table = "crm." }},
		{"Table", func(r *migrate.GuardScriptRequest) { r.Table = "a.b.c" }},
		{"Table", func(r *migrate.GuardScriptRequest) { r.Table = "\"a\n\\! ls\"" }},
		{"Table", func(r *migrate.GuardScriptRequest) { r.Table = strings.Repeat("x", 64) }},
		{"Table", func(r *migrate.GuardScriptRequest) { r.Dialect, r.Table = "mysql", `"entry"` }},
		{"IDColumn", func(r *migrate.GuardScriptRequest) { r.IDColumn = "" }},
		{"IDColumn", func(r *migrate.GuardScriptRequest) { r.IDColumn = "entry.id" }},
		{"ObjectType", func(r *migrate.GuardScriptRequest) { r.ObjectType = " " }},
		{"ObjectType", func(r *migrate.GuardScriptRequest) { r.ObjectType = "a:b" }},
		{"ObjectType", func(r *migrate.GuardScriptRequest) { r.ObjectType = strings.Repeat("x", 65) }},
		{"Schema", func(r *migrate.GuardScriptRequest) { r.Schema = "a b" }},
		{"Dialect", func(r *migrate.GuardScriptRequest) { r.Dialect = "sqlite" }},
		{"Dialect", func(r *migrate.GuardScriptRequest) { r.Dialect = "db2" }},
	} {
		request := good
		test.change(&request)
		_, err := migrate.GuardScript(request)
		var invalid *applock.InvalidError
		if !errors.As(err, &invalid) || invalid.Argument != test.argument {
			t.Errorf("%+v: %v, want that %s is refused", request, err, test.argument)
		}
	}
}

// Goal: what an administrator reads changes only where somebody means it. Method: the script of each dialect is compared with a
// file; APPLOCK_UPDATE_GOLDEN=1 (make golden) rewrites it.
func TestGuardScriptEqualsGolden(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"postgres", "mysql"} {
		request := migrate.GuardScriptRequest{Dialect: dialect, Table: "crm.document", IDColumn: "id", ObjectType: "document", Insert: true}
		up, err := migrate.GuardScript(request)
		if err != nil {
			t.Fatal(err)
		}
		request.Down = true
		down, err := migrate.GuardScript(request)
		if err != nil {
			t.Fatal(err)
		}
		contract.Golden(t, filepath.Join("testdata", "guard_"+dialect+".golden"), up+"\n"+down)
	}
}

// Goal: the page's table of ways past a guard is true, and what is none is refused. Method: each of them, on a child table of documents.
func TestWaysPastAGuard(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s site) {
		t.Helper()
		s.paste(t, `CREATE TABLE document (id VARCHAR(40) PRIMARY KEY);
			INSERT INTO document VALUES ('1'), ('2');
			CREATE TABLE line (document_id VARCHAR(40) NOT NULL, n INTEGER NOT NULL, body VARCHAR(100), PRIMARY KEY (document_id, n),
				CONSTRAINT line_fk FOREIGN KEY (document_id) REFERENCES document (id) ON DELETE CASCADE);
			INSERT INTO line VALUES ('1', 1, 'old'), ('2', 1, 'old'), ('2', 2, 'old');`)
		s.guard(t, migrate.GuardScriptRequest{Table: "line", ObjectType: "document", IDColumn: "document_id"})
		upsert := "INSERT INTO line VALUES ('2', 1, 'new') ON DUPLICATE KEY UPDATE body = 'new'"
		if s.forgets {
			upsert = "INSERT INTO line VALUES ('2', 1, 'new') ON CONFLICT (document_id, n) DO UPDATE SET body = 'new'"
			s.desk(t).refused("DELETE FROM document WHERE id = '1'")
			s.desk(t).done("SET LOCAL session_replication_role = replica", "UPDATE line SET body = 'new'")
		} else {
			s.desk(t).refused("REPLACE INTO line VALUES ('2', 1, 'new')")
			s.desk(t).done("DELETE FROM document WHERE id = '1'")
			if n := s.desk(t).count("SELECT count(*) FROM line"); n != 2 {
				t.Errorf("%d lines, want 2", n)
			}
		}
		s.desk(t).refused(upsert)
		s.desk(t).does("TRUNCATE TABLE line")
	})
}

// Goal: on PostgreSQL a guard does not let rows of a table that inherits from the guarded one be changed through that: it is refused until
// the child has a guard as well, and then its rows are refused. Partitions need no guard of their own. Method: such tables.
func TestGuardOfATableWithChildren(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s site) {
		t.Helper()
		if !s.forgets {
			return // MySQL and MariaDB have no inheritance
		}
		s.paste(t, `CREATE TABLE doc (id VARCHAR(40), body VARCHAR(100));
			CREATE TABLE doc_old () INHERITS (doc);
			INSERT INTO doc_old VALUES ('1', 'old');
			CREATE TABLE parted (id VARCHAR(40), body VARCHAR(100)) PARTITION BY LIST (id);
			CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN ('1');
			INSERT INTO parted VALUES ('1', 'old');`)
		request := migrate.GuardScriptRequest{Dialect: s.dialect, Table: "doc", ObjectType: "document", IDColumn: "id"}
		script, err := migrate.GuardScript(request)
		if err != nil {
			t.Fatal(err)
		}
		if output, err := s.run(script); err == nil || !strings.Contains(output, `doc_old inherits from "doc": guard it first`) {
			t.Errorf("a guard of a table with a child: %v\n%s", err, output)
		}
		s.desk(t).done("UPDATE doc SET body = 'new'")
		s.guard(t, migrate.GuardScriptRequest{Table: "doc_old", ObjectType: "document", IDColumn: "id"})
		s.guard(t, migrate.GuardScriptRequest{Table: "doc", ObjectType: "document", IDColumn: "id"})
		s.desk(t).refused("UPDATE doc SET body = 'newer'")
		s.guard(t, migrate.GuardScriptRequest{Table: "parted", ObjectType: "document", IDColumn: "id"})
		s.desk(t).refused("UPDATE parted_1 SET body = 'newer'")
	})
}
