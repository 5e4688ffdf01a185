package render_test

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/applock/applock/internal/build/render"
	"github.com/applock/applock/migrations"
	"github.com/applock/applock/procedures"
	"github.com/applock/applock/procedures/guards"
)

// dialects are those that have procedures.
func dialects() []string { return []string{"db2", "mysql", "postgres"} }

// Goal: no source has by hand what a rule makes. Method: search each source for what its dialect's rules add.
func TestSourcesHaveNothingThatIsMade(t *testing.T) {
	t.Parallel()
	made := map[string]*regexp.Regexp{
		"db2":      regexp.MustCompile(`(?m)^CREATE .*_row |^COMMENT ON SPECIFIC \w+ \w+ IS '[^I]`),
		"mysql":    regexp.MustCompile(`utf8mb4 COLLATE|(?m)HANDLER FOR 1305$|^CREATE PROCEDURE \w+_appl_locks?\(`),
		"postgres": regexp.MustCompile(`(?m)^REVOKE|^CREATE OR REPLACE PROCEDURE|^COMMENT ON FUNCTION \w+\([^)]*\) IS\s+'[^I]`),
	}
	for _, dialect := range dialects() {
		names, err := render.Names(dialect)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s has no sources: %v", dialect, err)
		}
		seen := false
		for _, name := range names {
			source, err := procedures.FS.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text, err := render.File(name)
			if err != nil {
				t.Fatal(err)
			}
			if found := made[dialect].Find(source); found != nil {
				t.Errorf("procedures/%s has %q, which is made", name, found)
			}
			seen = seen || made[dialect].MatchString(text)
		}
		if !seen {
			t.Errorf("%s: what is looked for is not made at all", dialect)
		}
	}
}

// Goal: no dots are installed. Method: each source, filled in, has none.
func TestEverythingIsFilledIn(t *testing.T) {
	t.Parallel()
	for _, dialect := range dialects() {
		names, err := render.Names(dialect)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if text, err := render.File(name); err != nil || strings.Contains(text, "(...)") {
				t.Errorf("%s: has (...), or %v", name, err)
			}
		}
	}
}

// Goal: each form is the contract's. Method: the smallest source of one operation in each dialect.
func TestSource(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ source, want string }{
		"postgres": {
			"CREATE OR REPLACE FUNCTION purge_appl_locks_row(...)\nLANGUAGE plpgsql\nAS $$\n$$;\n",
			`CREATE OR REPLACE FUNCTION purge_appl_locks_row(
    p_older_than_seconds bigint DEFAULT NULL,
    p_max_rows bigint DEFAULT NULL,
    OUT p_purged bigint
)
LANGUAGE plpgsql
AS $$
$$;

CREATE OR REPLACE PROCEDURE purge_appl_locks(
    IN p_older_than_seconds bigint DEFAULT NULL,
    IN p_max_rows bigint DEFAULT NULL,
    INOUT p_purged bigint DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT
        r.p_purged
    INTO
        p_purged
    FROM purge_appl_locks_row(
        p_older_than_seconds, p_max_rows
    ) AS r;
END
$$;

COMMENT ON FUNCTION purge_appl_locks_row(bigint, bigint) IS
    'Remove the rows of objects that have been free for long; the answer is one row.';
COMMENT ON PROCEDURE purge_appl_locks(bigint, bigint, bigint) IS
    'Remove the rows of objects that have been free for long.';

REVOKE ALL ON FUNCTION purge_appl_locks_row(bigint, bigint) FROM PUBLIC;
REVOKE ALL ON PROCEDURE purge_appl_locks(bigint, bigint, bigint) FROM PUBLIC;
`,
		},
		"mysql": {
			"CREATE PROCEDURE poll_appl_locks_core(...)\nREADS SQL DATA\nSQL SECURITY DEFINER\nBEGIN\n    DECLARE v_type VARCHAR(64);\nEND$$\n",
			`CREATE PROCEDURE poll_appl_locks_core(
    IN p_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_max_rows BIGINT
)
COMMENT 'Internal to applock: the operation poll_appl_locks.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
END$$

CREATE PROCEDURE poll_appl_locks(
    IN p_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_max_rows BIGINT
)
COMMENT 'Show which objects that a program waits for are free or will be next, and keep its waiters listed.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'poll_appl_locks: is being replaced; call again, or install it again if that lasts';
    CALL poll_appl_locks_core(
        p_client_id, p_max_rows
    );
END$$
`,
		},
		"db2": {
			"CREATE OR REPLACE PROCEDURE poll_appl_locks (...)\nREADS SQL DATA\nBEGIN\nEND\n@\n",
			`CREATE OR REPLACE PROCEDURE poll_appl_locks (
    IN p_client_id VARCHAR(4000),
    IN p_max_rows BIGINT
)
READS SQL DATA
BEGIN
END
@

COMMENT ON SPECIFIC PROCEDURE poll_appl_locks IS 'Show which objects that a program waits for are free or will be next, and keep its waiters listed.'
@
`,
		},
	}
	for dialect, test := range tests {
		if got, err := render.Source(dialect, test.source); err != nil || got != test.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", dialect, err, got, test.want)
		}
	}
}

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

// Goal: a source is read in one go. Method: count its lines. Only the renewal of many is longer, in a dialect without arrays.
func TestSourcesAreShort(t *testing.T) {
	t.Parallel()
	for _, dialect := range dialects() {
		names, err := render.Names(dialect)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			source, err := procedures.FS.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			most := 250
			if strings.HasSuffix(name, "/renew_appl_locks.sql") {
				most = 350
			}
			if lines := strings.Count(string(source), "\n"); lines > most {
				t.Errorf("procedures/%s has %d lines, at most %d are allowed: give a step a file of its own", name, lines, most)
			}
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
	isError := regexp.MustCompile(`^(?:SQLEXCEPTION|SQLSTATE '22032'|1290, 1792, 1836|1305|1422|1568)$`)
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
