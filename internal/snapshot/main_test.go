package main

import (
	"testing"

	"github.com/applock/applock/migrations"
)

// The newest migration of each server dialect is exactly what its procedures give.
func TestMigrationEqualsProcedures(t *testing.T) {
	t.Parallel()
	dialects, err := serverDialects()
	if err != nil {
		t.Fatal(err)
	}
	for _, dialect := range dialects {
		files, err := procedureMigrations(dialect)
		if err != nil {
			t.Fatal(err)
		}
		file := files[len(files)-1]
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
