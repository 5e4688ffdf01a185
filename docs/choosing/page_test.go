package choosing_test

import (
	"os"
	"path/filepath"
	"regexp"
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

// Goal: the page has all backends. Method: compare its table with the packages that keep leases.
func TestReadmeChoosingHasAllBackends(t *testing.T) {
	t.Parallel()
	page := read(t, "../choosing.md")
	users := []string{"../../applock/inprocess/inprocess_test.go"}
	for _, pattern := range []string{"../../applock/*/contract_test.go", "../../applock/lease/*/contract_test.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		users = append(users, found...)
	}
	for _, file := range users {
		folder := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(file)), "../")
		if !strings.Contains(page, "| ["+filepath.Base(folder)+"]("+folder+") |") {
			t.Errorf("the table does not have the backend %s", folder)
		}
	}
}
