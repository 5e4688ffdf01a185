//go:build spin

package model_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testfile"
)

// Goal: programs that wait for one object and hand it over keep this in every order of steps, though calls have no answer and arrive late,
// messages are lost, late and doubled, and waiters give up: who works has the object, nobody is granted twice, nobody waits for ever, and in
// the end nothing is held that nobody holds. Without any one guard of the engine one of them is broken. Method: spin goes through all states of
// one program whose waiters have nothing but its own steps to wake them (ALONE) and of two programs (TWO), and through all executions of two in
// which each process that can take a step takes one at some time, which is weak fairness (FAIR), and of four that take rows of turns (ROWS). A broken variant fails in the run that its
// comment names, and the guard is in the function of the engine that it names.
func TestHandover(t *testing.T) {
	const model, turns = "handover.pml", "turns.pml"
	safety, fair := []string{"-DSAFETY", "-DNOCLAIM"}, []string{"-DNFAIR=3"}
	runs := map[string]run{
		"ALONE": {model, []string{"-DALONE", "-DHERE=3", "-DTHERE=0", "-DMISHAPS=2"}, safety, []string{"-w22"}},
		"TWO":   {model, []string{"-DHERE=2", "-DTHERE=2", "-DMISHAPS=1"}, safety, []string{"-w22"}},
		"ROWS":  {turns, []string{"-DPROGRAMS=4", "-DDEATHS=1"}, safety, []string{"-w22"}},
		"FAIR":  {model, []string{"-DHERE=2", "-DTHERE=1", "-DMISHAPS=1"}, fair, []string{"-w22", "-a", "-f"}},
	}
	for name, whole := range runs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole.compile = append([]string{"-O1"}, whole.compile...)
			if errors, said := check(t, whole); errors != "0" {
				t.Errorf("the model fails:\n%s", said)
			}
		})
	}
	text := testfile.Read(t, model) + testfile.Read(t, turns)
	broken := regexp.MustCompile(`(?m)^#ifn?def (BROKEN_\w+) /\* (\w+), (\w+\.go): (\w+) \*/$`).FindAllStringSubmatch(text, -1)
	if all := strings.Count(text, "BROKEN_") - strings.Count(text, "BROKEN_..."); len(broken) < 14 || len(broken) != all {
		t.Fatalf("%d broken variants name a run and a guard, want all %d, and at least 14", len(broken), all)
	}
	for _, variant := range broken {
		name, whole, file, guard := variant[1], runs[variant[2]], variant[3], variant[4]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := testfile.Read(t, filepath.Join("..", "..", "applock", "lease", file))
			if !regexp.MustCompile(`(?m)^(func .*|\t)\b` + guard + `\(`).MatchString(source) {
				t.Errorf("%s has no %s: where is the guard now?", file, guard)
			}
			if errors, said := check(t, whole, "-D"+name); errors != "1" {
				t.Errorf("nothing fails without this guard:\n%s", said)
			}
		})
	}
}
