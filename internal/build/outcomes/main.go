// Command outcomes writes the answers of the operations into each library below clients/, and whether the caller then has what it asked
// for. The table stands between a line with "outcomes: made by `make generate`" and one with "outcomes: end".
package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/applock/applock/internal/db"
)

func main() {
	if err := writeAll("clients"); err != nil {
		fmt.Fprintln(os.Stderr, "outcomes:", err)
		os.Exit(1)
	}
}

var table = regexp.MustCompile("(?ms)^([ \t]*)(\\S+ outcomes: made by `make generate`[^\n]*\n).*?(^[ \t]*\\S+ outcomes: end)")

// writeAll writes the table into those files of a folder that contain its two marker lines.
func writeAll(folder string) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		lines := notations()[filepath.Ext(path)]
		if err != nil || entry.IsDir() || lines == nil {
			return err
		}
		text, err := os.ReadFile(path) //nolint:gosec // it is source code
		if err != nil {
			return err
		}
		written := filled(string(text), lines)
		if written == string(text) {
			return nil
		}
		return os.WriteFile(path, []byte(written), 0o644) //nolint:gosec // it is source code
	})
}

// filled returns a library's text with the table between its marker lines.
func filled(library string, line notation) string {
	return table.ReplaceAllStringFunc(library, func(old string) string {
		parts := table.FindStringSubmatch(old)
		var out strings.Builder
		out.WriteString(parts[1] + parts[2])
		for _, operation := range db.Contract() {
			if outcomes := operation.Outcomes(); len(outcomes) > 0 {
				out.WriteString(parts[1] + line(operation.Name, outcomes) + "\n")
			}
		}
		return out.String() + parts[3]
	})
}

// notation formats the outcomes of an operation in a language.
type notation func(operation string, outcomes []db.Answer) string

// notations returns the notation of each language, by the extension of its files.
func notations() map[string]notation {
	return map[string]notation{
		".py":   pairs(`"%s": {%s},`, `"%s": %s`, "False", "True"),
		".cjs":  pairs(`%s: { %s },`, `%s: %s`, "false", "true"),
		".php":  pairs(`'%s' => [%s],`, `'%s' => %s`, "false", "true"),
		".rb":   pairs(`"%s" => { %s },`, `"%s" => %s`, "false", "true"),
		".java": pairs(`case "%s" -> Map.of(%s);`, `%s, %s`, "false", "true"),
	}
}

// pairs formats an operation with a list of outcomes, each with its truth value.
func pairs(line, pair, no, yes string) notation {
	return func(operation string, outcomes []db.Answer) string {
		var list []string
		for _, outcome := range outcomes {
			truth := no
			if outcome.Granted {
				truth = yes
			}
			list = append(list, fmt.Sprintf(pair, outcome.Outcome, truth))
		}
		return fmt.Sprintf(line, operation, strings.Join(list, ", "))
	}
}
