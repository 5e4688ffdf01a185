package db2_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/migrations"
)

// This file has the rules that compare the text with the contract.

// internalRoutines stand in appl_lock_argument.sql.
func internalRoutines() []string {
	return []string{"appl_lock_refuse_text", "appl_lock_refuse_number", "appl_lock_check_database"}
}

// operation returns the operation that the routine is, or is the row form of.
func (r sqlRoutine) operation() (operation db.Operation, isRow, found bool) {
	for _, operation := range db.Contract() {
		if r.name == operation.Name || r.name == operation.RowForm() {
			return operation, r.name != operation.Name, true
		}
	}
	return db.Operation{}, false, false
}

// isOneOf tells whether the routine is one of these operations, and not a row form.
func (r sqlRoutine) isOneOf(names ...string) bool { return slices.Contains(names, r.name) }

func typeName(parameter db.Parameter) string {
	switch {
	case parameter.Name == "p_outcome":
		return "VARCHAR(11)"
	case parameter.Name == "p_note" && parameter.Direction == db.Out:
		return "VARCHAR(1020)" // as the column
	case parameter.Type == db.Text && parameter.Direction == db.In:
		return "VARCHAR(4000)" // so that length is checked by the operation
	}
	return map[db.Type]string{
		db.Document:  "VARCHAR(32000)",
		db.Text:      "VARCHAR(256)",
		db.FlagType:  "CHAR(1)",
		db.Number:    "BIGINT",
		db.Timestamp: "TIMESTAMP",
	}[parameter.Type]
}

// dataAccess returns what a routine declares that it does.
func dataAccess(r sqlRoutine) string {
	operation, _, found := r.operation()
	switch {
	case !found || operation.Version:
		return "CONTAINS SQL"
	case slices.Contains([]string{"inquire_appl_lock", "inbox_appl_locks", "stats_appl_locks"}, operation.Name), strings.HasPrefix(operation.Name, "list_"):
		return "READS SQL DATA"
	}
	return "MODIFIES SQL DATA"
}

// wantedOptions returns all that stands between parameters and body, and a function's body.
func wantedOptions(r sqlRoutine) string {
	operation, isRow, _ := r.operation()
	var options []string
	if operation.Version {
		options = append(options, "RETURNS INTEGER")
	}
	if !r.zos() || operation.Version {
		options = append(options, "SPECIFIC "+r.name)
	}
	if isRow || operation.ResultSet() {
		options = append(options, "DYNAMIC RESULT SETS 1")
	}
	options = append(options, "LANGUAGE SQL", "NOT DETERMINISTIC", dataAccess(r))
	if r.zos() && !operation.Version {
		options = append(options, "PARAMETER CCSID UNICODE", "ISOLATION LEVEL CS",
			"CONCURRENT ACCESS RESOLUTION USE CURRENTLY COMMITTED", "VALIDATE BIND", "DISALLOW DEBUG MODE")
	}
	if operation.Version {
		options = append(options, fmt.Sprintf("RETURN %d", db.ContractVersion))
	}
	return strings.Join(options, " ")
}

func optionsAreTheWantedOnes(r sqlRoutine) []string {
	if wanted := wantedOptions(r); !r.options.is(wanted) {
		return []string{r.complaint(r.line, "the options are `%s`, want `%s`", r.options, tokenize(wanted, 0))}
	}
	return nil
}

// isReplaced: what is granted on a routine survives its replacement only.
func isReplaced(r sqlRoutine) []string {
	wanted := "CREATE OR REPLACE PROCEDURE"
	if operation, _, _ := r.operation(); operation.Version && r.zos() {
		wanted = "CREATE FUNCTION" // z/OS can replace procedures only
	} else if operation.Version {
		wanted = "CREATE OR REPLACE FUNCTION"
	}
	if !r.head.is(wanted) {
		return []string{r.complaint(r.line, "begins with `%s`, want `%s`", r.head, wanted)}
	}
	return nil
}

