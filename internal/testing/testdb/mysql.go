package testdb

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	mysqldriver "github.com/applock/applock/internal/db/mysql"
	"github.com/applock/applock/internal/testing/private/mysqldsn"
)

// Numbers of errors that both products have.
const (
	errorNoSuchThread    = 1094
	errorLockWaitTimeout = 1205
	errorCannotConvert   = 3854
)

// maxIdle is the number of connections that a test uses at once. With the client's default of 2, most uses would reconnect.
const maxIdle = 20

// MySQLProducts lists the products that speak MySQL's protocol and dialect. Each has a server of its own.
func MySQLProducts() []string { return []string{"mariadb", "mysql"} }

// MySQL returns the DSN, mysql://user:password@host:port/database, of a new, empty database on the server of a product, which
// APPLOCK_TEST_MARIADB_DSN or APPLOCK_TEST_MYSQL_DSN names. The database has the server's character set and collation. It is dropped when
// the test ends, even if clients are still connected. Without that variable the test is skipped, or fails if APPLOCK_TEST_REQUIRE lists
// the product. The DSN holds a password: do not print it.
func MySQL(t testing.TB, product string) string {
	t.Helper()
	checkProduct(t, product)
	return mysqlServer(t, product).newDatabase(t)
}

// LentMySQL is MySQL for tests that need the same content in their database. The database may have content from an earlier test. Until
// this test ends, no other test has it, in this process or another. kind names the content; tests of one kind share their databases. Only
// a private server keeps databases; any other server makes a new one for each test.
func LentMySQL(t testing.TB, product, kind string) string {
	t.Helper()
	checkProduct(t, product)
	s := mysqlServer(t, product)
	if os.Getenv(variable(product, "PID")) == "" {
		return s.newDatabase(t)
	}
	return s.database(t, s.borrow(t, kind))
}

// borrow takes the first free database of a kind, and makes one if there is none. The server frees it when this process dies, but only
// some time after the connection's end, so the test frees it by a statement.
func (s server) borrow(t testing.TB, kind string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), serverLimit)
	defer cancel()
	conn, giveBack := s.connect(ctx, t)
	t.Cleanup(giveBack)
	for number := 0; ; number++ {
		name := "applock_lent_" + kind + "_" + strconv.Itoa(number)
		var taken bool
		if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, 0)", name).Scan(&taken); err != nil {
			t.Fatalf("the server of %s: %v", s.variable, err)
		}
		if !taken {
			continue
		}
		if _, err := conn.ExecContext(ctx, "CREATE DATABASE IF NOT EXISTS "+name); err != nil {
			t.Fatalf("the server of %s: %v", s.variable, err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), serverLimit)
			defer cancel()
			if err := killConnections(ctx, conn, name); err != nil {
				t.Errorf("the server of %s: %v", s.variable, err)
			}
			if _, err := conn.ExecContext(ctx, "DO RELEASE_LOCK(?)", name); err != nil {
				t.Errorf("the server of %s: %v", s.variable, err)
			}
		})
		return name
	}
}

// newDatabase creates a database, to be dropped when the test ends, and returns its DSN.
func (s server) newDatabase(t testing.TB, options ...string) string {
	t.Helper()
	name := randomName()
	s.do(t, func(ctx context.Context, conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, "CREATE DATABASE "+name+" "+strings.Join(options, " "))
		return err
	})
	t.Cleanup(func() {
		s.do(t, func(ctx context.Context, conn *sql.Conn) error { return dropDatabase(ctx, conn, name) })
	})
	return s.database(t, name)
}

// database returns the DSN of a database on the server.
func (s server) database(t testing.TB, name string) string {
	t.Helper()
	config := s.config.Clone()
	config.DBName = name
	dsn, err := mysqldsn.Format(config)
	if err != nil {
		t.Fatalf("%s: %v", s.variable, err)
	}
	return dsn
}

// OpenMySQL returns a pool on a DSN with the client's default settings, which change may modify; nil modifies nothing. The pool keeps its
// connections, and is closed when the test ends.
func OpenMySQL(t testing.TB, dsn string, change func(config *mysql.Config)) *sql.DB {
	t.Helper()
	config, err := mysqldriver.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(config)
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	handle := sql.OpenDB(connector)
	handle.SetMaxIdleConns(maxIdle)
	t.Cleanup(func() { _ = handle.Close() })
	return handle
}

// MySQLClient returns the path of a product's command line client: the one that APPLOCK_TEST_MARIADB_CLIENT or APPLOCK_TEST_MYSQL_CLIENT
// names, or the first mariadb or mysql in PATH. Without one the test is skipped, or fails if APPLOCK_TEST_REQUIRE lists the product. The
// other product's client, which often has the same name, does not count.
func MySQLClient(t testing.TB, product string) string {
	t.Helper()
	checkProduct(t, product)
	path := client(t, product, "CLIENT", product)
	ctx, cancel := context.WithTimeout(context.Background(), serverLimit)
	defer cancel()
	version, err := exec.CommandContext(ctx, path, "--version").CombinedOutput() //nolint:gosec // the developer named the path
	if err != nil {
		t.Fatalf("%s --version: %v: %s", path, err, version)
	}
	if strings.Contains(string(version), "MariaDB") != (product == "mariadb") {
		missing(t, product, path+" is of another product: set "+variable(product, "CLIENT"))
	}
	return path
}

// RunMySQLClient runs SQL with a product's command line client in the database of a DSN and returns its output: the rows without the
// names of the columns. It fails the test if the client fails.
func RunMySQLClient(t testing.TB, product, dsn, input string) string {
	t.Helper()
	output, complaints, err := TryMySQLClient(t, product, dsn, input)
	if err != nil {
		t.Fatalf("the client of %s: %v\n%s%s", product, err, output, complaints)
	}
	return output
}

