package readme

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testfile"
)

// Goal: the site has every page and picture, says which version it describes, finds each page, every link leads somewhere, also those to files that are no pages, and nothing
// comes from another host. Method: build it strictly, and look into the search's index and the pages.
func TestSite(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	build := []string{"build", "--strict", "--config-file", filepath.Join(root, "tools/site/mkdocs.yml"), "--site-dir", folder}
	if output, code := Python(t, root, "", "mkdocs", build...); code != 0 {
		t.Fatalf("mkdocs: exit code %d\n%s", code, output)
	}
	text, err := os.ReadFile(filepath.Join(folder, "search", "search_index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var index struct {
		Docs []struct{ Location string }
	}
	if err := json.Unmarshal(text, &index); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, entry := range index.Docs {
		found[entry.Location] = true
	}
	for page := range pages(t) {
		location := strings.TrimSuffix(page, ".md") + ".html"
		if path, isReadme := strings.CutSuffix(page, "README.md"); isReadme {
			location = path + "index.html"
		}
		if !found[location] {
			t.Errorf("the site's search does not know %s as %s", page, location)
		}
	}
	noneLoadsFromElsewhere(t, folder)
	front, err := os.ReadFile(filepath.Join(folder, "index.html"))
	version := newestRelease(t)
	if err != nil || !strings.Contains(string(front), "This site describes applock "+version) || !strings.Contains(string(front), "<title>applock "+version) {
		t.Errorf("the front page does not say that it is about %s: %v", version, err)
	}
	for _, picture := range []string{"docs/console/locks-light.png", "docs/console/locks-dark.png", "docs/pictures/lock.svg", "docs/schema.svg"} {
		if _, err := os.Stat(filepath.Join(folder, picture)); err != nil {
			t.Errorf("the site lacks a picture: %v", err)
		}
	}
	choosing, err := os.ReadFile(filepath.Join(folder, "docs", "choosing.html"))
	if err != nil || !strings.Contains(string(choosing), `href="https://github.com/applock/applock/tree/main/applock/lease/locktest"`) {
		t.Errorf("a link to a folder does not lead to the repository: %v", err)
	}
}

// newestRelease returns the newest version in the changelog.
func newestRelease(t *testing.T) string {
	t.Helper()
	changelog, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	heading := regexp.MustCompile(`(?m)^## \[(\d[^\]]*)\] - `).FindSubmatch(changelog)
	if heading == nil {
		t.Fatal("the changelog has no release")
	}
	return string(heading[1])
}

// loadsFromElsewhere returns what a page makes a browser load from another host: what it says itself, and the two parts of the theme that
// fetch a script or figures when a page has their class.
func loadsFromElsewhere(page string) []string {
	return regexp.MustCompile(`(?:src|srcset)="(?:https?:)?//[^"]*"|<link[^>]* rel="(?:stylesheet|preconnect)"[^>]* href="(?:https?:)?//[^"]*"|class="mermaid"|data-md-component="source"`).
		FindAllString(page, -1)
}

// noneLoadsFromElsewhere checks all pages of a site.
func noneLoadsFromElsewhere(t *testing.T, folder string) {
	t.Helper()
	pages := 0
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(name) != ".html" {
			return err
		}
		pages++
		text, err := os.ReadFile(name)
		if found := loadsFromElsewhere(string(text)); len(found) > 0 {
			t.Errorf("%s loads from another site: %v", name, found)
		}
		return err
	})
	if err != nil || pages < 10 {
		t.Errorf("%d pages, %v", pages, err)
	}
}

// Goal: the check of the site would notice a script of another host. Method: pages by hand.
func TestLoadsFromElsewhereAreSeen(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]int{
		`<script src="https://unpkg.com/mermaid"></script>`:                 1,
		`<img src="//example.org/a.png">`:                                   1,
		`<link rel="stylesheet" href="https://example.org/a.css">`:          1,
		`<pre class="mermaid">`:                                             1,
		`<a data-md-component="source" href="https://github.com">`:          1,
		`<script src="assets/a.js"></script><a href="https://example.org">`: 0,
	} {
		if got := loadsFromElsewhere(page); len(got) != want {
			t.Errorf("%s: %v", page, got)
		}
	}
}

// Goal: a link that leads nowhere keeps the site from being built, and so does a page that the navigation does not have. Method: a repository of
// one page, built as this one is.
func TestSiteIsStrict(t *testing.T) {
	t.Parallel()
	repository := t.TempDir()
	for _, name := range []string{"tools/site/mkdocs.yml", "tools/site/pages.py", "CHANGELOG.md"} {
		writeBelow(t, repository, name, testfile.Read(t, filepath.Join(root, name)))
	}
	writeBelow(t, repository, "docs/stray.md", "# Stray\n\n[one](nowhere.md), [two](stray.md#no-heading), [three](../applock)\n")
	output, code := Python(t, root, "", "mkdocs", "build", "--strict", "--config-file", filepath.Join(repository, "tools/site/mkdocs.yml"))
	for _, want := range []string{"'nowhere.md'", "no such anchor", "'../applock'", "not included in the \"nav\" configuration"} {
		if code == 0 || !strings.Contains(output, want) {
			t.Errorf("exit code %d, and no word of %s:\n%s", code, want, output)
		}
	}
}

// writeBelow writes a file and its folders.
func writeBelow(t *testing.T, folder, name, text string) {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
