package db_test

import (
	"os"
	"strings"
	"testing"

	"github.com/applock/applock/internal/db"
)

// permittedGaps are files of the pattern that an operation does not have, with the reason.
func permittedGaps() map[string]string {
	return map[string]string{
		"cmd/applockctl/assert_appl_lock.go":          "it is for transactions, which a command does not have",
		"cmd/applockctl/serialize_appl_lock.go":       "it is for transactions, which a command does not have",
		"cmd/applockctl/announce_appl_lock_waiter.go": "get --wait does it",
		"cmd/applockctl/retract_appl_lock_waiter.go":  "get --wait does it",
		"cmd/applockctl/poll_appl_locks.go":           "get --wait does it",
		"cmd/applockctl/renew_appl_locks.go":          "it is for programs that hold many; a command renews by get",
		"testdata/scenarios/serialize_appl_lock.txt":  "it answers nothing; see testdata/interleavings",
		"testdata/scenarios/appl_lock_version.txt":    "it is a constant",
	}
}

// permittedExtras are files of a layer that belong to no operation, with the reason.
func permittedExtras() map[string]string {
	return map[string]string{
		"procedures/postgres/appl_lock_argument.sql": "what the operations check their arguments with",
		"procedures/postgres/appl_lock_time.sql":     "what the operations tell with how long a lock lasts",
		"procedures/mysql/appl_lock_argument.sql":    "what the operations refuse their arguments with",
		"procedures/db2/appl_lock_argument.sql":      "what the operations refuse their arguments with",
		"procedures/db2/zos/appl_lock_argument.sql":  "what the operations refuse their arguments with",
	}
}

// Goal: one operation is one straight line with the same stem at each stop, in every dialect.
// Method: each layer has one file for each operation, and no other.
func TestStemsAreComplete(t *testing.T) {
	t.Parallel()
	layers := []string{
		"cmd/applockctl/STEM.go",
		"applock/STEM.go",
		"internal/db/STEM.go",
		"internal/db/postgres/STEM.go",
		"internal/db/postgres/queries/STEM.sql.go",
		"internal/db/mysql/STEM.go",
		"internal/db/mysql/queries/STEM.sql.go",
		"internal/db/db2/STEM.go",
		"internal/db/sqlite/STEM.go",
		"internal/db/sqlite/queries/STEM.sql.go",
		"queries/postgres/STEM.sql",
		"queries/mysql/STEM.sql",
		"queries/sqlite/STEM.sql",
		"procedures/postgres/STEM.sql",
		"procedures/mysql/STEM.sql",
		"procedures/db2/STEM.sql",
		"procedures/db2/zos/STEM.sql",
		"testdata/scenarios/STEM.txt",
	}
	for _, layer := range layers {
		wanted := map[string]bool{}
		for _, operation := range db.Contract() {
			file := strings.ReplaceAll(layer, "STEM", operation.Name)
			wanted[file] = true
			_, permitted := permittedGaps()[file]
			_, err := os.Stat("../../" + file)
			if exists := err == nil; exists == permitted {
				t.Errorf("%s: exists %t, permitted gap %t", file, exists, permitted)
			}
		}
		folder, _, _ := strings.Cut(layer, "/STEM")
		entries, err := os.ReadDir("../../" + folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			file := folder + "/" + entry.Name()
			if strings.HasSuffix(layer, ".sql") && !entry.IsDir() && !wanted[file] && permittedExtras()[file] == "" {
				t.Errorf("%s belongs to no operation", file)
			}
		}
	}
}

// Goal: a query hands each parameter to its place, where sqlc does not check that because it gives a CALL no
// types. Method: the calls in queries/mysql name the contract's IN parameters in order.
func TestMySQLQueriesEqualContract(t *testing.T) {
	t.Parallel()
	for _, operation := range db.Contract() {
		var arguments []string
		for _, parameter := range operation.InParameters() {
			arguments = append(arguments, "sqlc.arg('"+strings.TrimPrefix(parameter.Name, "p_")+"')")
		}
		text, err := os.ReadFile("../../queries/mysql/" + operation.Name + ".sql")
		if err != nil {
			t.Fatal(err)
		}
		_, got, _ := strings.Cut(string(text), "\n")
		want := "CALL " + operation.RowForm() + "(" + strings.Join(arguments, ",") + ");"
		if strings.Join(strings.Fields(got), "") != strings.Join(strings.Fields(want), "") {
			t.Errorf("queries/mysql/%s.sql calls\n%s\nwant\n%s", operation.Name, got, want)
		}
	}
}

// Goal: differences between dialects live in SQL and in the drivers. Method: no Go file outside the
// drivers and the registry names a dialect in a case.
func TestStemsOneRegistry(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"../../applock", "../../cmd/applockctl", "."} {
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			if entry.IsDir() || strings.HasSuffix(entry.Name(), "_test.go") || !strings.HasSuffix(entry.Name(), ".go") {
				continue
			}
			text, err := os.ReadFile(folder + "/" + entry.Name())
			if err != nil {
				t.Fatal(err)
			}
			for _, dialect := range []string{"postgres", "sqlite", "mysql", "db2"} {
				if strings.Contains(string(text), `case "`+dialect) {
					t.Errorf("%s/%s decides by dialect: that belongs into the registry", folder, entry.Name())
				}
			}
		}
	}
}
