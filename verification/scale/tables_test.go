package scale

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testfile"
)

const (
	page       = "../../docs/scale.md"
	millionRun = "../../docs/scale/million.json"
	// updateVariable has the page's tables made from the runs.
	updateVariable = "APPLOCK_UPDATE_GOLDEN"
)

// Goal: the page's tables of a million are those of the run. Method: make them from it, or compare.
func TestPageHasTheMillion(t *testing.T) {
	t.Parallel()
	var r millions
	if err := json.Unmarshal([]byte(testfile.Read(t, millionRun)), &r); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(r.Products, func(a, b million) int { return order(a.Product) - order(b.Product) })
	text := testfile.Read(t, page)
	for _, table := range []string{machinesTable(r), operationsTable(r)} {
		if strings.Contains(text, table) {
			continue
		}
		if os.Getenv(updateVariable) == "" {
			t.Errorf("the page lacks this table, which %s=1 makes:\n%s", updateVariable, table)
			continue
		}
		text = replaceTable(t, text, table)
	}
	if os.Getenv(updateVariable) != "" {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func order(product string) int {
	return slices.Index([]string{"postgres", "mariadb", "mysql", "sqlite"}, product)
}

// replaceTable puts a table where one with the same first cell is.
func replaceTable(t *testing.T, text, table string) string {
	t.Helper()
	first, _, _ := strings.Cut(strings.TrimPrefix(table, "|"), "|")
	start := strings.Index(text, "\n|"+first+"|")
	if start < 0 {
		t.Fatalf("the page has no table that begins with %q", first)
	}
	start++
	end := start
	for strings.HasPrefix(text[end:], "|") {
		end += strings.Index(text[end:], "\n") + 1
	}
	return text[:start] + table + text[end:]
}

// tableOf is a table with a head.
func tableOf(head []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(head)
	b.WriteString(strings.Repeat("|---", len(head)) + "|\n")
	for _, row := range rows {
		line(row)
	}
	return b.String()
}

func machinesTable(r millions) string {
	var rows [][]string
	for _, m := range r.Products {
		rows = append(rows, []string{m.Server, fmt.Sprint(m.Rows), m.Time, m.Load})
	}
	return tableOf([]string{"server", "rows of each", "when", "load at the start"}, rows)
}

func operationsTable(r millions) string {
	head := []string{"call, alone"}
	cells := map[string][]string{}
	var names []string
	for i, m := range r.Products {
		head = append(head, m.Product)
		for _, o := range m.Operations {
			if i == 0 {
				names = append(names, o.Name)
			}
			cells[o.Name] = append(cells[o.Name], fmt.Sprintf("%d, %s", o.Reads, rounded(o.Milliseconds)))
		}
	}
	var rows [][]string
	for _, name := range names {
		rows = append(rows, append([]string{name}, cells[name]...))
	}
	return tableOf(head, rows)
}

// rounded is a time in milliseconds, with two digits behind the point if it is small.
func rounded(ms float64) string {
	const small = 10
	if ms < small {
		return fmt.Sprintf("%.2f", ms)
	}
	return fmt.Sprintf("%.0f", ms)
}
