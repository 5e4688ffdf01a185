package applock_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Goal: what is exported can be called, and read without the source: it names nothing of an internal package. Method: the declarations of
// all packages that are not internal.
func TestExportedNamesNothingInternal(t *testing.T) {
	t.Parallel()
	declarations := 0
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == "internal" {
			return fs.SkipDir
		}
		if path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.FileExports(parsed) // which takes out what is not exported, also fields and methods
		internal := internalImports(parsed)
		for _, declaration := range parsed.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok {
				if !isOfExported(function) {
					continue
				}
				function.Body = nil
			}
			declarations++
			for _, name := range namesOf(declaration, internal) {
				t.Errorf("%s exports %s, which is internal", file, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if declarations < 100 {
		t.Errorf("%d declarations are exported: this test does not see them", declarations)
	}
}

// isOfExported reports whether a function has no receiver that is not exported.
func isOfExported(function *ast.FuncDecl) bool {
	if function.Recv == nil {
		return true
	}
	receiver := function.Recv.List[0].Type
	for {
		switch of := receiver.(type) {
		case *ast.StarExpr:
			receiver = of.X
		case *ast.IndexExpr:
			receiver = of.X
		case *ast.Ident:
			return of.IsExported()
		default:
			return true
		}
	}
}

// internalImports returns the names of the internal packages that a file imports.
func internalImports(file *ast.File) map[string]bool {
	names := map[string]bool{}
	for _, imported := range file.Imports {
		name, _ := strconv.Unquote(imported.Path.Value)
		if !strings.Contains(name, "/internal/") {
			continue
		}
		if imported.Name != nil {
			names[imported.Name.Name] = true
			continue
		}
		names[path.Base(name)] = true
	}
	return names
}

// namesOf returns what a declaration names of the packages.
func namesOf(declaration ast.Decl, packages map[string]bool) (names []string) {
	ast.Inspect(declaration, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if of, ok := selector.X.(*ast.Ident); ok && packages[of.Name] {
			names = append(names, of.Name+"."+selector.Sel.Name)
		}
		return true
	})
	return names
}
