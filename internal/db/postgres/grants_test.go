package postgres_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// grantsOf returns the GRANT statements that procedures/README.md gives for a role: what a database
// administrator copies is what is tested.
func grantsOf(t *testing.T, role string) []string {
	t.Helper()
	text, err := os.ReadFile("../../../procedures/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var grants []string
	for _, block := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		code := regexp.MustCompile(`(?m)^--.*\n`).ReplaceAllString(block[1], "")
		for _, statement := range strings.Split(code, ";\n") {
			statement = strings.TrimSpace(statement)
			if strings.HasPrefix(statement, "GRANT") && strings.HasSuffix(statement, "TO applock_"+role) {
				grants = append(grants, statement)
			}
		}
	}
	if len(grants) == 0 && role != "nobody" {
		t.Fatalf("procedures/README.md has no grants for %s", role)
	}
	return grants
}
