package console

import (
	"os"
	"strings"
	"testing"
)

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Goal: the code on the page is the code that runs. Method: the page's block is in the example.
func TestPageShowsTheExample(t *testing.T) {
	t.Parallel()
	_, block, found := strings.Cut(readFile(t, "../../docs/console.md"), "```go\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed || !strings.Contains(readFile(t, "example_test.go"), block) {
		t.Errorf("docs/console.md has other code than ExampleHandler:\n%s", block)
	}
}
