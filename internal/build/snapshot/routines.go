package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/applock/applock/internal/migrate"
)

// routine is a procedure or a function of a source or a migration.
type routine = migrate.RoutineText

// statement is a statement that names a routine.
type statement = migrate.Statement

// installedBy returns the routines that remain after the migrations, in the order of their creation.
func installedBy(dialect string, released []string) []*routine {
	if dialect == postgresFolder {
		return migrate.InstalledBy(released, migrate.SplitPostgres)
	}
	return migrate.InstalledBy(released, nil)
}

// missing returns the statements that are not in others.
func missing(statements, others []statement) []statement {
	return slices.DeleteFunc(slices.Clone(statements), func(s statement) bool { return slices.Contains(others, s) })
}

// routinesOf returns the routines that the sources create, in their order.
func routinesOf(dialect string, sources []string) ([]*routine, error) {
	var routines []*routine
	for _, source := range sources {
		for _, text := range statementsOf(dialect, source) {
			var known bool
			if routines, known = migrate.AddStatement(routines, text); !known {
				return nil, fmt.Errorf("procedures/%s has a statement about no routine of its own:\n%s", dialect, text)
			}
		}
	}
	return routines, nil
}

const (
	delimiterBegin = "DELIMITER $$\n"
	delimiterEnd   = "DELIMITER ;\n"
	delimiter      = "$$\n"
	terminatorLine = "--#SET TERMINATOR @\n"
)

// statementsOf returns the statements of a source for a driver, each with the comments before it, without the client's delimiters and
// terminators.
func statementsOf(dialect, source string) []string {
	switch dialect {
	case postgresFolder:
		return migrate.SplitPostgres(source)
	case mysqlFolder:
		return splitMySQL(source)
	default:
		return splitDb2(source)
	}
}

func splitMySQL(source string) []string {
	if !strings.Contains(source, delimiterBegin) { // a file of views, which have no bodies
		statements := strings.SplitAfter(source, ";\n\n")
		for i, statement := range statements {
			statements[i] = strings.TrimSpace(statement) + "\n"
		}
		return statements
	}
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
