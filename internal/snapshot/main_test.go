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
		name, err := newest(dialect)
		if err != nil {
			t.Fatal(err)
		}
		want, err := render(dialect)
		if err != nil {
			t.Fatal(err)
		}
		got, err := migrations.FS.ReadFile(dialect + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("migrations/%s/%s differs from procedures/%s: run `make snapshot`", dialect, name, dialect)
		}
	}
}
