// Package supervisors_test runs the commands of docs/supervisors.md.
package supervisors_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testdb"
)

// desk is a shell with applockctl and a database of its own.
type desk struct{ folder string }

// sh runs a command and returns all that it prints and its exit code.
func (d desk) sh(t *testing.T, command string) (output string, code int) {
	t.Helper()
	shell := exec.CommandContext(t.Context(), "sh", "-c", command)
	shell.Env = append(os.Environ(), "PATH="+d.folder+":"+os.Getenv("PATH"), "APPLOCK_DSN=sqlite:"+filepath.Join(d.folder, "applock.db"))
	text, err := shell.CombinedOutput()
	if shell.ProcessState == nil {
		t.Fatal(err)
	}
	return string(text), shell.ProcessState.ExitCode()
}

// newDesk has the locks that the page speaks of.
func newDesk(t *testing.T) desk {
	t.Helper()
	d := desk{filepath.Dir(testdb.Applockctl(t))}
	for _, command := range []string{
		"migrate up",
		"get customer:42 --operator JDOE --department CS --ttl 2d",
		"get customer:43 --operator JDOE --department CS",
		"get order:7 --operator JDOE --department CS --ttl 30m",
		"get order:8 --operator BJONES",
	} {
		if output, code := d.sh(t, "applockctl "+command); code != 0 {
			t.Fatalf("%s: exit code %d: %s", command, code, output)
		}
	}
	return d
}

// Goal: the page's commands, in its order, answer what it says, and refusals have the exit code 1. Method: a shell runs each.
func TestSupervisors(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../supervisors.md")
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t)
	continued := regexp.MustCompile(`\|\n *`)
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(page, -1) {
		for line := range strings.Lines(continued.ReplaceAllString(string(block[1]), "| ")) {
			command, want, _ := strings.Cut(strings.TrimSpace(line), "  # ")
			output, code := d.sh(t, command)
			if !strings.Contains(output, strings.TrimSpace(want)) || (code == 1) != (strings.TrimSpace(want) == "HELD") || code > 1 {
				t.Errorf("%s\nexits with %d:\n%s", line, code, output)
			}
		}
	}
}
