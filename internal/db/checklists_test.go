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
	"unicode"

	"github.com/applock/applock/applock/open"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/testfile"
)

// The checklists of CONTRIBUTING.md. Their places are patterns: STEM is an operation, or in the one of views a view, DIALECT a dialect, NNNNN a number,
// and what ends in a slash is all below it.
const (
	newParameter = "A new parameter before the first release"
	newOperation = "A new operation"
	newView      = "A new view or column"
	newDialect   = "A new dialect"
)

// places returns the places of a checklist: what its table has in backquotes in the first column.
func places(t *testing.T, title string) []string {
	t.Helper()
	_, part, _ := strings.Cut(testfile.Read(t, "../../CONTRIBUTING.md"), "\n### "+title+"\n")
	part, _, _ = strings.Cut(part, "\n#")
	quoted := regexp.MustCompile("`([^`]+)`")
	var found []string
	for line := range strings.Lines(part) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			continue
		}
		for _, match := range quoted.FindAllStringSubmatch(cells[1], -1) {
			found = append(found, match[1])
		}
	}
	if len(found) == 0 {
		t.Fatalf("CONTRIBUTING.md has no checklist %q", title)
	}
	return found
}

// viewStems are the names of the views.
func viewStems() []string {
	var names []string
	for _, view := range db.Views() {
		names = append(names, view.Name)
	}
	return names
}

// operationStems are the names of the operations.
func operationStems() []string {
	var names []string
	for _, operation := range db.Contract() {
		names = append(names, operation.Name)
	}
	return names
}

// dialectNames are the names of the dialects.
func dialectNames() []string {
	var names []string
	for _, dialect := range open.Dialects() {
		names = append(names, dialect.Name)
	}
	return names
}

// expand puts each of the values in the place of a word, or returns the pattern as it is where it lacks the word.
func expand(pattern, word string, values []string) []string {
	if !strings.Contains(pattern, word) {
		return []string{pattern}
	}
	var expanded []string
	for _, value := range values {
		expanded = append(expanded, strings.ReplaceAll(pattern, word, value))
	}
	return expanded
}

// covers reports whether a pattern without STEM and DIALECT is a file's, or that of a folder above it.
func covers(pattern, file string) bool {
	if strings.HasSuffix(pattern, "/") {
		return strings.HasPrefix(file, pattern)
	}
	matched, err := path.Match(strings.ReplaceAll(pattern, "NNNNN", "[0-9][0-9][0-9][0-9][0-9]"), file)
	return err == nil && matched
}

// coveredBy reports whether one of the patterns covers a file, for this operation and any dialect. The test of a place
// belongs to it.
func coveredBy(patterns []string, stem, file string) bool {
	for _, pattern := range patterns {
		for _, place := range expand(strings.ReplaceAll(pattern, "STEM", stem), "DIALECT", dialectNames()) {
			if covers(place, file) || covers(place, strings.Replace(file, "_test.go", ".go", 1)) {
				return true
			}
		}
	}
	return false
}

// writtenFile is a file that people write or read.
type writtenFile struct {
	text string
	// words are what its text has between signs and blanks.
	words map[string]bool
}

// names reports whether a file has a name of SQL: as it is, as a parameter, as a routine, or as Go has it.
func (f writtenFile) names(name string) bool {
	for _, form := range []string{name, "p_" + name, name + "_row", name + "_core", goName(name)} {
		if f.words[form] {
			return true
		}
	}
	return false
}

// namesDialect reports whether a file has a dialect in code or in a path.
func (f writtenFile) namesDialect(dialect string) bool {
	for _, form := range []string{`"` + dialect + `"`, "/" + dialect, dialect + "/", dialect + ".New("} {
		if strings.Contains(f.text, form) {
			return true
		}
	}
	return false
}

// listed are the kinds of files that the checklists are about.
func listed() []string {
	return []string{".go", ".sql", ".md", ".txt", ".golden", ".yml", ".yaml", ".java"}
}

// repositoryFiles returns the files of these kinds that people write or read, by path.
func repositoryFiles(t *testing.T, kinds ...string) map[string]writtenFile {
	t.Helper()
	files := map[string]writtenFile{}
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
		files[file] = writtenFile{text: string(text), words: words(string(text))}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// words returns the names in a text.
func words(text string) map[string]bool {
	found := map[string]bool{}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		found[word] = true
	}
	return found
}

// goName returns the name that Go has for one of SQL: SecondsLeft for seconds_left, ObjectID for object_id.
func goName(name string) string {
	var result strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		if slices.Contains([]string{"id", "ttl", "ts", "us"}, word) {
			word = strings.ToUpper(word)
		}
		result.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return result.String()
}

