// Package readme holds the README to what it shows.
package readme

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/open"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/testfile"
)

// session returns the lines of the README's block of that name.
func session(t *testing.T, name string) []string {
	t.Helper()
	text := testfile.Read(t, "../../../README.md")
	block := regexp.MustCompile("(?s)<!-- session: " + name + " -->\n```\\w+\n(.*?)\n```").FindStringSubmatch(text)
	if block == nil {
		t.Fatalf("the README has no session %s", name)
	}
	lines := strings.Split(block[1], "\n")
	if len(lines) != 5 {
		t.Fatalf("the session %s has %d lines, want 5", name, len(lines))
	}
	return lines
}

// Goal: the SQL session answers what its comments say. Method: psql runs each line.
func TestReadmeSQL(t *testing.T) {
	t.Parallel()
	psql := testdb.Psql(t)
	dsn := testdb.Postgres(t)
	client, err := open.ByDSN(t.Context(), dsn, open.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	for _, line := range session(t, "sql") {
		_, want, _ := strings.Cut(line, "-- ")
		command := exec.CommandContext(t.Context(), psql, "--no-psqlrc", "--tuples-only", "--no-align", "-v", "ON_ERROR_STOP=1", dsn)
		command.Stdin = strings.NewReader(line)
		output, err := command.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(output), want) {
			t.Errorf("%s\nanswers %s, %v", line, output, err)
		}
	}
}

// Goal: the command-line session answers what its comments say. Method: a shell runs each line in an
// empty folder, with the built command in its PATH.
func TestReadmeCLI(t *testing.T) {
	t.Parallel()
	folder, programs := t.TempDir(), filepath.Dir(testdb.Applockctl(t))
	shell := func(line string) *exec.Cmd {
		command := exec.CommandContext(t.Context(), "sh", "-c", line)
		command.Dir = folder
		command.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"), "APPLOCK_DSN=sqlite:applock.db")
		return command
	}
	if output, err := shell("applockctl migrate up").CombinedOutput(); err != nil {
		t.Fatalf("migrate up: %v\n%s", err, output)
	}
	for _, line := range session(t, "cli") {
		_, want, _ := strings.Cut(line, "# ")
		command := shell(line)
		output, err := command.Output()
		if refused := want == "HELD"; refused != (command.ProcessState.ExitCode() == 1) || !strings.Contains(string(output), want) {
			t.Errorf("%s\nanswers %s, %v", line, output, err)
		}
	}
}

// Goal: the Go session is code that a test runs. Method: its lines stand, in this order, in the example
// whose output is checked.
func TestReadmeGo(t *testing.T) {
	t.Parallel()
	rest := testfile.Read(t, "../../../applock/example_test.go")
	for _, line := range session(t, "go") {
		_, after, found := strings.Cut(rest, "\t"+line+"\n")
		if !found {
			t.Errorf("applock/example_test.go lacks, or has earlier, the line\n%s", line)
			continue
		}
		rest = after
	}
}

// Goal: the set-up that the README promises works on a fresh machine. Method: CI begins with it, each make is one of CI's.
func TestReadmeNamesWhatCIRuns(t *testing.T) {
	t.Parallel()
	script := testfile.Read(t, "../../../.ci/run")
	commands := regexp.MustCompile(`(?m)^make \S+`).FindAllString(Under(pages(t)["README.md"], "Try it"), -1)
	if len(commands) == 0 {
		t.Error("the README names no make")
	}
	for _, command := range commands {
		if !strings.Contains(script, "\n"+command+"\n") {
			t.Errorf("CI does not run %q", command)
		}
	}
}

// Goal: the packages, folders and tables that users are to fetch and migrate are there. Method: the commands of the README and of the page for
// developers; tests of the dialects run plain goose.
func TestReadmeNamesWhatIsThere(t *testing.T) {
	t.Parallel()
	install := Under(pages(t)["README.md"], "Install") + Under(pages(t)["docs/developers.md"], "Begin")
	const versionTable = "appl_lock_goose"
	named := 0
	for _, path := range regexp.MustCompile(`(?m)^go (?:install|get) github\.com/applock/applock/([^@\s]+)`).FindAllStringSubmatch(install, -1) {
		named++
		if files, err := filepath.Glob("../../../" + path[1] + "/*.go"); err != nil || len(files) == 0 {
			t.Errorf("there is no package %s", path[1])
		}
	}
	for _, goose := range regexp.MustCompile(`(?m)^goose -dir (\S+) -table (?:applock\.)?(\S+)`).FindAllStringSubmatch(install, -1) {
		named++
		if files, err := filepath.Glob("../../../" + goose[1] + "/*.sql"); err != nil || len(files) == 0 || goose[2] != versionTable {
			t.Errorf("goose with %s and %s: %d steps, want some, and the table %s", goose[1], goose[2], len(files), versionTable)
		}
	}
	if want := 4; named != want {
		t.Errorf("%d names, want %d", named, want)
	}
}
