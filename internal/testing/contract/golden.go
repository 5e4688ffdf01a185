package contract

import (
	"os"
	"testing"
)

// Golden compares a text with a golden file; APPLOCK_UPDATE_GOLDEN=1 (make golden) rewrites it first.
func Golden(t testing.TB, file, got string) {
	t.Helper()
	if os.Getenv("APPLOCK_UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the schema differs from %s; if that is meant, run `make golden`\n%s", file, got)
	}
}
