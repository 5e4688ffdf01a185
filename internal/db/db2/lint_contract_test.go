package db2_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/applock/applock/internal/db"
)

// This file has the rules that compare the text with the contract.

// internalRoutines are those that nobody is granted, by file.
func internalRoutines() map[string][]string {
	return map[string][]string{
		"appl_lock_argument.sql": {"appl_lock_refuse_text", "appl_lock_refuse_number", "appl_lock_check_text", "appl_lock_check_database"},
		"appl_lock_record.sql":   {"appl_lock_record"},
		"appl_lock_move.sql":     {"appl_lock_move"},
		"release_appl_locks.sql": {"appl_lock_move_page"},
	}
}

// numberView is internal, too.
const numberView = "appl_lock_number"

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
	case !found && !slices.Contains(internalRoutines()["appl_lock_argument.sql"], r.name):
		return "MODIFIES SQL DATA"
	case !found || operation.Version:
		return "CONTAINS SQL"
	case operation.Name == "inquire_appl_lock":
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

// viewPattern is the head of a view.
var viewPattern = regexp.MustCompile(`^CREATE (OR REPLACE )?VIEW (\w+) AS$`)

// viewsAreTheContracts: each view once, replaced on LUW, with the columns of the contract in their order.
func viewsAreTheContracts(f sqlFile) []string {
	if !strings.HasSuffix(f.path, "/views.sql") {
		return nil
	}
	var complaints []string
	wanted := map[string][]string{numberView: {"thousand", "n"}}
	for _, view := range db.Views() {
		for _, column := range view.Columns {
			wanted[view.Name] = append(wanted[view.Name], column.Name)
		}
	}
	for _, statement := range f.statements {
		if !statement.begins("CREATE") {
			continue
		}
		head := viewPattern.FindStringSubmatch(viewHead(statement))
		if head == nil || f.zos() == (head[1] != "") {
			complaints = append(complaints, f.complaint(statement[0].line, "`%s` is not how a view is created", viewHead(statement)))
			continue
		}
		name := head[2]
		if got := selected(statement); !slices.Equal(got, wanted[name]) {
			complaints = append(complaints, f.complaint(statement[0].line, "%s has the columns %q, want %q", name, got, wanted[name]))
		}
		delete(wanted, name)
	}
	for name := range wanted {
		complaints = append(complaints, f.complaint(1, "no view %s", name))
	}
	return complaints
}

// viewHead returns a statement up to its first AS, in the case of the pattern.
func viewHead(statement sqlTokens) string {
	end := slices.Index(statement.words(), "as")
	words := statement[:max(end, 0)].words()
	for i := range words[:max(len(words)-1, 0)] {
		words[i] = strings.ToUpper(words[i])
	}
	return strings.Join(words, " ") + " AS"
}

// selected returns the names of the columns of a view's last SELECT that stands outside parentheses.
func selected(statement sqlTokens) []string {
	open, from, to := 0, -1, -1
	for i, token := range statement {
		open += map[string]int{"(": 1, ")": -1}[token.text]
		switch {
		case open == 0 && token.text == "select":
			from = i + 1
		case open == 0 && token.text == "from" && from >= 0 && to < from:
			to = i
		}
	}
	if to < 0 {
		return nil
	}
	var names []string
	for _, column := range statement[from:to].split(",") {
		last := column[len(column)-1].text
		names = append(names, last[strings.LastIndex(last, ".")+1:])
	}
	return names
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
	comments = slices.DeleteFunc(comments, isOfView)
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

// isOfView tells whether a statement is a view's comment: its summary in the contract.
func isOfView(comment sqlTokens) bool {
	text := literalText(comment[len(comment)-1].text)
	for _, view := range db.Views() {
		if comment[:len(comment)-1].is("COMMENT ON TABLE "+view.Name+" IS") && text == view.Summary {
			return true
		}
	}
	return comment[:len(comment)-1].is("COMMENT ON TABLE " + numberView + " IS")
}

var sectionPattern = regexp.MustCompile(`^-- ([A-Z][\w-]*) {2,}\S`)

// headerHasItsSections: the first routine's name, and all sections in the order of the other files.
func headerHasItsSections(f sqlFile) []string {
	if len(f.routines) == 0 {
		return nil
	}
	operation, _, found := f.routines[len(f.routines)-1].operation()
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
	wanted := internalRoutines()
	wanted["views.sql"] = nil // viewsAreTheContracts looks at them
	for _, operation := range db.Contract() {
		file := operation.Name + ".sql"
		wanted[file] = append(wanted[file], slices.Compact([]string{operation.Name, operation.RowForm()})...)
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
