package fromthearticle_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os/exec"
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
	"github.com/applock/applock/internal/testing/hsqldb"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/testfile"
)

const (
	postgres = "postgres"
	// db2OnHSQLDB is the wrappers for Db2, executed on HSQLDB.
	db2OnHSQLDB = "hsqldb"
)

// products lists the products whose wrappers run here.
func products() []string { return append(testdb.MySQLProducts(), postgres, db2OnHSQLDB) }

// site is a database with applock in it.
type site struct {
	product string
	// dsn is the database's name on HSQLDB.
	dsn string
	// bridge is nil but for HSQLDB.
	bridge *hsqldb.Bridge
	// schema is where everything is: a schema of PostgreSQL, a database of the others.
	schema string
	// handle is the owner's.
	handle *sql.DB
	client *applock.Client
}

// sitesOf returns what makes databases of a product, with applock in them.
func sitesOf(t *testing.T, product string) func(t *testing.T) site {
	t.Helper()
	var bridge *hsqldb.Bridge
	if product == db2OnHSQLDB {
		bridge = startHSQLDB(t)
	}
	return func(t *testing.T) site {
		t.Helper()
		s := site{product: product, bridge: bridge}
		s.open(t)
		if _, err := migrate.Up(t.Context(), s.client, migrate.UpRequest{}); err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// open makes the database.
func (s *site) open(t *testing.T) {
	t.Helper()
	switch s.product {
	case postgres:
		s.dsn, s.schema = testdb.Postgres(t), "applock"
		s.handle, s.client = openPostgres(t, s.dsn, nil), testclient.Open(t, s.dsn, "", nil)
	case db2OnHSQLDB:
		s.schema = "applock"
		s.dsn, s.handle = newHSQLDB(t, s.bridge)
		s.client = testclient.DB2(t, s.handle)
	default:
		s.dsn = testdb.MySQL(t, s.product)
		s.handle, s.client = testdb.OpenMySQL(t, s.dsn, parseTime), testclient.Open(t, s.dsn, "", nil)
		s.schema = text(t, s.handle, "SELECT DATABASE()")
	}
}

func parseTime(config *mysql.Config) { config.ParseTime = true }

func openPostgres(t *testing.T, dsn string, change func(config *pgx.ConnConfig)) *sql.DB {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(config)
	}
	handle := stdlib.OpenDB(*config)
	t.Cleanup(func() { _ = handle.Close() })
	return handle
}

// install runs the file of the wrappers as docs/from-the-article.md says.
func (s site) install(t *testing.T) {
	t.Helper()
	var output string
	switch s.product {
	case postgres:
		s.psql(t, "-f", "postgres.sql")
	case db2OnHSQLDB:
		output = s.run(t, testfile.Read(t, "db2.sql"))
	default:
		output = s.run(t, testfile.Read(t, "mysql.sql"))
	}
	if output != "" {
		t.Errorf("the client of %s answers %q", s.product, output)
	}
}

// run runs SQL with the product's own client and returns the rows, with bars between the columns.
func (s site) run(t *testing.T, input string) string {
	t.Helper()
	switch s.product {
	case postgres:
		return s.psql(t, "-c", input)
	case db2OnHSQLDB:
		return s.runHSQLDB(t, input)
	}
	return strings.ReplaceAll(testdb.RunMySQLClient(t, s.product, s.dsn, input), "\t", "|")
}

func (s site) psql(t *testing.T, arguments ...string) string {
	t.Helper()
	fixed := []string{"--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "-v", "ON_ERROR_STOP=1", s.dsn}
	output, err := exec.CommandContext(t.Context(), testdb.Psql(t), append(fixed, arguments...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("psql: %v\n%s", err, output)
	}
	return string(output)
}

// querier is a connection, a transaction, or a pool.
type querier interface {
	contract.Querier
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// session returns a connection whose time zone is not UTC. (On HSQLDB that of the database is not.)
func (s site) session(t *testing.T, handle *sql.DB) *sql.Conn {
	t.Helper()
	conn, err := handle.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	switch s.product {
	case postgres:
		execute(t, conn, "SET TimeZone = 'Asia/Tokyo'")
	case db2OnHSQLDB:
	default:
		execute(t, conn, "SET time_zone = '+09:00'")
	}
	return conn
}

// call calls a wrapper as a program does, and returns its OUT values as they arrive. On MySQL and MariaDB both
// statements need the same session.
func (s site) call(ctx context.Context, session querier, verb string, in ...any) ([]any, error) {
	outs := len(article()[verb].out)
	name := s.schema + "." + verb + "_customer_lock"
	switch s.product {
	case postgres:
		return row(ctx, session, fmt.Sprintf("CALL %s(%s)", name, arguments(len(in), outs, "$%d", "NULL")), in...)
	case db2OnHSQLDB:
		return callHSQLDB(ctx, session, fmt.Sprintf("CALL %s(%s)", name, arguments(len(in), outs, "?", "?")), verb, in)
	}
	if _, err := session.ExecContext(ctx, fmt.Sprintf("CALL %s(%s)", name, arguments(len(in), outs, "?", "@o%d")), in...); err != nil {
		return nil, err
	}
	variables := arguments(0, outs, "", "@o%d")
	// A session variable has no type for a time.
	return row(ctx, session, "SELECT "+strings.Replace(variables, "@o4", "CAST(@o4 AS DATETIME(6))", 1))
}

// arguments lists what stands for the IN parameters and then for the OUT parameters; %d is their number.
func arguments(ins, outs int, in, out string) string {
	list := make([]string, 0, ins+outs)
	for i := range ins {
		list = append(list, strings.ReplaceAll(in, "%d", fmt.Sprint(i+1)))
	}
	for i := range outs {
		list = append(list, strings.ReplaceAll(out, "%d", fmt.Sprint(i+1)))
	}
	return strings.Join(list, ", ")
}

// row returns the one row of a query.
func row(ctx context.Context, session querier, query string, args ...any) ([]any, error) {
	found, err := rows(ctx, session, query, args...)
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%d rows", len(found))
	}
	return found[0], nil
}

// rows returns the rows of a query.
func rows(ctx context.Context, session querier, query string, args ...any) ([][]any, error) {
	_, found, err := contract.Rows(ctx, session, query, args...)
	return found, err
}

// text returns the one value of a query.
func text(t *testing.T, session querier, query string, args ...any) string {
	t.Helper()
	values, err := row(t.Context(), session, query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return fmt.Sprint(values[0])
}

func execute(t *testing.T, session querier, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := session.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// advance lets time pass, by moving all locks into the past.
func (s site) advance(t *testing.T, duration time.Duration) {
	t.Helper()
	execute(t, s.handle, strings.ReplaceAll(`UPDATE `+s.schema+`.appl_lock
		SET acquired_ts = acquired_ts EARLIER, lock_ts = lock_ts EARLIER, expires_ts = expires_ts EARLIER,
			released_ts = released_ts EARLIER`,
		"EARLIER", "- "+s.interval(duration)))
}

// interval writes a duration as the product does.
func (s site) interval(duration time.Duration) string {
	format := "INTERVAL %d SECOND"
	switch s.product {
	case postgres:
		format = "interval '%d seconds'"
	case db2OnHSQLDB:
		format = "(%d) SECOND"
	}
	return fmt.Sprintf(format, int64(duration.Seconds()))
}

// stateOf returns the SQLSTATE and the message of a server's error.
func stateOf(err error) (state, message string) {
	var ofPostgres *pgconn.PgError
	var ofMySQL *mysql.MySQLError
	var ofHSQLDB *hsqldb.Error
	switch {
	case errors.As(err, &ofPostgres):
		return ofPostgres.Code, ofPostgres.Message
	case errors.As(err, &ofMySQL):
		return string(ofMySQL.SQLState[:]), ofMySQL.Message
	case errors.As(err, &ofHSQLDB):
		return ofHSQLDB.State, ofHSQLDB.Message
	}
	return "", ""
}
