package migrate

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
)

// GuardScriptRequest says which guard GuardScript returns.
type GuardScriptRequest struct {
	// Dialect is postgres (or postgresql) or mysql (or mariadb). The others have no guards.
	Dialect string
	// Schema is where the operations are; empty is the dialect's default, and on MySQL the database of the table.
	Schema string
	// Table is the one to guard, NAME or SCHEMA.NAME, as SQL writes it: on PostgreSQL a name without quotes is in lower
	// case. It has one guard: another one replaces it.
	Table string
	// ObjectType is that of the locks, and IDColumn the column of the table that has the id of the object, also as SQL
	// writes it.
	ObjectType, IDColumn string
	// Insert guards new rows, too. Without it those are written freely: usually nobody can have locked them yet.
	Insert bool
	// Down removes the guard.
	Down bool
}

// GuardScript returns SQL for the database's own command-line client that creates triggers on a table: an UPDATE or DELETE of a
// row asserts in the same transaction, as assert_appl_lock does, the grant of the row's object that assert_appl_lock has found
// live last, on PostgreSQL in the same transaction, on MySQL and MariaDB in the same session. If there was none, or it is not live any
// more, the statement fails with SQLSTATE LK002. An UPDATE that changes the id needs both objects. The page docs/guard.md has
// what a guard does not see. GuardScript returns ErrInvalid for what cannot be, and for a dialect that has no guards.
func GuardScript(request GuardScriptRequest) (string, error) {
	dialect, err := dialectOf(request.Dialect)
	if err != nil {
		return "", err
	}
	if dialect.guards == nil {
		reason := dialect.name + " has no guards: a trigger cannot tell there what its transaction has asserted"
		return "", &applock.InvalidError{Argument: "Dialect", Reason: reason}
	}
	guard := migrate.Guard{
		Schema: cmp.Or(request.Schema, dialect.defaultSchema), ObjectType: strings.TrimRight(request.ObjectType, " "), Insert: request.Insert,
	}
	if guard.Schema != "" {
		if err := db.CheckSchema(guard.Schema); err != nil {
			return "", &applock.InvalidError{Argument: "Schema", Reason: fmt.Sprintf("%q: %s", guard.Schema, err)}
		}
	}
	names := dialect.guards.names()
	if guard.Table, err = names.Parse(request.Table, 2); err != nil {
		return "", &applock.InvalidError{Argument: "Table", Reason: err.Error()}
	}
	if request.Down {
		return dialect.guards.down(guard)
	}
	if guard.Column, err = names.Parse(request.IDColumn, 1); err != nil {
		return "", &applock.InvalidError{Argument: "IDColumn", Reason: err.Error()}
	}
	if length := utf8.RuneCountInString(guard.ObjectType); length < 1 || length > 64 || !utf8.ValidString(guard.ObjectType) ||
		strings.Contains(guard.ObjectType, ":") || strings.ContainsFunc(guard.ObjectType, unicode.IsControl) {
		return "", &applock.InvalidError{
			Argument: "ObjectType", Reason: `must have 1 to 64 characters, without control characters and ":"`,
		}
	}
	return dialect.guards.up(guard)
}

// guards is how a dialect makes them.
type guards struct {
	names    func() migrate.Names
	up, down func(migrate.Guard) (string, error)
}
