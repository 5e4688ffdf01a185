package postgres_test

import (
	"testing"

	"github.com/applock/applock/internal/testing/readme"
	"github.com/applock/applock/internal/testing/testfile"
)

// grantsOf returns the GRANT statements that docs/grants/postgres.sql has for a role: what a database
// administrator copies is what is tested.
func grantsOf(t *testing.T, role string) []string {
	t.Helper()
	grants := readme.Statements("```sql\n"+testfile.Read(t, "../../../docs/grants/postgres.sql")+"```\n", "TO applock_"+role)
	if len(grants) == 0 && role != "nobody" {
		t.Fatalf("docs/grants/postgres.sql has no grants for %s", role)
	}
	return grants
}
