package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testfile"
)

const root = "../../.."

// copied returns a folder with the changelog and all places of the repository.
func copied(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	files := []string{"CHANGELOG.md"}
	for _, where := range places() {
		files = append(files, where.file)
	}
	for _, file := range files {
		write(t, filepath.Join(folder, file), testfile.Read(t, filepath.Join(root, file)))
	}
	return folder
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Goal: everything has the version of CHANGELOG.md. Method: write into a copy; nothing changes.
func TestEveryPlaceHasTheVersion(t *testing.T) {
	t.Parallel()
	folder := copied(t)
	if err := writeAll(folder); err != nil {
		t.Fatal(err)
	}
	for _, where := range places() {
		if testfile.Read(t, filepath.Join(folder, where.file)) != testfile.Read(t, filepath.Join(root, where.file)) {
			t.Errorf("%s has another version than CHANGELOG.md: run make generate", where.file)
		}
	}
}

// Goal: a new section of the changelog is the new version everywhere, above it an empty Unreleased or not. Method: one in a copy; the old version, that
// was in each place, is in none.
func TestANewSectionIsTheNewVersion(t *testing.T) {
	t.Parallel()
	folder := copied(t)
	old := newest.FindStringSubmatch(testfile.Read(t, filepath.Join(root, "CHANGELOG.md")))[1]
	write(t, filepath.Join(folder, "CHANGELOG.md"), "# Changelog\n\n## [Unreleased]\n\n## [77.8.9] - 2027-01-01\n\n## ["+old+"] - 2026-12-01\n")
	if err := writeAll(folder); err != nil {
		t.Fatal(err)
	}
	for _, where := range places() {
		before, after := testfile.Read(t, filepath.Join(root, where.file)), testfile.Read(t, filepath.Join(folder, where.file))
		if strings.ReplaceAll(before, old, "77.8.9") != after || before == after {
			t.Errorf("%s is\n%s", where.file, after)
		}
	}
}

// Goal: neither a changelog without a version nor a file that no longer names one passes silently. Method: both, in copies.
func TestMissingVersionsAreErrors(t *testing.T) {
	t.Parallel()
	for file, text := range map[string]string{"CHANGELOG.md": "## [Unreleased]\n", "clients/ruby/lib/applock/version.rb": "module Applock\n"} {
		folder := copied(t)
		write(t, filepath.Join(folder, file), text)
		if err := writeAll(folder); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("without a version in %s: %v", file, err)
		}
	}
}
