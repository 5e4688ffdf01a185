package postgres_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Goal: the schema is put into each generated query exactly once for each name. Method: each query has one line that begins with FROM,
// which names the routine, unless such a line joins it; or it reads from views only, each of which has a FROM before it.
func TestQueriesReadFromOneRoutine(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../queries/postgres/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("no queries: %v", err)
	}
	named := regexp.MustCompile(`\bappl_lock_(?:live|waiting|history|policies|stats|version)\b`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		stem := strings.TrimSuffix(filepath.Base(file), ".sql")
		for query := range strings.SplitSeq(string(text), ";\n") {
			place := "\nFROM "
			if strings.Contains(query, "\nCROSS JOIN LATERAL ") {
				place = "\nCROSS JOIN LATERAL "
			}
			views := strings.Count(query, "FROM appl_lock_")
			switch {
			case query == "":
			case views > 0 && (views != len(named.FindAllString(query, -1)) || strings.Contains(query, "JOIN appl_lock_")):
				t.Errorf("a query of %s names something else than views behind FROM:\n%s", file, query)
			case views == 0 && (strings.Count(query, place) != 1 || !strings.Contains(query, place+stem)):
				t.Errorf("a query of %s names its routine %s not in one line of its own:\n%s", file, stem, query)
			}
		}
	}
}
