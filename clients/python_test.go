package clients_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testdb"
)

// Goal: a lease of Python excludes, renews, tells of a loss and survives crashes. Method: its own tests, with each driver on each
// product.
func TestPythonLease(t *testing.T) {
	t.Parallel()
	inPython := func(d driver) bool { return d.language.folder == "python" && !d.pageOnly }
	eachDriver(t, inPython, func(t *testing.T, d driver, at place) {
		t.Helper()
		command := d.program(t, at, "python", "test_lease")
		command.Args = []string{command.Path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_lease.py"}
		command.Env = append(command.Env, "APPLOCK_TEST_DRIVER="+d.name)
		if output, err := command.CombinedOutput(); err != nil || !strings.Contains(string(output), " passed") {
			t.Errorf("%v\n%s", err, output)
		}
	})
}

// Goal: pip installs both modules of the folder as one package, for those who do not like to copy. Method: pip installs a
// copy of the folder, because building leaves files, into a new environment, and Python finds both there.
func TestPythonPackage(t *testing.T) {
	t.Parallel()
	tools, folder := testdb.Clients(t), t.TempDir()
	source, python := filepath.Join(folder, "source"), filepath.Join(folder, "venv/bin/python3")
	if err := os.CopyFS(source, os.DirFS("python")); err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{
		{filepath.Join(tools, "python/bin/python3"), "-m", "venv", filepath.Join(folder, "venv")},
		{python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", source},
		{python, "-c", "import applock, applock_lease as a; assert '/venv/' in a.__file__ and '/venv/' in applock.__file__, a.__file__"},
	} {
		command := exec.CommandContext(t.Context(), words[0], words[1:]...)
		command.Dir = folder
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(words, " "), err, output)
		}
	}
}
