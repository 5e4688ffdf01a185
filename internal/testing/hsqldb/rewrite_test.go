package hsqldb

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/build/render"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/testfile"
)

// Goal: the list of rewritings is complete and minimal. Method: with all of them everything is installed, which
// the contract suite of the Db2 driver then runs, and a control character is told; with any one left out something is refused.
func TestRewritingsAreMinimal(t *testing.T) {
	t.Parallel()
	bridge := Start(t, testdb.HSQLDB(t), "UTC")
	install := func(name string, rewritings []rewriting) error {
		if _, err := bridge.Open(t.Context(), name, MVCC); err != nil {
			t.Fatal(err)
		}
		handle := bridge.pool(name, func(statement string) string { return rewrite(statement, rewritings) })
		defer func() { _ = handle.Close() }() // nothing to tell
		if _, err := migrate.Up(t.Context(), testclient.DB2(t, handle), migrate.UpRequest{}); err != nil {
			return err
		}
		_, err := handle.ExecContext(t.Context(), "CALL applock.serialize_appl_lock_row('a', ?)", "b\u0085")
		var refused *Error
		if !errors.As(err, &refused) || refused.State != "LK001" {
			return fmt.Errorf("a control character is taken: %w", err)
		}
		return nil
	}
	if err := install("all", rewritings()); err != nil {
		t.Errorf("with all rewritings: %v", err)
	}
	for i, left := range rewritings() {
		name := fmt.Sprintf("without%d", i)
		if err := install(name, slices.Delete(rewritings(), i, i+1)); err == nil {
			t.Errorf("everything is installed without the rewriting of %s", left.db2)
		}
	}
}

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

// Goal: the test of the logic can fail. Method: rewritings that change it.
func TestLogicIsSeen(t *testing.T) {
	t.Parallel()
	const statement = "IF v_rows = 1 AND v_old_expires_ts > v_now THEN\n    SET p_ok_fl = 'Y';\nEND IF"
	for _, change := range []struct{ from, to string }{
		{"AND", "OR"}, {">", ">="}, {"'Y'", "'N'"}, {"p_ok_fl", "p_outcome"}, {"1", "2"}, {"IF v", "WHILE v"},
		{"    SET p_ok_fl = 'Y';\n", ""},
	} {
		if slices.Equal(logic(statement), logic(strings.Replace(statement, change.from, change.to, 1))) {
			t.Errorf("%q for %q is not seen", change.to, change.from)
		}
	}
}

// Goal: docs/db2.md shows the whole list. Method: it has the reason of each rewriting, and no other row.
func TestDocumentationEqualsRewritings(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(testfile.Read(t, "../../../docs/db2.md"), "| Db2 | HSQLDB | why |\n|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	var reasons []string
	for _, row := range rows {
		cells := strings.Split(strings.TrimSuffix(row, " |"), " | ")
		reasons = append(reasons, cells[len(cells)-1])
	}
	var want []string
	for _, rewriting := range rewritings() {
		want = append(want, rewriting.why)
	}
	if !slices.Equal(reasons, want) {
		t.Errorf("the table in docs/db2.md has\n%s\nwant\n%s", strings.Join(reasons, "\n"), strings.Join(want, "\n"))
	}
}
