package render

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/applock/applock/internal/db"
)

// postgres fills in the parameters, and adds the procedure with OUT parameters, the comments and the REVOKEs.
func postgres(source string) (string, error) {
	text, err := fill(source, postgresFunction)
	if err != nil {
		return "", err
	}
	text = bindCollation(text)
	routines := postgresRoutine.FindAllStringSubmatchIndex(text, -1)
	for _, at := range routines {
		if routine, known := formOf(text[at[4]:at[5]]); known && routine.suffix == "_row" {
			text += postgresProcedure(routine)
		}
	}
	var comments, revokes strings.Builder
	for _, at := range postgresRoutine.FindAllStringSubmatchIndex(text, -1) {
		kind, name := text[at[2]:at[3]], text[at[4]:at[5]]
		signature := fmt.Sprintf("%s %s(%s)", kind, name, postgresTypes(text[at[1]:]))
		if routine, known := formOf(name); known {
			fmt.Fprintf(&comments, "COMMENT ON %s IS\n    %s;\n", signature, quote(routine.comment()))
		}
		fmt.Fprintf(&revokes, "REVOKE ALL ON %s FROM PUBLIC;\n", signature)
	}
	for _, match := range createView.FindAllStringSubmatch(text, -1) {
		if view, known := viewOf(match[1]); known {
			fmt.Fprintf(&comments, "COMMENT ON VIEW %s IS\n    %s;\n", view.Name, quote(view.Summary))
		}
		fmt.Fprintf(&revokes, "REVOKE ALL ON %s FROM PUBLIC;\n", match[1])
	}
	for _, part := range []string{comments.String(), revokes.String()} {
		if part != "" {
			text += "\n" + part
		}
	}
	return text, nil
}

var (
	// postgresBody matches the CREATE of a function, and its declarations.
	postgresBody = regexp.MustCompile(`(?s)(CREATE OR REPLACE FUNCTION (\w+)\([^$]*?\$\$\nDECLARE\n)(.*?\n)BEGIN\n`)
	// textVariable matches the declaration of a variable.
	textVariable = regexp.MustCompile(`(?m)^(    v_\w+ text(?:\[\])?)( :=|;)`)
)

// bindCollation has the parameters and variables of text compare as bytes. Else the collation of the caller's columns holds in the whole
// routine, where it may be in conflict with the tables', or fit no regular expression.
func bindCollation(text string) string {
	return replaceAll(postgresBody, text, func(match []string) string {
		routine, known := formOf(match[2])
		if !known {
			return match[0]
		}
		bound := match[1]
		for _, in := range routine.InParameters() {
			if in.Type != db.Number && in.Type != db.Timestamp {
				bound += fmt.Sprintf("    %s %s COLLATE \"C\" := %s.%s;\n", in.Name, postgresType(in), match[2], in.Name)
			}
		}
		return bound + textVariable.ReplaceAllString(match[3], `$1 COLLATE "C"$2`) + "BEGIN\n"
	})
}

// postgresRoutine matches a CREATE up to its parenthesis.
var postgresRoutine = regexp.MustCompile(`(?m)^CREATE OR REPLACE (FUNCTION|PROCEDURE) (\w+)\(`)

// createView matches the CREATE of a view.
var createView = regexp.MustCompile(`(?m)^CREATE OR REPLACE VIEW (\w+)`)

func postgresType(parameter db.Parameter) string {
	switch parameter.Type {
	case db.FlagType:
		return "character(1)"
	case db.Number:
		return "bigint"
	case db.Timestamp:
		return "timestamptz"
	}
	return "text"
}

// postgresIn returns the IN parameters. The last ones, if they may be NULL, have a default.
func postgresIn(routine form, direction string) []string {
	var parameters []string
	for i, in := range routine.InParameters() {
		parameter := direction + in.Name + " " + postgresType(in)
		if i >= routine.Required() {
			parameter += " DEFAULT NULL"
		}
		parameters = append(parameters, parameter)
	}
	return parameters
}

// postgresFunction returns the parameters of the form that decides. A form that returns a named type needs no OUT parameters.
func postgresFunction(routine form, returnsType bool) []string {
	parameters := postgresIn(routine, "")
	answer := routine.Columns
	if !routine.ResultSet() {
		answer = routine.RowParameters()
	}
	for _, out := range answer {
		if !returnsType {
			parameters = append(parameters, "OUT "+out.Name+" "+postgresType(out))
		}
	}
	return parameters
}

// postgresProcedure returns the form for CALL, which calls the row form.
func postgresProcedure(routine form) string {
	parameters := postgresIn(routine, "IN ")
	var columns []string
	for _, out := range routine.OutParameters() {
		parameters = append(parameters, "INOUT "+out.Name+" "+postgresType(out)+" DEFAULT NULL")
		columns = append(columns, "r."+out.Name)
	}
	row := routine.RowForm() + call(namesOf(routine.InParameters()), nil)
	body := "    PERFORM " + row + ";\n"
	if columns != nil {
		body = fmt.Sprintf("    SELECT\n%s\n    INTO\n%s\n    FROM %s AS r;\n",
			wrap(columns, 8), wrap(namesOf(routine.OutParameters()), 8), row)
	}
	return fmt.Sprintf(`
CREATE OR REPLACE PROCEDURE %s(
%s
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
%sEND
$$;
`, routine.Name, lines(parameters), body)
}

// postgresTypes returns the types that identify a routine among others of its name. The text starts at its parameters.
func postgresTypes(text string) string {
	end, open := 0, 1
	for ; open > 0; end++ {
		switch text[end] {
		case '(':
			open++
		case ')':
			open--
		}
	}
	var types []string
	for parameter := range strings.SplitSeq(text[:end-1], ",") {
		words := strings.Fields(parameter)
		if len(words) == 0 || words[0] == "OUT" {
			continue
		}
		if words[0] == "IN" || words[0] == "INOUT" {
			words = words[1:]
		}
		kind, _, _ := strings.Cut(words[1], "(")
		types = append(types, kind)
	}
	return strings.Join(types, ", ")
}
