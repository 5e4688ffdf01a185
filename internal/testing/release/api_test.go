package release

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testfile"
)

const root = "../../.."

// exported returns a line for each function, method, field, constant and variable that packages export, and for each type. An interface that
// others implement is one line with all its methods: it never gets one.
func exported(t *testing.T, folder string) []string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{"internal", "testdata"}, entry.Name()) {
			return fs.SkipDir
		}
		if path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil || parsed.Name.Name == "main" {
			return err
		}
		where, err := filepath.Rel(filepath.Dir(folder), filepath.Dir(file))
		if err != nil {
			return err
		}
		ast.FileExports(parsed)
		for _, declaration := range parsed.Decls {
			for _, line := range linesOf(declaration) {
				lines = append(lines, filepath.ToSlash(where)+": "+line)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return slices.Compact(lines) // a function that each system has in a file of its own
}

func linesOf(declaration ast.Decl) []string {
	if function, ok := declaration.(*ast.FuncDecl); ok {
		if function.Recv == nil {
			return []string{fmt.Sprintf("func %s%s", function.Name.Name, signature(function.Type))}
		}
		receiver := types.ExprString(function.Recv.List[0].Type)
		if !ast.IsExported(strings.TrimLeft(receiver, "*")) {
			return nil
		}
		return []string{fmt.Sprintf("method (%s) %s%s", receiver, function.Name.Name, signature(function.Type))}
	}
	var lines []string
	for _, spec := range declaration.(*ast.GenDecl).Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			lines = append(lines, linesOfType(spec)...)
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s", declaration.(*ast.GenDecl).Tok, name.Name, typeOf(spec.Type))))
			}
		}
	}
	return lines
}

func typeOf(expression ast.Expr) string {
	if expression == nil {
		return ""
	}
	return types.ExprString(expression)
}

// linesOfType has a line for each field of a struct, since structs grow.
func linesOfType(spec *ast.TypeSpec) []string {
	name := spec.Name.Name
	switch is := spec.Type.(type) {
	case *ast.StructType:
		lines := []string{"type " + name + " struct"}
		for _, field := range is.Fields.List {
			for _, fieldName := range field.Names {
				lines = append(lines, fmt.Sprintf("field %s.%s %s", name, fieldName.Name, types.ExprString(field.Type)))
			}
			if field.Names == nil {
				lines = append(lines, fmt.Sprintf("field %s embeds %s", name, types.ExprString(field.Type)))
			}
		}
		return lines
	case *ast.InterfaceType:
		return linesOfInterface(name, is)
	default:
		return []string{"type " + name + " " + types.ExprString(spec.Type)}
	}
}

// ours are interfaces that this module alone implements: they may get methods.
func ours() []string { return []string{"Lease", "LeaseSet"} }

func linesOfInterface(name string, is *ast.InterfaceType) []string {
	var methods []string
	for _, method := range is.Methods.List {
		if function, ok := method.Type.(*ast.FuncType); ok {
			methods = append(methods, method.Names[0].Name+signature(function))
			continue
		}
		methods = append(methods, types.ExprString(method.Type))
	}
	slices.Sort(methods)
	if !slices.Contains(ours(), name) {
		return []string{fmt.Sprintf("type %s interface { %s }", name, strings.Join(methods, "; "))}
	}
	lines := []string{"type " + name + " interface"}
	for _, method := range methods {
		lines = append(lines, fmt.Sprintf("interface method %s.%s", name, method))
	}
	return lines
}

// signature has the types alone: a parameter may get a better name.
func signature(function *ast.FuncType) string {
	results := list(function.Results)
	if len(results) == 0 {
		return "(" + strings.Join(list(function.Params), ", ") + ")"
	}
	return "(" + strings.Join(list(function.Params), ", ") + ") (" + strings.Join(results, ", ") + ")"
}

func list(fields *ast.FieldList) []string {
	var all []string
	if fields == nil {
		return nil
	}
	for _, field := range fields.List {
		for range max(1, len(field.Names)) {
			all = append(all, types.ExprString(field.Type))
		}
	}
	return all
}

// missing returns the lines of a release that are no longer there.
func missing(released string, now []string) []string {
	var gone []string
	for line := range strings.Lines(released) {
		if line = strings.TrimSuffix(line, "\n"); !slices.Contains(now, line) {
			gone = append(gone, line)
		}
	}
	return gone
}

// Goal: what Go programs call stays as it was released. Method: all that is exported against testdata/released_api.txt;
// APPLOCK_RELEASE=1 (make freeze) adds what has come.
func TestReleasedAPIStays(t *testing.T) {
	t.Parallel()
	const file = "testdata/released_api.txt"
	released := testfile.Read(t, file)
	now := exported(t, filepath.Join(root, "applock"))
	if len(now) < 300 {
		t.Errorf("%d lines: this test does not see what is exported", len(now))
	}
	gone := missing(released, now)
	for _, line := range gone {
		t.Errorf("released, and no longer so: %s\nput it back, and give what is new another name: docs/evolution.md", line)
	}
	if os.Getenv("APPLOCK_RELEASE") != "" && gone == nil {
		if err := os.WriteFile(file, []byte(strings.Join(now, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Goal: each change that breaks a program is noticed, and nothing else is. Method: a package, and the same with one change.
func TestReleasedAPINoticesChanges(t *testing.T) {
	t.Parallel()
	const source = `package lock
type Request struct { Name string; hidden int }
type Backend interface { Take(name string) error }
type Lease interface { Fence() int64 }
type Kind string
const Free Kind = "FREE"
var ErrHeld error
func Get(name string, count, rest int) (bool, error) { return false, nil }
func (r *Request) Check() error { return nil }
func (h hidden) Check() error { return nil }
`
	write := func(old, changed string) []string {
		folder := filepath.Join(t.TempDir(), "lock")
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(source, old) {
			t.Fatalf("the source has no %q", old)
		}
		if err := os.WriteFile(filepath.Join(folder, "lock.go"), []byte(strings.Replace(source, old, changed, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		return exported(t, folder)
	}
	released := strings.Join(write("", ""), "\n")
	for _, test := range []struct {
		old, changed string
		want         int
	}{
		{"count, rest int", "count int", 1},
		{"rest int", "rest int64", 1},
		{"(bool, error)", "bool", 1},
		{"func Get", "func Fetch", 1},
		{"(r *Request) Check()", "(r *Request) Checked()", 1},
		{"Name string;", "Name []byte;", 1},
		{"Name string;", "name string;", 1},
		{"Take(name string) error", "Take(name string) error; Drop() error", 1},
		{"type Kind string", "type Kind int", 1},
		{"const Free Kind", "const free Kind", 1},
		{"var ErrHeld error", "", 1},
		{"Fence() int64", "Fence() int", 1},
		{"Fence() int64", "Fence() int64; More() int", 0},
		{"Name string;", "Name string; More int;", 0},
		{"name string, count", "called string, count", 0},
		{"hidden int", "other int", 0},
		{"func Get", "func More() {}\nfunc Get", 0},
	} {
		if gone := missing(released, write(test.old, test.changed)); len(gone) != test.want {
			t.Errorf("%s became %s: noticed %q, want %d", test.old, cmp.Or(test.changed, "nothing"), gone, test.want)
		}
	}
}
