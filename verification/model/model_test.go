//go:build spin

package model_test

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testfile"
)

// Goal: in every order of steps, also when programs crash or pause and the clock steps, these hold, and without any one guard one of them is
// broken: nobody loses a lock that he holds to another one's get; nothing is released that is somebody else's; what was released stays
// so; no fence falls; a call undoes nothing that was answered since it read; nothing is written outside the database for a grant once a
// later one has written, and nothing within it by who does not hold the lock. Method: spin goes through all states of the model, and
// through those of each broken variant until an assertion fails. Two renewals take ten times as long as one: without APPLOCK_MODEL_RENEWALS=2
// only the variant has two that needs them.
func TestModel(t *testing.T) {
	text := testfile.Read(t, "lock.pml")
	renewals := "-DRENEWALS=" + cmp.Or(os.Getenv("APPLOCK_MODEL_RENEWALS"), "1")
	whole := run{model: "lock.pml", bounds: []string{renewals}, compile: []string{"-O2", "-DSAFETY"}, search: []string{"-w25"}}
	if errors, said := check(t, whole); errors != "0" {
		t.Errorf("the model fails:\n%s", said)
	}
	broken := regexp.MustCompile(`(?m)^#if(?:n?def) (BROKEN_\w+)`).FindAllStringSubmatch(text, -1)
	if len(broken) < 12 {
		t.Fatalf("the model has %d broken variants, want at least 12", len(broken))
	}
	for _, variant := range broken {
		t.Run(variant[1], func(t *testing.T) {
			search := whole
			if search.compile = []string{"-DSAFETY"}; variant[1] == "BROKEN_RENEWAL_ASKS_NOT_WHEN" {
				// The others end soon: to optimise them takes longer. In this order it ends sooner.
				search.bounds, search.compile = []string{"-DRENEWALS=2"}, append([]string{"-DREVERSE"}, whole.compile...)
			}
			if errors, said := check(t, search, "-D"+variant[1]); errors != "1" {
				t.Errorf("nothing fails without this guard:\n%s", said)
			}
		})
	}
}

// run is one search through the states of a model: what spin, cc and the search itself are told.
type run struct {
	model                   string
	bounds, compile, search []string
}

// check returns how many errors were found before the search ended, and all that was said.
func check(t *testing.T, whole run, defines ...string) (errors, said string) {
	t.Helper()
	model, err := filepath.Abs(whole.model)
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	call := func(name string, args ...string) string {
		command := exec.CommandContext(t.Context(), name, args...)
		command.Dir = directory
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, output)
		}
		return string(output)
	}
	call("spin", slices.Concat(whole.bounds, defines, []string{"-a", model})...)
	call("cc", slices.Concat([]string{"-w"}, whole.compile, []string{"-o", "pan", "pan.c"})...)
	said = call("./pan", append([]string{"-m100000", "-n"}, whole.search...)...)
	found := regexp.MustCompile(`errors: (\d+)`).FindStringSubmatch(said)
	isCut := strings.Contains(said, "not completed") || strings.Contains(said, "max search depth too small")
	if found == nil || found[1] == "0" && isCut {
		t.Fatalf("the search has not come to an end:\n%s", said)
	}
	return found[1], said
}
