package clients_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/applock/applock/internal/testing/testdb"
)

// Goal: pip installs both modules of the folder as one package, for those who do not like to copy. Method: pip installs a
// copy of the folder into an empty directory, where Python finds both.
func TestPythonPackage(t *testing.T) {
	t.Parallel()
	python := filepath.Join(testdb.Clients(t), "python/bin/python3")
	source, target := t.TempDir(), t.TempDir()
	if err := os.CopyFS(source, os.DirFS("python")); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{
		{"-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-build-isolation", "--no-deps", "--target", target, source},
		{"-c", "import applock, applock_lease; print(applock.Locks, applock_lease.Lease)"},
	} {
		command := exec.CommandContext(t.Context(), python, arguments...)
		command.Dir = target
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
	}
}
