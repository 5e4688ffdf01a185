package db2

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/pressly/goose/v3/database"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
)

// terminator ends a statement, because procedures have semicolons of their own.
const terminator = "\n@\n"

// Script returns all migrations as SQL for Db2's command line processor on Linux, UNIX and Windows.
func Script(schema string) (string, error) {
	fsys, err := Migrations()
	if err != nil {
		return "", err
	}
	script, err := script(schema, fsys)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`-- applock for Db2 on Linux, UNIX and Windows, schema %s. Run it with: db2 +c -s -td@ -vf FILE, then: db2 commit
-- +c makes it one transaction, -s ends it at the first error: roll back then (db2 rollback).
-- The user who runs it owns the procedures and needs the right to create tables and procedures there. The
-- database must be a Unicode database; its default table space for the user needs pages of 8 KB or more.

--#SET TERMINATOR @

%s`, schema, script), nil
}

// ScriptZOS returns all migrations as SQL for SPUFI or DSNTEP2 on z/OS.
func ScriptZOS(schema string) (string, error) {
	fsys, err := Migrations()
	if err != nil {
		return "", err
	}
	fsys, err = fs.Sub(fsys, "zos")
	if err != nil {
		return "", err
	}
	script, err := script(schema, fsys)
	if err != nil {
		return "", err
	}
	return fold(fmt.Sprintf(`-- applock for Db2 for z/OS 12, function level 507, and later
-- Schema: %s
-- Run it with SPUFI (AUTOCOMMIT NO) or DSNTEP2 at application
-- compatibility V12R1M507 or later, and commit if there was no error.
-- The SQLID that runs it owns the procedures.

--#SET TERMINATOR @

%s`, schema, script), spufiColumns), nil
}

func script(schema string, fsys fs.FS) (string, error) {
	if err := db.CheckSchema(schema); err != nil {
		return "", err
	}
	versions, err := database.NewStoreFromQuerier(schema+"."+migrate.VersionTable, versionQueries{})
	if err != nil {
		return "", err
	}
	script, err := migrate.Script(versions, fsys, migrate.Frame{End: "@\n", Statement: terminator, True: "1"})
	if err != nil {
		return "", err
	}
	return strings.Join(EnterSchema(schema), terminator) + terminator + script, nil
}

// spufiColumns is how much of a line SPUFI and DSNTEP2 read: the rest of the 80 columns is for line numbers.
const spufiColumns = 72

// fold breaks the lines of SQL that are longer than columns at a blank outside of literals.
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

// breakAt returns the last blank at which a line that is too long can be broken, or 0.
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
