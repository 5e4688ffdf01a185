package migrate

import (
	"regexp"
	"slices"
	"strings"
)

// RoutineText is a procedure, a function or a view, with all statements about it.
type RoutineText struct {
	Kind, Name string
	// Header is the comments before its CREATE.
	Header     string
	Statements []Statement
}

// Statement is a statement that names a routine. A routine has at most one of each verb.
type Statement struct {
	Verb, Text string
}

// KindView is the kind of a view in [CreateRoutine].
const KindView = "VIEW"

// VerbCreate is the verb of the statement that creates a routine. Each routine has one.
const VerbCreate = "CREATE"

// CreateRoutine matches the statements that create routines and views, with kind and name.
var CreateRoutine = regexp.MustCompile(
	`(?m)^CREATE (?:OR REPLACE )?(?:ALGORITHM = \w+ )?(?:SQL SECURITY DEFINER )?(FUNCTION|PROCEDURE|VIEW) (\w+)`)

// DropRoutine matches the statements that drop routines and views, with the name.
var DropRoutine = regexp.MustCompile(`(?m)^DROP (?:FUNCTION|PROCEDURE|VIEW) (?:IF EXISTS )?(\w+)`)

var (
	aboutRoutine = regexp.MustCompile(`(?m)^(COMMENT|REVOKE|CALL) (?:ON (?:SPECIFIC )?|ALL ON )?(?:(?:FUNCTION|PROCEDURE|VIEW|TABLE) )?(\w+)`)

	signatureEnd = regexp.MustCompile(`\n(?:SPECIFIC|DYNAMIC RESULT SETS|LANGUAGE) `)
	// outsideBlocks matches a statement outside of goose's blocks that drops something or creates a view.
	outsideBlocks = regexp.MustCompile(`(?ms)^(?:DROP [^\n]*\n|CREATE VIEW \w+ AS\n.*?;\n)`)
)

// Definition returns the routine's CREATE.
func (r *RoutineText) Definition() string {
	i := slices.IndexFunc(r.Statements, func(s Statement) bool { return s.Verb == VerbCreate })
	return r.Statements[i].Text
}

// Signature returns what callers depend on: name, parameters and result. The contract has the columns of a view.
func (r *RoutineText) Signature() string {
	if r.Kind == KindView {
		return KindView + " " + r.Name
	}
	definition := r.Definition()
	if end := signatureEnd.FindStringIndex(definition); end != nil {
		definition = definition[:end[0]]
	}
	return strings.Join(strings.Fields(definition), " ")
}

// Texts returns the statements.
func (r *RoutineText) Texts() []string {
	var texts []string
	for _, statement := range r.Statements {
		texts = append(texts, strings.TrimSpace(statement.Text))
	}
	return texts
}

// set replaces the statement with the same verb, or adds one.
func (r *RoutineText) set(later Statement) {
	i := slices.IndexFunc(r.Statements, func(s Statement) bool { return s.Verb == later.Verb })
	if i < 0 {
		r.Statements = append(r.Statements, later)
		return
	}
	r.Statements[i] = later
}

// Find returns the routine of a name, or nil.
func Find(routines []*RoutineText, name string) *RoutineText {
	i := slices.IndexFunc(routines, func(r *RoutineText) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return routines[i]
}

// InstalledBy returns the routines that remain after the migrations, in the order of their creation. Split divides a block of several
// statements; it is nil if no block has several.
func InstalledBy(migrations []string, split func(block string) []string) []*RoutineText {
	var installed []*RoutineText
	for _, migration := range migrations {
		up, _, _ := strings.Cut(migration, downAnnotation)
		for _, run := range runBy(up) {
			texts := []string{run}
			if split != nil {
				texts = split(run)
			}
			for _, text := range texts {
				if name := droppedBy(text); name != "" {
					installed = slices.DeleteFunc(installed, func(r *RoutineText) bool { return r.Name == name })
					continue
				}
				installed, _ = AddStatement(installed, text) // other statements prepare the session
			}
		}
	}
	return installed
}

// runBy returns what a migration runs: goose's blocks, and the statements between them that drop something or create a view.
func runBy(up string) (texts []string) {
	for up != "" {
		between, rest, hasBlock := strings.Cut(up, "-- +goose StatementBegin\n")
		texts = append(texts, outsideBlocks.FindAllString(between, -1)...)
		block, after, _ := strings.Cut(rest, "-- +goose StatementEnd\n")
		if hasBlock {
			texts = append(texts, block)
		}
		up = after
	}
	return texts
}

// droppedBy returns the routine that a statement drops, if any. It looks for a CREATE first, which comes before a long body.
func droppedBy(text string) string {
	if CreateRoutine.MatchString(text) {
		return ""
	}
	if dropped := DropRoutine.FindStringSubmatch(text); dropped != nil {
		return dropped[1]
	}
	return ""
}

// AddStatement adds a statement to its routine, and reports whether it was about one.
func AddStatement(routines []*RoutineText, text string) (all []*RoutineText, known bool) {
	if match := CreateRoutine.FindStringSubmatchIndex(text); match != nil {
		kind, name := text[match[2]:match[3]], text[match[4]:match[5]]
		created := Find(routines, name)
		if created == nil {
			created = &RoutineText{}
			routines = append(routines, created)
		}
		created.Kind, created.Name, created.Header = kind, name, text[:match[0]]
		created.set(Statement{VerbCreate, text[match[0]:]})
		return routines, true
	}
	match := aboutRoutine.FindStringSubmatchIndex(text)
	if match == nil {
		return routines, false
	}
	about := Find(routines, text[match[4]:match[5]])
	if about == nil {
		return routines, false
	}
	about.set(Statement{text[match[2]:match[3]], text[match[0]:]})
	return routines, true
}

// SplitPostgres splits after each line that ends with a semicolon, except in a routine's body.
func SplitPostgres(text string) []string {
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
