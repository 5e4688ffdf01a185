package main

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

// Goal: everything has the version of CHANGELOG.md. Method: what would be written is what is there.
func TestEveryPlaceHasTheVersion(t *testing.T) {
	t.Parallel()
	err := eachPlace("../../..", func(path, old, written string) error {
		if old != written {
			t.Errorf("%s has another version than CHANGELOG.md: run make generate", path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// Goal: a module of its own can be got: it needs a version of the main module that there is. Method: the go.mod below the folders that users import from
// or install, and the places.
func TestEveryModuleIsAPlace(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"applock", "cmd"} {
		err := fs.WalkDir(os.DirFS("../../.."), folder, func(file string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(file, "/go.mod") && !slices.ContainsFunc(places(), func(where place) bool { return where.file == file }) {
				t.Errorf("%s is not among the places of the version", file)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}
