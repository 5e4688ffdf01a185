package readme

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

const root = "../../.."

var (
	linked   = regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)]*))?\)`)
	notInURL = regexp.MustCompile(`[^\w -]`)
	testName = regexp.MustCompile("`(Test\\w+)")
	// namedPath is a file or folder of ours as pages write it, without a pattern in it, or a package or folder in a command.
	namedPath = regexp.MustCompile("`((?:applock|bench|clients|cmd|docs|internal|migrations|procedures|queries|testdata|tools)/[\\w./-]*)`|" +
		`(?:go (?:get|install) github\.com/applock/applock/|goose -dir )([\w/-]+)`)
)

// pages returns the texts of all pages by their path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	walk(t, ".md", func(file, text string) { found[file] = text })
	if len(found) < 10 {
		t.Fatalf("found %d pages", len(found))
	}
	return found
}

// walk calls visit for each file of the repository whose name ends so.
func walk(t *testing.T, end string, visit func(file, text string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		file, err := filepath.Rel(root, name)
		if err != nil || entry.IsDir() && (file == ".git" || file == "bin") {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(file, end) {
			return nil
		}
		text, err := os.ReadFile(name)
		visit(filepath.ToSlash(file), string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// anchors returns the anchors of a page's headings.
func anchors(page string) []string {
	var all []string
	for _, found := range heading.FindAllStringSubmatch(page, -1) {
		anchor := notInURL.ReplaceAllString(strings.ToLower(found[1]), "")
		all = append(all, strings.ReplaceAll(anchor, " ", "-"))
	}
	return all
}

// Goal: no link of a page leads nowhere. Method: follow all that stay in the repository.
func TestPagesLinkWhatIsThere(t *testing.T) {
	t.Parallel()
	pages := pages(t)
	for page, text := range pages {
		for _, link := range linked.FindAllStringSubmatch(text, -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			target := page
			if link[1] != "" {
				target = path.Join(path.Dir(page), link[1])
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s: %s: %v", page, link[0], err)
			} else if link[2] != "" && !slices.Contains(anchors(pages[target]), link[2]) {
				t.Errorf("%s: %s: no such heading", page, link[0])
			}
		}
	}
}

// Goal: what a page names is there: files, folders, packages and tests. Method: look for what stands in backquotes and behind commands.
func TestPagesNameWhatIsThere(t *testing.T) {
	t.Parallel()
	tests := testSources(t)
	for page, text := range pages(t) {
		for _, found := range namedPath.FindAllStringSubmatch(text, -1) {
			name := found[1] + found[2]
			if regexp.MustCompile(`STEM|DIALECT|NNNNN|PRODUCT`).MatchString(name) {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, name)); err != nil {
				t.Errorf("%s names %v", page, err)
			}
		}
		for _, found := range testName.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(tests, "\nfunc "+found[1]+"(") {
				t.Errorf("%s names %s, which there is not", page, found[1])
			}
		}
	}
}

// Goal: a page with code is one that a test reads, or says that nobody has run it. Method: a test of another folder has the page's name. Pages
// of clients are read by their folder's pattern.
func TestPagesWithCodeAreRead(t *testing.T) {
	t.Parallel()
	blocks := regexp.MustCompile("(?s)\n```(\\w*)\n.*?\n```")
	unrun := regexp.MustCompile(`nothing here has run on a real|has not run on a real|nobody has run the blocks of this page`)
	tests := testSources(t)
	for page, text := range pages(t) {
		name := page
		if path.Base(page) != "README.md" {
			name = path.Base(page)
		}
		hasCode := slices.ContainsFunc(blocks.FindAllStringSubmatch(text, -1), func(block []string) bool { return block[1] != "" && block[1] != "text" })
		if hasCode && !strings.HasPrefix(page, "clients/") && !regexp.MustCompile(regexp.QuoteMeta(name)+"[\"`]").MatchString(tests) && !unrun.MatchString(text) {
			t.Errorf("no test reads %s, which shows code", page)
		}
	}
}

// testSources returns the text of all tests.
func testSources(t *testing.T) string {
	t.Helper()
	var tests strings.Builder
	walk(t, "_test.go", func(_, text string) { tests.WriteString(text) })
	return tests.String()
}
