package choosing_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testfile"
)

var (
	goBlock  = regexp.MustCompile("(?s)```go\n(.*?)```")
	anyFence = regexp.MustCompile("(?m)^```(\\w+)")
	whole    = regexp.MustCompile(`(?s)^(?://[^\n]*\n)*func .*\n}\n$`)
)

// Goal: the code of the two pages runs. Method: each block is, to the letter, a part of a tested file, and a whole function if it is
// one at all.
func TestPagesShowTestedCode(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"../choosing.md", "../recipes.md"} {
		showsTestedCode(t, testfile.Read(t, page))
	}
}

func showsTestedCode(t *testing.T, page string) {
	t.Helper()
	var tested strings.Builder
	for _, file := range []string{"placement_test.go", "recipes_test.go", "../../applock/fencing_test.go"} {
		tested.WriteString(testfile.Read(t, file))
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
