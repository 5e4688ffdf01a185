package readme

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testfile"
)

// Goal: where CI runs only some tests with the race detector, every test that starts goroutines is among them. Method: read the tests of
// those packages, and the Makefile's list.
func TestMakefileNamesWhatMeets(t *testing.T) {
	t.Parallel()
	makefile := testfile.Read(t, "../../../Makefile")
	var names []string
	for _, line := range regexp.MustCompile(`(?m)^MEETINGS := (?:\$\(MEETINGS\)\|)?(.*)$`).FindAllStringSubmatch(makefile, -1) {
		names = append(names, line[1])
	}
	listed := regexp.MustCompile("^Test(" + strings.Join(names, "|") + ")$")
	found := 0
	for _, folder := range []string{"applock/console", "internal/db"} {
		for _, test := range testsWithGoroutines(t, filepath.Join("../../..", folder)) {
			found++
			if !listed.MatchString(test) {
				t.Errorf("%s in %s starts goroutines: add it to MEETINGS in the Makefile, so that it runs with the race detector", test, folder)
			}
		}
	}
	if found < 25 {
		t.Errorf("only %d tests start goroutines, want at least 25", found)
	}
}

// testsWithGoroutines returns the names of the tests in a folder, and below it, that start goroutines by themselves.
func testsWithGoroutines(t *testing.T, folder string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		// All tests of IBM's client run with the race detector, by make test-db2.
		if err != nil || !strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_ibm_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			f, isFunction := declaration.(*ast.FuncDecl)
			if isFunction && strings.HasPrefix(f.Name.Name, "Test") && f.Name.Name != "TestMain" && startsGoroutines(f.Body) {
				names = append(names, f.Name.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// startsGoroutines reports whether a block has a go statement, or calls a method that is named Go, as that of a sync.WaitGroup.
func startsGoroutines(block *ast.BlockStmt) bool {
	starts := false
	ast.Inspect(block, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.GoStmt:
			starts = true
		case *ast.SelectorExpr:
			starts = starts || node.Sel.Name == "Go"
		}
		return !starts
	})
	return starts
}
