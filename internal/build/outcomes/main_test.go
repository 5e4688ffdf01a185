package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/applock/applock/internal/testing/testfile"
)

// Goal: the libraries say of each answer what the contract says. Method: their tables are those that would be written.
func TestTablesAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	var found int
	for extension, line := range notations() {
		for _, path := range libraries(t, extension) {
			text := testfile.Read(t, path)
			if table.MatchString(text) {
				found++
			}
			if filled(text, line) != text {
				t.Errorf("%s has another table: run `make generate`", path)
			}
		}
	}
	if found < 1 {
		t.Errorf("%d libraries have a table", found)
	}
}

func libraries(t *testing.T, extension string) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir("../../../clients", func(path string, entry os.DirEntry, err error) error {
		if filepath.Ext(path) == extension {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}
