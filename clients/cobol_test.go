package clients_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testing/testdb"
)

// compileCOBOL is the command that makes a program of a source, of what it says itself about the driver, if anything, and of
// the library. What is called is linked, not looked up at run time: some linkers drop a library that only the latter needs.
func compileCOBOL(d driver, name, program string) []string {
	words := []string{"cobc", "-x", "-fstatic-call", "-o", program, name + ".cob"}
	if name == "player" {
		words = append(words, "player-"+d.name+".cob")
	}
	return append(words, "applock-"+d.name+".cob", "-l"+strings.TrimPrefix(d.name, "lib"))
}

// step is the program on the page that is a step of a job.
var step = regexp.MustCompile("(?s)<!-- step -->\n```cobol\n(.*?)```\n")

// Goal: a step of a job ends with a code that says whether it has the lock, although C functions leave theirs behind, and
// the lock is there when it has ended. Method: the step of the page gets a lock, is refused, says no operator, and finds no server.
func TestCOBOLStepEndsWithItsAnswer(t *testing.T) {
	t.Parallel()
	testdb.Clients(t)
	all := languages()
	cobol := all[slices.IndexFunc(all, func(l *language) bool { return l.folder == "cobol" })]
	at := newPlace(t, onPostgres)
	program := cobol.drivers[0].compiled(t, folderOfStep(t, cobol), "step")
	for _, run := range []struct {
		clerk  string
		server []string
		want   int
	}{
		{clerk: "JDOE", want: 0},
		{clerk: "ASMITH", want: 4},
		{clerk: "", want: 8},
		{clerk: "JDOE", server: []string{"PGHOST=" + t.TempDir()}, want: 12},
	} {
		command := exec.CommandContext(t.Context(), program)
		command.Env = append(environment(append(at.environment, run.server...)...), "CLERK="+run.clerk)
		output, err := command.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if got := command.ProcessState.ExitCode(); got != run.want {
			t.Errorf("the step of %q ended with %d, want %d\n%s", run.clerk, got, run.want, output)
		}
	}
	held, err := at.client.Inquire(t.Context(), applock.InquireRequest{Object: applock.Object{Type: "customer", ID: "42"}})
	if err != nil || held.Owner.Operator != "JDOE" {
		t.Errorf("the lock is %+v, %v; want that of JDOE", held, err)
	}
}

// folderOfStep returns a copy of the library with the step of the page.
func folderOfStep(t *testing.T, cobol *language) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(cobol.folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	match := step.FindSubmatch(page)
	if match == nil {
		t.Fatal("the page has no step")
	}
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(cobol.folder)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "step.cob"), match[1], 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}
