package readme

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testfile"
)

// Goal: a table of an application is joined with the locks by plain SQL. Method: the block of procedures/README.md for SQLite,
// statement by statement, on one of the customers being locked.
func TestJoinOnSQLite(t *testing.T) {
	t.Parallel()
	input, want := Session(Under(testfile.Read(t, filepath.Join(root, "procedures/README.md")), "On SQLite"))
	path := filepath.Join(t.TempDir(), "applock.db")
	client := testclient.Open(t, "sqlite:"+path, "", nil)
	if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	_, err := client.Get(t.Context(), applock.GetRequest{
		Object: applock.Object{Type: "customer", ID: "42"}, Owner: applock.Owner{Operator: "ASMITH"},
	})
	if err != nil {
		t.Fatal(err)
	}
	handle, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = handle.Close() }()
	handle.SetMaxOpenConns(1) // which the temporary table is of
	var got strings.Builder
	for statement := range strings.SplitSeq(strings.TrimSpace(input), ";") {
		got.WriteString(rowsOf(t, handle, statement))
	}
	if got.String() != want || want == "" {
		t.Errorf("SQLite answers\n%s\nprocedures/README.md says\n%s", got.String(), want)
	}
}

// rowsOf returns the rows of a statement as the shell prints them.
func rowsOf(t *testing.T, handle *sql.DB, statement string) string {
	t.Helper()
	rows, err := handle.QueryContext(t.Context(), statement)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	defer func() { _ = rows.Close() }() // Err reports what matters
	var got strings.Builder
	for rows.Next() {
		var id, name string
		var operator sql.NullString
		if err := rows.Scan(&id, &name, &operator); err != nil {
			t.Fatal(err)
		}
		got.WriteString(id + "|" + name + "|" + operator.String + "\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return got.String()
}
