package testdb

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	mysqldriver "github.com/applock/applock/internal/db/mysql"
)

// onMySQLProducts runs a test for each product that has a server.
func onMySQLProducts(t *testing.T, test func(t *testing.T, product string)) {
	t.Helper()
	for _, product := range MySQLProducts() {
		t.Run(product, func(t *testing.T) {
			Require(t, product)
			test(t, product)
		})
	}
}

func openMySQL(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	config, err := mysqldriver.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func mysqlText(t *testing.T, db *sql.DB, query string, args ...any) string {
	t.Helper()
	var text string
	if err := db.QueryRowContext(t.Context(), query, args...).Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}

const countDatabases = "SELECT count(*) FROM information_schema.schemata WHERE schema_name = ?"

// A database that is lent has one borrower at a time, who cuts off what is left of the one before; the server of somebody else keeps none.
func TestMySQLLendsADatabaseToOne(t *testing.T) {
	onMySQLProducts(t, func(t *testing.T, product string) {
		t.Setenv(variable(product, "PID"), "1")
		kind := strings.ToLower(rand.Text()[:8])
		borrow := func() (string, func()) {
			var dsn string
			f := runFake(func(t testing.TB) { dsn = LentMySQL(t, product, kind) })
			if f.failed != "" {
				t.Fatal(f.failed)
			}
			return dsn, func() {
				for _, clean := range slices.Backward(f.cleanups) {
					f.run(func(testing.TB) { clean() })
				}
			}
		}
		first, endFirst := borrow()
		second, endSecond := borrow()
		left := openTransaction(t, openMySQL(t, first))
		endFirst()
		if err := left.Commit(); err == nil {
			t.Error("a transaction outlives the test that borrowed its database")
		}
		third, endThird := borrow()
		if first == second || first != third {
			t.Errorf("the second has that of the first: %t; the third has it after the end of the first: %t", first == second, first == third)
		}
		endSecond()
		endThird()
		for number := range 2 {
			drop := fmt.Sprintf("DROP DATABASE applock_lent_%s_%d", kind, number)
			if _, err := openMySQL(t, Require(t, product)).ExecContext(t.Context(), drop); err != nil {
				t.Error(err)
			}
		}
		t.Setenv(variable(product, "PID"), "")
		if dsn := LentMySQL(t, product, kind); strings.Contains(dsn, "lent") {
			t.Error("a database is lent on a server that nobody here has started")
		}
	})
}

// A database is created, is empty, and is dropped at the end although a transaction still has one of its tables.
func TestMySQLCreatesAndDropsADatabase(t *testing.T) {
	onMySQLProducts(t, func(t *testing.T, product string) {
		var dsn string
		f := runFake(func(t testing.TB) { dsn = MySQL(t, product) })
		if f.failed != "" || len(f.cleanups) != 1 {
			t.Fatalf("failed %q, %d cleanups", f.failed, len(f.cleanups))
		}
		db := openMySQL(t, dsn)
		name := mysqlText(t, db, "SELECT database()")
		if !regexp.MustCompile(`^applock_test_[0-9a-f]{16}$`).MatchString(name) || !strings.HasSuffix(dsn, "/"+name) {
			t.Errorf("name = %q", name)
		}
		if n := mysqlText(t, db, "SELECT count(*) FROM information_schema.tables WHERE table_schema = ?", name); n != "0" {
			t.Errorf("the new database has %s tables", n)
		}
		openTransaction(t, db)
		// It would wait for that transaction, and fail when its own time is over.
		f.run(func(testing.TB) { f.cleanups[0]() })
		if f.failed != "" {
			t.Error(f.failed)
		}
		if n := mysqlText(t, openMySQL(t, Require(t, product)), countDatabases, name); n != "0" {
			t.Error("the database is still there")
		}
	})
}

// openTransaction reads a table in a transaction and leaves that open.
func openTransaction(t *testing.T, db *sql.DB) *sql.Tx {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE held (id INT PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	// Not the test's context: that would end the transaction for us.
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	var n int
	if err := tx.QueryRowContext(t.Context(), "SELECT count(*) FROM held").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return tx
}

// A transaction that is connected to another database cannot be found: the drop waits until it ends.
func TestMySQLDropsADatabaseWhenOthersAreDone(t *testing.T) {
	onMySQLProducts(t, func(t *testing.T, product string) {
		var dsn string
		f := runFake(func(t testing.TB) { dsn = MySQL(t, product) })
		mine := openMySQL(t, dsn)
		name := mysqlText(t, mine, "SELECT database()")
		if _, err := mine.ExecContext(t.Context(), "CREATE TABLE held (id INT PRIMARY KEY)"); err != nil {
			t.Fatal(err)
		}
		tx, err := openMySQL(t, Require(t, product)).BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var n int
		if err := tx.QueryRowContext(t.Context(), "SELECT count(*) FROM "+name+".held").Scan(&n); err != nil {
			t.Fatal(err)
		}
		// Longer than one attempt of the drop.
		time.AfterFunc(1500*time.Millisecond, func() { _ = tx.Rollback() })
		f.run(func(testing.TB) { f.cleanups[0]() })
		if f.failed != "" {
			t.Error(f.failed)
		}
	})
}

func TestMySQLGivesEachCallerADatabase(t *testing.T) {
	onMySQLProducts(t, func(t *testing.T, product string) {
		if one, other := MySQL(t, product), MySQL(t, product); one == other {
			t.Error("both got the same database")
		}
	})
}

// A misspelt product would look like a missing server, and be skipped.
func TestAnUnknownProductFails(t *testing.T) {
	for name, call := range map[string]func(testing.TB){
		"MySQL":       func(t testing.TB) { MySQL(t, "maria") },
		"MySQLClient": func(t testing.TB) { MySQLClient(t, "maria") },
	} {
		t.Run(name, func(t *testing.T) {
			f := runFake(call)
			if want := `unknown product "maria", use one of mariadb, mysql`; f.failed != want {
				t.Errorf("failed %q, want %q", f.failed, want)
			}
		})
	}
}

func TestABadMySQLDSNIsNotPrinted(t *testing.T) {
	for name, dsn := range map[string]string{
		"NotADSN":       "mysql://alice:s3cret@host:port:port/x",
		"NobodyListens": "mysql://alice:s3cret@127.0.0.1:1/x",
		"OwnForm":       "alice:s3cret@tcp(127.0.0.1:1)/x",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("APPLOCK_TEST_MARIADB_DSN", dsn)
			f := runFake(func(t testing.TB) { MySQL(t, "mariadb") })
			if !strings.Contains(f.failed, "APPLOCK_TEST_MARIADB_DSN") || strings.Contains(f.failed, "s3cret") {
				t.Errorf("failed %q", f.failed)
			}
		})
	}
}

