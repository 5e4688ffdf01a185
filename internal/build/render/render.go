// Package render makes the SQL that installs the operations. procedures/ has the routines that decide; the rest is made from them and the
// contract. procedures/README.md has the rules for writing a source.
package render

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/procedures"
)

// Names returns the sources of a dialect in the order of installing. Called routines come before their callers, as Db2 requires.
func Names(dialect string) ([]string, error) {
	names, err := fs.Glob(procedures.FS, dialect+"/*.sql")
	called := []string{"appl_lock_argument.sql", "appl_lock_record.sql", "appl_lock_move.sql", "views.sql"}
	order := func(name string) int {
		if i := slices.Index(called, path.Base(name)); i >= 0 {
			return i
		}
		return len(called)
	}
	slices.SortStableFunc(names, func(a, b string) int { return order(a) - order(b) })
	return names, err
}

// File returns the full text of a source, whose name is like mysql/get_appl_lock.sql.
func File(name string) (string, error) {
	source, err := procedures.FS.ReadFile(name)
	if err != nil {
		return "", err
	}
	text, err := Source(path.Dir(name), string(source))
	if err != nil {
		return "", fmt.Errorf("procedures/%s: %w", name, err)
	}
	return text, nil
}

// Source returns the full text for a source of a dialect.
func Source(dialect, source string) (string, error) {
	switch dialect {
	case "postgres":
		return postgres(source)
	case "mysql":
		return mysql(source)
	case "db2":
		return db2(source)
	}
	return "", fmt.Errorf("no rules for dialect %q", dialect)
}

// form is a routine of an operation. Its suffix names the form: none is the procedure with OUT parameters, or the only form.
type form struct {
	db.Operation
	suffix string
}

// formOf returns the form that a routine is in the contract, and false for a helper.
func formOf(name string) (form, bool) {
	for _, operation := range db.Contract() {
		suffix, ok := strings.CutPrefix(name, operation.Name)
		if ok && slices.Contains([]string{"", "_core", "_row", "_row_core", "_rows", "_rows_core", "_pass", "_pass_core"}, suffix) {
			return form{operation, suffix}, true
		}
	}
	return form{}, false
}

// viewOf returns a view of the contract, and false for any other.
func viewOf(name string) (db.View, bool) {
	views := db.Views()
	i := slices.IndexFunc(views, func(view db.View) bool { return view.Name == name })
	if i < 0 {
		return db.View{}, false
	}
	return views[i], true
}

// hasRow reports whether the operation has a separate row form.
func (f form) hasRow() bool { return f.RowForm() != f.Name }

// comment returns the routine's comment for the catalogue.
func (f form) comment() string {
	summary := strings.TrimSuffix(f.Summary, ".")
	switch f.suffix {
	case "_row":
		return summary + "; the answer is one row."
	case "_rows":
		return summary + "; for each of a list, one row each."
	case "_pass":
		return summary + ", and get it for the next operator; the answer is one row."
	case "_core":
		return "Internal to applock: the operation " + f.Name + "."
	case "_row_core":
		return "Internal to applock: the operation " + f.Name + ", answered by one row."
	case "_pass_core":
		return "Internal to applock: the operation " + f.Name + ", with a get for the next operator."
	case "_rows_core":
		return "Internal to applock: the operation " + f.Name + ", for many."
	}
	return f.Summary
}

// blank matches a CREATE with three dots in place of the contract's parameters, and the type that it returns, if named.
var blank = regexp.MustCompile(`(?m)^(CREATE (?:OR REPLACE )?(?:FUNCTION|PROCEDURE) (\w+) ?\()\.\.\.(\)(?:(?:\n-- .*)*\nRETURNS \w+_answer)?)`)

// fill replaces the dots by the parameters of the contract.
func fill(source string, parameters func(routine form, returnsType bool) []string) (string, error) {
	var failure error
	text := replaceAll(blank, source, func(match []string) string {
		routine, known := formOf(match[2])
		if !known {
			failure = fmt.Errorf("%s is no operation of the contract: write its parameters", match[2])
			return match[0]
		}
		return match[1] + "\n" + lines(parameters(routine, strings.Contains(match[3], "RETURNS"))) + "\n" + match[3]
	})
	return text, failure
}

// replaceAll replaces each match by the replacement for its groups.
func replaceAll(pattern *regexp.Regexp, text string, replacement func(match []string) string) string {
	return pattern.ReplaceAllStringFunc(text, func(found string) string { return replacement(pattern.FindStringSubmatch(found)) })
}

// lines returns an indented line for each parameter, with a comma between them.
func lines(parameters []string) string {
	return "    " + strings.Join(parameters, ",\n    ")
}

// width is the longest line of names.
const width = 120

// wrap returns names with commas, as many on a line as fit.
func wrap(names []string, indent int) string {
	var text strings.Builder
	column := width
	for i, name := range names {
		if i < len(names)-1 {
			name += ","
		}
		if column+1+len(name) > width {
			text.WriteString("\n" + strings.Repeat(" ", indent-1))
			column = indent - 1
		}
		text.WriteString(" " + name)
		column += 1 + len(name)
	}
	return strings.TrimPrefix(text.String(), "\n")
}

// call returns the arguments of a CALL. OUT arguments have lines of their own.
func call(in, out []string) string {
	const indent = 4
	if len(in) == 0 && len(out) == 0 {
		return "()"
	}
	var groups []string
	for _, group := range [][]string{in, out} {
		if len(group) > 0 {
			groups = append(groups, wrap(group, indent+4))
		}
	}
	return "(\n" + strings.Join(groups, ",\n") + "\n" + strings.Repeat(" ", indent) + ")"
}

func namesOf(parameters []db.Parameter) []string {
	var names []string
	for _, parameter := range parameters {
		names = append(names, parameter.Name)
	}
	return names
}

// variable is the name of an OUT parameter in a row form's body.
func variable(parameter db.Parameter) string { return "v_" + strings.TrimPrefix(parameter.Name, "p_") }

// rowForm returns a row form without its call: the declarations, the variables, and the columns of its SELECT.
func rowForm(f form, typeOf func(db.Parameter) string) (declarations string, variables, columns []string) {
	for _, out := range f.OutParameters() {
		declarations += fmt.Sprintf("    DECLARE %s %s;\n", variable(out), typeOf(out))
		variables = append(variables, variable(out))
		columns = append(columns, variable(out)+" AS "+out.Name)
	}
	if columns == nil {
		columns = []string{"'Y' AS " + f.RowParameters()[0].Name}
	}
	return declarations, variables, columns
}

// quote returns a string literal.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
