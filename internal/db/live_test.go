package db_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// judgement finds what compares the end of a lock, in a column or a variable, with the time.
	judgement = regexp.MustCompile(`(?i)expires_ts\)*\s*[<>]=?\s*\(*` + now + `|` + now + `[^\n]*[<>]=?\s*\(*(?:\w+\.)?\w*expires_ts\b`)
	// released finds what tells whether it was released.
	released = regexp.MustCompile(`(?i)released_ts|\bv_live\b|\bis_live\b|\bappl_lock_live\b`)
	// ofOthers finds that the end is that of a waiter's, a request's or a viewer's row, or of a migrator's turn.
	ofOthers = regexp.MustCompile(`(?i)appl_lock_waiter|appl_lock_viewer|appl_lock_ask\b|\b[aw]\.expires_ts|since_ts|endOverdue`)
)

// now finds the time, as each dialect and each variable has it.
const now = `(?:\w+\.)?(?:\w*now\b|UTC_TIMESTAMP|clock_timestamp|statement_timestamp|CURRENT\b|CAST\(unixepoch|unixepoch)`

const (
	// nearby is how many lines before and behind a judgement belong to it.
	nearby = 6
	// longest is how many lines a statement has at the most.
	longest = 60
)

// judges returns the lines of a text that judge a lock by its end alone, numbered from 1. Statements says whether the text is of
// statements that semicolons end: the whole statement belongs to a judgement, too.
func judges(text string, statements bool) []int {
	lines := strings.Split(text, "\n")
	var found []int
	for i, line := range lines {
		code, _, _ := strings.Cut(line, "--")
		if !judgement.MatchString(code) {
			continue
		}
		first, last := max(0, i-nearby), min(len(lines)-1, i+nearby)
		if statements {
			begins, ends := i, i
			for ; begins > max(0, i-longest) && !strings.HasSuffix(lines[begins-1], ";"); begins-- {
			}
			for ; ends < min(len(lines)-1, i+longest) && !strings.HasSuffix(lines[ends], ";"); ends++ {
			}
			first, last = min(first, begins), max(last, ends)
		}
		around := strings.Join(lines[first:last+1], "\n")
		if !released.MatchString(around) && !ofOthers.MatchString(around) {
			found = append(found, i+1)
		}
	}
	return found
}

// repositoryFiles returns the texts of the files of these kinds that people write or read, by path.
func repositoryFiles(t *testing.T, kinds ...string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir("../..", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		file := filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(name, "../.."), "/"))
		if entry.IsDir() && (file == ".git" || file == "bin" || strings.HasSuffix(file, "/node_modules") || strings.HasSuffix(file, "/target")) {
			return fs.SkipDir
		}
		if entry.IsDir() || !slices.Contains(kinds, path.Ext(file)) {
			return nil
		}
		text, err := os.ReadFile(name)
		files[file] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Goal: no statement, guard or client takes a released lock for a live one: whatever compares expires_ts looks at released_ts, too.
// Method: each SQL text, and each program that has SQL, line by line. The second part shows what is found.
func TestLiveIsJudgedByBothColumns(t *testing.T) {
	t.Parallel()
	kinds := []string{".sql", ".go", ".py", ".js", ".ts", ".php", ".rb", ".java", ".cs", ".rs", ".sh"}
	for file, text := range repositoryFiles(t, kinds...) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, line := range judges(text, path.Ext(file) == ".sql") {
			t.Errorf("%s:%d compares expires_ts without a look at released_ts", file, line)
		}
	}
}

// Goal: the test above finds what it is for. Method: statements with and without the second column.
func TestJudgementsAreFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"SELECT 1 FROM appl_lock WHERE expires_ts > UTC_TIMESTAMP(6)":                                             1,
		"SELECT 1 FROM appl_lock AS l WHERE v_now >= l.expires_ts":                                                1,
		"IF v_expires_ts <= v_now THEN":                                                                           1,
		"WHERE l.expires_ts > n.now":                                                                              1,
		"SELECT 1 FROM appl_lock WHERE released_ts IS NULL AND expires_ts > UTC_TIMESTAMP(6)":                     0,
		"SELECT 1 FROM appl_lock_waiter WHERE expires_ts > UTC_TIMESTAMP(6)":                                      0,
		"SELECT 1 FROM appl_lock_viewer WHERE expires_ts > UTC_TIMESTAMP(6)":                                      0,
		"CALL get(p_expires_ts => 1); SET v_expires_ts = v_now; -- expires_ts > v_now":                            0,
		"IF v_until_ts < v_expires_ts THEN":                                                                       0,
		"SELECT 1 WHERE\n  expires_ts > now()" + strings.Repeat("\n", 9) + "AND released_ts IS NULL;":             0,
		"SELECT 1 WHERE\n  expires_ts > now();" + strings.Repeat("\n", 9) + "SELECT 1 WHERE released_ts IS NULL;": 1,
	} {
		if got := len(judges(text, true)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
