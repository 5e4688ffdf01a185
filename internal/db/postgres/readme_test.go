package postgres_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/readme"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/testfile"
)

// Goal: the answers that the pages show are the real ones. Method: psql runs their blocks for PostgreSQL, and the answers are compared with
// the next blocks.
func TestProceduresReadme(t *testing.T) {
	t.Parallel()
	psql := testdb.Psql(t)
	for heading, page := range map[string]string{
		"On PostgreSQL": "procedures/README.md", "Each call once": "docs/postgres.md", "From PL/pgSQL": "docs/postgres.md",
	} {
		dsn := testclient.InstalledPostgres(t)
		input, want := readme.Session(readme.Under(testfile.Read(t, "../../../"+page), heading))
		if got := runPsql(t, psql, dsn, input); got != want || want == "" {
			t.Errorf("psql answers\n%s\n%s says under %s\n%s", got, page, heading, want)
		}
	}
}

// Goal: the grants that procedures/README.md shows as JSON are renewed. Method: its text, with the fence that the lock has, between the
// single quotes of SQL.
func TestReadmeGrantsAsJSON(t *testing.T) {
	t.Parallel()
	psql := testdb.Psql(t)
	dsn := testclient.InstalledPostgres(t)
	grants := regexp.MustCompile("(?s)```json\n(.*?)```").FindStringSubmatch(testfile.Read(t, "../../../procedures/README.md"))
	if grants == nil {
		t.Fatal("procedures/README.md has no JSON")
	}
	input := "SELECT p_fence AS fence FROM applock.get_appl_lock_row('customer', '42', 'JDOE', '', 15) \\gset\n" +
		"SELECT outcome, seconds_left FROM applock.renew_appl_locks(replace('" + grants[1] + "', '17', :'fence'));\n"
	if got := runPsql(t, psql, dsn, input); got != "RENEWED|30\n" {
		t.Errorf("psql answers %s", got)
	}
}

// runPsql returns what psql answers, with fences, times and the seconds that are left replaced by words.
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
	text = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.\d]*\+\d\d`).ReplaceAllString(text, "TIME")
	return regexp.MustCompile(`TIME\|[1-9]\d*`).ReplaceAllString(text, "TIME|SECONDS")
}
