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
	// namedPath is a file or folder of ours as pages write it, without a pattern in it.
	namedPath = regexp.MustCompile("`((?:applock|bench|clients|cmd|docs|internal|migrations|procedures|queries|testdata|tools)/[\\w./-]*)`")
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

// Goal: what a page names is there: files, folders and tests. Method: look for what stands in backquotes.
func TestPagesNameWhatIsThere(t *testing.T) {
	t.Parallel()
	var tests strings.Builder
	walk(t, "_test.go", func(_, text string) { tests.WriteString(text) })
	for page, text := range pages(t) {
		for _, found := range namedPath.FindAllStringSubmatch(text, -1) {
			if pattern := regexp.MustCompile(`STEM|DIALECT|NNNNN`); pattern.MatchString(found[1]) {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, found[1])); err != nil {
				t.Errorf("%s names %v", page, err)
			}
		}
		for _, found := range testName.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(tests.String(), "\nfunc "+found[1]+"(") {
				t.Errorf("%s names %s, which there is not", page, found[1])
			}
		}
	}
}
