package db2_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/applock/applock/internal/migrate"
	"github.com/applock/applock/internal/migrate/db2"
)

const longSchema = "a23456789_123456789_123456789_" // as long as may be

// Goal: a script can be fed to Db2's clients. Method: each statement ends with the terminator on a line of its own
// and not with a semicolon, and the client is told of it once.
func TestScriptIsTerminated(t *testing.T) {
	t.Parallel()
	for name, scriptFor := range scripts() {
		script, err := scriptFor(longSchema, migrate.Way{To: 2})
		if err != nil {
			t.Fatal(err)
		}
		_, statements, found := strings.Cut(script, "--#SET TERMINATOR @\n")
		if !found || strings.Contains(statements, "--#SET") || strings.Contains(script, "+goose") {
			t.Errorf("%s: wants one line that sets the terminator, and nothing of goose's", name)
		}
		if !strings.HasSuffix(strings.TrimRight(statements, "\n"), "\n@") {
			t.Errorf("%s: the last statement is not terminated", name)
		}
		for statement := range strings.SplitSeq(statements, "\n@\n") {
			if strings.HasSuffix(strings.TrimSpace(statement), ";") || strings.Contains(statement, "@") {
				t.Errorf("%s: a statement ends with a semicolon or has a terminator:\n%s", name, statement)
			}
		}
		for _, want := range []string{
			"SET CURRENT SCHEMA = " + longSchema,
			"SET CURRENT PATH = SYSTEM PATH, " + longSchema,
			fmt.Sprintf("(%d, 1, CURRENT TIMESTAMP - CURRENT TIMEZONE)", 2),
		} {
			if !strings.Contains(strings.Join(strings.Fields(script), " "), want) {
				t.Errorf("%s: lacks %q", name, want)
			}
		}
	}
}

func scripts() map[string]func(schema string, way migrate.Way) (string, error) {
	return map[string]func(schema string, way migrate.Way) (string, error){"luw": db2.Script, "zos": db2.ScriptZOS}
}

// Goal: SPUFI and DSNTEP2 read the whole script. Method: no line is longer than what they read of it, no literal
// is broken, and without line ends the text is what it was.
func TestScriptForZOSFitsSPUFI(t *testing.T) {
	t.Parallel()
	script, err := db2.ScriptZOS(longSchema, migrate.Way{To: 2})
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		if len(line) > 72 {
			t.Errorf("%d columns: %s", len(line), line)
		}
		if !strings.HasPrefix(strings.TrimLeft(line, " "), "--") && strings.Count(line, "'")%2 != 0 {
			t.Errorf("a literal goes on in the next line: %s", line)
		}
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"SET x = 1\n":             "SET x = 1\n",
		"SET abc = abc + 1\n":     "SET abc =\n    abc + 1\n",
		"  -- one two three\n":    "  -- one\n  -- two\n  -- three\n",
		"SET x = 'a b c d e'\n":   "SET x =\n    'a b c d e'\n",
		"nothingtobreakhere at\n": "nothingtobreakhere at\n",
	} {
		if got := db2.Fold(text, 11); got != want {
			t.Errorf("fold %q: %q, want %q", text, got, want)
		}
	}
}
