package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// routine is a procedure or a function, with what is said of it.
type routine struct {
	kind, name string
	// header is the comments before its CREATE.
	header     string
	statements []statement
}

// statement is one that names a routine. A routine has at most one of each verb.
type statement struct {
	verb, text string
}

const verbCreate = "CREATE"

var (
	createRoutine = regexp.MustCompile(`(?m)^CREATE (?:OR REPLACE )?(FUNCTION|PROCEDURE) (\w+)`)
	aboutRoutine  = regexp.MustCompile(`(?m)^(COMMENT|REVOKE|CALL) (?:ON (?:SPECIFIC )?|ALL ON )?(?:(?:FUNCTION|PROCEDURE) )?(\w+)`)
	dropRoutine   = regexp.MustCompile(`(?m)^DROP (?:FUNCTION|PROCEDURE) (?:IF EXISTS )?(\w+)`)
	signatureEnd  = regexp.MustCompile(`\n(?:SPECIFIC|DYNAMIC RESULT SETS|LANGUAGE) `)
	// migrated is what a migration runs: a block, or a line of its own.
	migrated = regexp.MustCompile(`(?ms)^-- \+goose StatementBegin\n(.*?)^-- \+goose StatementEnd\n|^(DROP [^\n]*\n)`)
)

// definition is the routine's CREATE.
func (r *routine) definition() string {
	i := slices.IndexFunc(r.statements, func(s statement) bool { return s.verb == verbCreate })
	return r.statements[i].text
}

// signature is what callers depend on: the name, the parameters and what is returned.
func (r *routine) signature() string {
	definition := r.definition()
	if end := signatureEnd.FindStringIndex(definition); end != nil {
		definition = definition[:end[0]]
	}
	return strings.Join(strings.Fields(definition), " ")
}

// set adds a statement in place of the one with the same verb.
func (r *routine) set(later statement) {
	i := slices.IndexFunc(r.statements, func(s statement) bool { return s.verb == later.verb })
	if i < 0 {
		r.statements = append(r.statements, later)
		return
	}
	r.statements[i] = later
}

// replaces reports whether a CREATE may run where the routine is installed.
func (s statement) replaces() bool {
	return strings.HasPrefix(s.text, "CREATE OR REPLACE ")
}

// missing returns the statements that are not among others.
func missing(statements, others []statement) []statement {
	return slices.DeleteFunc(slices.Clone(statements), func(s statement) bool { return slices.Contains(others, s) })
}

func find(routines []*routine, name string) *routine {
	i := slices.IndexFunc(routines, func(r *routine) bool { return r.name == name })
	if i < 0 {
		return nil
	}
	return routines[i]
}

// routinesOf returns the routines that the sources create, in their order.
func routinesOf(dialect string, sources []string) ([]*routine, error) {
	var routines []*routine
	for _, source := range sources {
		for _, text := range statementsOf(dialect, source) {
			var known bool
			if routines, known = add(routines, text); !known {
				return nil, fmt.Errorf("procedures/%s has a statement about no routine of its own:\n%s", dialect, text)
			}
		}
	}
	return routines, nil
}

// installedBy returns the routines that migrations have left, in the order of their creation.
func installedBy(dialect string, released []string) []*routine {
	var installed []*routine
	for _, migration := range released {
		up, _, _ := strings.Cut(migration, "-- +goose Down\n")
		for _, match := range migrated.FindAllStringSubmatch(up, -1) {
			texts := []string{cmp.Or(match[1], match[2])}
			if dialect == postgresFolder {
				texts = splitPostgres(texts[0])
			}
			for _, text := range texts {
				if dropped := dropRoutine.FindStringSubmatch(text); dropped != nil && !createRoutine.MatchString(text) {
					installed = slices.DeleteFunc(installed, func(r *routine) bool { return r.name == dropped[1] })
					continue
				}
				installed, _ = add(installed, text) // others prepare the session
			}
		}
	}
	return installed
}

// add returns the routines with one more statement, and whether that is about one of them.
func add(routines []*routine, text string) (all []*routine, known bool) {
	if match := createRoutine.FindStringSubmatchIndex(text); match != nil {
		kind, name := text[match[2]:match[3]], text[match[4]:match[5]]
		created := find(routines, name)
		if created == nil {
			created = &routine{}
			routines = append(routines, created)
		}
		created.kind, created.name, created.header = kind, name, text[:match[0]]
		created.set(statement{verbCreate, text[match[0]:]})
		return routines, true
	}
	match := aboutRoutine.FindStringSubmatchIndex(text)
	if match == nil {
		return routines, false
	}
	about := find(routines, text[match[4]:match[5]])
	if about == nil {
		return routines, false
	}
	about.set(statement{text[match[2]:match[3]], text[match[0]:]})
	return routines, true
}

const (
	delimiterBegin = "DELIMITER $$\n"
	delimiterEnd   = "DELIMITER ;\n"
	delimiter      = "$$\n"
	terminatorLine = "--#SET TERMINATOR @\n"
)

// statementsOf returns the statements of a source, each with the comments before it, as a driver takes them:
// without the delimiters and the terminator that the dialect's own client is told of.
func statementsOf(dialect, source string) []string {
	switch dialect {
	case postgresFolder:
		return splitPostgres(source)
	case mysqlFolder:
		return splitMySQL(source)
	default:
		return splitDb2(source)
	}
}

// splitPostgres splits after each line that ends with a semicolon, except in a routine's body.
func splitPostgres(text string) []string {
	var statements []string
	begin, end, body := 0, 0, false
	for line := range strings.Lines(text) {
		end += len(line)
		if !body && strings.HasPrefix(line, "--") {
			continue
		}
		body = body != (strings.Count(line, "$$")%2 == 1)
		if !body && strings.HasSuffix(line, ";\n") {
			statements = append(statements, strings.TrimLeft(text[begin:end], "\n"))
			begin = end
		}
	}
	if rest := strings.TrimSpace(text[begin:]); rest != "" {
		statements = append(statements, rest+"\n")
	}
	return statements
}

func splitMySQL(source string) []string {
	source = strings.ReplaceAll(source, delimiterBegin+"\n", "")
	source = strings.TrimSuffix(source, "\n"+delimiterEnd)
	var statements []string
	for statement := range strings.SplitSeq(strings.TrimSuffix(source, delimiter), delimiter) {
		statements = append(statements, strings.TrimPrefix(statement, "\n")+";\n")
	}
	return statements
}

func splitDb2(source string) []string {
	_, text, _ := strings.Cut(source, terminatorLine)
	var statements []string
	for statement := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(text), "@"), "\n@\n") {
		statements = append(statements, strings.TrimSpace(statement)+"\n")
	}
	return statements
}
