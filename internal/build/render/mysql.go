package render

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/procedures"
)

// mysql fills in the parameters, adds comments, and adds after each core the shell that users are granted, with the row form.
func mysql(source string) (string, error) {
	text, err := fill(source, mysqlParameters)
	if err != nil {
		return "", err
	}
	if text, err = mysqlInline(text); err != nil {
		return "", err
	}
	text = replaceAll(mysqlCore, text, func(match []string) string {
		core := mysqlRoutine{name: match[1], parameters: match[2], access: match[3]}
		routine, known := formOf(core.name)
		if !known || !strings.HasSuffix(core.name, "_core") {
			return match[0]
		}
		made := core.head(core.name, routine.comment()) + match[4] + core.shell(routine)
		if routine.suffix == "_core" && routine.hasRow() && !strings.Contains(source, "CREATE PROCEDURE "+routine.RowForm()+"_core(") {
			made += core.row(routine)
		}
		return made
	})
	return mysqlText.ReplaceAllString(text, "${1} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"), nil
}

var (
	// mysqlCore matches a routine: its name, parameters, data access and body.
	mysqlCore = regexp.MustCompile(`(?ms)^CREATE PROCEDURE (\w+)\(([^$]*?)\)\n(\w+ SQL(?: DATA)?)\nSQL SECURITY DEFINER\n((?:main: )?BEGIN\n.*?^END\$\$\n)`)
	// mysqlText matches declarations of text: parameters, variables, and columns of JSON.
	mysqlText = regexp.MustCompile(`(?m)(^ *(?:IN p_|OUT p_|INOUT p_|DECLARE [pv]_)\w+ (?:LONGTEXT|VARCHAR\(\d+\)|CHAR\(\d+\))|^ +\w+ (?:LONGTEXT|VARCHAR\(\d+\)))`)
	// mysqlComment matches a routine's comment in the catalogue.
	mysqlComment = regexp.MustCompile(`\nCOMMENT '.*'\n`)
	// mysqlLine matches a line that is not empty.
	mysqlLine = regexp.MustCompile(`(?m)^.+`)
	// mysqlArgument matches a parameter's direction and name.
	mysqlArgument = regexp.MustCompile(`(IN|OUT) (\w+) `)
)

var (
	// mysqlSame matches a routine whose body is three dots: the core's body, with one row as its answer.
	mysqlSame = regexp.MustCompile(`(?ms)^(CREATE PROCEDURE (\w+)_row_core\([^$]*?\)\n[^$]*?)^BEGIN\n    \.\.\.\nEND\$\$\n`)
	// mysqlEntry matches the first call in an operation, with its argument if it has one.
	mysqlEntry = regexp.MustCompile(`(?m)^ +CALL (appl_lock_enter|appl_lock_look)\((\w*)\);\n`)
	// mysqlFunction matches lines that only functions and triggers need. Those cannot call a row form.
	mysqlFunction = regexp.MustCompile(`(?m)^ +-- 1422:.*\n +DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside\(\);\n|^ +IF FALSE THEN\n +COMMIT;\n +END IF;\n`)
)

// mysqlInline copies the body of an operation into its row form, because each inner CALL and each OUT parameter takes time.
func mysqlInline(text string) (string, error) {
	session, err := procedures.FS.ReadFile("mysql/appl_lock_session.sql")
	if err != nil {
		return "", err
	}
	bodyOf := func(source, name string) string {
		for _, match := range mysqlCore.FindAllStringSubmatch(source, -1) {
			if match[1] == name {
				return strings.TrimSuffix(match[4], "$$\n") + ";\n"
			}
		}
		return ""
	}
	return replaceAll(mysqlSame, text, func(match []string) string {
		body := replaceAll(mysqlEntry, bodyOf(text, match[2]+"_core"), func(call []string) string {
			entry := bodyOf(mysqlComment.ReplaceAllString(string(session), "\n"), call[1])
			if call[2] != "" {
				entry = strings.ReplaceAll(entry, "p_open", call[2])
			}
			return indent(entry)
		})
		operation, _ := formOf(match[2])
		var declarations, columns []string
		for _, out := range operation.OutParameters() {
			declarations = append(declarations, fmt.Sprintf("    DECLARE %s %s;\n", out.Name, mysqlType(out)))
			columns = append(columns, out.Name+" AS "+out.Name)
		}
		return match[1] + "BEGIN\n" + strings.Join(declarations, "") + indent(mysqlFunction.ReplaceAllString(body, "")) +
			"    SELECT\n        " + strings.Join(columns, ",\n        ") + ";\nEND$$\n"
	}), nil
}

// indent moves lines to the right.
func indent(text string) string { return mysqlLine.ReplaceAllString(text, "    $0") }

func mysqlType(parameter db.Parameter) string {
	switch parameter.Type {
	case db.FlagType:
		return "CHAR(1)"
	case db.Number:
		return "BIGINT"
	case db.Timestamp:
		return "DATETIME(6)"
	}
	if parameter.Direction == db.In {
		return "LONGTEXT" // the operation checks its length
	}
	return fmt.Sprintf("VARCHAR(%d)", parameter.Length())
}

func mysqlParameters(routine form, _ bool) []string {
	var parameters []string
	for _, parameter := range routine.Parameters {
		if parameter.Direction == db.In || routine.suffix == "_core" {
			parameters = append(parameters, fmt.Sprintf("%s %s %s", parameter.Direction, parameter.Name, mysqlType(parameter)))
		}
	}
	return parameters
}

// mysqlRoutine is a core, from which the shell and the row form are made.
type mysqlRoutine struct {
	name, parameters, access string
}

// head returns the CREATE of a routine with the core's parameters.
func (r mysqlRoutine) head(name, comment string) string {
	return fmt.Sprintf("CREATE PROCEDURE %s(%s)\nCOMMENT %s\n%s\nSQL SECURITY DEFINER\n", name, r.parameters, quote(comment), r.access)
}

// shell returns the routine that calls the core. An upgrade replaces the core, so that the grants on the shell stay.
func (r mysqlRoutine) shell(core form) string {
	var in, out []string
	for _, match := range mysqlArgument.FindAllStringSubmatch(r.parameters, -1) {
		if match[1] == "OUT" {
			out = append(out, match[2])
		} else {
			in = append(in, match[2])
		}
	}
	name := strings.TrimSuffix(r.name, "_core")
	shell := form{core.Operation, strings.TrimSuffix(core.suffix, "_core")}
	return "\n" + r.head(name, shell.comment()) + "BEGIN\n" + r.handler(core) +
		"    CALL " + r.name + call(in, out) + ";\nEND$$\n"
}

// row returns the row form: the shell with variables instead of OUT parameters, and a SELECT of them.
func (r mysqlRoutine) row(core form) string {
	row := form{core.Operation, "_row"}
	declarations, variables, columns := rowForm(row, mysqlType)
	r.parameters = "\n" + lines(mysqlParameters(row, false)) + "\n"
	return "\n" + r.head(row.RowForm(), row.comment()) + "BEGIN\n" + declarations + r.handler(core) +
		"    CALL " + r.name + call(namesOf(row.InParameters()), variables) + ";\n" +
		"    SELECT\n        " + strings.Join(columns, ",\n        ") + ";\nEND$$\n"
}

// handler answers while the core is being replaced, which MySQL cannot do in one statement.
func (r mysqlRoutine) handler(core form) string {
	return fmt.Sprintf(`    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = '%s: is being replaced; call again, or install it again if that lasts';
`, core.Name)
}
