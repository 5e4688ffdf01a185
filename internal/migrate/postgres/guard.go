package postgres

import (
	"io/fs"
	"strings"

	"github.com/applock/applock/internal/migrate"
	"github.com/applock/applock/procedures/guards"
)

// Names is PostgreSQL's syntax of names.
func Names() migrate.Names {
	return migrate.Names{Quote: `"`, Folds: true, Longest: 63, Length: func(name string) int { return len(name) }}
}

// Guard returns the SQL for psql that installs a guard.
func Guard(guard migrate.Guard) (string, error) {
	events := "UPDATE OR DELETE"
	if guard.Insert {
		events = "INSERT OR " + events
	}
	column, objectType, table := Names().Write(guard.Column), literal(guard.ObjectType), literal(Names().Write(guard.Table))
	return guardText("up", guard,
		"GUARD_EVENTS", events,
		"GUARD_COLUMN", column,
		"GUARD_TYPE", objectType,
		"GUARD_ASSERT", guard.Schema+".assert_appl_lock_row",
		"GUARD_NAME", table,
		"GUARD_DOLLARS", dollarsAround(column+objectType+table),
	)
}

// dollarsAround returns dollar quotes that do not occur in the text.
func dollarsAround(text string) string {
	dollars := "$guard$"
	for strings.Contains(text, dollars) {
		dollars = "$_" + dollars[1:]
	}
	return dollars
}

// Unguard returns the SQL for psql that removes a guard.
func Unguard(guard migrate.Guard) (string, error) { return guardText("down", guard) }

func guardText(way string, guard migrate.Guard, words ...string) (string, error) {
	text, err := fs.ReadFile(guards.FS, "postgres/"+way+".sql")
	names := Names()
	words = append(words,
		"GUARD_TABLE", names.Write(guard.Table), "GUARD_FUNCTION", names.Write(names.Beside(guard.Table, "appl_lock_guard_", "")))
	return strings.NewReplacer(words...).Replace(string(text)), err
}

// literal quotes a text independently of standard_conforming_strings.
func literal(text string) string {
	return "E'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(text) + "'"
}
