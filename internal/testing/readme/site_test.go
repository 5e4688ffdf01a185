package readme

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Goal: the site has every page, finds it, and no link of it leads nowhere, also not to files that are no pages. Method: build it strictly,
// and look into the search's index.
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
	choosing, err := os.ReadFile(filepath.Join(folder, "docs", "choosing.html"))
	if err != nil || !strings.Contains(string(choosing), `href="https://github.com/applock/applock/tree/main/applock/lease/locktest"`) {
		t.Errorf("a link to a folder does not lead to the repository: %v", err)
	}
}

// Goal: a link that leads nowhere keeps the site from being built, and so does a page that the navigation does not have. Method: a repository of
// one page, built as this one is.
func TestSiteIsStrict(t *testing.T) {
	t.Parallel()
	repository := t.TempDir()
	for _, name := range []string{"tools/site/mkdocs.yml", "tools/site/pages.py"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		writeBelow(t, repository, name, string(text))
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
