package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the database/sql driver "pgx"

	"github.com/applock/applock/applock/migrate"
	mysqldriver "github.com/applock/applock/internal/db/mysql"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// server is a product whose databases the program works on, and what tests do there past the program.
type server string

const postgresServer server = "postgres"

// servers returns all products.
func servers() []server {
	all := []server{postgresServer}
	for _, product := range testdb.MySQLProducts() {
		all = append(all, server(product))
	}
	return all
}

// onServers runs a test on each product.
func onServers(t *testing.T, test func(t *testing.T, s server)) {
	t.Helper()
	for _, s := range servers() {
		t.Run(string(s), func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// onMySQL runs a test on each product that speaks MySQL's dialect.
func onMySQL(t *testing.T, test func(t *testing.T, s server)) {
	t.Helper()
	onServers(t, func(t *testing.T, s server) {
		if s.isMySQL() {
			test(t, s)
		}
	})
}

// onEveryDialect runs a test for a user of an embedded database, and for one on each product, where the
// schema is installed.
func onEveryDialect(t *testing.T, test func(t *testing.T, u user)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, sqliteUser(t))
	})
	onServers(t, func(t *testing.T, s server) { test(t, userOf(s.lentDatabase(t))) })
}

func (s server) isMySQL() bool { return s != postgresServer }

// newDatabase returns the DSN, a URL, of a new, empty database.
func (s server) newDatabase(t testing.TB) string {
	t.Helper()
	if s.isMySQL() {
		return testdb.MySQL(t, string(s))
	}
	return testdb.Postgres(t)
}

// installedDatabase returns the DSN of a new database in which applock is installed.
func (s server) installedDatabase(t testing.TB) string {
	t.Helper()
	if s.isMySQL() {
		return testclient.InstalledMySQL(t, string(s))
	}
	return testclient.InstalledPostgres(t)
}

// lentDatabase is installedDatabase for tests that change no more than rows. On MySQL, where installing takes long, earlier tests may have had
// the database.
func (s server) lentDatabase(t testing.TB) string {
	t.Helper()
	if s.isMySQL() {
		return testclient.LentMySQL(t, string(s))
	}
	return testclient.InstalledPostgres(t)
}

// where is the place that the program names when no schema is given.
func (s server) where() string {
	if s.isMySQL() {
		return "the database of the DSN"
	}
	return "schema applock"
}

// table is the table in the place where the program puts it.
func (s server) table() string {
	if s.isMySQL() {
		return "appl_lock"
	}
	return "applock.appl_lock"
}

// open returns a pool on a database, which the caller closes.
func (s server) open(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	if !s.isMySQL() {
		handle, err := sql.Open("pgx", dsn)
		if err != nil {
			t.Fatal(err)
		}
		return handle
	}
	config, err := mysqldriver.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	return sql.OpenDB(connector)
}

// exec runs statements, also after the test has ended.
func (s server) exec(t testing.TB, dsn string, statements ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	handle := s.open(t, dsn)
	defer func() { _ = handle.Close() }()
	for _, statement := range statements {
		if _, err := handle.ExecContext(ctx, statement); err != nil {
			t.Fatalf("%.200s: %v", statement, err)
		}
	}
}

// query returns the one text that a query answers.
func (s server) query(t testing.TB, dsn, query string) string {
	t.Helper()
	handle := s.open(t, dsn)
	defer func() { _ = handle.Close() }()
	var text string
	if err := handle.QueryRowContext(t.Context(), query).Scan(&text); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return text
}

// addRows adds rows of objects 00001 and so on, whose locks end at a time.
func (s server) addRows(t testing.TB, dsn string, rows int, expires string) {
	t.Helper()
	values := make([]string, rows)
	for i := range values {
		values[i] = fmt.Sprintf("('customer', '%05d', 'jdoe', '', 1, '2001-02-03', '2001-02-03', 60, '%s')", i+1, expires)
	}
	s.exec(t, dsn, "INSERT INTO "+s.table()+
		" (object_type, object_id, operator_id, department_id, fence, acquired_ts, lock_ts, ttl_seconds, expires_ts)"+
		" VALUES "+strings.Join(values, ", "))
}

// newSchema returns the name of a schema that does not exist yet. On MySQL it belongs to the whole server,
// until the test ends.
func (s server) newSchema(t testing.TB, dsn string) string {
	t.Helper()
	name := randomName()
	if s.isMySQL() {
		t.Cleanup(func() { s.exec(t, dsn, "DROP DATABASE IF EXISTS "+name) })
	}
	return name
}

// randomName returns what may be the name of a schema or of a user on all products.
func randomName() string { return "applock_" + strings.ToLower(rand.Text()[:20]) }

