// Package oracle_test reads the text for Oracle, which nobody has executed: docs/oracle.md.
package oracle_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/readme"
	"github.com/applock/applock/internal/testing/testfile"
)

// text returns the text.
func text(t *testing.T) string {
	t.Helper()
	return testfile.Read(t, "serialize_appl_lock.sql")
}

var (
	lineComment = regexp.MustCompile(`(?m)^ *--.*\n`)
	header      = regexp.MustCompile(`(?s)\nCREATE OR REPLACE (?:PROCEDURE|FUNCTION) (\w+) \(\n(.*?)\n\)`)
	formal      = regexp.MustCompile(`(?m)^    (p_\w+) (IN|OUT) (\w+),?$`)
	// data is a statement that reads or changes rows. What it reads goes into variables.
	data = regexp.MustCompile(`(?ms)^ +((?:SELECT|INSERT|UPDATE|DELETE) .*?);$`)
)

// Goal: the operation has the contract's name, parameters, order and directions. Method: compare.
func TestSignatureEqualsContract(t *testing.T) {
	t.Parallel()
	var got, want []string
	for _, routine := range header.FindAllStringSubmatch(text(t), -1) {
		if routine[1] != "serialize_appl_lock" {
			continue
		}
		for _, parameter := range formal.FindAllStringSubmatch(routine[2], -1) {
			got = append(got, strings.Join(parameter[1:], " "))
		}
	}
	for _, operation := range db.Contract() {
		if operation.Name != "serialize_appl_lock" {
			continue
		}
		for _, parameter := range operation.Parameters {
			want = append(want, parameter.Name+" "+string(parameter.Direction)+" VARCHAR2")
		}
	}
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("the parameters are\n%q, want\n%q", got, want)
	}
}

// lint returns the names of the files that sqlfluff's parser of Oracle does not understand.
func lint(t *testing.T, folder string) []string {
	t.Helper()
	output, _ := readme.Python(t, "../..", "", "sqlfluff", "lint", "--dialect", "oracle", "--rules", "LT12", "--format", "json", folder)
	var results []struct {
		Path       string `json:"filepath"`
		Violations []struct{ Code, Description string }
	}
	if err := json.Unmarshal([]byte(output), &results); err != nil {
		t.Fatalf("sqlfluff: %v\n%s", err, output)
	}
	var refused []string
	for _, result := range results {
		for _, violation := range result.Violations {
			t.Logf("%s: %s %s", result.Path, violation.Code, violation.Description)
			refused = append(refused, filepath.Base(result.Path))
		}
	}
	slices.Sort(refused)
	return slices.Compact(refused)
}

// Goal: sqlfluff's parser understands all of the text, as PL/SQL. Method: that, and that it refuses copies of which each lacks
// something.
func TestHeavySqlfluffParses(t *testing.T) {
	t.Parallel()
	if refused := lint(t, "."); len(refused) > 0 {
		t.Errorf("not understood: %v", refused)
	}
	folder, want := t.TempDir(), []string(nil)
	whole := text(t)
	for name, broken := range map[string][2]string{
		"begin.sql": {"BEGIN\n", ""},
		"comma.sql": {"p_object_type IN VARCHAR2,", "p_object_type IN VARCHAR2"},
		"end.sql":   {"END;", ""},
		"into.sql":  {"INSERT INTO", "INSERT"},
		"mode.sql":  {"p_object_id IN VARCHAR2", "p_object_id VARCHAR2 IN"},
	} {
		copied := strings.Replace(whole, broken[0], broken[1], 1)
		if err := os.WriteFile(filepath.Join(folder, name), []byte(copied), 0o600); err != nil {
			t.Fatal(err)
		}
		want = append(want, name)
	}
	slices.Sort(want)
	if refused := lint(t, folder); !slices.Equal(refused, want) {
		t.Errorf("refused are %v, want %v", refused, want)
	}
}

// Goal: sqlglot's parser, another one, understands the tables and each statement on rows. Method: that; and that it refuses one that lacks
// something. What it does not know it calls a command, which counts as not understood.
func TestHeavySqlglotParses(t *testing.T) {
	t.Parallel()
	var statements []string
	whole := lineComment.ReplaceAllString(text(t), "")
	for _, routine := range strings.Split(whole, "\n/\n") {
		if table := strings.TrimSpace(routine); strings.HasPrefix(table, "CREATE TABLE") {
			statements = append(statements, table)
		}
	}
	for _, statement := range data.FindAllStringSubmatch(whole, -1) {
		statements = append(statements, statement[1])
	}
	if len(statements) != 3 {
		t.Fatalf("%d statements", len(statements))
	}
	all := strings.Join(statements, ";\n")
	for input, understood := range map[string]bool{
		all: true,
		strings.Replace(all, "PRIMARY KEY (", "PRIMARY KEY ", 1): false,
		strings.Replace(all, "VALUES (", "VALUES ", 1):           false,
	} {
		output, code := readme.Python(t, "../..", input, "sqlglot", "--read", "oracle", "--error-level", "RAISE", "--parse", "-")
		if got := code == 0 && !strings.Contains(output, "Command(") && !strings.Contains(output, "unsupported"); got != understood {
			t.Errorf("understood is %t, want %t:\n%.2000s", got, understood, output)
		}
	}
}
