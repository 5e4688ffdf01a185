package clients_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testdb"
)

// Goal: what the library of Python promises beside the scenarios, and its leases. Method: their own tests, with each driver on each product.
func TestPythonLibrary(t *testing.T) {
	t.Parallel()
	eachDriver(t, inLanguage("python"), func(t *testing.T, d driver, at place) {
		t.Helper()
		command := d.program(t, at, "python", "test_locks")
		command.Args = []string{command.Path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_locks.py", "test_lease.py", "test_pools.py"}
		command.Env = append(command.Env, "APPLOCK_TEST_DRIVER="+d.name)
		if output, err := command.CombinedOutput(); err != nil || !strings.Contains(string(output), " passed") || strings.Contains(string(output), " skipped") {
			t.Errorf("%v\n%s", err, output)
		}
	})
}

// Goal: the package that is published has all that it should, and building it leaves nothing in the tree. Method: build it, and look.
func TestPythonPackage(t *testing.T) {
	t.Parallel()
	testdb.Clients(t)
	if !isWanted("python") {
		return
	}
	before, out, name := filesBelow(t, "python"), t.TempDir(), "applock-"+packageVersion(t)
	if output, err := exec.CommandContext(t.Context(), "python/package", out).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if want := []string{name + "-py3-none-any.whl", name + ".tar.gz"}; !slices.Equal(filesBelow(t, out), want) {
		t.Errorf("built %q, want %q", filesBelow(t, out), want)
	}
	if after := filesBelow(t, "python"); !slices.Equal(before, after) {
		t.Errorf("before building there were %q, and after it there are %q", before, after)
	}
	output, err := exec.CommandContext(t.Context(), "tar", "-tzf", filepath.Join(out, name+".tar.gz")).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"LICENSE", "README.md", "pyproject.toml", "src/applock/py.typed"} {
		if !strings.Contains(string(output), name+"/"+file+"\n") {
			t.Errorf("the sdist lacks %s", file)
		}
	}
	shown, err := exec.CommandContext(t.Context(), "tar", "-xzOf", filepath.Join(out, name+".tar.gz"), name+"/PKG-INFO").Output()
	if err != nil {
		t.Fatal(err)
	}
	if relative := regexp.MustCompile(`\]\([^h#][^)]*\)`).FindAllString(string(shown), -1); relative != nil {
		t.Errorf("the registry would show links that lead nowhere: %q", relative)
	}
}

// Goal: what the other tests run is the package as it is installed, and not the tree. Method: a program in the tree asks where it is from.
func TestPythonRunsTheInstalledPackage(t *testing.T) {
	t.Parallel()
	installed := filepath.Join(testdb.Clients(t), "python-installed")
	if !isWanted("python") {
		return
	}
	command := exec.CommandContext(t.Context(), filepath.Join(installed, "bin/python3"), "-c", "import applock; print(applock.__file__)")
	command.Dir = "python"
	if output, err := command.Output(); err != nil || !strings.HasPrefix(string(output), installed+"/lib/") {
		t.Errorf("the package is %s: %v", output, err)
	}
}

// Goal: whoever installs from the checkout need not tidy up. Method: git ignores what building leaves there.
func TestPythonBuildsAreIgnored(t *testing.T) {
	t.Parallel()
	leavings := []string{"python/build/lib/applock/__init__.py", "python/src/applock.egg-info/PKG-INFO", "python/dist/applock-0.1.0.tar.gz", "python/__pycache__/player.pyc"}
	output, err := exec.CommandContext(t.Context(), "git", append([]string{"check-ignore"}, leavings...)...).Output()
	if got := strings.Fields(string(output)); !slices.Equal(got, leavings) {
		t.Errorf("git ignores %q of %q: %v", got, leavings, err)
	}
}

// userProgram uses the package as a program with types does.
const userProgram = `
from datetime import timedelta
from typing import Any, assert_type

from applock import Answer, AsyncLease, AsyncLocks, Held, Lease, Lock, Locks, Lost, Permit


def work(connection: Any) -> None:
    locks = Locks(connection)
    lock = locks.get("customer", 42, "JDOE", ttl=timedelta(hours=1))
    assert_type(lock, Answer)
    assert_type(locks.inquire("customer", 42), Lock | None)
    assert_type(locks.permit("room", "desk", 3, "JDOE"), Permit)
    assert_type(locks.release_all("JDOE", dry_run=True), list[Answer])
    assert_type(locks.purge(), int)
    if not lock and lock.holder:
        print(lock.holder.operator.lower())
    locks.assert_held("customer", 42, "JDOE", lock.fence)
    try:
        with Lease(lambda: connection, "job", "report", ttl=30, wait=10) as lease:
            assert_type(lease.fence, int)
            lease.lost.wait(1)
    except (Held, Lost) as refused:
        print(refused)


async def work_too(connection: Any) -> None:
    assert_type(await AsyncLocks(connection).get("customer", 42, "JDOE"), Answer)
    async with AsyncLease(lambda: connection, "job", "report") as lease:
        await lease.lost.wait()
`

// mistakes are lines that a type checker is to complain about.
const mistakes = `
from typing import Any
from applock import AsyncLocks, Locks


async def work(connection: Any) -> None:
    Locks(connection).get("customer", 42, "JDOE", ttl_seconds=60)
    Locks(connection).get("customer", 42.5, "JDOE")
    Locks(connection).release_all("JDOE", dry_run="Y")
    if AsyncLocks(connection).get("customer", 42, "JDOE").granted: print()
`

// Goal: a type checker knows the package as it is installed, accepts what the pages show, and finds mistakes. Method: mypy, on a program, on
// the pages' blocks for the driver that has types, and on mistakes.
func TestPythonTypes(t *testing.T) {
	t.Parallel()
	tools := testdb.Clients(t)
	if !isWanted("python") {
		return
	}
	check := func(program string) (string, error) {
		file := filepath.Join(t.TempDir(), "program.py")
		if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
			t.Fatal(err)
		}
		command := exec.CommandContext(t.Context(), filepath.Join(tools, "python/bin/python3"), "-m", "mypy", "--strict", "--cache-dir=/dev/null",
			"--python-executable", filepath.Join(tools, "python-installed/bin/python3"), file)
		command.Dir = t.TempDir()
		output, err := command.CombinedOutput()
		return string(output), err
	}
	pages := textOf(t, "python/README.md") + textOf(t, "python/support.md")
	blocking, _ := blocksFor("psycopg", pages)
	awaited, _ := blocksFor("psycopg-async", pages)
	for _, program := range []string{userProgram, blocking, awaited} {
		if output, err := check(program); err != nil {
			t.Errorf("%v\n%s\n%s", err, output, program)
		}
	}
	output, _ := check(mistakes)
	for line := 7; line <= 10; line++ {
		if !strings.Contains(output, fmt.Sprintf("program.py:%d: error:", line)) {
			t.Errorf("no complaint about line %d:\n%s", line, output)
		}
	}
}

// filesBelow returns the files of a folder.
func filesBelow(t *testing.T, folder string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			name, err = filepath.Rel(folder, name)
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
