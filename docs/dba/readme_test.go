package dba_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/readme"
	"github.com/applock/applock/internal/testing/testfile"
)

// Goal: who installs as the README says has locks, by each of its ways, and may grant them. Method: the lines of its blocks for the
// product, with the client's own command where a comment names it; plain goose is for tests of the dialects.
func TestHeavyReadmeInstalls(t *testing.T) {
	t.Parallel()
	text := testfile.Read(t, "../../README.md")
	block := func(title string) string { return shellBlock.FindStringSubmatch(readme.Under(text, title))[1] }
	of := func(t *testing.T, words string) string {
		t.Helper()
		lines := strings.Split(block("Install"), "\n")
		i := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, words) })
		if i < 0 {
			t.Fatalf("no line has %q", words)
		}
		return lines[i]
	}
	onSites(t, func(t *testing.T, s site) {
		if s.chapter == "SQLite" {
			if output := s.must(t, block("Your first lock"), "USER=jdoe"); !strings.Contains(output, "ACQUIRED") {
				t.Errorf("it prints\n%s", output)
			}
			return
		}
		scheme, _, _ := strings.Cut(s.dsn, ":")
		migrator := s.migrator(t)
		dsn, _ := strings.CutPrefix(migrator[0], "APPLOCK_DSN=")
		install := strings.Replace(of(t, "--dsn "+scheme+"://"), scheme+"://applock_dba@db.example.org/shop", "'"+dsn+"'", 1)
		s.must(t, install+"\napplockctl migrate status --exit-code\napplockctl migrate uninstall --yes", migrator...)
		script, byHand, _ := strings.Cut(of(t, "--dialect "+scheme+" "), "# as a script; then: ")
		if _, ofMySQL, is := strings.Cut(byHand, "mysql "); is {
			byHand = "mariadb " + ofMySQL // as docs/dba.md has it, so that s.words knows it
		}
		s.must(t, script+"\n"+s.words.Replace(byHand)+"\napplockctl migrate status --exit-code", migrator...)
		s.grants(t, of(t, "applockctl grant"))
	})
}

// grants runs the line that grants a role, to an account that is made for it.
func (s site) grants(t *testing.T, line string) {
	t.Helper()
	account := s.words.Replace("shop_app")
	create, drop := "CREATE ROLE "+account, "DROP OWNED BY "+account+"; DROP ROLE "+account
	if s.chapter != "PostgreSQL" {
		create, drop = "CREATE USER "+account, "DROP USER "+account
	}
	execute(t, s.open(s.dsn), create)
	t.Cleanup(func() { execute(t, s.open(s.dsn), drop) })
	s.must(t, strings.Replace(line, "shop_app", account, 1))
}
