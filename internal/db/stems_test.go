package db_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/applock/open"
	"github.com/applock/applock/internal/db"
)

// layersOfOperations are the files that each operation has, STEM, in each dialect, DIALECT. sqlc does not know Db2, and gives a CALL of MySQL
// neither types nor columns: internal/db/STEM.go makes the calls of both.
func layersOfOperations() []string {
	return []string{
		"internal/db/STEM.go", "testdata/scenarios/STEM.txt", "procedures/DIALECT/STEM.sql", "queries/postgres/STEM.sql",
		"queries/sqlite/STEM.sql", "internal/db/postgres/STEM.go", "internal/db/sqlite/STEM.go", "applock/STEM.go",
		"cmd/applockctl/STEM.go",
	}
}

// layersOfViews are those of a view.
func layersOfViews() []string {
	return []string{
		"internal/db/STEM.go", "testdata/scenarios/STEM.txt", "queries/DIALECT/STEM.sql",
		"internal/db/DIALECT/STEM.go", "applock/STEM.go", "cmd/applockctl/STEM.go",
	}
}

// permittedGaps are layers that a dialect does not have, and files that an operation does not have, with the reason.
func permittedGaps() map[string]string {
	return map[string]string{
		"procedures/sqlite/STEM.sql":                  "it has no procedures; queries/sqlite has the operations",
		"queries/db2/STEM.sql":                        "sqlc does not know the engine; the driver has the calls",
		"cmd/applockctl/serialize_appl_lock.go":       "it is for transactions, which a command does not have",
		"cmd/applockctl/announce_appl_lock_waiter.go": "get --wait does it",
		"cmd/applockctl/retract_appl_lock_waiter.go":  "get --wait does it",
		"cmd/applockctl/poll_appl_locks.go":           "get --wait does it",
		"testdata/scenarios/serialize_appl_lock.txt":  "it answers nothing; see testdata/interleavings",
		"testdata/scenarios/appl_lock_version.txt":    "it is a constant",

		"queries/sqlite/take_appl_lock.sql":      "its statements are those of inquire_appl_lock and get_appl_lock",
		"queries/sqlite/transfer_appl_lock.sql":  "the same",
		"queries/sqlite/transfer_appl_locks.sql": "its statements are those of appl_lock_live and transfer_appl_lock",
		"queries/sqlite/release_appl_locks.sql":  "its statements are those of appl_lock_live and release_appl_lock",
	}
}

// operationStems are the names of the operations.
func operationStems() []string {
	var names []string
	for _, operation := range db.Contract() {
		names = append(names, operation.Name)
	}
	return names
}

// viewStems are the names of the views.
func viewStems() []string {
	var names []string
	for _, view := range db.Views() {
		names = append(names, view.Name)
	}
	return names
}

// expand returns a layer of each dialect, or the layer as it is where it is the same for all.
func expand(layer string) []string {
	if !strings.Contains(layer, "DIALECT") {
		return []string{layer}
	}
	var layers []string
	for _, dialect := range open.Dialects() {
		layers = append(layers, strings.ReplaceAll(layer, "DIALECT", dialect.Name))
	}
	return layers
}

// isHelper reports whether a file of a layer of SQL has no operation of its own: the views, what several operations call, which has
// no verb in its name, and a part of one operation, which is named after it.
func isHelper(file string) bool {
	name := strings.TrimSuffix(path.Base(file), ".sql")
	if slices.Contains(operationStems(), name) {
		return false
	}
	isPart := func(operation string) bool { return strings.HasPrefix(name, operation+"_") }
	return name == "views" || strings.HasPrefix(name, "appl_lock_") || slices.ContainsFunc(operationStems(), isPart)
}

// Goal: one operation is one straight line with the same stem at each stop, in every dialect.
// Method: each layer has one file for each operation, and no other.
func TestStemsAreComplete(t *testing.T) {
	t.Parallel()
	requireLayers(t, layersOfOperations(), operationStems())
	requireLayers(t, layersOfViews(), viewStems())
}

// requireLayers requires the layers for each dialect that has them.
func requireLayers(t *testing.T, layers, stems []string) {
	t.Helper()
	for _, pattern := range layers {
		for _, layer := range expand(pattern) {
			if permittedGaps()[layer] == "" {
				requireLayer(t, layer, stems)
			}
		}
	}
}

// requireLayer requires a file of a layer for each stem, and no other files but helpers.
func requireLayer(t *testing.T, layer string, stems []string) {
	t.Helper()
	wanted := map[string]bool{}
	for _, stem := range stems {
		file := strings.ReplaceAll(layer, "STEM", stem)
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
		ofView := slices.Contains(viewStems(), strings.TrimSuffix(entry.Name(), ".sql"))
		ofOperation := slices.Contains(operationStems(), strings.TrimSuffix(entry.Name(), ".sql"))
		if strings.HasSuffix(layer, ".sql") && !entry.IsDir() && !wanted[file] && !ofView && !ofOperation && !isHelper(file) {
			t.Errorf("%s belongs to no operation and no view", file)
		}
	}
}

// dialectsNamed are the files and folders that may name a dialect, with the reason.
func dialectsNamed() map[string]string {
	return map[string]string{
		"applock/open/":             "the registry of those who open by DSN",
		"internal/dialects/":        "the registry of those who migrate",
		"internal/db/":              "the drivers, each below its own folder",
		"internal/migrate/":         "what is special about migrating one, each below its own folder",
		"internal/build/":           "what makes files of this repository",
		"internal/testing/":         "what tests need",
		"verification/":             "tests and measurements that run on every engine",
		"applock/consumers_":        "what each of them links",
		"applock/postgres/":         "its constructor",
		"applock/mysql/":            "its constructor",
		"applock/db2/":              "its constructor",
		"applock/sqlite/":           "its constructor",
		"applock/applocktest/":      "it is one, in memory",
		"applock/weblock/demo/":     "an application",
		"applock/lease/pgadvisory/": "locks of one product",
		"applock/lease/getlock/":    "locks of one product",

		"cmd/applockctl/migrate_print.go": "it says for each dialect what the comments of one say",
	}
}

// Goal: differences between dialects live in SQL, in the drivers and in the two registries. Method: no other Go file
// names a dialect in a literal.
func TestStemsOneRegistry(t *testing.T) {
	t.Parallel()
	literal := regexp.MustCompile(`"(postgres|sqlite|mysql|mariadb|db2)"`)
	err := filepath.WalkDir("../..", func(place string, entry fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(place, "../../"))
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{"bench", "tools", ".git"}, name) { // other modules, and no code
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		for permitted := range dialectsNamed() {
			if strings.HasPrefix(name, permitted) {
				return nil
			}
		}
		text, err := os.ReadFile(place)
		if found := literal.FindString(string(text)); found != "" {
			t.Errorf("%s names %s: that belongs into a driver or a registry", name, found)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
