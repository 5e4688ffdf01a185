package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/applock/applock/procedures"
)

// zosFolder has the texts for z/OS, which are those for Linux, UNIX and Windows with the deltas below. They
// are texts to read and to run like all others; this keeps them from going ways of their own.
const zosFolder = "db2/zos"

// delta is what z/OS writes differently.
type delta struct {
	luw *regexp.Regexp
	zos string
	why string
}

func zosDeltas() []delta {
	return []delta{
		{
			regexp.MustCompile(`(?m)(^\)|^CREATE OR REPLACE PROCEDURE .*\))\nSPECIFIC \w+\n((?:DYNAMIC RESULT SETS 1\n)?LANGUAGE SQL\nNOT DETERMINISTIC\n(?:CONTAINS|READS|MODIFIES) SQL(?: DATA)?\n)`),
			"${1}\n${2}PARAMETER CCSID UNICODE\nISOLATION LEVEL CS\nCONCURRENT ACCESS RESOLUTION USE CURRENTLY COMMITTED\n" +
				"VALIDATE BIND\nDISALLOW DEBUG MODE\n",
			"a native procedure has no specific name, and says itself what LUW has as defaults of the database",
		},
		{
			regexp.MustCompile(`(?m)^COMMENT ON .*\n@\n\n?`),
			"",
			"a literal cannot go on in the next line, and the lines of SPUFI have 72 columns",
		},
		{
			regexp.MustCompile(`(?m)^CALL appl_lock_check_database\(\)\n@\n`),
			"",
			"CALL cannot be run dynamically, and text is compared as bytes",
		},
		{
			regexp.MustCompile(`CREATE OR REPLACE FUNCTION `),
			"CREATE FUNCTION ",
			"OR REPLACE is for procedures only, from function level 507",
		},
		{
			regexp.MustCompile(`(?m)^    SET CURRENT LOCK TIMEOUT [01];\n`),
			"",
			"the special register came with Db2 13, function level 500: a wait lasts as long as IRLMRWT says",
		},
	}
}

const zosHeader = `-- For Db2 for z/OS 12, function level 507, and later. Made by ` + "`make snapshot`" + ` from procedures/db2/%s
-- with the deltas of internal/build/snapshot/zos.go: edit it there. What is different from the text below:
-- a wait for another transaction lasts as long as the subsystem says (IRLMRWT), not 1 s; a row that another
-- transaction is updating is waited for by a plain read, too.
--
`

// zosSources returns the names and texts of the sources for z/OS.
func zosSources() (names, texts []string, err error) {
	files, err := sourceNames("db2")
	if err != nil {
		return nil, nil, err
	}
	sources, err := readAll(procedures.FS, files)
	if err != nil {
		return nil, nil, err
	}
	for i, source := range sources {
		name := path.Base(files[i])
		names = append(names, name)
		texts = append(texts, fmt.Sprintf(zosHeader, name)+zosText(source))
	}
	return names, texts, nil
}

func zosText(source string) string {
	header, statements, _ := strings.Cut(source, terminatorLine)
	for _, delta := range zosDeltas() {
		statements = delta.luw.ReplaceAllString(statements, delta.zos)
	}
	return header + terminatorLine + statements
}

func writeZOS(folder string) error {
	names, texts, err := zosSources()
	if err != nil {
		return err
	}
	for i, name := range names {
		file := filepath.Join(folder, zosFolder, name)
		if err := os.WriteFile(file, []byte(texts[i]), 0o644); err != nil {
			return err
		}
		fmt.Println(file)
	}
	return nil
}