func TestMySQLClient(t *testing.T) {
	given := program(t, "own-client", "Distrib 10.11.19-MariaDB")
	inPath := program(t, "mariadb", "Distrib 10.11.19-MariaDB")
	foreign := program(t, "mariadb", "Ver 9.7.4")
	for name, test := range map[string]struct {
		variable, path, require string
		want                    string
		wantSkip, wantFail      string
	}{
		"Given":        {variable: given, path: filepath.Dir(inPath), want: given},
		"InPath":       {path: filepath.Dir(inPath), want: inPath},
		"Foreign":      {path: filepath.Dir(foreign), wantSkip: "is of another product: set APPLOCK_TEST_MARIADB_CLIENT"},
		"None":         {path: t.TempDir(), wantSkip: "no mariadb in PATH"},
		"NoneRequired": {path: t.TempDir(), require: "mariadb", wantFail: "no mariadb in PATH"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("APPLOCK_TEST_MARIADB_CLIENT", test.variable)
			checkClient(t, clientCase{test.path, test.require, test.want, test.wantSkip, test.wantFail},
				func(t testing.TB) string { return MySQLClient(t, "mariadb") })
		})
	}
}

// The servers that internal/testing/testserver starts have clients that run.
func TestMySQLClientsRun(t *testing.T) {
	onMySQLProducts(t, func(t *testing.T, product string) {
		if MySQLClient(t, product) == "" {
			t.Error("no path")
		}
	})
}

// Goal: a dump takes no lock on the whole server. Method: FLUSH TABLES, with or without READ LOCK, needs a privilege that
// this account has not.
func TestMySQLDumpLocksNothing(t *testing.T) {
	onMySQLProducts(t, func(t *testing.T, product string) {
		dsn := MySQL(t, product)
		account, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		db, database := openMySQL(t, dsn), strings.TrimPrefix(account.Path, "/")
		name, password := database[max(0, len(database)-20):]+"_dump", rand.Text()
		account.User = url.UserPassword(name, password)
		for _, statement := range []string{
			"CREATE TABLE t (a INTEGER)",
			fmt.Sprintf("CREATE USER '%s'@'%%' IDENTIFIED BY '%s'", name, password),
			fmt.Sprintf("GRANT PROCESS ON *.* TO '%s'@'%%'", name),
			fmt.Sprintf("GRANT SELECT ON %s.* TO '%s'@'%%'", database, name),
		} {
			if _, err := db.Exec(statement); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() { _, _ = db.Exec(fmt.Sprintf("DROP USER '%s'@'%%'", name)) })
		if dump := DumpMySQL(t, product, account.String()); !strings.Contains(dump, "CREATE TABLE `t`") {
			t.Errorf("the table is not in the dump:\n%s", dump)
		}
	})
}
