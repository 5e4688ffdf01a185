package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
)

// steps are the two directions of a migration of procedures.
type steps struct {
	dialect  string
	up, down strings.Builder
}

// stepsOf returns the way from the released migrations to the sources, and back. A routine with the same text stays, with its grants.
func stepsOf(dialect string, sources, released []string) (*steps, error) {
	wanted, err := routinesOf(dialect, sources)
	if err != nil {
		return nil, err
	}
	installed := installedBy(dialect, released)
	result := &steps{dialect: dialect}
	var added, gone []*routine
	for _, former := range installed {
		if migrate.Find(wanted, former.Name) == nil {
			gone = append(gone, former)
			result.create(&result.down, former, former.Statements)
		}
	}
	for _, later := range wanted {
		former := migrate.Find(installed, later.Name)
		if former == nil {
			added = append(added, later)
			result.create(&result.up, later, later.Statements)
			continue
		}
		if err := result.change(former, later); err != nil {
			return nil, err
		}
	}
	// Callers are dropped before the routines that they call.
	for _, former := range slices.Backward(gone) {
		result.drop(&result.up, former)
	}
	for _, later := range slices.Backward(added) {
		result.drop(&result.down, later)
	}
	return result, nil
}

// change replaces a routine with a different text. The way back restores the former text.
func (s *steps) change(former, later *routine) error {
	up, down := missing(later.Statements, former.Statements), missing(former.Statements, later.Statements)
	if later.Definition() != former.Definition() {
		if err := s.refuse(former, later); err != nil {
			return err
		}
		if s.dialect != postgresFolder { // on Db2, OR REPLACE keeps only the privileges
			up, down = later.Statements, former.Statements
		}
	}
	s.create(&s.up, later, up)
	s.create(&s.down, former, down)
	return nil
}

// refuse returns an error if replacing would lose something in use.
func (s *steps) refuse(former, later *routine) error {
	if s.dialect == mysqlFolder {
		if granted(later.Name) {
			return fmt.Errorf(
				"%s is installed with another text: replacing it would drop the grants on it; change %s_core instead",
				later.Name, strings.TrimSuffix(later.Name, "_row"),
			)
		}
		return nil
	}
	if later.Signature() != former.Signature() {
		return fmt.Errorf(
			"%s is installed with another signature, which replacing cannot change: give the new one another name",
			later.Name,
		)
	}
	return nil
}

// granted reports whether users have rights on a routine: true for those of the contract, in all forms.
func granted(name string) bool {
	return slices.ContainsFunc(db.Contract(), func(operation db.Operation) bool { return operation.Has(name) })
}

// create writes the statements of a routine, if there are any. On MySQL they can be repeated after a migration that broke off half-way,
// since CREATE is not transactional.
func (s *steps) create(out *strings.Builder, routine *routine, statements []statement) {
	if len(statements) == 0 {
		return
	}
	if s.dialect == mysqlFolder {
		s.drop(out, routine)
	}
	var texts []string
	for _, statement := range statements {
		text := statement.Text
		if statement.Verb == migrate.VerbCreate && out == &s.up {
			text = routine.Header + text
		}
		texts = append(texts, text)
	}
	if s.dialect == postgresFolder {
		texts = []string{strings.Join(texts, "\n")}
	}
	for _, text := range texts {
		writeBlock(out, text)
	}
}

// drop writes a DROP that ignores a missing routine if the product can, so that a damaged installation can be removed.
func (s *steps) drop(out *strings.Builder, routine *routine) {
	switch s.dialect {
	case mysqlFolder, postgresFolder:
		fmt.Fprintf(out, "DROP %s IF EXISTS %s;\n", routine.Kind, routine.Name)
	default: // Db2 refuses a final semicolon
		writeBlock(out, fmt.Sprintf("DROP %s %s\n", routine.Kind, routine.Name))
	}
}

func writeBlock(out *strings.Builder, block string) {
	fmt.Fprintf(out, "-- +goose StatementBegin\n%s-- +goose StatementEnd\n\n", block)
}
