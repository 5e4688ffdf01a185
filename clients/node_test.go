package clients_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testdb"
)

func nodeLanguage() *language {
	mysqlAndMariaDB := []string{onMariaDB, onMySQL}
	return &language{
		folder: "node", extension: "mjs",
		command: func(_, program string) []string { return []string{"node", program} },
		place:   nodePlace,
		drivers: []driver{
			{name: "pg", products: []string{onPostgres}},
			{name: "mysql2", products: mysqlAndMariaDB},
			{name: "mariadb", products: mysqlAndMariaDB},
		},
	}
}

// nodePlace copies the programs of a folder to below the project in which clients/install has installed the package.
func nodePlace(t *testing.T, tools, folder string) string {
	t.Helper()
	place, err := os.MkdirTemp(filepath.Join(tools, "node/user"), "test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(place) })
	programs, err := filepath.Glob(filepath.Join(folder, "*.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range programs {
		text, err := os.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(place, filepath.Base(program)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return place
}

// Goal: the package keeps what it promises: an answer that no setting of a connection changes, refusals, errors, leases. Method: its own
// tests, with each driver on each product.
func TestNodePackage(t *testing.T) {
	t.Parallel()
	eachDriver(t, inLanguage("node"), func(t *testing.T, d driver, at place) {
		t.Helper()
		command := d.program(t, at, "node", "test")
		command.Args = []string{command.Args[0], "--test", "--test-force-exit", "--test-reporter=spec", "--test-concurrency=1", "test_locks.mjs", "test_leases.mjs"}
		states, err := filepath.Abs("../testdata/lease_states.txt")
		if err != nil {
			t.Fatal(err)
		}
		command.Env = append(command.Env, "APPLOCK_TEST_DRIVER="+d.name, "APPLOCK_TEST_LEASE_STATES="+states)
		if output, err := command.CombinedOutput(); err != nil || !strings.Contains(string(output), "skipped 0") {
			t.Errorf("%v\n%s", err, output)
		}
	})
}

// Goal: the page shows no code that is not tested, also in TypeScript. Method: the blocks are, but for indentation, a part of the program that
// clients/node/package compiles.
func TestNodePageShowsTestedCode(t *testing.T) {
	t.Parallel()
	program := indent.ReplaceAllString(textOf(t, "node/test_user.ts"), "")
	blocks := regexp.MustCompile("(?s)```ts\n(.*?)```").FindAllStringSubmatch(pagesOf(t, "node"), -1)
	if len(blocks) == 0 {
		t.Error("there are none")
	}
	for _, found := range blocks {
		if block := indent.ReplaceAllString(found[1], ""); !strings.Contains(program, block) {
			t.Errorf("no tested program has\n%s", block)
		}
	}
}

// Goal: what is built is a package that its ecosystem accepts, and that works in projects of both kinds with strict types. Method: the script
// that builds it checks that. It finds a fault: an entry that is not there.
func TestNodePackageIsChecked(t *testing.T) {
	t.Parallel()
	tools, folder := testdb.Clients(t), t.TempDir()
	broken := filepath.Join(folder, "clients/node")
	if err := os.CopyFS(broken, os.DirFS("node")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(folder, "applock/weblock"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string][2]string{
		"../../LICENSE":                    {"", "a license"},
		"../../applock/weblock/applock.js": {"", "// a script"},
		"package.json":                     {`"./applock.d.mts"`, `"./applock.d.cts"`}, // types that say it is CommonJS, also where it is ESM
	} {
		file := filepath.Join(broken, name)
		text, _ := os.ReadFile(file)
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), edit[0], edit[1])), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), filepath.Join(broken, "package"), filepath.Join(folder, "out"))
	command.Env = environment("APPLOCK_TEST_CLIENTS_DIR=" + tools)
	if output, err := command.CombinedOutput(); err == nil || !strings.Contains(string(output), "interpreted as CJS") {
		t.Errorf("%v\n%s", err, output)
	}
}
