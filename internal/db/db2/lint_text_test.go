package db2_test

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sqlToken is a word, a number, a literal or a sign; comments are none. Words are in lower case.
type sqlToken struct {
	text string
	line int
}

type sqlTokens []sqlToken

var sqlTokenPattern = regexp.MustCompile(`(?s)--[^\n]*|'(?:[^']|'')*'|[A-Za-z_]\w*(?:\.\w+)?|\d[\d.]*|\|\||<>|<=|>=|\s+|.`)

// tokenize reads text whose first line has the given number.
func tokenize(text string, line int) sqlTokens {
	var tokens sqlTokens
	for _, part := range sqlTokenPattern.FindAllString(text, -1) {
		if !isLiteral(part) {
			part = strings.ToLower(part)
		}
		if !strings.HasPrefix(part, "--") && strings.TrimSpace(part) != "" {
			tokens = append(tokens, sqlToken{part, line})
		}
		line += strings.Count(part, "\n")
	}
	return tokens
}

func isLiteral(text string) bool { return len(text) > 1 && text[0] == '\'' }

// literalText returns what the database sees of a literal.
func literalText(text string) string {
	return strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(text, "'"), "'"), "''", "'")
}

func (tokens sqlTokens) words() []string {
	var words []string
	for _, token := range tokens {
		words = append(words, token.text)
	}
	return words
}

func (tokens sqlTokens) String() string {
	return strings.NewReplacer(" ( ", "(", "( ", "(", " )", ")", " ,", ",").Replace(strings.Join(tokens.words(), " "))
}

// index returns where a phrase begins, or -1.
func (tokens sqlTokens) index(phrase string) int {
	words, wanted := tokens.words(), tokenize(phrase, 0).words()
	for i := range words {
		if i+len(wanted) <= len(words) && slices.Equal(words[i:i+len(wanted)], wanted) {
			return i
		}
	}
	return -1
}

func (tokens sqlTokens) has(phrase string) bool    { return tokens.index(phrase) >= 0 }
func (tokens sqlTokens) begins(phrase string) bool { return tokens.index(phrase) == 0 }
func (tokens sqlTokens) is(phrase string) bool {
	return slices.Equal(tokens.words(), tokenize(phrase, 0).words())
}

func (tokens sqlTokens) ends(phrase string) bool {
	length := len(tokenize(phrase, 0))
	return len(tokens) >= length && tokens[len(tokens)-length:].is(phrase)
}

// parenthesis returns the index of the other end of the parenthesis at an index, or -1.
func (tokens sqlTokens) parenthesis(at int) int {
	step := map[string]int{"(": 1, ")": -1}[tokens[at].text]
	for i, open := at, 0; step != 0 && i >= 0 && i < len(tokens); i += step {
		open += map[string]int{"(": 1, ")": -1}[tokens[i].text]
		if open == 0 {
			return i
		}
	}
	return -1
}

// split cuts at the separators that stand outside parentheses.
func (tokens sqlTokens) split(separator string) []sqlTokens {
	if len(tokens) == 0 {
		return nil
	}
	parts, open := []sqlTokens{nil}, 0
	for _, token := range tokens {
		open += map[string]int{"(": 1, ")": -1}[token.text]
		if open == 0 && token.text == separator {
			parts = append(parts, nil)
			continue
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], token)
	}
	return parts
}

// cut cuts at the first such word that stands outside parentheses.
func (tokens sqlTokens) cut(word string) (before, after string, found bool) {
	open := 0
	for i, token := range tokens {
		open += map[string]int{"(": 1, ")": -1}[token.text]
		if open == 0 && token.text == word {
			return tokens[:i].String(), tokens[i+1:].String(), true
		}
	}
	return tokens.String(), "", false
}

// sqlStep is a statement of a body, or the part of IF, WHILE, FOR or BEGIN that stands before what it holds.
type sqlStep struct {
	sqlTokens
	depth  int
	opener int // index of the step that this one stands in, or -1
}

// verb is the first word behind a label.
func (s sqlStep) verb() string {
	if len(s.sqlTokens) > 2 && s.sqlTokens[1].text == ":" {
		return s.sqlTokens[2].text
	}
	return s.sqlTokens[0].text
}

// last is the word that tells whether the step opens something.
func (s sqlStep) last() string { return s.sqlTokens[len(s.sqlTokens)-1].text }