// Goal: a checklist names what there is. Method: each place exists, for every operation and every dialect, unless it is
// a gap with a reason.
func TestChecklistsAreTrue(t *testing.T) {
	t.Parallel()
	files := repositoryFiles(t, listed()...)
	for _, title := range []string{newParameter, newOperation, newView, newDialect} {
		stems := operationStems()
		if title == newView {
			stems = viewStems()
		}
		for _, pattern := range places(t, title) {
			for _, ofDialect := range expand(pattern, "DIALECT", dialectNames()) {
				if permittedGaps()[ofDialect] != "" {
					continue
				}
				for _, place := range expand(ofDialect, "STEM", stems) {
					found := false
					for file := range files {
						found = found || covers(place, file)
					}
					if _, permitted := permittedGaps()[place]; found == permitted {
						t.Errorf("%s: %s exists %t, permitted gap %t", title, place, found, permitted)
					}
				}
			}
		}
	}
}

// Goal: the checklist of an operation or a view has each file that lists them, and each that is named after one. Method: files that name
// more than half of all, and those with the name of one.
func TestChecklistHasAllPlacesOfAnOperation(t *testing.T) {
	t.Parallel()
	for title, stems := range map[string][]string{newOperation: operationStems(), newView: viewStems()} {
		patterns := places(t, title)
		for file, written := range repositoryFiles(t, listed()...) {
			named := 0
			for _, stem := range stems {
				if written.names(stem) {
					named++
				}
				own := path.Base(file) == stem+path.Ext(file) || strings.HasPrefix(path.Base(file), stem+".")
				if own && !coveredBy(patterns, stem, file) && (title != newOperation || !isHelper(file)) {
					t.Errorf("%s is a place of %s: put it into the checklist %q", file, stem, title)
				}
			}
			// A view is one of five, and named wherever two are.
			if title == newOperation && named > len(stems)/2 && !coveredBy(patterns, "", file) {
				t.Errorf("%s names %d of them: put it into the checklist %q", file, named, title)
			}
		}
	}
}

// Goal: the checklist of a parameter has each file that names parameters. Method: parameters whose name belongs to one operation alone and
// to no table; each file that names one is a place of that operation, unless it is a test.
func TestChecklistHasAllPlacesOfAParameter(t *testing.T) {
	t.Parallel()
	patterns, viewPatterns := places(t, newParameter), places(t, newView)
	ofView := func(file string) bool { // which is read from behind a key that operations have, too
		return slices.ContainsFunc(viewStems(), func(view string) bool { return coveredBy(viewPatterns, view, file) })
	}
	owners := map[string][]string{}
	for _, operation := range db.Contract() {
		for _, parameter := range slices.Concat(operation.Parameters, operation.Columns) {
			name := strings.TrimPrefix(parameter.Name, "p_")
			if !slices.Contains(owners[name], operation.Name) {
				owners[name] = append(owners[name], operation.Name)
			}
		}
	}
	files := repositoryFiles(t, listed()...)
	tables := files["migrations/sqlite/00001_appl_lock.sql"]
	for name, operations := range owners {
		if len(operations) > 1 || tables.names(name) || !strings.Contains(name, "_") { // a single word may be anywhere
			continue
		}
		for file, written := range files {
			if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "testdata/") || strings.HasPrefix(file, "bench/") {
				continue
			}
			if written.names(name) && !coveredBy(patterns, operations[0], file) && !ofView(file) {
				t.Errorf("%s names %s of %s: put it into the checklist %q", file, name, operations[0], newParameter)
			}
		}
	}
}

// Goal: the checklist of a dialect has each file that lists the dialects, and each that is named after one. Method: files that name all
// dialects but one in code or as a folder, and those with the name of one in their path.
func TestChecklistHasAllPlacesOfADialect(t *testing.T) {
	t.Parallel()
	patterns := places(t, newDialect)
	for file, written := range repositoryFiles(t, listed()...) {
		named := 0
		ofDialect := false
		for _, dialect := range dialectNames() {
			if written.namesDialect(dialect) {
				named++
			}
			ofDialect = ofDialect || strings.Contains("/"+file, "/"+dialect+"/") || strings.HasPrefix(path.Base(file), dialect+".")
		}
		if !ofDialect && named < len(dialectNames())-1 {
			continue
		}
		if !coveredBy(patterns, "", file) {
			t.Errorf("%s is about dialects (%d named): put it into the checklist %q", file, named, newDialect)
		}
	}
}
