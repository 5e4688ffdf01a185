package migrate

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/applock/applock/internal/migrate"
)

// GuardScriptRequest selects the guard of GuardScript.
type GuardScriptRequest struct {
	// Dialect is postgres (or postgresql) or mysql (or mariadb). The other dialects have no guards.
	Dialect string
	// Schema contains the operations; empty is the dialect's default, on MySQL the database of the table.
	Schema string
	// Table is the table to guard, NAME or SCHEMA.NAME, in SQL's syntax: on PostgreSQL a name without quotes is in lower case. A table has
	// one guard; a new one replaces the old.
	Table string
	// ObjectType is the type of the locks. IDColumn is the table's column with the object's id, in SQL's syntax.
	ObjectType, IDColumn string
	// Insert also guards new rows. They usually need no guard, since nobody can have locked them yet.
	Insert bool
	// Down removes the guard.
	Down bool
}

// GuardScript returns SQL for the database's own command-line client that creates triggers on a table. An UPDATE or DELETE then fails with
// SQLSTATE LK002 unless the object of the row has a live grant that was asserted before: its last successful assert_appl_lock, on
// PostgreSQL in the same transaction, on MySQL and MariaDB in the same session. An UPDATE that changes the id needs both objects.
// docs/guard.md lists what a guard cannot detect. GuardScript returns ErrInvalid for invalid fields, and for a dialect without guards.
func GuardScript(request GuardScriptRequest) (string, error) {
	dialect, err := dialectOf(request.Dialect)
	if err != nil {
		return "", err
	}
	if dialect.Guards == nil {
		return "", invalid("Dialect", "%s has no guards: a trigger cannot tell there what its transaction has asserted", dialect.Name)
	}
	guard := migrate.Guard{ObjectType: strings.TrimRight(request.ObjectType, " "), Insert: request.Insert}
	if guard.Schema, err = schemaOf(dialect, request.Schema); err != nil {
		return "", err
	}
	names := dialect.Guards.Names()
	if guard.Table, err = names.Parse(request.Table, 2); err != nil {
		return "", invalid("Table", "%s", err)
	}
	if request.Down {
		return dialect.Guards.Down(guard)
	}
	if guard.Column, err = names.Parse(request.IDColumn, 1); err != nil {
		return "", invalid("IDColumn", "%s", err)
	}
	if length := utf8.RuneCountInString(guard.ObjectType); length < 1 || length > 64 || !utf8.ValidString(guard.ObjectType) ||
		strings.Contains(guard.ObjectType, ":") || strings.ContainsFunc(guard.ObjectType, unicode.IsControl) {
		return "", invalid("ObjectType", `must have 1 to 64 characters, without control characters and ":"`)
	}
	return dialect.Guards.Up(guard)
}

// GuardStatements is GuardScript for a program: statements to run one after the other, each by itself and without arguments, on one connection
// outside of a transaction. On PostgreSQL it is one text of several statements, which the server runs in a transaction of its own; a driver
// sends it as it is if there are no arguments.
func GuardStatements(request GuardScriptRequest) ([]string, error) {
	script, err := GuardScript(request)
	if err != nil {
		return nil, err
	}
	if _, inside, ok := strings.Cut(script, "\nBEGIN;\n"); ok {
		return []string{strings.TrimSuffix(inside, "COMMIT;\n")}, nil
	}
	var statements []string
	statement, ending := "", ";"
	for line := range strings.Lines(script) {
		if named, ok := strings.CutPrefix(line, "DELIMITER "); ok {
			ending = strings.TrimSpace(named)
			continue
		}
		statement += line
		if whole, ok := strings.CutSuffix(statement, ending+"\n"); ok {
			statements, statement = append(statements, strings.TrimSpace(whole)), ""
		}
	}
	return statements, nil
}