// TryMySQLClient is RunMySQLClient for SQL that may fail. complaints is the client's error output, also warnings, for example about the
// password in the environment.
func TryMySQLClient(t testing.TB, product, dsn, input string) (output, complaints string, err error) {
	t.Helper()
	command := mysqlCommand(t, MySQLClient(t, product), dsn, "--batch", "--skip-column-names")
	command.Stdin = strings.NewReader(input)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	stdout, err := command.Output()
	return string(stdout), stderr.String(), err
}

// DumpMySQL dumps the database of a DSN with the product's own program and returns the dump. No other session waits for it, because it
// leaves out GTIDs. With them mysqldump locks all tables of the server for reading, also in a single transaction. That lock waits for a
// session that waits for a row, and the row's holder waits for that lock, until innodb_lock_wait_timeout.
func DumpMySQL(t testing.TB, product, dsn string) string {
	t.Helper()
	options := []string{"--single-transaction"}
	if product == "mysql" {
		options = append(options, "--set-gtid-purged=OFF")
	}
	command := mysqlCommand(t, MySQLDump(t, product), dsn, options...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	dump, err := command.Output()
	if err != nil {
		t.Fatalf("dump a database of %s: %v\n%s", product, err, &stderr)
	}
	return string(dump)
}

// mysqlCommand is the command of a program for the database of a DSN.
func mysqlCommand(t testing.TB, path, dsn string, options ...string) *exec.Cmd {
	t.Helper()
	config, err := mysqldriver.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(config.Addr)
	if err != nil {
		t.Fatal(err)
	}
	options = append(options, "--protocol=tcp", "--host="+host, "--port="+port, "--user="+config.User, config.DBName)
	command := exec.CommandContext(t.Context(), path, options...) //nolint:gosec // the developer named the path
	command.Env = append(os.Environ(), "MYSQL_PWD="+config.Passwd)
	return command
}

// checkProduct fails for a misspelt product, whose server would otherwise just be missing.
func checkProduct(t testing.TB, product string) {
	t.Helper()
	if !slices.Contains(MySQLProducts(), product) {
		t.Fatalf("unknown product %q, use one of %s", product, strings.Join(MySQLProducts(), ", "))
	}
}

// server is the server on which tests get their databases.
type server struct {
	variable string // the name of the variable with its DSN
	config   *mysql.Config
}

func mysqlServer(t testing.TB, product string) server {
	t.Helper()
	return serverOf(t, variable(product, "DSN"), Require(t, product))
}

// serverOf is the server of a DSN. name is the variable that holds the DSN.
func serverOf(t testing.TB, name, dsn string) server {
	t.Helper()
	config, err := mysqldriver.ParseDSN(dsn)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return server{variable: name, config: config}
}

// do calls f with a connection of its own. It does not use the test's context, which has ended when the test cleans up.
func (s server) do(t testing.TB, f func(context.Context, *sql.Conn) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), serverLimit)
	defer cancel()
	conn, closeAll := s.connect(ctx, t)
	defer closeAll()
	if err := f(ctx, conn); err != nil {
		t.Fatalf("the server of %s: %v", s.variable, err)
	}
}

// connect returns a connection, and a function that closes it.
func (s server) connect(ctx context.Context, t testing.TB) (*sql.Conn, func()) {
	t.Helper()
	connector, err := mysql.NewConnector(s.config)
	if err != nil {
		t.Fatalf("%s: %v", s.variable, err)
	}
	db := sql.OpenDB(connector)
	conn, err := db.Conn(ctx)
	if err != nil {
		_ = db.Close()
		t.Fatalf("connect to the server of %s: %v", s.variable, err)
	}
	// All statements have been answered, or the test has failed. An error of closing adds nothing.
	return conn, func() { _ = errors.Join(conn.Close(), db.Close()) }
}

// dropDatabase drops a database that may still have users. A transaction that has read a table would block the drop for ever, so the
// connections are killed first. If more arrive meanwhile, the drop times out and is retried.
func dropDatabase(ctx context.Context, conn *sql.Conn, name string) error {
	if _, err := conn.ExecContext(ctx, "SET SESSION lock_wait_timeout = 1"); err != nil {
		return err
	}
	for {
		if err := killConnections(ctx, conn, name); err != nil {
			return err
		}
		_, err := conn.ExecContext(ctx, "DROP DATABASE IF EXISTS "+name)
		if !isError(err, errorLockWaitTimeout) {
			return err
		}
	}
}

// killConnections ends all connections that use a database.
func killConnections(ctx context.Context, conn *sql.Conn, database string) error {
	ids, err := connections(ctx, conn, database)
	for isError(err, errorCannotConvert) { // MySQL shows no session while one of them runs a statement with, say, an emoji
		ids, err = connections(ctx, conn, database)
	}
	if err != nil {
		return err
	}
	for _, id := range ids {
		// The connection may have ended by itself.
		if _, err := conn.ExecContext(ctx, "KILL "+strconv.FormatInt(id, 10)); err != nil && !isError(err, errorNoSuchThread) {
			return err
		}
	}
	return nil
}

func connections(ctx context.Context, conn *sql.Conn, database string) ([]int64, error) {
	rows, err := conn.QueryContext(ctx, "SELECT id FROM information_schema.processlist WHERE db = ?", database)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// isError reports whether err is a server's answer with this number.
func isError(err error, number uint16) bool {
	var answer *mysql.MySQLError
	return errors.As(err, &answer) && answer.Number == number
}
