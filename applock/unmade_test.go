package applock_test

import (
	"context"
	"database/sql"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console"
	"github.com/applock/applock/applock/db2"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/getlock"
	"github.com/applock/applock/applock/lease/inprocess"
	"github.com/applock/applock/applock/lease/pgadvisory"
	"github.com/applock/applock/applock/lease/redislock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/mysql"
	"github.com/applock/applock/applock/open"
	"github.com/applock/applock/applock/postgres"
	"github.com/applock/applock/applock/sqlite"
	"github.com/applock/applock/applock/weblock"
)

// exports are the exported functions of each package that is no adapter and needs no further module, and pointers to the zero value of each exported type that has methods.
func exports() map[string]map[string]any {
	return map[string]map[string]any{
		".": {
			"ParseObject": applock.ParseObject, "Answered": &applock.Answered{}, "Asked": &applock.Asked{}, "Asker": &applock.Asker{},
			"Client": &applock.Client{}, "ConflictError": &applock.ConflictError{}, "Event": &applock.Event{}, "FullError": &applock.FullError{},
			"Grant": &applock.Grant{}, "HeldError": &applock.HeldError{}, "Holder": &applock.Holder{}, "InvalidError": &applock.InvalidError{},
			"Key": &applock.Key{}, "Lock": &applock.Lock{}, "LockChange": &applock.LockChange{}, "LostError": &applock.LostError{},
			"Notice": &applock.Notice{}, "Object": &applock.Object{}, "Owner": &applock.Owner{}, "Policy": &applock.Policy{},
			"Presence": &applock.Presence{}, "Stats": &applock.Stats{}, "Viewer": &applock.Viewer{}, "Waiter": &applock.Waiter{},
		},
		"console": {
			"ByItsName": console.ByItsName, "Handler": console.Handler, "PersonName": console.PersonName, "Protect": console.Protect,
			"Local": console.Local, "PersonOf": console.PersonOf, "Basic": console.Basic, "TrustedHeader": console.TrustedHeader,
			"LocalSignIn": &console.LocalSignIn{}, "RefusedError": &console.RefusedError{},
		},
		"db2":             {"New": db2.New},
		"lease":           {"New": lease.New, "Leases": &lease.Leases{}},
		"lease/getlock":   {"New": getlock.New, "Name": getlock.Name},
		"lease/inprocess": {"New": inprocess.New},
		"lease/pgadvisory": {
			"New": pgadvisory.New, "Key": pgadvisory.Key, "Bigint": pgadvisory.Bigint, "Ints": pgadvisory.Ints, "LockKey": &pgadvisory.LockKey{},
		},
		"lease/redislock": {"New": redislock.New},
		"migrate": {
			"GrantScript": migrate.GrantScript, "GuardScript": migrate.GuardScript, "GuardStatements": migrate.GuardStatements, "Schemas": migrate.Schemas,
			"Script": migrate.Script, "Uninstall": migrate.Uninstall, "Down": migrate.Down, "Goto": migrate.Goto, "Grant": migrate.Grant,
			"MissingGrants": migrate.MissingGrants, "Needed": migrate.Needed, "Repair": migrate.Repair, "Revoke": migrate.Revoke, "Status": migrate.Status, "Up": migrate.Up,
			"LiveLocksError": &migrate.LiveLocksError{}, "NewerError": &migrate.NewerError{},
		},
		"mysql":    {"New": mysql.New},
		"open":     {"ByDSN": open.ByDSN, "DialectOf": open.DialectOf, "Dialects": open.Dialects},
		"postgres": {"New": postgres.New, "NewSQL": postgres.NewSQL, "InTx": postgres.InTx, "WithTx": postgres.WithTx},
		"sqlite":   {"New": sqlite.New},
		"weblock":  {"New": weblock.New, "Handler": &weblock.Handler{}},
	}
}

