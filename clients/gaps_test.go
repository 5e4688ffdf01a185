package clients_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/scenario"
)

// gap is an operation that a library does not know yet.
type gap struct {
	library, operation string
	// until is the last day of the gap, such as 2026-12-31.
	until string
}

// permittedGaps lets a library lag behind a new operation. When the day is over, its tests are red.
func permittedGaps() []gap { return nil }

// findGap returns the gap of a library and an operation, and whether there is one.
func findGap(gaps []gap, library, operation string) (gap, bool) {
	i := slices.IndexFunc(gaps, func(g gap) bool { return g.library == library && g.operation == operation })
	if i < 0 {
		return gap{}, false
	}
	return gaps[i], true
}

// wrongGaps compares the permitted gaps with the wanted operations that each library knows, and returns what is wrong.
func wrongGaps(permitted []gap, known map[string][]string, wanted []string, today string) []string {
	var wrong []string
	for _, g := range permitted {
		_, isLibrary := known[g.library]
		_, err := time.Parse(time.DateOnly, g.until)
		switch {
		case !isLibrary || !slices.Contains(wanted, g.operation):
			wrong = append(wrong, fmt.Sprintf("there is no library %q or no operation %q: correct the gap", g.library, g.operation))
		case err != nil:
			wrong = append(wrong, fmt.Sprintf("%s may lack %s until %q, which is no date such as 2026-12-31", g.library, g.operation, g.until))
		}
	}
	for library, knows := range known {
		for _, operation := range wanted {
			found, isGap := findGap(permitted, library, operation)
			switch isKnown := slices.Contains(knows, operation); {
			case isKnown && isGap:
				wrong = append(wrong, fmt.Sprintf("%s knows %s: remove the gap", library, operation))
			case !isKnown && !isGap:
				wrong = append(wrong, fmt.Sprintf("%s lacks %s: add it, or permit the gap until a date", library, operation))
			case !isKnown && today > found.until:
				wrong = append(wrong, fmt.Sprintf("%s lacks %s, which it may until %s: add it", library, operation, found.until))
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

// lacking returns the words of scenarios for what a library may lack.
func lacking(library string) map[string]bool {
	lacks := map[string]bool{}
	for _, operation := range operations() {
		_, lacks[scenario.Word(operation)] = findGap(permittedGaps(), library, operation.Name)
	}
	return lacks
}

// libraries are the folders of this one.
func libraries(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("*/README.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no folder has a page: %v", err)
	}
	for i, page := range pages {
		pages[i] = filepath.Dir(page)
	}
	return pages
}

// operations are those that a library has a function for: all but the version, which is for those who install.
func operations() []db.Operation {
	return slices.DeleteFunc(db.Contract(), func(operation db.Operation) bool { return operation.Version })
}

// knownBy returns the operations whose routines a library names: its pages, its player and its tests are not the library.
func knownBy(t *testing.T, library string) []string {
	t.Helper()
	aside := regexp.MustCompile(`\.md$|(^|/)(player|test)`)
	text := textBelow(t, library, func(name string) bool { return !aside.MatchString(filepath.ToSlash(name)) })
	var known []string
	for _, operation := range operations() {
		if regexp.MustCompile(`\b` + operation.RowForm() + `\b`).MatchString(text) {
			known = append(known, operation.Name)
		}
	}
	return known
}

// textBelow returns the text of the wanted files of a folder, one behind the other.
func textBelow(t *testing.T, folder string, isWanted func(name string) bool) string {
	t.Helper()
	var text strings.Builder
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !isWanted(name) {
			return err
		}
		content, err := os.ReadFile(name)
		text.Write(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// Goal: a library in another language knows every operation, or lags for a permitted time. Method: the names of the routines
// in its text, against the contract and the gaps.
func TestLibrariesKnowEveryOperation(t *testing.T) {
	t.Parallel()
	known := map[string][]string{}
	for _, library := range libraries(t) {
		known[library] = knownBy(t, library)
	}
	var wanted []string
	for _, operation := range operations() {
		wanted = append(wanted, operation.Name)
	}
	for _, problem := range wrongGaps(permittedGaps(), known, wanted, time.Now().Format(time.DateOnly)) {
		t.Error(problem)
	}
}

// Goal: a gap ends with its date, and with the operation that it is about. Method: one library that knows one of two operations,
// and lists of gaps.
func TestGapsEnd(t *testing.T) {
	t.Parallel()
	wanted, known := []string{"get_appl_lock", "extend_appl_locks"}, map[string][]string{"python": {"get_appl_lock"}}
	for what, each := range map[string]struct {
		gaps []gap
		want string
	}{
		"no gap":            {want: "python lacks extend_appl_locks: add it, or permit the gap until a date"},
		"before its end":    {gaps: []gap{{"python", "extend_appl_locks", "2026-12-02"}}},
		"its last day":      {gaps: []gap{{"python", "extend_appl_locks", "2026-12-01"}}},
		"the day after":     {gaps: []gap{{"python", "extend_appl_locks", "2026-11-30"}}, want: "python lacks extend_appl_locks, which it may until 2026-11-30: add it"},
		"no date":           {gaps: []gap{{"python", "extend_appl_locks", "soon"}}, want: `python may lack extend_appl_locks until "soon", which is no date such as 2026-12-31`},
		"what is there":     {gaps: []gap{{"python", "extend_appl_locks", "2026-12-02"}, {"python", "get_appl_lock", "2026-12-02"}}, want: "python knows get_appl_lock: remove the gap"},
		"no such library":   {gaps: []gap{{"python", "extend_appl_locks", "2026-12-02"}, {"fortran", "get_appl_lock", "2026-12-02"}}, want: `there is no library "fortran" or no operation "get_appl_lock": correct the gap`},
		"no such operation": {gaps: []gap{{"python", "extend_appl_locks", "2026-12-02"}, {"python", "paint_appl_lock", "2026-12-02"}}, want: `there is no library "python" or no operation "paint_appl_lock": correct the gap`},
	} {
		if got := strings.Join(wrongGaps(each.gaps, known, wanted, "2026-12-01"), "\n"); got != each.want {
			t.Errorf("%s: %q, want %q", what, got, each.want)
		}
	}
}
