package postgres_test

import (
	"os"
	"testing"

	"github.com/applock/applock/internal/testing/readme"
)

// grantsOf returns the GRANT statements that procedures/README.md gives for a role: what a database
// administrator copies is what is tested.
func grantsOf(t *testing.T, role string) []string {
	t.Helper()
	text, err := os.ReadFile("../../../procedures/README.md")
	if err != nil {
		t.Fatal(err)
	}
	grants := readme.Statements(readme.Under(string(text), "On PostgreSQL"), "TO applock_"+role)
	if len(grants) == 0 && role != "nobody" {
		t.Fatalf("procedures/README.md has no grants for %s", role)
	}
	return grants
}
