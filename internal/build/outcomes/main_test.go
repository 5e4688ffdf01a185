package main

import (
	"os"
	"path/filepath"
	"strings"
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

// Goal: the old content of the table is replaced, and the text around it stays.
func TestFilled(t *testing.T) {
	t.Parallel()
	const library = "before = {\n    # outcomes: made by `make generate` from the contract\n    \"old\": {},\n    # outcomes: end\n}\n"
	got := filled(library, notations()[".py"])
	for _, want := range []string{
		"before = {\n    # outcomes: made by `make generate` from the contract\n    \"get_appl_lock\": {\"ACQUIRED\": True, \"RENEWED\": True, \"HELD\": False},\n",
		"    \"answer_appl_lock\": {\"GIVEN\": True, \"TOLD\": True, \"HELD\": False, \"FREE\": False, \"GONE\": False},\n    # outcomes: end\n}\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if strings.Contains(got, "old") || filled(got, notations()[".py"]) != got {
		t.Errorf("got %s", got)
	}
}
