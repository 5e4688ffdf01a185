package dba_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/testing/testclient"
)

// Goal: the index on operators that a DBA may add is used by a list of one operator's locks, and no fault to verify. Method: the
// statement of the page, on SQLite.
func TestIndexOnOperators(t *testing.T) {
	t.Parallel()
	_, chapter, _ := strings.Cut(page(t), "\n## Find an operator's locks in a large table\n")
	block := regexp.MustCompile("(?s)```sql\n(.*?)```").FindStringSubmatch(chapter)
	if block == nil {
		t.Fatal("the page has no statement")
	}
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "shop.db")
	client := testclient.Open(t, dsn, "", nil)
	if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	_, err := client.Get(t.Context(), applock.GetRequest{
		Object: applock.Object{Type: "customer", ID: "42"}, Owner: applock.Owner{Operator: "JDOE"},
	})
	if err != nil {
		t.Fatal(err)
	}
	handle, err := clients.Driver(client).Handle()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = handle.Close() }()
	if _, err := handle.DB.ExecContext(t.Context(), block[1]); err != nil {
		t.Fatal(err)
	}
	var plan string
	row := handle.DB.QueryRowContext(t.Context(), "EXPLAIN QUERY PLAN SELECT object_id FROM appl_lock_live WHERE operator_id = 'JDOE'")
	if err := row.Scan(new(int), new(int), new(int), &plan); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(plan, "appl_lock_operator_ix") {
		t.Errorf("the plan is %s", plan)
	}
	output, err := exec.CommandContext(t.Context(), filepath.Join(build(t), "applockctl"), "verify", "--dsn", dsn).CombinedOutput()
	if err != nil {
		t.Errorf("verify: %v\n%s", err, output)
	}
}
