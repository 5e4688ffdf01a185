package applock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the database/sql driver "pgx"
	_ "modernc.org/sqlite"             // the database/sql driver "sqlite"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testdb"
)

// The tests in the files real_*_test.go take the three situations that the project started from, with as many documents,
// invoices and customers as somebody would have, and look whether the application's own data come out right.

// TestMain makes the test binary one of the processes of TestRealDocuments if the environment has a job for it.
func TestMain(m *testing.M) {
	if job := os.Getenv(documentsJobVariable); job != "" {
		os.Exit(documentsMain(job))
	}
	os.Exit(m.Run())
}

// The dialects that the tests run on.
const (
	onPostgres = "postgres"
	onSQLite   = "sqlite"
)

// realPlace is a database with locks, and with a handle for the application's own tables beside them.
type realPlace struct {
	dsn    string
	client *applock.Client
	handle *sql.DB
	// locks is the name of the table of the locks.
	locks string
}

// patientWriter is how long a statement of the application waits for other writers of an SQLite file: long enough that
// a slow machine does not matter.
const patientWriter = time.Minute

// newRealPlace returns a migrated and otherwise empty database, which is removed when the test ends.
func newRealPlace(t *testing.T, dialect string) realPlace {
	t.Helper()
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "real.db")
	if dialect == onPostgres {
		dsn = testdb.Postgres(t)
	}
	place, err := openRealPlace(t.Context(), dsn, patientWriter)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(place.close)
	if _, err := place.client.MigrateUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	return place
}

// openRealPlace opens a database. On SQLite a statement in its handle waits for other writers as long as busyTimeout.
func openRealPlace(ctx context.Context, dsn string, busyTimeout time.Duration) (realPlace, error) {
	client, err := applock.Open(ctx, applock.Config{DSN: dsn})
	if err != nil {
		return realPlace{}, err
	}
	driver, handleDSN, locks := "pgx", dsn, "applock.appl_lock"
	if path, found := strings.CutPrefix(dsn, "sqlite:"); found {
		// The write-ahead log is the file's, the other two are the connection's. NORMAL saves the wait for the disk.
		driver, locks = "sqlite", "appl_lock"
		handleDSN = fmt.Sprintf("file:%s?_pragma=busy_timeout(%d)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)",
			url.PathEscape(path), busyTimeout.Milliseconds())
	}
	handle, err := sql.Open(driver, handleDSN)
	if err != nil {
		return realPlace{}, errors.Join(err, client.Close())
	}
	handle.SetMaxIdleConns(32) // as many as a test uses: with the default of 2 it would connect over and over
	return realPlace{dsn: dsn, client: client, handle: handle, locks: locks}, nil
}

func (p realPlace) close() {
	_ = p.handle.Close() // nothing is open in it any more, and the database goes next
	_ = p.client.Close()
}

// exec executes statements of the application's own.
func (p realPlace) exec(t *testing.T, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := p.handle.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// count returns the one number that a query of the application's own answers.
func (p realPlace) count(t *testing.T, query string) int {
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

// realSize is how much a test does: full, unless -short is given.
func realSize(full, short int) int {
	if testing.Short() {
		return short
	}
	return full
}
