package db2

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/applock/applock/internal/migrate"
)

// delta is a difference in the SQL of z/OS.
type delta struct {
	luw *regexp.Regexp
	zos string
	why string
}

func deltas() []delta {
	return []delta{
		{
			regexp.MustCompile(`(?m)(^\)|^CREATE OR REPLACE PROCEDURE .*\))\nSPECIFIC \w+\n((?:DYNAMIC RESULT SETS 1\n)?LANGUAGE SQL\nNOT DETERMINISTIC\n(?:CONTAINS|READS|MODIFIES) SQL(?: DATA)?\n)`),
			"${1}\n${2}PARAMETER CCSID UNICODE\nISOLATION LEVEL CS\nCONCURRENT ACCESS RESOLUTION USE CURRENTLY COMMITTED\n" +
				"VALIDATE BIND\nDISALLOW DEBUG MODE\n",
			"a native procedure has no specific name, and says itself what LUW has as defaults of the database",
		},
		{
			regexp.MustCompile(`(?s)^COMMENT ON .*`),
			"",
			"a literal cannot go on in the next line, and the lines of SPUFI have 72 columns",
		},
		{
			regexp.MustCompile(`(?s)^CALL appl_lock_check_database\(\).*`),
			"",
			"CALL cannot be run dynamically, and text is compared as bytes",
		},
		{
			regexp.MustCompile(`(?m)^CREATE OR REPLACE (FUNCTION|VIEW) `),
			"CREATE $1 ",
			"OR REPLACE is for procedures only, from function level 507",
		},
		{
			regexp.MustCompile(`(?m)^    SET CURRENT LOCK TIMEOUT [01];\n`),
			"",
			"the special register came with Db2 13, function level 500: a wait lasts as long as IRLMRWT says",
		},
	}
}

// ZOSStatement returns the form of a procedures' statement for z/OS, empty if z/OS does not need it.
func ZOSStatement(statement string) string {
	for _, delta := range deltas() {
		statement = delta.luw.ReplaceAllString(statement, delta.zos)
	}
	return statement
}

// ZOSMigrations returns the migrations for z/OS: its own steps for tables, and the procedures of LUW with the deltas.
func ZOSMigrations() fs.FS { return zosFiles{Migrations()} }

type zosFiles struct{ fs.FS }

// ReadFile implements fs.ReadFileFS.
func (z zosFiles) ReadFile(name string) ([]byte, error) {
	if !strings.HasSuffix(name, "_procedures.sql") {
		return fs.ReadFile(z.FS, "zos/"+name)
	}
	text, err := fs.ReadFile(z.FS, name)
	return []byte(zosProcedures(string(text))), err
}

const (
	blockBegin = "-- +goose StatementBegin\n"
	blockEnd   = "-- +goose StatementEnd\n\n"
)

var (
	block       = regexp.MustCompile(`(?ms)^` + regexp.QuoteMeta(blockBegin) + `(.*?)^` + regexp.QuoteMeta(strings.TrimSpace(blockEnd)) + `\n\n?`)
	notReplaced = regexp.MustCompile(`(?m)^CREATE OR REPLACE (FUNCTION|VIEW) (\w+)`)
)

// zosProcedures returns a migration of procedures for z/OS.
func zosProcedures(migration string) string {
	return block.ReplaceAllStringFunc(migration, func(found string) string {
		statement := block.FindStringSubmatch(found)[1]
		var blocks string
		if created := notReplaced.FindStringSubmatch(statement); created != nil && isReplaced(migration, created[2]) {
			right := map[string]string{"FUNCTION": "EXECUTE", "VIEW": "SELECT"}[created[1]]
			blocks = fmt.Sprintf("-- A %s cannot be replaced here: who has been granted %s on this one needs that again.\n",
				strings.ToLower(created[1]), right) + blockBegin + fmt.Sprintf("DROP %s %s\n", created[1], created[2]) + blockEnd
		}
		if statement = ZOSStatement(statement); statement != "" {
			blocks += blockBegin + statement + blockEnd
		}
		return blocks
	})
}

// isReplaced reports whether a function or view existed before. Then both directions of the migration create it.
func isReplaced(migration, name string) bool {
	creations := migrate.CreateRoutine.FindAllStringSubmatch(migration, -1)
	first := slices.IndexFunc(creations, func(match []string) bool { return match[2] == name })
	return first >= 0 && slices.ContainsFunc(creations[first+1:], func(match []string) bool { return match[2] == name })
}
