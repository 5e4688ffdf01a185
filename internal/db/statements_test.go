package db_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/testfile"
)

// Goal: each statement names the schema with each view and routine of ours, and costs nothing more than once for it. Method: all queries of
// the two dialects, in a schema; what has our name in it stands behind the schema, among it what the file is named for; nothing is
// allocated the second time. A time without a zone, which is read as UTC, is UTC in every session.
func TestStatementsNameTheSchema(t *testing.T) {
	comment, name := regexp.MustCompile(`(?m)^--.*$`), regexp.MustCompile(`[\w.]*appl_lock\w*`)
	zoneless := regexp.MustCompile(`.*::timestamp\b`)
	for _, dialect := range []string{"postgres", "mysql"} {
		files, err := filepath.Glob("../../queries/" + dialect + "/*.sql")
		if err != nil || len(files) == 0 {
			t.Fatalf("no queries: %v", err)
		}
		for _, file := range files {
			text := testfile.Read(t, file)
			stem := strings.TrimSuffix(filepath.Base(file), ".sql")
			for query := range strings.SplitSeq(comment.ReplaceAllString(text, ""), ";\n") {
				if strings.TrimSpace(query) == "" {
					continue
				}
				statements := db.NewStatements("elsewhere")
				qualified := statements.Qualified(query)
				for _, found := range name.FindAllString(qualified, -1) {
					if !strings.HasPrefix(found, "elsewhere.") || strings.Count(found, ".") != 1 {
						t.Errorf("%s: %s is not named with the schema", file, found)
					}
				}
				if !strings.Contains(qualified, "elsewhere."+stem) {
					t.Errorf("%s: a query does not name %s:\n%s", file, stem, qualified)
				}
				if strings.ReplaceAll(qualified, "elsewhere.", "") != query || db.NewStatements("").Qualified(query) != query {
					t.Errorf("%s: a query has changed:\n%s", file, qualified)
				}
				for _, found := range zoneless.FindAllString(query, -1) {
					if !strings.HasSuffix(found, " AT TIME ZONE 'UTC')::timestamp") {
						t.Errorf("%s: %s is in the session's zone", file, found)
					}
				}
				if again := testing.AllocsPerRun(10, func() { statements.Qualified(query) }); again != 0 {
					t.Errorf("%s: %v allocations for the same statement", file, again)
				}
			}
		}
	}
}
