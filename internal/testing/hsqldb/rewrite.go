package hsqldb

import (
	"regexp"
	"slices"
	"strings"
)

// plainCharacters is at least the number of characters that a check of text accepts as plain.
const plainCharacters = 100

// A rewriting replaces one of Db2's spellings by HSQLDB's. None changes control flow, a predicate or an assignment.
type rewriting struct {
	db2    *regexp.Regexp
	hsqldb string
	why    string
}

// rewritings is the whole list; docs/db2.md shows it.
func rewritings() []rewriting { return slices.Concat(spellings(), removals()) }

// spellings are rewritings to another spelling of the same.
func spellings() []rewriting {
	return []rewriting{
		{
			regexp.MustCompile(`\bCREATE OR REPLACE\b`), "CREATE",
			"it has no OR REPLACE; where a routine is there, what follows its parameters goes into ALTER SPECIFIC ROUTINE",
		},
		{
			regexp.MustCompile(`\bBEGIN\n`), "BEGIN ATOMIC\n",
			"it knows compound statements only as atomic ones",
		},
		{
			regexp.MustCompile(`\bWHILE ([^;]+?) DO\n`), "WHILE $1 DO BEGIN ATOMIC\n",
			"its loop goes on after an error of any statement but its last: the body is one statement",
		},
		{
			regexp.MustCompile(`\bEND WHILE\b`), "END; END WHILE",
			"the end of that statement",
		},
		{
			regexp.MustCompile(`\bCURRENT TIMESTAMP\b`), "LOCALTIMESTAMP",
			"another name for the local time without a zone",
		},
		{
			regexp.MustCompile(`\bCURRENT TIMEZONE\b`), "SESSION_TIMEZONE()",
			"another name for the distance from UTC",
		},
		{
			regexp.MustCompile(`\bDATE\('1970-01-01'\)`), "DATE '1970-01-01'",
			"it writes dates as the standard does",
		},
		{
			regexp.MustCompile(`\bCHARACTER_LENGTH\((\w+), CODEUNITS32\)`), "SYSFUN.CHARACTERS($1)",
			"its own counts UTF-16 code units; prelude.sql defines this one",
		},
		{
			regexp.MustCompile(`\bCHARACTER_LENGTH\((\w+), OCTETS\)`), "SYSFUN.OCTETS($1)",
			"its own counts two bytes for a character; prelude.sql defines this one",
		},
		{
			regexp.MustCompile(`\bSUBSTRING\(([^;]+?),\s*CODEUNITS32\s*\)`), "SYSFUN.PART($1)",
			"its own counts UTF-16 code units; prelude.sql defines this one",
		},
		{
			regexp.MustCompile(`\bTRANSLATE\((\w+), '0', '0123456789', '0'\)`), "TRANSLATE($1, '0123456789', '0000000000')",
			"its own takes the old characters before the new ones, and does not pad",
		},
		{
			regexp.MustCompile(`\bTRANSLATE\(([^;]+?), ' ',\s*('[^']+'\s*\|\| '[^']+'), ' '\)`), "TRANSLATE($1, $2, '" + strings.Repeat(" ", plainCharacters) + "')",
			"the same, with blanks",
		},
		{
			regexp.MustCompile(`\bHEX\(`), "SYSFUN.HEX(",
			"its own tells code units; prelude.sql defines one that tells the UTF-8 of what is looked for",
		},
		{
			regexp.MustCompile(`\b(MIDNIGHT_SECONDS|MICROSECOND)\(`), "SYSFUN.$1(",
			"it has none of these functions; prelude.sql defines them",
		},
		{
			regexp.MustCompile(`\bFOR (?:candidate|waiter|request|viewer|event) AS\b`), "FOR",
			"its loops have no name",
		},
		{
			regexp.MustCompile(`\bSET CURRENT SCHEMA =`), "SET SCHEMA",
			"another name",
		},
		{
			regexp.MustCompile(`\bSELECT CURRENT SCHEMA, CURRENT PATH\b`), "SELECT CURRENT_SCHEMA, ''",
			"another name; it looks for routines in the schema",
		},
	}
}

// removals are rewritings that remove clauses without a meaning in HSQLDB.
func removals() []rewriting {
	return []rewriting{
		{
			regexp.MustCompile(`\s+WITH (?:CS(?: SKIP LOCKED DATA)?|RS USE AND KEEP SHARE LOCKS)\b`), "",
			"it allows no isolation clause in a routine: what it would have locked is not tested here",
		},
		{
			regexp.MustCompile(`(?m)^\s*SET CURRENT LOCK TIMEOUT [01];\n`), "",
			"it has no limit for waits: what happens then is not tested here",
		},
		{
			regexp.MustCompile(`^SET CURRENT PATH .*`), "",
			"it looks for routines in the schema",
		},
		{
			regexp.MustCompile(`^COMMENT ON SPECIFIC (?:PROCEDURE|FUNCTION) .*`), "",
			"it has no comments on single routines",
		},
		{
			regexp.MustCompile(`^ALTER TABLE \w+ VOLATILE CARDINALITY`), "",
			"a hint for Db2's optimizer",
		},
	}
}

// rewrite returns a Db2 statement as HSQLDB understands it, or "" if nothing is left of it.
func rewrite(statement string, rewritings []rewriting) string {
	for _, rewriting := range rewritings {
		statement = rewriting.db2.ReplaceAllString(statement, rewriting.hsqldb)
	}
	return statement
}