func parametersAreTheContracts(r sqlRoutine) []string {
	operation, isRow, found := r.operation()
	if !found {
		return nil
	}
	var wanted, got []string
	for _, parameter := range operation.Parameters {
		if parameter.Direction == db.In || !isRow {
			text := fmt.Sprintf("%s %s %s", parameter.Direction, parameter.Name, typeName(parameter))
			wanted = append(wanted, tokenize(text, 0).String())
		}
	}
	for _, parameter := range r.parameters {
		got = append(got, parameter.String())
	}
	if !slices.Equal(got, wanted) {
		return []string{r.complaint(r.line, "the parameters are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(wanted, "\n"))}
	}
	return nil
}

// rowForm returns the body of an operation's row form: call it and return what it answers as one row.
func rowForm(operation db.Operation) string {
	var declarations string
	var arguments, columns []string
	for _, parameter := range operation.Parameters {
		argument := parameter.Name
		if parameter.Direction == db.Out {
			argument = "v_" + strings.TrimPrefix(parameter.Name, "p_")
			declarations += "DECLARE " + argument + " " + typeName(parameter) + ";\n"
			columns = append(columns, argument+" AS "+parameter.Name)
		}
		arguments = append(arguments, argument)
	}
	if columns == nil {
		columns = []string{"'Y' AS " + operation.RowParameters()[0].Name}
	}
	return fmt.Sprintf("BEGIN\n%sCALL %s(%s);\nBEGIN\nDECLARE answer CURSOR WITH RETURN FOR SELECT %s FROM SYSIBM.SYSDUMMY1;\nOPEN answer;\nEND;\nEND",
		declarations, operation.Name, strings.Join(arguments, ", "), strings.Join(columns, ", "))
}

func rowFormOnlyCalls(r sqlRoutine) []string {
	operation, isRow, _ := r.operation()
	if !isRow {
		return nil
	}
	wanted := tokenize(rowForm(operation), 0)
	for i, token := range r.body {
		if i >= len(wanted) || token.text != wanted[i].text {
			return []string{r.complaint(token.line, "`%s` is not what a row form has there, want `%s`", token.text, wanted[min(i, len(wanted)):])}
		}
	}
	if len(r.body) < len(wanted) {
		return []string{r.complaint(r.line, "lacks `%s`", wanted[len(r.body):])}
	}
	return nil
}

// columnsOf returns the columns of a table.
func columnsOf(table string) []string {
	text, err := migrations.FS.ReadFile("db2/00001_appl_lock.sql")
	if err != nil {
		panic(err) // it is embedded
	}
	tokens := tokenize(string(text), 1)
	tokens = tokens[tokens.index("CREATE TABLE "+table+" ("):]
	const open = 3
	var columns []string
	for _, line := range tokens[open+1 : tokens.parenthesis(open)].split(",") {
		if !line.begins("CONSTRAINT") {
			columns = append(columns, line[0].text)
		}
	}
	return columns
}

// listColumnsAreTheTables: what is listed are the rows of a table, and how long each will be there.
func listColumnsAreTheTables(r sqlRoutine) []string {
	var wanted string
	switch r.name {
	case "list_appl_locks":
		columns := columnsOf("appl_lock")
		last := len(columns) - 2 // the note, which stands behind all else; what the history is told is not listed
		wanted = "l." + strings.Join(columns[:last], ", l.") + ", " + secondsLeft("l.expires_ts") + " AS seconds_left, l." + columns[last] +
			" FROM appl_lock AS l"
	case "list_appl_lock_waiters":
		wanted = "w." + strings.Join(columnsOf("appl_lock_waiter"), ", w.") + ", " + secondsLeft("w.expires_ts") + " AS seconds_left FROM appl_lock_waiter AS w"
	default:
		return nil
	}
	wanted = "DECLARE answer CURSOR WITH RETURN FOR SELECT " + wanted
	for i, step := range r.steps {
		if step.begins(wanted) && i+1 < len(r.steps) && r.steps[i+1].is("OPEN answer") {
			return nil
		}
	}
	return []string{r.complaint(r.line, "lacks `%s` ..., followed by OPEN", wanted)}
}

// commentLimit is how many bytes a comment may have on LUW.
const commentLimit = 254

// everyRoutineHasItsComment: it is the operation's summary in the contract. (Those for z/OS have none.)
func everyRoutineHasItsComment(f sqlFile) []string {
	if f.zos() {
		return nil
	}
	var complaints []string
	comments := slices.DeleteFunc(slices.Clone(f.statements), func(statement sqlTokens) bool {
		return !statement.begins("COMMENT")
	})
	for _, routine := range f.routines {
		at := slices.IndexFunc(comments, routine.hasComment)
		if at < 0 {
			complaints = append(complaints, routine.complaint(routine.line, "lacks its comment, or that has another text or more than %d bytes", commentLimit))
			continue
		}
		comments = slices.Delete(comments, at, at+1)
	}
	for _, comment := range comments {
		complaints = append(complaints, f.complaint(comment[0].line, "`%s` is nobody's", comment))
	}
	return complaints
}

// hasComment tells whether a statement is the routine's comment.
func (r sqlRoutine) hasComment(comment sqlTokens) bool {
	operation, isRow, found := r.operation()
	text := operation.Summary
	if isRow {
		text = strings.TrimSuffix(text, ".") + "; the answer is one row."
	}
	kind := r.head[len(r.head)-1].text
	last := comment[len(comment)-1].text
	return comment[:len(comment)-1].is("COMMENT ON SPECIFIC "+kind+" "+r.name+" IS") && isLiteral(last) &&
		len(literalText(last)) <= commentLimit && (!found || literalText(last) == text)
}

var sectionPattern = regexp.MustCompile(`^-- ([A-Z][\w-]*) {2,}\S`)

// headerHasItsSections: the first routine's name, and all sections in the order of the other files.
func headerHasItsSections(f sqlFile) []string {
	if len(f.routines) == 0 {
		return nil
	}
	operation, _, found := f.routines[0].operation()
	wanted := []string{"Contract", "Raises", "Locks", "Differs"}
	switch {
	case operation.Version:
		wanted = []string{"Contract", "In", "Out", "Raises", "Locks", "Differs"}
	case found:
		wanted = []string{"Contract", "In", "Out", "Raises", "Locks", "Race-free", "Differs"}
	}
	var got []string
	named := regexp.MustCompile(`^-- ` + f.routines[0].name + `[:,] `)
	isNamed := false
	for _, line := range f.lines[:f.statements[0][0].line-1] {
		isNamed = isNamed || named.MatchString(line)
		if section := sectionPattern.FindStringSubmatch(line); section != nil {
			got = append(got, section[1])
		}
	}
	if !isNamed || !slices.Equal(got, wanted) {
		return []string{f.complaint(1, "the header names %s: %t; its sections are %q, want %q", f.routines[0].name, isNamed, got, wanted)}
	}
	return nil
}

// filesAreTheContracts: one file for each operation with its forms, one for the internal routines.
func filesAreTheContracts(files []sqlFile) []string {
	wanted := map[string][]string{"appl_lock_argument.sql": internalRoutines()}
	for _, operation := range db.Contract() {
		file := operation.Name + ".sql"
		wanted[file] = slices.Compact([]string{operation.Name, operation.RowForm()})
	}
	var complaints []string
	for _, file := range files {
		var got []string
		for _, routine := range file.routines {
			got = append(got, routine.name)
		}
		base := file.path[strings.LastIndex(file.path, "/")+1:]
		if want, found := wanted[base]; !found || !slices.Equal(got, want) {
			complaints = append(complaints, file.complaint(1, "creates %q, want %q", got, wanted[base]))
		}
		delete(wanted, base)
	}
	for file := range wanted {
		complaints = append(complaints, "no "+file)
	}
	return complaints
}
