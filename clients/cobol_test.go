package clients_test

import (
	"errors"
	"os/exec"
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

// stepOfAJob returns a place on PostgreSQL, and step.cob compiled.
func stepOfAJob(t *testing.T) (at place, program string) {
	t.Helper()
	testdb.Clients(t)
	all := languages()
	cobol := all[slices.IndexFunc(all, func(l *language) bool { return l.folder == "cobol" })]
	return newPlace(t, onPostgres), cobol.drivers[0].compiled(t, cobol.folder, "step")
}

// Goal: a step of a job ends with a code that says whether it has the lock, although C functions leave theirs behind, and
// the lock is there when it has ended. Method: step.cob gets a lock, is refused, says no operator, and finds no server.
func TestCOBOLStepEndsWithItsAnswer(t *testing.T) {
	t.Parallel()
	at, program := stepOfAJob(t)
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
	held, err := at.client.Inquire(t.Context(), applock.Object{Type: "customer", ID: "42"})
	if err != nil || held.Owner.Operator != "JDOE" {
		t.Errorf("the lock is %+v, %v; want that of JDOE", held, err)
	}
}

// Goal: what does not fit the library is an error, neither yes nor no: an outcome that its table does not have, and an older contract.
// Method: routines of other contracts.
func TestCOBOLRefusesAnotherContract(t *testing.T) {
	t.Parallel()
	at, program := stepOfAJob(t)
	for _, contract := range []struct{ routine, want string }{
		{
			"DROP FUNCTION applock.get_appl_lock_row; " +
				"CREATE FUNCTION applock.get_appl_lock_row(text, text, text, text, bigint, text, OUT p_ok_fl text, OUT p_outcome text) " +
				"LANGUAGE sql AS $$ SELECT 'Y', 'QUEUED' $$",
			"0A000 a new outcome: copy the library anew\n",
		},
		{
			"CREATE OR REPLACE FUNCTION applock.appl_lock_version() RETURNS integer LANGUAGE sql AS $$ SELECT 0 $$",
			"0A000 an older contract: applockctl migrate up\n",
		},
	} {
		for _, statement := range strings.Split(contract.routine, "; ") {
			if _, err := at.handle.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		command := exec.CommandContext(t.Context(), program)
		command.Env = append(environment(at.environment...), "CLERK=JDOE")
		output, err := command.CombinedOutput()
		if command.ProcessState.ExitCode() != 12 || string(output) != contract.want {
			t.Errorf("%v, %q, want %q", err, output, contract.want)
		}
	}
}
