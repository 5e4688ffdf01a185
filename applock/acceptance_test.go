package applock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the database/sql driver "pgx"
	_ "modernc.org/sqlite"             // the database/sql driver "sqlite"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease/locktest"
	"github.com/applock/applock/applock/open"
	"github.com/applock/applock/applock/postgres"
	"github.com/applock/applock/internal/db"
	mysqldriver "github.com/applock/applock/internal/db/mysql"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/worker"
)

// The tests in the files acceptance_*_test.go take two of the situations that the project started from, with as many documents and
// invoices as somebody would have, and look whether the application's own data come out right. docs/from-the-article has the third.

// TestMain makes the test binary one of the processes of a test if the environment has a job for it.
func TestMain(m *testing.M) {
	worker.Main(map[string]func(ctx context.Context, orders []byte) error{
		documentsJob: documentsWork, millionJob: millionWork, fencingJob: fencingWork,
	})
	locktest.Main(m, openLocker)
}

// The products that the tests run on.
const (
	onPostgres = "postgres"
	onSQLite   = "sqlite"
	onMariaDB  = "mariadb"
	onMySQL    = "mysql"
)

// realPlace is a database with locks, and with a handle for the application's own tables beside them.
type realPlace struct {
	dsn    string
	client *applock.Client
	handle *sql.DB
	realDialect
}

// realDialect is what the tests write in another way in each dialect.
type realDialect struct {
	// locks is the name of the table of the locks.
	locks string
	// placeholder, if set, is what stands for each of $1, $2 and so on, which must come in this order.
	placeholder string
}

var (
	dialectPostgres = realDialect{locks: "applock.appl_lock"}
	dialectSQLite   = realDialect{locks: "appl_lock"}
	dialectMySQL    = realDialect{locks: "appl_lock", placeholder: "?"}
)

var placeholders = regexp.MustCompile(`\$\d`)

// bound returns a statement of the application's own with the placeholders of the dialect.
func (d realDialect) bound(statement string) string {
	if d.placeholder == "" {
		return statement
	}
	return placeholders.ReplaceAllString(statement, d.placeholder)
}

// patientWriter is how long a statement of the application waits for other writers of an SQLite file: long enough that
// a slow machine does not matter.
const patientWriter = time.Minute

// newRealPlace returns a new database in which applock is installed, which is removed when the test ends.
func newRealPlace(t testing.TB, product string) realPlace {
	t.Helper()
	place, err := openRealPlace(t.Context(), testclient.Installed(t, product), patientWriter)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(place.close)
	return place
}

// openRealPlace opens a database. On SQLite a statement in its handle waits for other writers as long as busyTimeout.
func openRealPlace(ctx context.Context, dsn string, busyTimeout time.Duration) (realPlace, error) {
	client, err := open.ByDSN(ctx, dsn, open.Config{})
	if err != nil {
		return realPlace{}, err
	}
	handle, dialect, err := openHandle(dsn, busyTimeout)
	if err != nil {
		return realPlace{}, errors.Join(err, client.Close())
	}
	return realPlace{dsn: dsn, client: client, handle: handle, realDialect: dialect}, nil
}

// openHandle opens the handle of an application, with the settings that one has.
func openHandle(dsn string, busyTimeout time.Duration) (*sql.DB, realDialect, error) {
	if strings.HasPrefix(dsn, "mysql:") {
		pool, err := openMySQL(dsn, func(config *mysql.Config) { config.ParseTime, config.InterpolateParams = true, true })
		return pool, dialectMySQL, err
	}
	driver, dialect := "pgx", dialectPostgres
	if path, found := strings.CutPrefix(dsn, "sqlite:"); found {
		// The write-ahead log is the file's, the other two are the connection's. NORMAL saves the wait for the disk.
		driver, dialect = "sqlite", dialectSQLite
		dsn = fmt.Sprintf("file:%s?_pragma=busy_timeout(%d)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)",
			url.PathEscape(path), busyTimeout.Milliseconds())
	}
	handle, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, realDialect{}, err
	}
	handle.SetMaxIdleConns(maxIdle)
	return handle, dialect, nil
}

