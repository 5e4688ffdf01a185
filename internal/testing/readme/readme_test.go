// Package readme holds the pages to what they show.
package readme

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/testfile"
)

// session returns the lines of the README's block of that name.
func session(t *testing.T, name string) []string {
	t.Helper()
	block := regexp.MustCompile("(?s)<!-- session: " + name + " -->\n```\\w+\n(.*?)\n```").FindStringSubmatch(testfile.Read(t, root+"/README.md"))
	if block == nil {
		t.Fatalf("the README has no session %s", name)
	}
	return strings.Split(block[1], "\n")
}

// Goal: the SQL session answers what its comments say. Method: psql runs each line.
func TestReadmeSQL(t *testing.T) {
	t.Parallel()
	psql, dsn := testdb.Psql(t), testclient.InstalledPostgres(t)
	for _, line := range session(t, "sql") {
		_, want, _ := strings.Cut(line, "-- ")
		command := exec.CommandContext(t.Context(), psql, "--no-psqlrc", "--tuples-only", "--no-align", "-v", "ON_ERROR_STOP=1", dsn)
		command.Stdin = strings.NewReader(line)
		if output, err := command.CombinedOutput(); err != nil || !strings.HasPrefix(string(output), want) {
			t.Errorf("%s\nanswers %s, %v", line, output, err)
		}
	}
}

// Goal: the command-line session answers what its comments say. Method: a shell runs each line in an empty folder, with the built command
// in its PATH.
func TestReadmeCLI(t *testing.T) {
	t.Parallel()
	folder, programs := t.TempDir(), filepath.Dir(testdb.Applockctl(t))
	for _, line := range append([]string{"applockctl migrate up"}, session(t, "cli")...) {
		_, want, _ := strings.Cut(line, "# ")
		command := exec.CommandContext(t.Context(), "sh", "-c", line)
		command.Dir = folder
		command.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"), "APPLOCK_DSN=sqlite:applock.db")
		output, err := command.Output()
		if refused := want == "HELD"; refused != (command.ProcessState.ExitCode() == 1) || !strings.Contains(string(output), want) {
			t.Errorf("%s\nanswers %s, %v", line, output, err)
		}
	}
}

// Goal: the Go session is a whole program that prints what its comments say. Method: it is pasted into the main.go of a new module, and run.
func TestReadmeGo(t *testing.T) {
	t.Parallel()
	folder, lines := t.TempDir(), session(t, "go")
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"main.go": strings.Join(lines, "\n"), "go.sum": testfile.Read(t, root+"/go.sum"),
		"go.mod": "module first\ngo 1.26\nrequire github.com/applock/applock v0.0.0\nreplace github.com/applock/applock => " + here,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), "go", "run", "-mod=mod", ".")
	command.Dir = folder
	output, err := command.Output()
	if failed, is := errors.AsType[*exec.ExitError](err); is {
		t.Fatalf("%v: %s", err, failed.Stderr)
	}
	var want []string
	for _, line := range lines {
		if _, answer, found := strings.Cut(line, ") // "); found {
			want = append(want, answer)
		}
	}
	if got := strings.TrimSpace(string(output)); got != strings.Join(want, "\n") || want == nil {
		t.Errorf("the program prints\n%s\nand its comments say\n%s", got, strings.Join(want, "\n"))
	}
}

// Goal: the set-up that the README promises works on a fresh machine. Method: each of its commands of make is one of CI's.
func TestReadmeNamesWhatCIRuns(t *testing.T) {
	t.Parallel()
	script := testfile.Read(t, root+"/.ci/run")
	commands := regexp.MustCompile(`(?m)^make \S+`).FindAllString(Under(pages(t)["README.md"], "Try it"), -1)
	for _, command := range commands {
		if !strings.Contains(script, "\n"+command+"\n") {
			t.Errorf("CI does not run %q", command)
		}
	}
	if len(commands) == 0 {
		t.Error("the README names no make")
	}
}

// Goal: a table of an application is joined with the locks by plain SQL. Method: SQLite's shell runs the block of procedures/README.md, on
// one of the customers being locked.
func TestJoinOnSQLite(t *testing.T) {
	t.Parallel()
	input, want := Session(Under(testfile.Read(t, root+"/procedures/README.md"), "On SQLite"))
	path := testclient.InstalledSQLite(t)
	_, err := testclient.Open(t, "sqlite:"+path, "", nil).Get(t.Context(), applock.GetRequest{
		Object: applock.Object{Type: "customer", ID: "42"}, Owner: applock.Owner{Operator: "ASMITH"},
	})
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), testdb.SQLite3(t), path)
	command.Stdin = strings.NewReader(input)
	if got, err := command.CombinedOutput(); err != nil || string(got) != want || want == "" {
		t.Errorf("SQLite answers\n%s%v\nprocedures/README.md says\n%s", got, err, want)
	}
}
