package main

import (
	"strings"
	"testing"

	"github.com/applock/applock/migrations"
	"github.com/applock/applock/procedures"
)

// The newest migration of each server dialect is exactly what its procedures give.
func TestMigrationEqualsProcedures(t *testing.T) {
	t.Parallel()
	for _, dialect := range serverDialects() {
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

// The texts for z/OS are those for Linux, UNIX and Windows with the deltas, and each delta is needed.
func TestZOSEqualsDeltas(t *testing.T) {
	t.Parallel()
	names, texts, err := zosSources()
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		got, err := procedures.FS.ReadFile(zosFolder + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != texts[i] {
			t.Errorf("procedures/%s/%s differs from procedures/db2/%s: run `make snapshot`", zosFolder, name, name)
		}
	}
	all, err := readAll(procedures.FS, []string{"db2/get_appl_lock.sql", "db2/appl_lock_version.sql", "db2/appl_lock_argument.sql"})
	if err != nil {
		t.Fatal(err)
	}
	for _, delta := range zosDeltas() {
		if !delta.luw.MatchString(strings.Join(all, "")) {
			t.Errorf("no text needs the delta %s (%s)", delta.luw, delta.why)
		}
	}
}
