// Package guard_test runs the blocks of docs/guard.md.
package guard_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/testfile"
)

// desk is a shell with applockctl, and a database with documents.
type desk struct {
	folder, dsn string
	// client gives a script to the database's own client.
	client func(script string) (string, error)
}

// sh runs a command that has to work, and returns what it prints.
func (d desk) sh(t *testing.T, command string) string {
	t.Helper()
	shell := exec.CommandContext(t.Context(), "sh", "-ec", command)
	shell.Dir = d.folder
	shell.Env = append(os.Environ(), "PATH="+d.folder+":"+os.Getenv("PATH"), "APPLOCK_DSN="+d.dsn)
	output, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, output)
	}
	return string(output)
}

// runs gives the client a script that has to work.
func (d desk) runs(t *testing.T, script string) {
	t.Helper()
	if output, err := d.client(script); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, output)
	}
}

// refuses gives the client a script that the guard has to refuse.
func (d desk) refuses(t *testing.T, script string) {
	t.Helper()
	if output, err := d.client(script); err == nil || !strings.Contains(output, "LK002") {
		t.Errorf("%s: %v\n%s\nwant LK002", script, err, output)
	}
}

func (d desk) file(t *testing.T, name string) string {
	t.Helper()
	return testfile.Read(t, filepath.Join(d.folder, name))
}

func desks() map[string]func(t *testing.T, d *desk) {
	all := map[string]func(t *testing.T, d *desk){
		"postgres": func(t *testing.T, d *desk) {
			t.Helper()
			d.dsn = testdb.Postgres(t)
			psql := testdb.Psql(t)
			d.client = func(script string) (string, error) {
				command := exec.CommandContext(t.Context(), psql, "--no-psqlrc", "--quiet", "-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=verbose", d.dsn)
				command.Stdin = strings.NewReader("SET search_path = applock;\n" + script)
				output, err := command.CombinedOutput()
				return string(output), err
			}
		},
	}
	for _, product := range testdb.MySQLProducts() {
		all[product] = func(t *testing.T, d *desk) {
			t.Helper()
			d.dsn = testdb.MySQL(t, product)
			d.client = func(script string) (string, error) {
				output, complaints, err := testdb.TryMySQLClient(t, product, d.dsn, script)
				return output + complaints, err
			}
		}
	}
	return all
}

// Goal: what the page says, with the programs that it names, and in its order. Method: a shell runs its commands, the
// database's client what they have printed and the transaction, with the assertion and without it.
func TestGuardPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../guard.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile("(?s)```sh\n(.*?)```").FindStringSubmatch(string(page))[1]
	transaction := regexp.MustCompile("(?s)```sql\n(.*?)```").FindStringSubmatch(string(page))[1]
	forgotten := regexp.MustCompile("(?m)^CALL .*\n").ReplaceAllString(transaction, "")
	if forgotten == transaction {
		t.Fatal("the page's transaction asserts nothing")
	}
	programs := filepath.Dir(testdb.Applockctl(t))
	for product, prepare := range desks() {
		t.Run(product, func(t *testing.T) {
			t.Parallel()
			d := desk{folder: t.TempDir()}
			prepare(t, &d)
			if err := os.Symlink(filepath.Join(programs, "applockctl"), filepath.Join(d.folder, "applockctl")); err != nil {
				t.Fatal(err)
			}
			d.sh(t, "applockctl migrate up")
			d.runs(t, "CREATE TABLE document (id INTEGER PRIMARY KEY, body VARCHAR(20)); INSERT INTO document VALUES (4711, 'old');")
			d.sh(t, commands)
			d.runs(t, d.file(t, "guard.sql"))
			d.refuses(t, forgotten)
			d.refuses(t, transaction) // JDOE has no lock
			grant := d.sh(t, "applockctl get document:4711 --operator JDOE --output json")
			fence := regexp.MustCompile(`"fence":(\d+)`).FindStringSubmatch(grant)[1]
			d.refuses(t, forgotten)
			d.runs(t, strings.Replace(transaction, "7)", fence+")", 1))
			d.runs(t, d.file(t, "unguard.sql"))
			d.runs(t, forgotten)
		})
	}
}
