// Package oracle_test runs the text of docs/oracle on an Oracle that APPLOCK_TEST_ORACLE_DSN names: make test-oracle.
package oracle_test

import (
	"context"
	"database/sql"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	_ "github.com/sijms/go-ora/v2"
)

const variable = "APPLOCK_TEST_ORACLE_DSN"

var created = regexp.MustCompile(`(?m)^CREATE (?:OR REPLACE )?(TABLE|FUNCTION|PROCEDURE) (\w+)`)

// install runs the text in the schema of the user, who has nothing of these names there, and removes it when the test ends.
func install(t *testing.T) *sql.DB {
	t.Helper()
	dsn := os.Getenv(variable)
	if dsn == "" {
		t.Fatalf("%s is not set, as in oracle://USER:PASSWORD@HOST:1521/SERVICE", variable)
	}
	handle, err := sql.Open("oracle", dsn)
	if err != nil {
		t.Fatal("the test DSN is not one of go-ora")
	}
	t.Cleanup(func() { _ = handle.Close() })
	var drops []string
	t.Cleanup(func() {
		slices.Reverse(drops)
		for _, drop := range drops {
			if _, err := handle.ExecContext(context.Background(), drop); err != nil {
				t.Errorf("%s: %v", drop, err)
			}
		}
	})
	text, err := os.ReadFile("../../docs/oracle/serialize_appl_lock.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range strings.Split(string(text), "\n/\n") {
		what := created.FindStringSubmatch(statement)
		if what == nil {
			continue
		}
		if _, err := handle.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s %s: %v", what[1], what[2], err)
		}
		drops = append(drops, "DROP "+what[1]+" "+what[2])
	}
	// Oracle keeps a procedure that does not compile, and says so only here.
	var wrong sql.NullString
	if err := handle.QueryRowContext(t.Context(),
		"SELECT LISTAGG(name || ' line ' || line || ': ' || text, '; ') WITHIN GROUP (ORDER BY name, sequence) FROM user_errors WHERE name LIKE '%APPL\\_LOCK%' ESCAPE '\\'",
	).Scan(&wrong); err != nil || wrong.String != "" {
		t.Fatalf("not compiled: %s, %v", wrong.String, err)
	}
	return handle
}

const serialize = "BEGIN serialize_appl_lock(:1, :2); END;"

// Goal: a bad argument is refused. Method: a type with a colon.
func TestBadArgument(t *testing.T) {
	handle := install(t)
	if _, err := handle.ExecContext(t.Context(), serialize, "custo:mer", "42"); err == nil || !strings.Contains(err.Error(), "ORA-20001") {
		t.Errorf("a bad argument: %v", err)
	}
}

// Goal: serialize lets one transaction at a time in, and leaves nothing. Method: eight workers add to a number in two steps, in transactions; which
// would lose some of it otherwise.
func TestSerialize(t *testing.T) {
	handle := install(t)
	ctx := t.Context()
	if _, err := handle.ExecContext(ctx, "CREATE TABLE appl_lock_test_counter (n NUMBER NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = handle.ExecContext(context.Background(), "DROP TABLE appl_lock_test_counter") })
	if _, err := handle.ExecContext(ctx, "INSERT INTO appl_lock_test_counter VALUES (0)"); err != nil {
		t.Fatal(err)
	}
	add := func() error {
		tx, err := handle.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		if _, err := tx.ExecContext(ctx, serialize, "counter", "1"); err != nil {
			return err
		}
		var n int
		if err := tx.QueryRowContext(ctx, "SELECT n FROM appl_lock_test_counter").Scan(&n); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE appl_lock_test_counter SET n = :1", n+1); err != nil {
			return err
		}
		return tx.Commit()
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				if err := add(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	var n, rows int
	err := handle.QueryRowContext(ctx, "SELECT n, (SELECT COUNT(*) FROM appl_lock_serialize) FROM appl_lock_test_counter").Scan(&n, &rows)
	if err != nil || n != 400 || rows != 0 {
		t.Errorf("counted %d of 400, %d rows are left, %v", n, rows, err)
	}
}
