package db2_test

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/internal/migrate/db2"
	"github.com/applock/applock/migrations"
)

// Goal: the list of deltas is minimal. Method: the procedures of LUW need each of them.
func TestDeltasAreNeeded(t *testing.T) {
	t.Parallel()
	fsys := db2.Migrations()
	text, err := fs.ReadFile(fsys, "00002_procedures.sql")
	if err != nil {
		t.Fatal(err)
	}
	statements := strings.Split(string(text), "-- +goose StatementBegin\n")
	for pattern, why := range db2.Deltas() {
		needed := false
		for _, statement := range statements {
			needed = needed || pattern.MatchString(statement)
		}
		if !needed {
			t.Errorf("no statement needs the delta %s (%s)", pattern, why)
		}
	}
}

// Goal: z/OS has the steps of LUW. Method: each can be read.
func TestZOSMigrationsAreComplete(t *testing.T) {
	t.Parallel()
	fsys := db2.ZOSMigrations()
	names, err := fs.Glob(fsys, "*.sql")
	if err != nil || len(names) < 2 {
		t.Fatalf("there are %d steps, %v", len(names), err)
	}
	for _, name := range names {
		if _, err := fs.ReadFile(fsys, name); err != nil {
			t.Errorf("migrations/db2 has %s: %v", name, err)
		}
	}
}

// Goal: z/OS has the tables, indexes and columns of LUW. Method: compare the two texts of each step of tables, but for the options of a
// table and the check that z/OS cannot make.
func TestZOSTablesAreThoseOfLUW(t *testing.T) {
	t.Parallel()
	fsys := db2.ZOSMigrations()
	steps, err := fs.Glob(fsys, "zos/*.sql")
	if err != nil || len(steps) == 0 {
		t.Fatalf("there are %d steps of tables, %v", len(steps), err)
	}
	definition := regexp.MustCompile(`(?m)^(?:(?:CREATE|DROP) (?:TABLE|INDEX).*|    \w+ .*)$`)
	for _, step := range steps {
		var definitions [2][]string
		for i, name := range []string{strings.TrimPrefix(step, "zos/"), step} {
			text, err := migrations.FS.ReadFile("db2/" + name)
			if err != nil {
				t.Fatal(err)
			}
			definitions[i] = definition.FindAllString(strings.ReplaceAll(string(text), " AND LOCATE(':', object_type) = 0", ""), -1)
		}
		if !slices.Equal(definitions[0], definitions[1]) {
			t.Errorf("%s has\n%s\nwant, as on LUW,\n%s", step, strings.Join(definitions[1], "\n"), strings.Join(definitions[0], "\n"))
		}
	}
}

// Goal: on z/OS, where functions and views have no OR REPLACE, one is dropped before it is created with another text, and the migration
// says what that costs. Method: an upgrade that changes one, one that brings it, and one that removes it.
func TestZOSDropsWhatIsReplaced(t *testing.T) {
	t.Parallel()
	t.Run("Function", func(t *testing.T) { zosDrops(t, "FUNCTION", " ()\nRETURN 1\n", "SPECIFIC FUNCTION") })
	t.Run("View", func(t *testing.T) { zosDrops(t, "VIEW", " AS\nSELECT 1 AS one FROM t\n", "TABLE") })
}

func zosDrops(t *testing.T, kind, text, commented string) {
	t.Helper()
	create := "-- +goose StatementBegin\nCREATE OR REPLACE " + kind + " f" + text + "-- +goose StatementEnd\n\n"
	comment := "-- +goose StatementBegin\nCOMMENT ON " + commented + " f IS 'x'\n-- +goose StatementEnd\n\n"
	for migration, want := range map[string]int{
		"-- +goose Up\n" + create + comment + "-- +goose Down\n" + create + comment: 2,
		"-- +goose Up\n" + create + comment + "-- +goose Down\n":                    0,
		"-- +goose Up\n" + "-- +goose Down\n" + create + comment:                    0,
	} {
		got := db2.ZOSProcedures(migration)
		if strings.Count(got, "needs that again.\n-- +goose StatementBegin\nDROP "+kind+" f\n-- +goose StatementEnd\n") != want ||
			strings.Count(got, "DROP") != want || strings.Contains(got, "OR REPLACE") || strings.Contains(got, "COMMENT") {
			t.Errorf("%s\nbecomes\n%s\nwant %d DROP", migration, got, want)
		}
	}
}