// callable returns the names that a package exports and that can be called: of its functions, and of its types with methods.
func callable(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range parsed.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || !function.Name.IsExported() || !isOfExported(function) {
				continue
			}
			name := function.Name.Name
			if function.Recv != nil {
				receiver := function.Recv.List[0].Type
				if pointed, ok := receiver.(*ast.StarExpr); ok {
					receiver = pointed.X
				}
				name = receiver.(*ast.Ident).Name //nolint:forcetypeassert // no type here has parameters
			}
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// unmadeCall calls a function with a context, requests of HTTP, and otherwise the zero value of each argument. It returns its error, or what it
// has panicked with.
func unmadeCall(t *testing.T, function reflect.Value) (refusal any) {
	t.Helper()
	defer func() {
		if recovered := recover(); recovered != nil {
			refusal = recovered
		}
	}()
	var arguments []reflect.Value
	for i := range function.Type().NumIn() {
		argument := reflect.New(function.Type().In(i)).Elem()
		for _, known := range []any{t.Context(), httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)} {
			if argument.Kind() == reflect.Interface && argument.NumMethod() > 0 && reflect.TypeOf(known).Implements(argument.Type()) ||
				reflect.TypeOf(known) == argument.Type() {
				argument.Set(reflect.ValueOf(known))
			}
		}
		arguments = append(arguments, argument)
	}
	if function.Type().IsVariadic() {
		arguments = arguments[:len(arguments)-1]
	}
	results := function.Call(arguments)
	for _, result := range results {
		if closer, ok := result.Interface().(io.Closer); ok && !result.IsNil() {
			_ = closer.Close()
		}
	}
	if len(results) == 0 {
		return nil
	}
	last := results[len(results)-1]
	if last.Kind() == reflect.Func && last.Type().NumIn() == 1 {
		for _, err := range last.Seq2() {
			return err.Interface()
		}
	}
	return last.Interface()
}

// Goal: what nobody has made works, or says in words what to do, in the goroutine that calls. Method: each exported function with zero
// arguments, and each method of the zero value of each exported type.
func TestUnmadeIsRefused(t *testing.T) {
	t.Parallel()
	for folder, exported := range exports() {
		if got, want := slices.Sorted(maps.Keys(exported)), callable(t, folder); !slices.Equal(got, want) {
			t.Errorf("%s exports %v, and this test calls %v", folder, want, got)
		}
		for name, of := range exported {
			value := reflect.ValueOf(of)
			if value.Kind() == reflect.Func {
				isInWords(t, folder+"."+name, unmadeCall(t, value))
				continue
			}
			for i := range value.NumMethod() {
				method := folder + "." + name + "." + value.Type().Method(i).Name
				isInWords(t, method, unmadeCall(t, value.Method(i)))
			}
		}
	}
}

// isInWords refuses what the runtime has panicked with.
func isInWords(t *testing.T, called string, refusal any) {
	t.Helper()
	if bare, ok := refusal.(runtime.Error); ok {
		t.Errorf("%s: %v", called, bare)
	}
}

// Goal: every operation of a client, and of leases, that nobody has made is an InvalidError, and changes nothing. Method: every method that
// takes a context, of the zero value and of nil, or of leases
// without a backend, and those that end.
func TestUnmadeClientsAreRefused(t *testing.T) {
	t.Parallel()
	for _, of := range []any{(*applock.Client)(nil), &applock.Client{}, (*applock.Client)(nil).WithSQLTx(&sql.Tx{}), (*lease.Leases)(nil), lease.New(nil, lease.Config{})} {
		value := reflect.ValueOf(of)
		methods := 0
		for i := range value.NumMethod() {
			method, name := value.Method(i), value.Type().Method(i).Name
			if method.Type().NumIn() == 0 || method.Type().In(0) != reflect.TypeFor[context.Context]() {
				continue
			}
			methods++
			var invalid *applock.InvalidError
			refusal := refusalOf(method, t.Context())
			if err, _ := refusal.(error); !errors.As(err, &invalid) {
				t.Errorf("%T.%s: %v, want an InvalidError", of, name, refusal)
			}
		}
		if closing, ok := of.(io.Closer); !ok || closing.Close() == nil || methods < 4 {
			t.Errorf("%T has %d methods that take a context, and closes", of, methods)
		}
	}
}
