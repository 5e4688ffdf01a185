package readme

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testfile"
)

// Goal: the site has every page and picture, finds each page, has no link that leads nowhere, and loads nothing from another host. Method: build
// it strictly, and look into the search's index and the pages.
func TestHeavySite(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	build := []string{"build", "--strict", "--config-file", filepath.Join(root, "tools/site/mkdocs.yml"), "--site-dir", folder}
	if output, code := Python(t, root, "", "mkdocs", build...); code != 0 {
		t.Fatalf("mkdocs: exit code %d\n%s", code, output)
	}
	var index struct {
		Docs []struct{ Location string }
	}
	if err := json.Unmarshal([]byte(testfile.Read(t, filepath.Join(folder, "search", "search_index.json"))), &index); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, entry := range index.Docs {
		found[entry.Location] = true
	}
	// Also the two parts of the theme that fetch a script or figures when a page has their class.
	elsewhere := regexp.MustCompile(`(?:src|srcset)="(?:https?:)?//[^"]*"|<link[^>]* rel="(?:stylesheet|preconnect)"[^>]* href="(?:https?:)?//[^"]*"|class="mermaid"|data-md-component="source"`)
	for page := range pages(t) {
		location := strings.TrimSuffix(page, ".md") + ".html"
		if path, isReadme := strings.CutSuffix(page, "README.md"); isReadme {
			location = path + "index.html"
		}
		if !found[location] {
			t.Errorf("the site's search does not know %s as %s", page, location)
			continue
		}
		if loads := elsewhere.FindAllString(testfile.Read(t, filepath.Join(folder, location)), -1); loads != nil {
			t.Errorf("%s loads from another site: %v", location, loads)
		}
	}
	for _, picture := range []string{"docs/console/locks-light.png", "docs/pictures/lock.svg"} {
		if _, err := os.Stat(filepath.Join(folder, picture)); err != nil {
			t.Errorf("the site lacks a picture: %v", err)
		}
	}
}
