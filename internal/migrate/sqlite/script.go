package sqlite

import (
	"fmt"

	"github.com/pressly/goose/v3/database"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
)

// Script returns all migrations as SQL for the sqlite3 shell, in one transaction.
func Script(schema string) (string, error) {
	if schema != "" {
		return "", db.ErrNoSchemas
	}
	fsys, err := Migrations()
	if err != nil {
		return "", err
	}
	versions, err := database.NewStore(database.DialectSQLite3, migrate.VersionTable)
	if err != nil {
		return "", err
	}
	script, err := migrate.Script(versions, fsys, migrate.Frame{})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`-- applock for SQLite. Run it with: sqlite3 -bail FILE < SCRIPT

PRAGMA journal_mode = WAL;
BEGIN IMMEDIATE;
%s
COMMIT;
`, script), nil
}
