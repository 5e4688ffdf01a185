package testclient

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/migrations"
)

// InstalledPostgres returns the DSN of a new database in which applock is installed, in the default schema. It is a copy of one in which
// that was done, because copying takes a fraction of the time. The test may change everything in it.
func InstalledPostgres(t testing.TB) string {
	t.Helper()
	return testdb.PostgresCopy(t, "installed_"+MigrationsOf(t, "postgres"), func(dsn string) {
		client := Open(t, dsn, "", nil)
		install(t, client)
		_ = client.Close() // as is done again when the test ends
	})
}

// InstalledMySQL returns the DSN of a new database in which applock is installed. A test that changes no more than rows has LentMySQL.
func InstalledMySQL(t testing.TB, product string) string {
	t.Helper()
	dsn := testdb.MySQL(t, product)
	install(t, MySQL(t, testdb.OpenMySQL(t, dsn, nil)))
	return dsn
}

// InstalledSQLite returns the path of a new file in which applock is installed.
func InstalledSQLite(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "applock.db")
	client := Open(t, "sqlite:"+path, "", nil)
	install(t, client)
	if err := client.Close(); err != nil { // the last connection leaves everything in the file
		t.Fatal(err)
	}
	return path
}

// Installed returns the DSN of a new database of one of testdb.Products in which applock is installed.
func Installed(t testing.TB, product string) string {
	t.Helper()
	switch product {
	case "postgres":
		return InstalledPostgres(t)
	case "sqlite":
		return "sqlite:" + InstalledSQLite(t)
	}
	return InstalledMySQL(t, product)
}

// Lent is Installed for tests that change no more than rows. On MySQL, where installing takes long, earlier tests may have had the database.
func Lent(t testing.TB, product string) string {
	t.Helper()
	if slices.Contains(testdb.MySQLProducts(), product) {
		return LentMySQL(t, product)
	}
	return Installed(t, product)
}

func install(t testing.TB, client *applock.Client) {
	t.Helper()
	if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
}

// LentMySQL returns the DSN of a migrated database without rows, for this test alone until it ends. Earlier tests may have used the
// database, because installing takes longer than most tests. A test that changes the schema or rights needs a new database, and fails
// here.
func LentMySQL(t testing.TB, product string) string {
	t.Helper()
	dsn := testdb.LentMySQL(t, product, "migrated_"+MigrationsOf(t, "mysql"))
	handle := testdb.OpenMySQL(t, dsn, nil)
	install(t, MySQL(t, handle))
	name, before := shapeOfMySQL(t, handle)
	empty(t, handle, name)
	t.Cleanup(func() {
		if _, after := shapeOfMySQL(t, handle); after != before {
			t.Errorf("%s is no longer as it was lent, %s: %s; give the test a database of its own", name, before, after)
			drop(t, handle, name)
		}
	})
	return dsn
}

// empty makes new tables instead of deleting rows: deleted rows take part in locking until the server has removed them. If it fails, the
// database is not lent again.
func empty(t testing.TB, handle *sql.DB, name string) {
	t.Helper()
	for _, statement := range []string{
		"TRUNCATE appl_lock", "TRUNCATE appl_lock_waiter", "TRUNCATE appl_lock_ask", "TRUNCATE appl_lock_viewer",
		"TRUNCATE appl_lock_event",
		"TRUNCATE appl_lock_policy", "UPDATE appl_lock_fence SET fence = 0",
	} {
		if _, err := handle.ExecContext(t.Context(), statement); err != nil {
			drop(t, handle, name)
			t.Fatalf("a test that had this database before needs one of its own: %s: %v", statement, err)
		}
	}
}

// drop drops a used database, so that the next test gets a new one.
func drop(t testing.TB, handle *sql.DB, name string) {
	t.Helper()
	if _, err := handle.ExecContext(context.Background(), "DROP DATABASE "+name); err != nil {
		t.Error(err)
	}
}

// NewestStep is the number of the newest step, in every dialect.
func NewestStep(t testing.TB) int {
	t.Helper()
	files, err := fs.Glob(migrations.FS, "mysql/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// MigrationsOf returns a name that stands for the content of a dialect's migrations.
func MigrationsOf(t testing.TB, dialect string) string {
	t.Helper()
	files, err := fs.Glob(migrations.FS, dialect+"/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	for _, file := range files {
		text, err := fs.ReadFile(migrations.FS, file)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = sum.Write(text) // a hash does not fail
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// shapeOfMySQL returns the name of a database, and counts of what tests of locks leave unchanged: tables, columns, indexes, routines with
// their last change, triggers, and rights.
func shapeOfMySQL(t testing.TB, handle *sql.DB) (name, shape string) {
	t.Helper()
	row := handle.QueryRowContext(context.Background(), `SELECT DATABASE(), CONCAT_WS(' ',
		(SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()),
		(SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE()),
		(SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE()),
		(SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = DATABASE()),
		(SELECT MAX(last_altered) FROM information_schema.routines WHERE routine_schema = DATABASE()),
		(SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = DATABASE()),
		(SELECT COUNT(*) FROM mysql.db WHERE REPLACE(db, '\\', '') = DATABASE()),
		(SELECT COUNT(*) FROM mysql.tables_priv WHERE db = DATABASE()),
		(SELECT COUNT(*) FROM mysql.procs_priv WHERE db = DATABASE()))`)
	if err := row.Scan(&name, &shape); err != nil {
		t.Error(err)
	}
	return name, shape
}
