package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testfile"
)

var (
	// code finds texts for a server, a browser or a parser.
	code = regexp.MustCompile(`^\W*(?:SELECT|INSERT|UPDATE|DELETE|WITH|FROM|WHERE|AND|OR|ON|SET|SHOW|ALTER|GRANT|REVOKE|CREATE|DROP|CALL|COMMENT|RETURNS?|` +
		`SHUTDOWN|LOCK|BEGIN|CASE|JOIN|LEFT|ORDER|LIMIT|USE|DO|END|DECLARE|IF|KILL|PRAGMA|ANALYZE|EXPLAIN|VALUES|SIGNAL|DELIMITER|USING|GROUP|THEN|ELSE|WHEN)\b|` +
		`\(\?i\)|redis\.call|^[^\w"%]|^#compdef|;\s*$|_table\(|-src |=\(\)|[<>=] \?|[<>]=? \.\.\.|IN \(|CURRENT TIMESTAMP|2006|^(?:json|text|bigint)\b`)
	// literal finds a text of SQL.
	literal = regexp.MustCompile(`'((?:[^'\n]|'')*)'`)
)

// wordsOfMessage is how many words a text has at least: shorter ones are names.
const wordsOfMessage = 3

// Goal: the reviewer of a change sees each message, and each text of the console, in one file.
// Method: the texts are read from the sources of the façade, the console, the program and the procedures, without those that help.golden,
// commands.golden, the demo's and the reference have. APPLOCK_UPDATE_GOLDEN=1 (make golden) rewrites the file.
func TestMessagesGolden(t *testing.T) {
	t.Parallel()
	known := shownElsewhere(t)
	var out strings.Builder
	fmt.Fprintln(&out, "Every message of applock, its program and its procedures, and every text of the console, file by file. `make golden` writes it.")
	for _, root := range []string{"applock", "cmd/applockctl", "cmd/internal", "internal/db", "internal/dialects", "internal/inspect", "internal/migrate", "procedures"} {
		for _, file := range sources(t, root) {
			text, err := os.ReadFile(filepath.Join("../..", file))
			if err != nil {
				t.Fatal(err)
			}
			texts := messagesOfSQL(string(text))
			if path.Ext(file) == ".go" {
				texts = messagesOfGo(t, file, text)
			}
			texts = slices.DeleteFunc(texts, func(text string) bool { return isShown(known, text) })
			if len(texts) > 0 {
				fmt.Fprintf(&out, "\n# %s\n\n%s\n", file, strings.Join(texts, "\n"))
			}
		}
	}
	golden(t, "messages.golden", out.String())
}

// shownElsewhere returns what other golden files show, on one line.
func shownElsewhere(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, name := range []string{"testdata/help.golden", "testdata/commands.golden", "testdata/demo_table.golden", "../../docs/reference.md"} {
		all.WriteString(unwrapped(testfile.Read(t, filepath.FromSlash(name))) + "\n")
	}
	return all.String()
}

// isShown reports whether each part of a text is known. Its parts are what lies between three dots.
func isShown(known, text string) bool {
	for part := range strings.SplitSeq(text, "...") {
		if !strings.Contains(known, strings.TrimSpace(part)) {
			return false
		}
	}
	return true
}

// unwrapped returns a text as it is wrapped nowhere.
func unwrapped(text string) string { return strings.Join(strings.Fields(text), " ") }

// sources returns the files below a folder that have messages: no tests, no suites for the tests of others, no generated queries.
func sources(t *testing.T, root string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(filepath.Join("../..", root), func(name string, item fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if item.IsDir() && slices.Contains([]string{"testdata", "queries", "locktest", "applocktest", "fakebackend", "sessionstest", "adapters"}, item.Name()) {
			return fs.SkipDir
		}
		isSource := strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
		if isSource || strings.HasSuffix(name, ".sql") {
			file, err := filepath.Rel("../..", name)
			files = append(files, filepath.ToSlash(file))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// messagesOfGo returns the texts of a file in their order. A text of the console has its name before it.
func messagesOfGo(t *testing.T, file string, source []byte) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, 0)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	add := func(text string) {
		if len(strings.Fields(text)) >= wordsOfMessage && !code.MatchString(text) && !slices.Contains(texts, unwrapped(text)) {
			texts = append(texts, unwrapped(text))
		}
	}
	ast.Inspect(parsed, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.KeyValueExpr:
			if key, isText := joined(node.Key); isText && path.Base(file) == "texts.go" {
				value, _ := joined(node.Value)
				texts = append(texts, key+"\t"+unwrapped(value))
				return false
			}
		case *ast.BinaryExpr:
			if text, isText := joined(node); isText {
				add(text)
				return false
			}
		case *ast.BasicLit:
			if text, isText := joined(node); isText {
				add(text)
			}
		}
		return true
	})
	return texts
}

// joined returns a text that is made of literals. Anything else in it is three dots.
func joined(node ast.Expr) (string, bool) {
	switch node := node.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(node.Value)
		return text, node.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		left, isLeft := joined(node.X)
		right, isRight := joined(node.Y)
		if node.Op != token.ADD || !isLeft && !isRight {
			return "", false
		}
		if !isLeft {
			left = "..."
		}
		if !isRight {
			right = "..."
		}
		return left + right, true
	}
	return "", false
}

// messagesOfSQL returns the messages of a procedure: its texts of some words, without comments.
func messagesOfSQL(source string) []string {
	var texts []string
	for line := range strings.SplitSeq(source, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "--") || strings.Contains(line, "COMMENT") {
			continue
		}
		for _, found := range literal.FindAllStringSubmatch(line, -1) {
			text := strings.ReplaceAll(found[1], "''", "'")
			if len(strings.Fields(text)) >= wordsOfMessage && !code.MatchString(text) && !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	return texts
}
