package render

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/applock/applock/internal/db"
)

// db2 fills in the parameters, expands the expressions, and adds the row form and the comments.
func db2(source string) (string, error) {
	text, err := fill(db2Expressions(source), db2Parameters)
	if err != nil {
		return "", err
	}
	var comments strings.Builder
	comment := func(kind string, routine form, name string) {
		fmt.Fprintf(&comments, "\nCOMMENT ON SPECIFIC %s %s IS %s\n@\n", kind, name, quote(routine.comment()))
	}
	for _, match := range db2Routine.FindAllStringSubmatch(text, -1) {
		routine, known := formOf(match[2])
		if !known {
			continue
		}
		comment(match[1], routine, routine.Name)
		if routine.hasRow() {
			row := form{routine.Operation, "_row"}
			comment(match[1], row, row.RowForm())
			text += db2Row(row, match[3])
		}
	}
	for _, match := range createView.FindAllStringSubmatch(text, -1) {
		if view, known := viewOf(match[1]); known {
			fmt.Fprintf(&comments, "\nCOMMENT ON TABLE %s IS %s\n@\n", view.Name, quote(view.Summary))
		}
	}
	return text + comments.String(), nil
}

// db2Expression matches the expressions that a source writes like functions, and for which Db2 has no function.
var db2Expression = regexp.MustCompile(`\b(NOT_PLAIN|SECONDS_UP|SECONDS_DOWN|MICROSECONDS|EPOCH_MICROSECONDS)\(((?:[^()]|\([^()]*\))*)\)`)

// db2Plain are the characters that need no further check. It leaves out quotes, the script's terminator, and characters whose place differs
// between code pages of z/OS. A line of SPUFI has room for one part. The rest of a text without these characters is measured, not compared,
// since a collation may ignore control characters.
const db2Plain = "'0123456789abcdefghijklmnopqrstuvwxyz'\n|| 'ABCDEFGHIJKLMNOPQRSTUVWXYZ.,:-_/+*=()%&?'"

// db2Expressions expands the expressions in place. A function of our own would be a call for each row, and could not be replaced on z/OS.
func db2Expressions(source string) string {
	var text strings.Builder
	for line := range strings.Lines(source) {
		indent := "\n" + line[:len(line)-len(strings.TrimLeft(line, " "))] + "    "
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			line = replaceAll(db2Expression, line, func(match []string) string {
				from, to, _ := strings.Cut(match[2], ", ")
				return strings.NewReplacer("\n", indent, "FROM", from, "TO", to, "ALL", match[2]).Replace(db2Written(match[1]))
			})
		}
		text.WriteString(line)
	}
	return text.String()
}

// db2Written expands an expression of FROM and TO, its arguments, or of ALL of them. Numbers are BIGINT: the microseconds of a day, and the
// seconds of 69 years, exceed an INTEGER.
func db2Written(expression string) string {
	const (
		days    = "CAST(DAYS(TO) - DAYS(FROM) AS BIGINT) * "
		seconds = days + "86400\n+ MIDNIGHT_SECONDS(TO) - MIDNIGHT_SECONDS(FROM)"
	)
	return map[string]string{
		"NOT_PLAIN":    "LENGTH(RTRIM(TRANSLATE(\nALL, ' ',\n" + db2Plain + ", ' '))) > 0",
		"SECONDS_UP":   seconds + "\n+ CASE WHEN MICROSECOND(TO) > MICROSECOND(FROM) THEN 1 ELSE 0 END",
		"SECONDS_DOWN": seconds + "\n- CASE WHEN MICROSECOND(FROM) > MICROSECOND(TO) THEN 1 ELSE 0 END",
		"MICROSECONDS": days + "86400000000\n+ CAST(MIDNIGHT_SECONDS(TO) - MIDNIGHT_SECONDS(FROM) AS BIGINT) * 1000000" +
			"\n+ MICROSECOND(TO) - MICROSECOND(FROM)",
		"EPOCH_MICROSECONDS": "CAST(DAYS(FROM) - DAYS(DATE('1970-01-01')) AS BIGINT) * 86400000000" +
			"\n+ CAST(MIDNIGHT_SECONDS(FROM) AS BIGINT) * 1000000 + MICROSECOND(FROM)",
	}[expression]
}

// db2Routine matches a routine: its kind, its name, and its data access.
var db2Routine = regexp.MustCompile(`(?ms)^CREATE OR REPLACE (FUNCTION|PROCEDURE) (\w+) \(.*?^((?:CONTAINS|READS|MODIFIES) SQL(?: DATA)?)\n`)

func db2Type(parameter db.Parameter) string {
	const utf8 = 4 // bytes of a character, which Db2 counts
	switch parameter.Type {
	case db.FlagType:
		return "CHAR(1)"
	case db.Number:
		return "BIGINT"
	case db.Timestamp:
		return "TIMESTAMP"
	case db.Document:
		return "VARCHAR(32000)"
	}
	switch {
	case parameter.Direction == db.In:
		return "VARCHAR(4000)" // the operation checks its length
	case parameter.Name == "p_outcome": // one word in capitals
		return fmt.Sprintf("VARCHAR(%d)", parameter.Length())
	}
	return fmt.Sprintf("VARCHAR(%d)", utf8*parameter.Length())
}

func db2Parameters(routine form, _ bool) []string {
	var parameters []string
	for _, parameter := range routine.Parameters {
		if parameter.Direction == db.In || routine.suffix == "" {
			parameters = append(parameters, fmt.Sprintf("%s %s %s", parameter.Direction, parameter.Name, db2Type(parameter)))
		}
	}
	return parameters
}

// db2Row returns the row form, which calls the operation and opens a cursor on the answer.
func db2Row(row form, access string) string {
	declarations, variables, columns := rowForm(row, db2Type)
	return fmt.Sprintf(`
CREATE OR REPLACE PROCEDURE %[1]s (
%[2]s
)
SPECIFIC %[1]s
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
%[3]s
BEGIN
%[4]s    CALL %[5]s%[6]s;
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                %[7]s
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
@
`, row.RowForm(), lines(db2Parameters(row, false)), access, declarations,
		row.Name, call(namesOf(row.InParameters()), variables), strings.Join(columns, ",\n                "))
}
