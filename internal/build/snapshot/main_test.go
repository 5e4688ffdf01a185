package main

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/migrations"
)

// The newest migration of each server dialect is exactly what its procedures give, and has the same number in all.
func TestMigrationEqualsProcedures(t *testing.T) {
	t.Parallel()
	var newest string
	for _, dialect := range serverDialects() {
		files, err := procedureMigrations(dialect)
		if err != nil {
			t.Fatal(err)
		}
		file := files[len(files)-1]
		if newest = cmp.Or(newest, path.Base(file)); newest != path.Base(file) {
			t.Errorf("migrations/%s is the newest of its dialect, another dialect has %s", file, newest)
		}
		want, err := renderNewest(dialect)
		if err != nil {
			t.Fatal(err)
		}
		got, err := migrations.FS.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("migrations/%s differs from procedures/%s: run `make snapshot`", file, dialect)
		}
	}
}

// released has the checksums of the migrations that never change again, as sha256sum prints them in migrations/. It is
// empty until the first release.
//
//go:embed testdata/released.sha256
var released string

// Goal: a migration that may have been applied never changes. Method: its checksum, and the set of files with one.
func TestReleasedEqualsChecksums(t *testing.T) {
	t.Parallel()
	var files []string
	newest := ""
	for line := range strings.Lines(released) {
		sum, file, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		text, err := migrations.FS.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(text)); got != sum {
			t.Errorf("migrations/%s is released and has changed: put it back, and write a new one", file)
		}
		files = append(files, file)
		newest = max(newest, path.Base(file))
	}
	err := fs.WalkDir(migrations.FS, ".", func(file string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(file, ".sql") && path.Base(file) <= newest && !slices.Contains(files, file) {
			t.Errorf("migrations/%s came in among those that are released up to %s", file, newest)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Goal: Db2, which looks for what a procedure calls when it creates the procedure, finds it. Method: in the migration that
// installs everything each routine that another calls is created before.
func TestDb2CreatesFirstWhatIsCalled(t *testing.T) {
	t.Parallel()
	text, err := migration("db2", sources(t, "db2"), nil)
	if err != nil {
		t.Fatal(err)
	}
	up, _, _ := strings.Cut(text, "-- +goose Down\n")
	calls := 0
	created := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^CREATE (?:OR REPLACE )?PROCEDURE (\w+)|^ *CALL (\w+)`).FindAllStringSubmatch(up, -1) {
		if match[1] != "" {
			created[match[1]] = true
			continue
		}
		calls++
		if !created[match[2]] {
			t.Errorf("%s is called before it is created", match[2])
		}
	}
	if calls == 0 {
		t.Error("nothing is called")
	}
}
