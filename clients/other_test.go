package clients_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testdb"
)

// notRun is the language of the block whose text says that it has not been run.
const notRun = "cobol"

// Goal: what README.md shows for languages without a library runs, and prints what stands below it. Method: each block is a program for the
// interpreter of its name, on the products that it is about.
func TestProgramsWithoutALibrary(t *testing.T) {
	t.Parallel()
	testdb.Clients(t)
	if !isWanted("other") {
		return
	}
	page := textOf(t, "README.md")
	programs := block.FindAllStringSubmatch(page, -1)
	shown := slices.DeleteFunc(fence.FindAllStringSubmatch(page, -1), func(found []string) bool { return found[1] == "text" || found[1] == notRun })
	if len(programs) == 0 || len(programs) != len(shown) {
		t.Errorf("%d blocks are run, and %d shown", len(programs), len(shown))
	}
	folder := filepath.Dir(testdb.Applockctl(t))
	for _, found := range programs {
		for _, product := range strings.Split(found[1], ", ") {
			if !slices.Contains(products(), product) {
				continue
			}
			t.Run(found[2]+"/"+product, func(t *testing.T) {
				t.Parallel()
				runWithoutALibrary(t, newPlace(t, product), folder, found)
			})
		}
	}
}

// runWithoutALibrary runs a block, with applockctl of a folder in its PATH.
func runWithoutALibrary(t *testing.T, at place, applockctl string, found []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, []byte(found[3]), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "sh", "-c", `PATH="$0:$PATH" exec "$@"`, applockctl, found[2], file)
	command.Env = environment(append(at.environment, "APPLOCK_DSN="+at.dsn)...)
	var complaints strings.Builder
	command.Stderr = &complaints
	output, err := command.Output()
	if got := string(output); err != nil || got != found[4] {
		t.Errorf("%v\n%s\nprinted:\n%s\nwant:\n%s", err, complaints.String(), got, found[4])
	}
}
