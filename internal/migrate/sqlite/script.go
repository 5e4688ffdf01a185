package sqlite

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3/database"

	"github.com/applock/applock/internal/migrate"
)

// Script returns the migrations on a way as SQL for the sqlite3 shell, in one transaction.
func Script(_ string, way migrate.Way) (string, error) {
	versions, err := database.NewStore(database.DialectSQLite3, migrate.VersionTable)
	if err != nil {
		return "", err
	}
	known, err := migrate.Known(Migrations())
	if err != nil {
		return "", err
	}
	script, err := migrate.Script(versions, Migrations(), way, migrate.Frame{Guard: guard(way, known)})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`-- applock for SQLite, from step %d to step %d. Run it with: sqlite3 FILE < SCRIPT
.bail on

PRAGMA journal_mode = WAL;
BEGIN IMMEDIATE;
%s
COMMIT;
`, way.From, way.To, script), nil
}

// guard fails unless the file has the version where the script begins. Only triggers can raise an error, so it uses a constraint whose name
// is the message.
func guard(way migrate.Way, known []int64) string {
	var guard strings.Builder
	guard.WriteString("CREATE TEMPORARY TABLE applock_guard (\n    version INTEGER")
	for _, version := range known {
		number, reason := strconv.FormatInt(version, 10), ""
		switch {
		case version > way.From:
			reason = migrate.AppliedAlready(number)
		case version < way.From:
			reason = way.NotApplied(number)
		default:
			continue
		}
		fmt.Fprintf(&guard, ",\n    CONSTRAINT \"%s\" CHECK (version <> %s)", reason, number)
	}
	fmt.Fprintf(&guard, ",\n    CONSTRAINT \"applock: the file is newer than this script\" CHECK (version <= %d)\n);\n", slices.Max(known))
	fmt.Fprintf(&guard, "INSERT INTO temp.applock_guard SELECT coalesce(max(version_id), 0) FROM %s;\n", migrate.VersionTable)
	guard.WriteString("DROP TABLE temp.applock_guard;\n")
	return guard.String()
}
