package mysql

import (
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/applock/applock/internal/migrate"
	"github.com/applock/applock/procedures/guards"
)

// Names is the syntax of names in MySQL and MariaDB.
func Names() migrate.Names {
	return migrate.Names{Quote: "`", Longest: 64, Length: utf8.RuneCountInString}
}

// Guard returns the SQL for the mysql and mariadb command-line clients that installs a guard. Without a schema the operations
// are in the database of the table.
func Guard(guard migrate.Guard) (string, error) {
	parts := []string{"up"}
	if guard.Insert {
		parts = append(parts, "insert")
	}
	return guardText(guard, parts...)
}

// Unguard returns the SQL for the same clients that removes a guard.
func Unguard(guard migrate.Guard) (string, error) { return guardText(guard, "down") }

func guardText(guard migrate.Guard, parts ...string) (string, error) {
	var text strings.Builder
	for _, part := range parts {
		sql, err := fs.ReadFile(guards.FS, "mysql/"+part+".sql")
		if err != nil {
			return "", err
		}
		text.Write(sql)
	}
	names := Names()
	beside := func(ending string) string { return names.Write(names.Beside(guard.Table, "appl_lock_guard_", ending)) }
	assert := migrate.Name{"assert_appl_lock"}
	if guard.Schema != "" {
		assert = migrate.Name{guard.Schema, "assert_appl_lock"}
	}
	return strings.NewReplacer(
		"GUARD_TABLE", names.Write(guard.Table),
		"GUARD_COLUMN", names.Write(guard.Column),
		"GUARD_TYPE", literal(guard.ObjectType),
		"GUARD_ASSERT", names.Write(assert),
		"GUARD_PROCEDURE", beside(""),
		"GUARD_ON_INSERT", beside("_insert"),
		"GUARD_ON_UPDATE", beside("_update"),
		"GUARD_ON_DELETE", beside("_delete"),
	).Replace(text.String()), nil
}

// literal writes a text so that it is the same whatever the sql_mode and the character set of the connection are.
func literal(text string) string {
	plain := func(r rune) bool { return r >= ' ' && r <= '~' && r != '\'' && r != '\\' && r != '$' }
	if strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return fmt.Sprintf("_utf8mb4 X'%X'", text)
	}
	return "'" + text + "'"
}
