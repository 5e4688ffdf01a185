package choosing_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

var (
	goBlock  = regexp.MustCompile("(?s)```go\n(.*?)```")
	anyFence = regexp.MustCompile("(?m)^```(\\w+)")
	link     = regexp.MustCompile(`\]\(([^)#]*)(?:#([^)]*))?\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInURL = regexp.MustCompile(`[^\w -]`)
	testName = regexp.MustCompile("`(Test\\w+)`")
	whole    = regexp.MustCompile(`(?s)^(?://[^\n]*\n)*func .*\n}\n$`)
)

// Goal: what the page shows is what runs. Method: each block is, to the letter, a part of a tested file, and a whole
// function if it is one at all.
func TestReadmeChoosingShowsTestedCode(t *testing.T) {
	t.Parallel()
	page := read(t, "../choosing.md")
	var tested strings.Builder
	for _, file := range []string{"placement_test.go", "systems_test.go", "../../applock/fencing_test.go"} {
		tested.WriteString(read(t, file))
	}
	blocks := goBlock.FindAllStringSubmatch(page, -1)
	for _, block := range blocks {
		if !strings.Contains(tested.String(), "\n"+block[1]) {
			t.Errorf("no tested file has\n%s", block[1])
		}
		if strings.Contains(block[1], "func ") && !whole.MatchString(block[1]) {
			t.Errorf("not a whole function:\n%s", block[1])
		}
	}
	if opened := anyFence.FindAllString(page, -1); len(opened) != len(blocks) || len(blocks) == 0 {
		t.Errorf("%d of %d blocks are compared", len(blocks), len(opened))
	}
}

// Goal: all that the page names is there. Method: follow its links, look for its tests, and compare its table with the
// packages that keep leases.
func TestReadmeChoosingNamesWhatIsThere(t *testing.T) {
	t.Parallel()
	page := read(t, "../choosing.md")
	for _, found := range link.FindAllStringSubmatch(page, -1) {
		target := page
		if path := filepath.Join("..", found[1]); found[1] != "" {
			info, err := os.Stat(path)
			if err != nil {
				t.Errorf("%s: %v", found[0], err)
			}
			if found[2] == "" || err != nil || info.IsDir() {
				continue
			}
			target = read(t, path)
		}
		if !slices.Contains(anchors(target), found[2]) {
			t.Errorf("%s: no such heading", found[0])
		}
	}
	tests, err := filepath.Glob("../../applock/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range tests {
		all.WriteString(read(t, file))
	}
	for _, found := range testName.FindAllStringSubmatch(page, -1) {
		if !strings.Contains(all.String(), "\nfunc "+found[1]+"(") {
			t.Errorf("there is no %s", found[1])
		}
	}
	users, err := filepath.Glob("../../applock/*/contract_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(users, "../../applock/inprocess/inprocess_test.go") {
		name := filepath.Base(filepath.Dir(file))
		if !strings.Contains(page, "| ["+name+"](../applock/"+name+") |") {
			t.Errorf("the table does not have the backend %s", name)
		}
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
