package postgres_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testdb"
)

// Goal: what procedures/README.md shows is what happens. Method: psql runs its first block, and the
// answers are compared with the block behind it.
func TestProceduresReadme(t *testing.T) {
	t.Parallel()
	psql := testdb.Psql(t)
	dsn := testdb.Postgres(t)
	newPlace(t, dsn)
	text, err := os.ReadFile("../../../procedures/README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```sql\n(.*?)```\n\n```text\n(.*?)```").FindStringSubmatch(string(text))
	if blocks == nil {
		t.Fatal("procedures/README.md has no sql block with a text block behind it")
	}
	if got := runPsql(t, psql, dsn, blocks[1]); got != blocks[2] {
		t.Errorf("psql answers\n%s\nprocedures/README.md says\n%s", got, blocks[2])
	}
}

// runPsql returns what psql answers, with fences and times replaced by words.
func runPsql(t *testing.T, psql, dsn, input string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), psql,
		"--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "-v", "ON_ERROR_STOP=1", dsn)
	command.Stdin = strings.NewReader(input)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("psql: %v\n%s", err, output)
	}
	text := regexp.MustCompile(`\b\d{16}\b`).ReplaceAllString(string(output), "FENCE")
	return regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.\d]*\+\d\d`).ReplaceAllString(text, "TIME")
}
