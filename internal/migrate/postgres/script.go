package postgres

import (
	"fmt"

	"github.com/pressly/goose/v3/database"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
)

// Script returns all migrations as SQL for psql, in one transaction.
func Script(schema string) (string, error) {
	if err := db.CheckSchema(schema); err != nil {
		return "", err
	}
	fsys, err := Migrations()
	if err != nil {
		return "", err
	}
	versions, err := database.NewStore(database.DialectPostgres, versionTable(schema))
	if err != nil {
		return "", err
	}
	script, err := migrate.Script(versions, fsys, migrate.Frame{})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`-- applock for PostgreSQL, schema %[1]s. Run it with: psql -v ON_ERROR_STOP=1 -f FILE

BEGIN;
SET LOCAL applock.schema = '%[1]s';
CREATE SCHEMA IF NOT EXISTS %[1]s;
%[2]s
COMMIT;
`, schema, script), nil
}
