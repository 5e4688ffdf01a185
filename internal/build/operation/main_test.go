package main

import (
	"encoding/json"
	"go/format"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testfile"
)

// fromSQLC is what sqlc makes of the queries, as far as the drivers use it: the test has no sqlc.
func fromSQLC() map[string]string {
	return map[string]string{
		"postgres": `import "context"

type ExtendApplLocksRow struct{ OkFl, Outcome string }

func (q *Queries) ExtendApplLocks(ctx context.Context, objectType, objectID, operatorID string) (row ExtendApplLocksRow, err error) {
	return row, q.db.QueryRow(ctx, "").Scan()
}
`,
		"sqlite": `import "context"

type ExtendApplLocksRow struct{ OkFl, Outcome string }

func (q *Queries) ExtendApplLocks(ctx context.Context) (row ExtendApplLocksRow, err error) {
	return row, q.db.QueryRowContext(ctx, "").Scan()
}
`,
		"mysql": "const ExtendApplLocks = \"\"\n",
	}
}

// root is where the tree is from here.
const root = "../../.."

// emptyTree returns a folder with what the program reads and changes, and with the folders that it writes to.
func emptyTree(t *testing.T) string {
	t.Helper()
	operation, err := namesOf("extend_appl_locks")
	if err != nil {
		t.Fatal(err)
	}
	tree, read := t.TempDir(), []string{"CONTRIBUTING.md"}
	for _, e := range operation.entries() {
		read = append(read, e.file)
	}
	for _, name := range read {
		write(t, filepath.Join(tree, name), testfile.Read(t, filepath.Join(root, name)))
	}
	made, err := operation.files()
	if err != nil {
		t.Fatal(err)
	}
	for name := range made {
		if err := os.MkdirAll(filepath.Join(tree, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// textsOf returns the text of each file of a tree, by its path there.
func textsOf(t *testing.T, tree string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := fs.WalkDir(os.DirFS(tree), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(tree, name))
		texts[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// vet has go vet judge the tree with the files of another one in it, and without tests.
func vet(t *testing.T, tree string, packages ...string) {
	t.Helper()
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	replace := map[string]string{}
	for name := range textsOf(t, tree) {
		replace[filepath.Join(here, name)] = filepath.Join(tree, name)
	}
	for _, folder := range packages {
		tests, _ := filepath.Glob(filepath.Join(here, folder, "*_test.go"))
		for _, test := range tests {
			replace[test] = ""
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(t.TempDir(), "overlay.json")
	write(t, list, string(overlay))
	command := exec.CommandContext(t.Context(), "go", append([]string{"vet", "-overlay", list}, packages...)...)
	command.Dir = here
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("go vet: %v\n%s", err, output)
	}
}

// Goal: a new operation builds from its first minute on, and what is there is never written over. Method: begin one, add what sqlc
// makes, and let go vet judge the tree with it; then begin it once more.
func TestOperation(t *testing.T) {
	t.Parallel()
	tree := emptyTree(t)
	var told strings.Builder
	if err := run(&told, tree, "extend_appl_locks"); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(told.String(), "internal/scenario/facade.go") || strings.Contains(told.String(), "STEM") {
		t.Errorf("it does not tell what is left to do:\n%s", told.String())
	}
	made := textsOf(t, tree)
	for name, text := range made {
		formatted, err := format.Source([]byte(text))
		if strings.HasSuffix(name, ".go") && (err != nil || string(formatted) != text) {
			t.Errorf("%s is not formatted: %v", name, err)
		}
	}
	if err := run(io.Discard, tree, "extend_appl_locks"); err == nil || !strings.Contains(err.Error(), "STEM") {
		t.Errorf("begun twice: %v", err)
	}
	if !maps.Equal(textsOf(t, tree), made) {
		t.Error("begun twice, it has changed what was there")
	}
	for dialect, text := range fromSQLC() {
		write(t, filepath.Join(tree, "internal/db", dialect, "queries/extend_appl_locks.sql.go"), "package queries\n\n"+text)
	}
	vet(t, tree, "./internal/db", "./internal/db/postgres", "./internal/db/mysql", "./internal/db/db2", "./internal/db/sqlite", "./applock", "./cmd/applockctl")
}

// Goal: a name that is none is refused, with the argument's name, and makes nothing. Method: several, in an empty folder.
func TestBadStem(t *testing.T) {
	t.Parallel()
	for _, stem := range []string{"", "extend", "appl_lock_extend", "extend_appl_locks_", "Extend_appl_lock", "extend appl_lock", "../x_appl_lock", "extend_appl_lock_for_longer"} {
		tree := t.TempDir()
		err := run(io.Discard, tree, stem)
		if err == nil || !strings.HasPrefix(err.Error(), "STEM must be ") {
			t.Errorf("%q: %v", stem, err)
		}
		if made := textsOf(t, tree); len(made) > 0 {
			t.Errorf("%q made %v", stem, made)
		}
	}
}

// Goal: an operation has one name in each place. Method: names of each form.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, want := range []names{
		{"note_appl_lock", "NoteApplLock", "noteApplLock", "Note", "note", "note", "note"},
		{"release_appl_locks", "ReleaseApplLocks", "releaseApplLocks", "ReleaseAll", "release all", "release", "release"},
		{"purge_appl_lock_history", "PurgeApplLockHistory", "purgeApplLockHistory", "PurgeHistory", "purge history", "purge", "purge-history"},
	} {
		if got, err := namesOf(want.Stem); err != nil || got != want {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
}

// Goal: no file of an operation is left to its writer, and none is made that others lack. Method: the files with the name of an
// operation that has all of them.
func TestFilesAreThoseOfAnOperation(t *testing.T) {
	t.Parallel()
	operation, err := namesOf("note_appl_lock")
	if err != nil {
		t.Fatal(err)
	}
	made, err := operation.files()
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if name == "docs" { // Oracle's text is for some operations only
			return fs.SkipDir
		}
		if err != nil || !strings.HasPrefix(entry.Name(), operation.Stem+".") || strings.HasSuffix(name, ".sql.go") { // sqlc makes that
			return err
		}
		if _, known := made[name]; !known {
			t.Errorf("there is %s, and no template for it", name)
		}
		delete(made, name)
		return nil
	})
	if err != nil || len(made) > 0 {
		t.Errorf("%v; there is none of %q", err, slices.Collect(maps.Keys(made)))
	}
}