// maxIdle is as many connections as a test uses: with the default of 2 it would connect over and over.
const maxIdle = 32

// openMySQL opens a pool for MariaDB or MySQL, with the default settings and what change makes of them.
func openMySQL(dsn string, change func(config *mysql.Config)) (*sql.DB, error) {
	config, err := mysqldriver.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	change(config)
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(connector)
	pool.SetMaxIdleConns(maxIdle)
	return pool, nil
}

func (p realPlace) close() {
	_ = p.handle.Close() // nothing is open in it any more, and the database goes next
	_ = p.client.Close()
}

// exec executes statements of the application's own.
func (p realPlace) exec(t testing.TB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := p.handle.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// count returns the one number that a query of the application's own answers.
func (p realPlace) count(t testing.TB, query string) int {
	t.Helper()
	var n int
	if err := p.handle.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// tryAgain reports whether err says that the call changed nothing because others were in its way.
func tryAgain(err error) bool {
	kind := db.KindOf(err)
	return kind == db.KindBusy || kind == db.KindContention
}

// sqlState returns the SQLSTATE of a server's answer, empty for another error.
func sqlState(err error) string {
	var postgres *pgconn.PgError
	if errors.As(err, &postgres) {
		return postgres.Code
	}
	var answer *mysql.MySQLError
	if errors.As(err, &answer) {
		if answer.Number == 1020 { // MariaDB's serialization failure has no state of its own
			return "40001"
		}
		return string(answer.SQLState[:])
	}
	return ""
}

// appTx is a transaction of one of the libraries.
type appTx struct {
	locks    *applock.Client // in this transaction
	exec     func(ctx context.Context, statement string, args ...any) (int64, error)
	number   func(ctx context.Context, query string) (int, error)
	commit   func(ctx context.Context) error
	rollback func(ctx context.Context) error
}

// beginApp begins one.
type beginApp func(ctx context.Context) (appTx, error)

func (p realPlace) throughSQL(level sql.IsolationLevel) beginApp {
	return func(ctx context.Context) (appTx, error) {
		tx, err := p.handle.BeginTx(ctx, &sql.TxOptions{Isolation: level})
		if err != nil {
			return appTx{}, err
		}
		return appTx{
			locks: p.client.WithSQLTx(tx),
			exec: func(ctx context.Context, statement string, args ...any) (int64, error) {
				result, err := tx.ExecContext(ctx, p.bound(statement), args...)
				if err != nil {
					return 0, err
				}
				return result.RowsAffected()
			},
			number: func(ctx context.Context, query string) (n int, err error) {
				err = tx.QueryRowContext(ctx, query).Scan(&n)
				return n, err
			},
			commit:   func(context.Context) error { return tx.Commit() },
			rollback: func(context.Context) error { return tx.Rollback() },
		}, nil
	}
}

// throughPgx needs a pool of pgx, which it returns the end of.
func (p realPlace) throughPgx(ctx context.Context, conns int, level pgx.TxIsoLevel) (begin beginApp, closePool func(), err error) {
	config, err := pgxpool.ParseConfig(p.dsn)
	if err != nil {
		return nil, nil, errors.New("the DSN cannot be parsed")
	}
	config.MaxConns = int32(conns)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context) (appTx, error) {
		tx, err := pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: level})
		if err != nil {
			return appTx{}, err
		}
		return appTx{
			locks: postgres.WithTx(p.client, tx),
			exec: func(ctx context.Context, statement string, args ...any) (int64, error) {
				tag, err := tx.Exec(ctx, statement, args...)
				return tag.RowsAffected(), err
			},
			number: func(ctx context.Context, query string) (n int, err error) {
				err = tx.QueryRow(ctx, query).Scan(&n)
				return n, err
			},
			commit: tx.Commit, rollback: tx.Rollback,
		}, nil
	}, pool.Close, nil
}
