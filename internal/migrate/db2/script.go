package db2

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/pressly/goose/v3/database"

	"github.com/applock/applock/internal/migrate"
)

// terminator ends a statement, because procedures contain semicolons.
const terminator = "\n@\n"

// Script returns the migrations on a way as SQL for Db2's command line processor on Linux, UNIX and Windows.
func Script(schema string, way migrate.Way) (string, error) {
	script, err := script(schema, way, Migrations())
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`-- applock for Db2 on Linux, UNIX and Windows, schema %s, from step %d to step %d. Run it with: db2 +c -s -td@ -vf FILE, then: db2 commit
-- +c makes it one transaction, -s ends it at the first error: roll back then (db2 rollback).
-- The user who runs it owns the procedures and needs the right to create tables and procedures there. The
-- database must be a Unicode database; its default table space for the user needs pages of 8 KB or more.

--#SET TERMINATOR @

%s`, schema, way.From, way.To, script), nil
}

// ScriptZOS returns the migrations on a way as SQL for SPUFI or DSNTEP2 on z/OS.
func ScriptZOS(schema string, way migrate.Way) (string, error) {
	script, err := script(schema, way, ZOSMigrations())
	if err != nil {
		return "", err
	}
	return fold(fmt.Sprintf(`-- applock for Db2 for z/OS 12, function level 507, and later
-- Schema: %s, from step %d to step %d
-- Run it with SPUFI (AUTOCOMMIT NO) or DSNTEP2 at application
-- compatibility V12R1M507 or later, and commit if there was no error.
-- The SQLID that runs it owns the procedures.
-- What is different from what the comments below say: a wait for another
-- transaction lasts as long as the subsystem says (IRLMRWT), not 1 s; a row
-- that another transaction is updating is waited for by a plain read, too.

--#SET TERMINATOR @

%s`, schema, way.From, way.To, script), spufiColumns), nil
}

func script(schema string, way migrate.Way, fsys fs.FS) (string, error) {
	versions, err := database.NewStoreFromQuerier(schema+"."+migrate.VersionTable, versionQueries{})
	if err != nil {
		return "", err
	}
	frame := migrate.Frame{End: "@\n", Statement: terminator, True: "1", Guard: guard(versions.Tablename(), way) + terminator}
	if way.From == 0 {
		// There is no version table to check.
		frame.First, frame.Guard = firstGuard(schema)+terminator, ""
	}
	script, err := migrate.Script(versions, fsys, way, frame)
	if err != nil {
		return "", err
	}
	return strings.Join(EnterSchema(schema), terminator) + terminator + script, nil
}

// guard fails unless the database has the version where the script begins. Db2 limits the text of such an error to 70 bytes.
func guard(table string, way migrate.Way) string {
	raise := func(text string) string {
		return "RAISE_ERROR('LK001',\n        '" + strings.ReplaceAll(text, "%", "'\n        || RTRIM(CHAR(MAX(version_id))) || '") + "')"
	}
	return fmt.Sprintf(`SELECT CASE
    WHEN MAX(version_id) > %[1]d THEN %[2]s
    WHEN MAX(version_id) < %[1]d THEN %[3]s
    ELSE 0 END
FROM %[4]s`, way.From, raise(migrate.AppliedAlready("%")), raise(way.NotApplied("%")), table)
}

// firstGuard fails if the version table exists.
func firstGuard(schema string) string {
	return fmt.Sprintf(`SELECT CASE
    WHEN COUNT(*) > 0 THEN RAISE_ERROR('LK001',
        'applock: it is installed, see appl_lock_goose')
    ELSE 0 END
FROM SYSIBM.SYSTABLES
WHERE CREATOR = '%s' AND NAME = '%s'`, strings.ToUpper(schema), strings.ToUpper(migrate.VersionTable))
}

// spufiColumns is the part of a line that SPUFI and DSNTEP2 read. The rest of the 80 columns is for line numbers.
const spufiColumns = 72

// fold breaks SQL lines longer than columns at a blank outside of literals.
func fold(script string, columns int) string {
	var folded strings.Builder
	for line := range strings.Lines(script) {
		for at := breakAt(line, columns); at > 0; at = breakAt(line, columns) {
			indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
			rest := line[at+1:]
			if strings.HasPrefix(line[len(indent):], "-- ") {
				rest = "-- " + rest
			} else {
				rest = "    " + strings.TrimPrefix(rest, "    ")
			}
			folded.WriteString(line[:at] + "\n")
			line = indent + rest
		}
		folded.WriteString(line)
	}
	return folded.String()
}

// breakAt returns the last blank where a long line can be broken, or 0.
func breakAt(line string, columns int) int {
	if len(strings.TrimSuffix(line, "\n")) <= columns {
		return 0
	}
	comment := strings.HasPrefix(strings.TrimLeft(line, " "), "--")
	last, quoted, begun := 0, false, false
	for i, char := range line[:columns+1] {
		switch {
		case char == '\'' && !comment:
			quoted, begun = !quoted, true
		case char != ' ':
			begun = true
		case begun && !quoted && i > 0 && line[i-1] != ' ' && !strings.HasSuffix(line[:i], "--"):
			last = i
		}
	}
	return last
}
