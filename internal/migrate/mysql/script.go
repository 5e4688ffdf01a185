package mysql

import (
	"fmt"

	"github.com/pressly/goose/v3/database"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
)

// Script returns all migrations as SQL for the mysql and mariadb command-line clients. Without a schema it
// installs into the database that the client is connected to.
func Script(schema string) (string, error) {
	target, use := "DATABASE ", ""
	if schema != "" {
		if err := db.CheckSchema(schema); err != nil {
			return "", err
		}
		target, use = "", fmt.Sprintf("CREATE DATABASE IF NOT EXISTS %[1]s;\nUSE %[1]s;\n", schema)
	}
	fsys, err := Migrations()
	if err != nil {
		return "", err
	}
	versions, err := database.NewStore(database.DialectMySQL, migrate.VersionTable)
	if err != nil {
		return "", err
	}
	// A body has semicolons of its own.
	script, err := migrate.Script(versions, fsys, migrate.Frame{Begin: "DELIMITER $$\n", End: "$$\nDELIMITER ;\n"})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`-- applock for MySQL and MariaDB. Run it with: mysql %s< FILE
-- The account that runs it becomes the owner of the procedures: they stop working if it is dropped.
-- A statement that fails ends the script, and what was done before it stays: there are no transactions
-- around CREATE. "applockctl migrate up" does the rest then.

SET time_zone = '+00:00';
%s%s`, target, use, script), nil
}
