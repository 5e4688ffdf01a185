package db_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/testfile"
)

// Goal: docs/reference.md is the contract. Method: render it and compare;
// APPLOCK_UPDATE_GOLDEN=1 (make golden) rewrites it.
func TestReferenceEqualsContract(t *testing.T) {
	t.Parallel()
	const file, marker = "../../docs/reference.md", "do not edit below -->\n"
	written, got, found := strings.Cut(testfile.Read(t, file), marker)
	if !found {
		t.Fatalf("%s lacks the line that ends in %q", file, marker)
	}
	want := reference()
	if os.Getenv("APPLOCK_UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(written+marker+want), 0o644); err != nil {
			t.Fatal(err)
		}
		got = want
	}
	if got != want {
		t.Errorf("%s differs from the contract: run `make golden`", file)
	}
}

func reference() string {
	var out strings.Builder
	for _, operation := range db.Contract() {
		fmt.Fprintf(&out, "\n### %s\n\n%s\n", operation.Name, operation.Summary)
		if len(operation.Parameters) > 0 {
			fmt.Fprint(&out, "\n| parameter | | type | meaning |\n|---|---|---|---|\n")
			for _, parameter := range operation.Parameters {
				fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", parameter.Name, parameter.Direction, parameter.Type, parameter.Meaning)
			}
		}
		if operation.ResultSet() {
			fmt.Fprint(&out, "\n| column | type | meaning |\n|---|---|---|\n")
			for _, column := range operation.Columns {
				fmt.Fprintf(&out, "| `%s` | %s | %s |\n", column.Name, column.Type, column.Meaning)
			}
		}
		writeAnswers(&out, operation)
		if columns := operation.RowParameters(); operation.Parameters != nil && !operation.ResultSet() {
			names := make([]string, len(columns))
			for i, column := range columns {
				names[i] = "`" + column.Name + "`"
			}
			fmt.Fprintf(&out, "\nRow form: `%s_row`, columns %s.\n", operation.Name, strings.Join(names, ", "))
		}
	}
	for _, view := range db.Views() {
		fmt.Fprintf(&out, "\n### %s\n\nView. %s\n\n| column | type | meaning |\n|---|---|---|\n", view.Name, view.Summary)
		for i, column := range view.Columns {
			name := "`" + column.Name + "`"
			if i < view.Key {
				name += " (key)"
			}
			fmt.Fprintf(&out, "| %s | %s | %s |\n", name, column.Type, column.Meaning)
		}
	}
	return out.String()
}

// writeAnswers writes the outcomes and their meanings as a table, and below it what has no outcome.
func writeAnswers(out *strings.Builder, operation db.Operation) {
	var remarks []string
	heading := "\n| answer | meaning |\n|---|---|\n"
	for _, answer := range operation.Answers {
		if answer.Outcome == "" {
			remarks = append(remarks, answer.Meaning)
			continue
		}
		fmt.Fprintf(out, "%s| `%s` | %s |\n", heading, operation.Words(answer), answer.Meaning)
		heading = ""
	}
	switch len(remarks) {
	case 0:
	case 1:
		fmt.Fprintf(out, "\nIt answers: %s.\n", remarks[0])
	default:
		fmt.Fprintf(out, "\nIt answers:\n\n- %s\n", strings.Join(remarks, "\n- "))
	}
}
