// Package conditions_test plays testdata/conditions.tsv, and makes docs/conditions.md from it.
package conditions_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testfile"
)

const table = "../../testdata/conditions.tsv"

// condition is a row of the table. How has the ways to make it, with the kind of each before its colon.
type condition struct {
	chapter, name, products, promise, text string
	how                                    []made
}

// made is one of the ways: session, dsn, create, before, after, global, pooler, key, value, join, letters, column, or words for people only.
type made struct{ kind, value string }

// heavy marks a row that make test leaves out.
const heavy = "heavy"

var kinds = []string{"session", "dsn", "create", "before", "after", "global", "pooler", "column", "key", "value", "join", "letters"}

// of returns the values of a kind.
func (c condition) of(kind string) (values []string) {
	for _, way := range c.how {
		if way.kind == kind {
			values = append(values, way.value)
		}
	}
	return values
}

func (c condition) isHeavy() bool { return slices.Contains(c.how, made{"", heavy}) }

// read returns the rows. An empty cell repeats the one above, but for the text, which repeats only with the name.
func read(t *testing.T) []condition {
	t.Helper()
	var rows []condition
	var above condition
	for line := range strings.Lines(testfile.Read(t, table)) {
		line = strings.TrimSuffix(line, "\n")
		if chapter, is := strings.CutPrefix(line, "# "); is {
			above = condition{chapter: chapter}
			continue
		}
		cells := strings.Split(line, "\t")
		if len(cells) != 5 {
			t.Fatalf("%d cells, want 5: %s", len(cells), line)
		}
		row := condition{chapter: above.chapter, name: cells[0], products: cells[1], promise: cells[3], text: cells[4]}
		if row.name == "" {
			row.name, row.text = above.name, above.text
		}
		if row.products == "" {
			row.products = above.products
		}
		if row.promise == "" {
			row.promise = above.promise
		}
		for way := range strings.SplitSeq(cells[2], " | ") {
			kind, value, found := strings.Cut(way, ": ")
			if !found || !slices.Contains(kinds, kind) {
				kind, value = "", way
			}
			row.how = append(row.how, made{kind, value})
		}
		rows, above = append(rows, row), row
	}
	return rows[1:] // below the names of the columns
}

// Goal: a reader of docs/conditions.md finds what the tests play. Method: the page is made from the table.
func TestPage(t *testing.T) {
	t.Parallel()
	const page = "../conditions.md"
	text := testfile.Read(t, page)
	intro, _, _ := strings.Cut(text, "\n## ")
	want := strings.TrimSpace(intro) + "\n" + chapters(read(t))
	if os.Getenv("APPLOCK_UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != text {
		t.Errorf("%s is not made from %s: run APPLOCK_UPDATE_GOLDEN=1 go test ./docs/conditions -run TestPage", page, table)
	}
}

// chapters are the tables of the page. Rows of one name, promise and text are one.
func chapters(rows []condition) string {
	var page strings.Builder
	cell := func(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
	for i := 0; i < len(rows); {
		row, last := rows[i], i
		if i == 0 || rows[i-1].chapter != row.chapter {
			page.WriteString("\n## " + row.chapter + "\n\n| condition | on | how | promise |\n|---|---|---|---|\n")
		}
		var ways, products []string
		for ; last < len(rows) && rows[last].name == row.name && rows[last].promise == row.promise && rows[last].text == row.text; last++ {
			ways = append(ways, rows[last].shown())
			products = append(products, strings.Split(rows[last].products, ", ")...)
		}
		promise := strings.TrimSuffix(row.promise+". "+row.text, ". ")
		word, message, _ := strings.Cut(row.promise, ": ")
		switch message, mend, _ := strings.Cut(message, ", until "); word {
		case "refused":
			promise = "refused, `" + message + "`. " + row.text
		case "NOTE":
			promise = "works; `verify` notes: " + message + ". " + row.text
		case "FAILED":
			promise = "`verify` fails: " + message + ". Mended by `" + mend + "`. " + row.text
			if command, message, refuses := strings.Cut(mend, ": "); refuses {
				promise = "`" + command + "` refuses: " + message + ". " + row.text
			}
		}
		page.WriteString("| " + strings.Join([]string{
			row.name, strings.Join(names(products), ", "), cell(strings.Join(slices.Compact(ways), "; ")), cell(strings.TrimRight(promise, " ")),
		}, " | ") + " |\n")
		i = last
	}
	return page.String()
}

// names are the names of products, each once.
func names(products []string) (found []string) {
	words := map[string]string{
		"postgres": "PostgreSQL", "pgbouncer": "PgBouncer", "mariadb": "MariaDB", "mysql": "MySQL", "sqlite": "SQLite", "db2": "Db2", "galera": "Galera",
	}
	for _, product := range products {
		if !slices.Contains(found, words[product]) {
			found = append(found, words[product])
		}
	}
	return found
}

// shown is how a condition is made, for people.
func (c condition) shown() string {
	var parts []string
	for _, way := range c.how {
		words := map[string]string{"session": "`SET ", "dsn": "DSN: `", "create": "`CREATE DATABASE ... ", "global": "`SET GLOBAL ", "column": "`", "key": "column `", "join": "`"}
		switch before, known := words[way.kind]; {
		case way.kind == "letters", way.kind == "value", way.value == heavy:
		case way.kind == "":
			parts = append(parts, way.value)
		case known:
			parts = append(parts, before+way.value+"`")
		default:
			parts = append(parts, "`"+way.value+"`")
		}
	}
	return strings.Join(parts, ", ")
}
