package mysql

import (
	"fmt"
	"strings"

	"github.com/pressly/goose/v3/database"

	"github.com/applock/applock/internal/migrate"
)

// Script returns the migrations on a way as SQL for the mysql and mariadb command-line clients. Without a schema it applies to the database
// of the connection.
func Script(schema string, way migrate.Way) (string, error) {
	target, use := "DATABASE ", ""
	if schema != "" {
		target, use = "", fmt.Sprintf("USE %s;\n", schema)
		if way.From == 0 {
			use = fmt.Sprintf("CREATE DATABASE IF NOT EXISTS %s;\n%s", schema, use)
		}
	}
	store, err := database.NewStore(database.DialectMySQL, migrate.VersionTable)
	if err != nil {
		return "", err
	}
	// A body contains semicolons.
	script, err := migrate.Script(inInnoDB{store}, Migrations(), way, migrate.Frame{
		Begin: "DELIMITER $$\n", End: "$$\nDELIMITER ;\n", Guard: guard(way),
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`-- applock for MySQL and MariaDB, from step %d to step %d. Run it with: mysql %s< FILE
-- The account that runs it becomes the owner of the procedures: they stop working if it is dropped.
-- A statement that fails ends the script, and what was done before it stays: there are no transactions
-- around CREATE. "applockctl migrate up" does the rest then.

SET time_zone = '+00:00';
%s%s`, way.From, way.To, target, use, script), nil
}

// guard fails unless the database has the version where the script begins. IF exists only in procedures, and SIGNAL cannot be prepared. So
// the guard reads a missing column whose name is the message.
func guard(way migrate.Way) string {
	concat := func(text string) string {
		return "CONCAT('SELECT `" + strings.ReplaceAll(text, "%", "', @applock_version, '") + "`')"
	}
	return fmt.Sprintf(`SET @applock_version = (SELECT COALESCE(MAX(version_id), 0) FROM %[1]s);
SET @applock_guard = CASE
    WHEN @applock_version > %[2]d THEN %[3]s
    WHEN @applock_version < %[2]d THEN %[4]s
    ELSE 'DO 0'
END;
PREPARE applock_guard FROM @applock_guard;
EXECUTE applock_guard;
DEALLOCATE PREPARE applock_guard;
`, migrate.VersionTable, way.From, concat(migrate.AppliedAlready("%")), concat(way.NotApplied("%")))
}
