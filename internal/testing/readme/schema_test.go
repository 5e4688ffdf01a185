package readme

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testfile"
)

// schema is what the files have of the tables: for each dialect its columns, and of MySQL, which has them, keys and comments.
type schema struct {
	// types are by dialect and table.column.
	types map[string]map[string]string
	// columns are in order, by table.
	columns  map[string][]string
	meanings map[string]string
	keys     map[string][]string
	indexes  map[string][]string
}

var (
	goldenColumn = regexp.MustCompile(`(?m)^column (\w+)\.(\w+) (.*?)(?: -- (.*))?$`)
	goldenTable  = regexp.MustCompile(`(?m)^table (\w+) [^-]* -- (.*)$`)
	goldenIndex  = regexp.MustCompile(`(?m)^index (\w+)\.(\w+) (?:UNIQUE )?BTREE \((.*)\)$`)
	created      = regexp.MustCompile(`(?s)CREATE TABLE (\w+) \(\n(.*?)\n\s*\)`)
	commented    = regexp.MustCompile(`(?m)^COMMENT ON COLUMN (\w+\.\w+) IS '(.*)';$`)
	createdField = regexp.MustCompile(`(?m)^ +([a-z_]+) ([A-Z][^,\n]*),$`)
)

func readSchema(t *testing.T) schema {
	t.Helper()
	read := func(name string) string {
		return testfile.Read(t, filepath.Join(root, name))
	}
	s := schema{map[string]map[string]string{}, map[string][]string{}, map[string]string{}, map[string][]string{}, map[string][]string{}}
	for _, dialect := range []string{"mysql", "postgres"} {
		s.types[dialect] = map[string]string{}
		for _, column := range goldenColumn.FindAllStringSubmatch(read("testdata/schema/"+dialect+".golden"), -1) {
			s.types[dialect][column[1]+"."+column[2]] = column[3]
			if dialect == "mysql" {
				s.columns[column[1]] = append(s.columns[column[1]], column[2])
				s.meanings[column[1]+"."+column[2]] = column[4]
			}
		}
	}
	for dialect, file := range map[string]string{"sqlite": "testdata/schema/sqlite.golden", "db2": "migrations/db2/00001_appl_lock.sql"} {
		s.types[dialect] = map[string]string{}
		for _, table := range created.FindAllStringSubmatch(read(file), -1) {
			for _, column := range createdField.FindAllStringSubmatch(table[2], -1) {
				s.types[dialect][table[1]+"."+column[1]] = column[2]
			}
		}
	}
	for _, comment := range commented.FindAllStringSubmatch(read("migrations/postgres/00001_appl_lock.sql"), -1) {
		if own, found := strings.CutPrefix(s.meanings[comment[1]], comment[2]); found && own != "" {
			s.meanings[comment[1]] = comment[2] + " On MySQL and MariaDB:" + own
		}
	}
	for _, table := range goldenTable.FindAllStringSubmatch(read("testdata/schema/mysql.golden"), -1) {
		s.meanings[table[1]] = table[2]
	}
	for _, index := range goldenIndex.FindAllStringSubmatch(read("testdata/schema/mysql.golden"), -1) {
		columns := strings.Split(strings.ReplaceAll(index[3], " A", ""), ", ")
		if index[2] == "PRIMARY" {
			s.keys[index[1]] = columns
		} else {
			s.indexes[index[1]] = append(s.indexes[index[1]], "`"+index[2]+"` ("+strings.Join(columns, ", ")+")")
		}
	}
	return s
}

// typeOf returns a column's type without what holds for all: whether NULL is allowed is told once, text is compared by bytes, and a default is
// for the procedures.
func (s schema) typeOf(t *testing.T, dialect, column string) (name string, nullable bool) {
	t.Helper()
	name = s.types[dialect][column]
	if name == "" {
		t.Fatalf("%s has no column %s", dialect, column)
	}
	words := regexp.MustCompile(` NOT NULL| COLLATE "C"| utf8mb4\w*| (?i:default) ''`).ReplaceAllString(name, "")
	return strings.ToLower(words), !strings.Contains(name, "NOT NULL")
}

// table returns the chapter of a table.
func (s schema) table(t *testing.T, name string) string {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "## %s\n\n%s\n\n| column | PostgreSQL | MySQL, MariaDB | SQLite | Db2 | meaning |\n|---|---|---|---|---|---|\n", name, s.meanings[name])
	for _, column := range s.columns[name] {
		label := "`" + column + "`"
		if slices.Contains(s.keys[name], column) {
			label = "**" + label + "**"
		}
		fmt.Fprintf(&text, "| %s", label)
		var nullable []bool
		for _, dialect := range []string{"postgres", "mysql", "sqlite", "db2"} {
			what, null := s.typeOf(t, dialect, name+"."+column)
			fmt.Fprintf(&text, " | %s", what)
			nullable = append(nullable, null)
		}
		if len(slices.Compact(nullable)) != 1 {
			t.Errorf("%s.%s may be NULL in one dialect and not in another", name, column)
		}
		fmt.Fprintf(&text, " | %s |\n", s.meanings[name+"."+column])
	}
	fmt.Fprintf(&text, "\nPrimary key: %s.", strings.Join(s.keys[name], ", "))
	if s.indexes[name] != nil {
		fmt.Fprintf(&text, " Index: %s.", strings.Join(s.indexes[name], ", "))
	}
	return text.String() + "\n\n"
}

// Goal: the page of the tables is the catalogues. Method: its chapters on tables are made from the files that other tests
// compare with the catalogues; APPLOCK_UPDATE_GOLDEN=1 (make golden) rewrites them.
func TestSchemaPageEqualsGolden(t *testing.T) {
	t.Parallel()
	s := readSchema(t)
	tables := []string{"appl_lock", "appl_lock_waiter", "appl_lock_ask", "appl_lock_viewer", "appl_lock_event", "appl_lock_policy"}
	page := filepath.Join(root, "docs/schema.md")
	before, rest, _ := strings.Cut(testfile.Read(t, page), "\n## "+tables[0]+"\n")
	_, after, found := strings.Cut(rest, "\n## And besides\n")
	if !found {
		t.Fatalf("%s has not the chapters %s and And besides", page, tables[0])
	}
	var chapters strings.Builder
	for _, table := range tables {
		chapters.WriteString(s.table(t, table))
	}
	contract.Golden(t, page, before+"\n"+chapters.String()+"## And besides\n"+after)
}
