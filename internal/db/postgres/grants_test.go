package postgres_test

import (
	"os"
	"testing"

	"github.com/applock/applock/internal/testing/readme"
)

// grantsOf returns the GRANT statements that docs/grants/postgres.sql has for a role: what a database
// administrator copies is what is tested.
func grantsOf(t *testing.T, role string) []string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/grants/postgres.sql")
	if err != nil {
		t.Fatal(err)
	}
	grants := readme.Statements("```sql\n"+string(text)+"```\n", "TO applock_"+role)
	if len(grants) == 0 && role != "nobody" {
		t.Fatalf("docs/grants/postgres.sql has no grants for %s", role)
	}
	return grants
}
