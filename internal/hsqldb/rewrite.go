package hsqldb

import "regexp"

// A rewriting is one way in which HSQLDB writes what Db2 writes otherwise. None touches control flow, a
// predicate or an assignment.
type rewriting struct {
	db2    *regexp.Regexp
	hsqldb string
	why    string
}

// rewritings is the whole list; docs/db2.md shows it. The last ones take a statement away that changes
// nothing that HSQLDB has.
func rewritings() []rewriting {
	return []rewriting{
		{
			regexp.MustCompile(`\bCREATE OR REPLACE\b`), "CREATE",
			"it has no OR REPLACE; the tests install into an empty database",
		},
		{
			regexp.MustCompile(`\bBEGIN\n`), "BEGIN ATOMIC\n",
			"it knows compound statements only as atomic ones",
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
			regexp.MustCompile(`\b(MIDNIGHT_SECONDS|MICROSECOND)\(`), "SYSFUN.$1(",
			"it has none of these functions; prelude.sql defines them",
		},
		{
			regexp.MustCompile(`\s+WITH (?:CS|RS USE AND KEEP SHARE LOCKS)\b`), "",
			"it allows no isolation clause in a routine: what it would have locked is not tested here",
		},
		{
			regexp.MustCompile(`\bFOR candidate AS\b`), "FOR",
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
		{
			regexp.MustCompile(`(?m)^\s*SET CURRENT LOCK TIMEOUT 1;\n`), "",
			"it has no limit for waits: what happens after 1 s is not tested here",
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

// rewrite returns a statement for Db2 as HSQLDB understands it, empty when there is nothing left of it.
func rewrite(statement string, rewritings []rewriting) string {
	for _, rewriting := range rewritings {
		statement = rewriting.db2.ReplaceAllString(statement, rewriting.hsqldb)
	}
	return statement
}
