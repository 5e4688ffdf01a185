//go:build spin

package model_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Goal: in every order of steps, also when programs crash or pause and the clock steps, these hold, and without any one guard one of them is
// broken: nobody loses a lock that he holds to another one's get; nothing is released that is somebody else's; what was released stays
// so; no fence falls; a call undoes nothing that was answered since it read; nothing is written outside the database for a grant once a
// later one has written, and nothing within it by who does not hold the lock. Method: spin goes through all states of the model, and
// through those of each broken variant until an assertion fails.
func TestModel(t *testing.T) {
	model, err := filepath.Abs("lock.pml")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(model)
	if err != nil {
		t.Fatal(err)
	}
	if errors, said := check(t, model); errors != "0" {
		t.Errorf("the model fails:\n%s", said)
	}
	broken := regexp.MustCompile(`(?m)^#if(?:n?def) (BROKEN_\w+)`).FindAllStringSubmatch(string(text), -1)
	if len(broken) < 12 {
		t.Fatalf("the model has %d broken variants, want at least 12", len(broken))
	}
	for _, variant := range broken {
		t.Run(variant[1], func(t *testing.T) {
			if errors, said := check(t, model, "-D"+variant[1]); errors != "1" {
				t.Errorf("nothing fails without this guard:\n%s", said)
			}
		})
	}
}

// check returns how many errors were found before the search ended, and all that was said.
func check(t *testing.T, model string, defines ...string) (errors, said string) {
	t.Helper()
	directory := t.TempDir()
	run := func(name string, args ...string) string {
		command := exec.CommandContext(t.Context(), name, args...)
		command.Dir = directory
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, output)
		}
		return string(output)
	}
	run("spin", append(defines, "-a", model)...)
	run("cc", "-w", "-O2", "-DSAFETY", "-o", "pan", "pan.c")
	said = run("./pan", "-m100000", "-w25", "-n")
	found := regexp.MustCompile(`errors: (\d+)`).FindStringSubmatch(said)
	if found == nil || found[1] == "0" && strings.Contains(said, "not completed") {
		t.Fatalf("the search has not come to an end:\n%s", said)
	}
	return found[1], said
}
