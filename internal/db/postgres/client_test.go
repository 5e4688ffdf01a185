package postgres_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Goal: the schema is put into each generated query exactly once. Method: each query has one line that
// begins with FROM, which names the routine.
func TestQueriesReadFromOneRoutine(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../queries/postgres/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("no queries: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		stem := strings.TrimSuffix(filepath.Base(file), ".sql")
		if from := strings.Count(string(text), "\nFROM "); from != 1 || !strings.Contains(string(text), "\nFROM "+stem) {
			t.Errorf("%s has %d FROM lines, want one, of %s", file, from, stem)
		}
	}
}
