package postgres

import (
	"fmt"

	"github.com/pressly/goose/v3/database"

	"github.com/applock/applock/internal/migrate"
)

// Script returns the migrations on a way as SQL for psql, in one transaction.
func Script(schema string, way migrate.Way) (string, error) {
	versions, err := database.NewStore(database.DialectPostgres, versionTable(schema))
	if err != nil {
		return "", err
	}
	script, err := migrate.Script(versions, Migrations(), way, migrate.Frame{Guard: guard(versionTable(schema), way)})
	if err != nil {
		return "", err
	}
	create := fmt.Sprintf("CREATE SCHEMA IF NOT EXISTS %s;\n", schema)
	if way.From > 0 {
		create = ""
	}
	return fmt.Sprintf(`-- applock for PostgreSQL, schema %[1]s, from step %[2]d to step %[3]d. Run it with: psql -v ON_ERROR_STOP=1 -f FILE

BEGIN;
SET LOCAL applock.schema = '%[1]s';
%[4]s%[5]s
COMMIT;
`, schema, way.From, way.To, create, script), nil
}

// guard raises an error unless the database has the version where the script begins. It also locks out other migrators.
func guard(table string, way migrate.Way) string {
	return fmt.Sprintf(`DO $$
DECLARE
    v_version bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(%[1]d);
    SELECT coalesce(max(version_id), 0) INTO v_version FROM %[2]s;
    IF v_version > %[3]d THEN
        RAISE EXCEPTION '%[4]s', v_version, v_version;
    ELSIF v_version < %[3]d THEN
        RAISE EXCEPTION '%[5]s', v_version;
    END IF;
END
$$;
`, migrationLockKey, table, way.From, migrate.AppliedAlready("%"), way.NotApplied("%"))
}
