// Package testfile reads the files that tests compare.
package testfile

import (
	"os"
	"testing"
)

// Read returns the text of a file. A test that cannot read it ends.
func Read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path) //nolint:gosec // a test chooses the path
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
