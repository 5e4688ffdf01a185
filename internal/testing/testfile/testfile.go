// Package testfile reads the files that tests compare.
package testfile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// Started returns the options and the environment with which a process was started, by its folder in /proc. It leaves out the options of
// MySQL's instruments, which only save time: MySQL cuts them in two in its own arguments.
func Started(t testing.TB, process string) (options, env []string) {
	t.Helper()
	words := func(name string) []string {
		return strings.Split(strings.TrimRight(Read(t, filepath.Join(process, name)), "\x00"), "\x00")
	}
	options = slices.DeleteFunc(words("cmdline"), func(option string) bool {
		return option == "OFF" || strings.HasPrefix(option, "--performance-schema-instrument=")
	})
	return options, words("environ")
}
