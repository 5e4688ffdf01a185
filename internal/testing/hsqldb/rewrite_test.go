package hsqldb

import (
	"regexp"
	"strings"
	"testing"

	"github.com/applock/applock/internal/build/render"
	"github.com/applock/applock/internal/testing/testfile"
)

// Goal: what HSQLDB runs is what Db2 is given. Method: keywords of control flow, operators, literals and the
// names of variables and parameters come in the same order before and after rewriting.
func TestRewritingsLeaveLogicAlone(t *testing.T) {
	t.Parallel()
	files, err := render.Names("db2")
	if err != nil || len(files) == 0 {
		t.Fatalf("no procedures: %v", err)
	}
	for _, file := range files {
		text, err := render.File(file)
		if err != nil {
			t.Fatal(err)
		}
		for statement := range strings.SplitSeq(text, "\n@\n") {
			if rewritten := rewrite(statement, rewritings()); rewritten != "" {
				compareLogic(t, file, statement, rewritten)
			}
		}
	}
}

func compareLogic(t *testing.T, file, statement, rewritten string) {
	t.Helper()
	asRewritten := strings.NewReplacer(
		"CREATE OR REPLACE", "CREATE",
		"    WITH RS USE AND KEEP SHARE LOCKS", "",
		"    SET CURRENT LOCK TIMEOUT 0;\n", "",
		"    SET CURRENT LOCK TIMEOUT 1;\n", "",
		", '0', '0123456789', '0')", ", '0123456789', '0000000000')",
		"END WHILE", "END; END WHILE",
	)
	plain := regexp.MustCompile(`, ' ',(\s*'0123456789a[^']*'\s*\|\| '[^']*'), ' '\)`)
	statement = plain.ReplaceAllString(statement, ",$1, '"+strings.Repeat(" ", plainCharacters)+"')")
	before, after := logic(asRewritten.Replace(statement)), logic(rewritten)
	for i := range max(len(before), len(after)) {
		if i >= len(before) || i >= len(after) || before[i] != after[i] {
			t.Errorf("%s: rewriting changes the logic near %v, which becomes %v", file,
				before[max(0, i-5):min(len(before), i+5)], after[max(0, i-5):min(len(after), i+5)])
			return
		}
	}
}

// logic returns the words of SQL that make up its meaning.
func logic(statement string) []string {
	comments := regexp.MustCompile(`--[^\n]*`)
	words := regexp.MustCompile(`'[^']*'|\w+|[-+*=<>|]{1,2}|[^\s\w]`)
	means := regexp.MustCompile(`^(?:'.*'|[vpc]_\w+|\d+|[-+*=<>|]{1,2}|` +
		`IF|ELSEIF|ELSE|END|WHILE|FOR|DO|LEAVE|SIGNAL|CALL|SET|GET|INSERT|UPDATE|DELETE|SELECT|INTO|VALUES|` +
		`FROM|WHERE|AND|OR|NOT|BETWEEN|IS|NULL|DECLARE|HANDLER|CURSOR|OPEN|COUNT|MAX|COALESCE|RTRIM|LOCATE|` +
		`CAST|DAYS|ORDER|FETCH|ROWS|ONLY|SECOND|RETURN|RETURNS)$`)
	var meaning []string
	for _, word := range words.FindAllString(comments.ReplaceAllString(statement, ""), -1) {
		if means.MatchString(word) {
			meaning = append(meaning, word)
		}
	}
	return meaning
}

// Goal: docs/db2.md shows the whole list. Method: its table has the reason of each rewriting, and no other row.
func TestDocumentationEqualsRewritings(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(testfile.Read(t, "../../../docs/db2.md"), "| Db2 | HSQLDB | why |\n|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	for i, rewriting := range rewritings() {
		if len(rows) != len(rewritings()) || !strings.HasSuffix(rows[i], " | "+rewriting.why+" |") {
			t.Fatalf("the table has %d rows, and not in row %d: %s", len(rows), i+1, rewriting.why)
		}
	}
}