// newUser makes a user without rights, who belongs to the whole server, until the test ends.
func (s server) newUser(t testing.TB, dsn, password string) string {
	t.Helper()
	name := randomName()
	if s.isMySQL() {
		s.exec(t, dsn, "CREATE USER "+name+" IDENTIFIED BY '"+password+"'")
		t.Cleanup(func() { s.exec(t, dsn, "DROP USER "+name) })
		return name
	}
	s.exec(t, dsn, "CREATE ROLE "+name+" LOGIN PASSWORD '"+password+"'")
	t.Cleanup(func() { s.exec(t, dsn, "DROP OWNED BY "+name, "DROP ROLE "+name) })
	return name
}

// newOwner makes a user who may migrate a database, and schemas beside it, and sees who has which rights, but has no others. It returns
// the DSN as that user, whose everything goes back to the administrator when the test ends.
func (s server) newOwner(t testing.TB, dsn string, schemas ...string) string {
	t.Helper()
	name := s.newUser(t, dsn, "0wner")
	if !s.isMySQL() {
		s.exec(t, dsn, "GRANT CREATE ON DATABASE "+databaseOf(t, dsn)+" TO "+name)
		t.Cleanup(func() { s.exec(t, dsn, "REASSIGN OWNED BY "+name+" TO CURRENT_USER") })
		return withUser(t, dsn, name, "0wner")
	}
	for _, database := range append(schemas, databaseOf(t, dsn)) {
		s.exec(t, dsn, "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, CREATE VIEW, SHOW VIEW, CREATE ROUTINE, ALTER ROUTINE, EXECUTE ON "+
			database+".* TO "+name)
	}
	s.exec(t, dsn, "GRANT SELECT ON mysql.* TO "+name)
	return withUser(t, dsn, name, "0wner")
}

// installAsOwner installs in an empty database as such a user, whose name it returns.
func (s server) installAsOwner(t *testing.T, dsn string) string {
	t.Helper()
	owner := s.newOwner(t, dsn)
	if _, err := migrate.Up(t.Context(), testclient.Open(t, owner, "", nil), migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	return userName(t, owner)
}

// letIn grants a user everything in a database but what PostgreSQL grants to everybody.
func (s server) letIn(t testing.TB, dsn, name string) {
	t.Helper()
	if s.isMySQL() {
		s.exec(t, dsn, "GRANT ALL ON "+databaseOf(t, dsn)+".* TO "+name)
	}
}

// run gives SQL to a database as its administrator would: on MySQL through the product's own client.
func (s server) run(t testing.TB, dsn, script string) {
	t.Helper()
	if !s.isMySQL() {
		s.exec(t, dsn, script)
		return
	}
	if output := testdb.RunMySQLClient(t, string(s), dsn, script); output != "" {
		t.Fatalf("the client says: %s", output)
	}
}

// parseURL parses a DSN without telling it.
func parseURL(t testing.TB, dsn string) *url.URL {
	t.Helper()
	parsed, err := url.Parse(dsn)
	if err != nil {
		t.Fatal("the test DSN is no URL")
	}
	return parsed
}

func databaseOf(t testing.TB, dsn string) string {
	t.Helper()
	return strings.TrimPrefix(parseURL(t, dsn).Path, "/")
}

// userName is the user of a DSN.
func userName(t testing.TB, dsn string) string {
	t.Helper()
	return parseURL(t, dsn).User.Username()
}

// withUser returns a DSN for another user.
func withUser(t testing.TB, dsn, name, password string) string {
	t.Helper()
	parsed := parseURL(t, dsn)
	parsed.User = url.UserPassword(name, password)
	return parsed.String()
}

// withDatabase returns a DSN for another database.
func withDatabase(t testing.TB, dsn, name string) string {
	t.Helper()
	parsed := parseURL(t, dsn)
	parsed.Path = "/" + name
	return parsed.String()
}

// clientForm returns a DSN in the form of MySQL's client.
func clientForm(t testing.TB, dsn string) string {
	t.Helper()
	parsed := parseURL(t, dsn)
	password, _ := parsed.User.Password()
	return parsed.User.Username() + ":" + password + "@tcp(" + parsed.Host + ")" + parsed.Path
}

// The contents of a database, as far as a demo could change them.
func (s server) contents(t testing.TB, dsn string) string {
	t.Helper()
	if s.isMySQL() {
		return s.query(t, dsn, `SELECT CONCAT_WS(' ',
			(SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = DATABASE()),
			(SELECT GROUP_CONCAT(routine_name) FROM information_schema.routines WHERE routine_schema = DATABASE()))`)
	}
	return s.query(t, dsn, `SELECT concat_ws(' ',
		(SELECT string_agg(nspname, ',' ORDER BY nspname) FROM pg_namespace),
		(SELECT count(*) FROM pg_class WHERE relname = 'appl_lock'))`)
}

// hasSchema reports whether a schema exists.
func (s server) hasSchema(t testing.TB, dsn, name string) bool {
	t.Helper()
	return s.query(t, dsn, "SELECT count(*) FROM information_schema.schemata WHERE schema_name = '"+name+"'") != "0"
}
