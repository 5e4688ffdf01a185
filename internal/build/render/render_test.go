package render_test

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/applock/applock/internal/build/render"
	"github.com/applock/applock/migrations"
	"github.com/applock/applock/procedures/guards"
)

// Goal: nothing is guessed. Method: the parameters of a helper, and a dialect without rules.
func TestSourceRefuses(t *testing.T) {
	t.Parallel()
	for dialect, source := range map[string]string{
		"postgres": "CREATE OR REPLACE FUNCTION appl_lock_helper(...) RETURNS bigint\n",
		"mysql":    "CREATE PROCEDURE appl_lock_helper(...)\n",
		"db2":      "CREATE OR REPLACE PROCEDURE appl_lock_helper (...)\n",
		"sqlite":   "SELECT 1;\n",
	} {
		if text, err := render.Source(dialect, source); err == nil {
			t.Errorf("%s: %s", dialect, text)
		}
	}
}

// Goal: no decision on MySQL and MariaDB hangs on a handler that a session can switch off. With max_error_count = 0 a SELECT ... INTO that
// finds no row runs no handler, because its NOT FOUND is a warning. An error does, and a FETCH behind the last row is one. Method: search
// what is installed and the guards for handlers of anything else, and for decisions by a handler of NOT FOUND.
func TestNoDecisionHangsOnAWarning(t *testing.T) {
	t.Parallel()
	installed, err := fs.ReadFile(migrations.FS, "mysql/00002_procedures.sql")
	if err != nil {
		t.Fatal(err)
	}
	guard, err := fs.ReadFile(guards.FS, "mysql/up.sql")
	if err != nil {
		t.Fatal(err)
	}
	handler := regexp.MustCompile(`HANDLER FOR (NOT FOUND|SQLSTATE '\w+'|\w+(?:, \w+)*)\s+(.*)`)
	isError := regexp.MustCompile(`^(?:SQLEXCEPTION|SQLSTATE '22032'|1290, 1792, 1836|1062|1305|1422|1568)$`)
	seen := 0
	for _, routine := range strings.Split(string(installed)+string(guard), "CREATE PROCEDURE ")[1:] {
		name, _, _ := strings.Cut(routine, "(")
		for _, match := range handler.FindAllStringSubmatch(routine, -1) {
			seen++
			switch {
			case isError.MatchString(match[1]):
			case match[1] != "NOT FOUND":
				t.Errorf("%s: %s: is it always an error? Then allow it here", name, match[0])
			case match[2] != "BEGIN END;":
				requireOnlyFetchesDecide(t, name, routine, match[2])
			}
		}
	}
	if seen < 100 {
		t.Errorf("found %d handlers, want all, 100 at least", seen)
	}
}

// requireOnlyFetchesDecide fails if a routine reads the flag that its handler of NOT FOUND sets after a SELECT ... INTO, without a FETCH or
// a SET of the flag between them.
func requireOnlyFetchesDecide(t *testing.T, name, routine, action string) {
	t.Helper()
	flag := regexp.MustCompile(`^SET (\w+) = (?:TRUE|FALSE);$`).FindStringSubmatch(action)
	if flag == nil {
		t.Errorf("%s: a handler of NOT FOUND decides by itself: %s; read no row as a value", name, action)
		return
	}
	step := regexp.MustCompile(`FETCH \w+ INTO|SET ` + flag[1] + ` =|INSERT INTO|\bINTO\b|\b` + flag[1] + `\b`)
	last := ""
	for _, next := range step.FindAllString(routine, -1) {
		if next == flag[1] && last == "INTO" {
			t.Errorf("%s: %s is decided by the NOT FOUND of a SELECT ... INTO; select TRUE into a variable that was FALSE", name, next)
			return
		}
		last = next
	}
}