// splitSteps cuts a body into steps.
func splitSteps(body sqlTokens) []sqlStep {
	var steps []sqlStep
	var open []int
	var current sqlTokens
	cases := 0 // CASE is an expression, whose THEN, ELSE and END belong to it
	for i, token := range body {
		if token.text != ";" {
			current = append(current, token)
		}
		if token.text == "case" {
			cases++
		}
		if cases > 0 {
			if token.text == "end" {
				cases--
			}
			continue
		}
		if !slices.Contains([]string{";", "then", "else", "do", "begin"}, token.text) && i < len(body)-1 || len(current) == 0 {
			continue
		}
		step := sqlStep{sqlTokens: current, depth: len(open), opener: -1}
		if len(open) > 0 {
			step.opener = open[len(open)-1]
		}
		steps, current = append(steps, step), nil
		switch goesOn := step.verb() == "elseif" || step.verb() == "else"; {
		case step.verb() == "end" && len(open) > 0:
			open = open[:len(open)-1]
		case !goesOn && slices.Contains([]string{"then", "do", "begin"}, step.last()):
			open = append(open, len(steps)-1)
		}
	}
	return steps
}

// sqlRoutine is a procedure or function of a file.
type sqlRoutine struct {
	path       string
	line       int
	head       sqlTokens // CREATE and so on, up to the name
	name       string
	parameters []sqlTokens
	options    sqlTokens // with all of a function's body
	body       sqlTokens
	steps      []sqlStep
}

func (r sqlRoutine) zos() bool { return isZOS(r.path) }

// complaint says what is wrong at a line of the routine.
func (r sqlRoutine) complaint(line int, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s: ", r.path, line, r.name) + fmt.Sprintf(format, args...)
}

// parseRoutine reads CREATE PROCEDURE and CREATE FUNCTION.
func parseRoutine(path string, tokens sqlTokens) (routine sqlRoutine, ok bool) {
	open := slices.Index(tokens.words(), "(")
	if open < 2 || tokens.parenthesis(open) < 0 {
		return routine, false
	}
	routine = sqlRoutine{path: path, line: tokens[0].line, head: tokens[:open-1], name: tokens[open-1].text}
	parameters, rest := tokens[open+1:tokens.parenthesis(open)], tokens[tokens.parenthesis(open)+1:]
	routine.parameters = parameters.split(",")
	for _, parameter := range routine.parameters {
		const shortest = 3 // IN name type
		if len(parameter) < shortest {
			return routine, false
		}
	}
	begin := slices.Index(rest.words(), "begin")
	if begin < 0 {
		routine.options = rest
		return routine, routine.head.ends("function")
	}
	if begin > 1 && rest[begin-1].text == ":" {
		begin -= 2
	}
	routine.options, routine.body = rest[:begin], rest[begin:]
	routine.steps = splitSteps(routine.body)
	return routine, routine.head.ends("procedure")
}

// sqlFile is a source or a migration.
type sqlFile struct {
	path       string
	lines      []string
	statements []sqlTokens // what stands between the terminators; a migration has none
	routines   []sqlRoutine
}

func isZOS(path string) bool      { return strings.Contains(path, "zos") }
func (f sqlFile) zos() bool       { return isZOS(f.path) }
func (f sqlFile) migration() bool { return strings.Contains(f.path, "migration") }

// complaint says what is wrong at a line of the file.
func (f sqlFile) complaint(line int, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: ", f.path, line) + fmt.Sprintf(format, args...)
}

func parseSQL(path, text string) sqlFile {
	file := sqlFile{path: path, lines: strings.Split(text, "\n")}
	if file.migration() {
		return file
	}
	line := 1
	for _, statement := range strings.SplitAfter(text, "\n@\n") {
		tokens := tokenize(strings.TrimSuffix(statement, "@\n"), line)
		line += strings.Count(statement, "\n")
		if len(tokens) == 0 {
			continue
		}
		file.statements = append(file.statements, tokens)
		if routine, ok := parseRoutine(path, tokens); ok && tokens.begins("CREATE") {
			file.routines = append(file.routines, routine)
		}
	}
	return file
}

// readSQL reads the files of a folder; prefix is what complaints call the folder.
func readSQL(t *testing.T, folder fs.FS, pattern, prefix string) []sqlFile {
	t.Helper()
	paths, err := fs.Glob(folder, pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: no files, %v", pattern, err)
	}
	var files []sqlFile
	for _, path := range paths {
		text, err := fs.ReadFile(folder, path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, parseSQL(prefix+path, string(text)))
	}
	return files
}
