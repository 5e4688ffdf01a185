package testclient

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"io/fs"
	"testing"

	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/migrations"
)

// LentMySQL returns the DSN of a migrated database without rows, for this test alone until it ends. Earlier tests may have used the
// database, because installing takes longer than most tests. A test that changes the schema or rights needs a new database, and fails
// here.
func LentMySQL(t testing.TB, product string) string {
	t.Helper()
	dsn := testdb.LentMySQL(t, product, "migrated_"+migrationsOfMySQL(t))
	handle := testdb.OpenMySQL(t, dsn, nil)
	if _, err := migrate.Up(t.Context(), MySQL(t, handle), migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
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

// migrationsOfMySQL returns a name that stands for the content of the migrations.
func migrationsOfMySQL(t testing.TB) string {
	t.Helper()
	files, err := fs.Glob(migrations.FS, "mysql/*.sql")
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
