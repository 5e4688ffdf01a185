package console

import (
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testfile"
)

// Goal: the code on the page is the code that runs. Method: the page's block is in the example.
func TestPageShowsTheExample(t *testing.T) {
	t.Parallel()
	_, block, found := strings.Cut(testfile.Read(t, "../../docs/console.md"), "```go\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed || !strings.Contains(testfile.Read(t, "example_test.go"), block) {
		t.Errorf("docs/console.md has other code than ExampleHandler:\n%s", block)
	}
}
