package applock_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testing/testfile"
)

// Goal: pkg.go.dev shows how each operation is called. Method: each method of Client that calls the database has an
// example with an output, which the toolchain runs and compares.
func TestEveryOperationHasAnExample(t *testing.T) {
	t.Parallel()
	text := testfile.Read(t, "example_test.go") + testfile.Read(t, "example_people_test.go")
	// These do not call the database, or are for our own packages; Table is for our tests only.
	without := []string{"Close", "Driver", "InTx", "Observed", "Table"}
	client := reflect.TypeFor[*applock.Client]()
	for i := range client.NumMethod() {
		name := client.Method(i).Name
		_, after, found := strings.Cut(text, "\nfunc ExampleClient_"+name+"() {")
		body, _, _ := strings.Cut(after, "\n}\n")
		if shown := found && strings.Contains(body, "\t// Output:\n"); shown == slices.Contains(without, name) {
			t.Errorf("Client.%s has an example with an output: %t", name, shown)
		}
	}
}
