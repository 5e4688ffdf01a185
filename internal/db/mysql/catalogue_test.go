package mysql_test

import (
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/applock/applock/internal/build/render"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testdb"
)

// internalRoutines are the routines in the catalogue other than the operations and their cores. No account is granted them.
func internalRoutines() []string {
	return []string{
		"appl_lock_begin", "appl_lock_end", "appl_lock_enter", "appl_lock_holder", "appl_lock_inside", "appl_lock_key", "appl_lock_look",
		"appl_lock_move", "appl_lock_move_page", "appl_lock_number", "appl_lock_place",
		"appl_lock_policy", "appl_lock_record", "appl_lock_refuse", "appl_lock_release",
		"appl_lock_text", "appl_lock_unask", "get_appl_lock_check", "get_appl_lock_insert", "get_appl_lock_late", "get_appl_lock_tell", "renew_appl_locks_tell",
	}
}

// typeName is LONGTEXT where a caller's text comes in, so that nothing is cut off before it is checked.
func typeName(parameter db.Parameter) string {
	switch {
	case (parameter.Type == db.Text || parameter.Type == db.Document) && parameter.Direction == db.In:
		return "longtext"
	case parameter.Name == "p_outcome":
		return "varchar(11)"
	case parameter.Name == "p_note":
		return "varchar(255)"
	}
	return map[db.Type]string{
		db.Text:      "varchar(64)",
		db.FlagType:  "char(1)",
		db.Number:    "bigint",
		db.Timestamp: "datetime(6)",
	}[parameter.Type]
}

// hasQuickRow tells of an operation that its row form has a core of its own: the same decision, without an inner CALL.
func hasQuickRow(operation db.Operation) bool {
	return operation.Name == "get_appl_lock" || operation.Name == "release_appl_lock"
}

// hasRowForm tells of an operation that the row form is a routine of its own.
func hasRowForm(operation db.Operation) bool { return operation.RowForm() != operation.Name }

// signatures returns what the catalogue must hold for an operation.
func signatures(operation db.Operation) []string {
	signature := func(suffix string, parameters []db.Parameter) string {
		var texts []string
		for _, parameter := range parameters {
			texts = append(texts, fmt.Sprintf("%s %s %s", parameter.Direction, parameter.Name, typeName(parameter)))
		}
		return fmt.Sprintf("procedure %s%s(%s)", operation.Name, suffix, strings.Join(texts, ", "))
	}
	all := []string{signature("", operation.Parameters), signature("_core", operation.Parameters)}
	if hasRowForm(operation) {
		all = append(all, signature("_row", operation.InParameters()))
	}
	if hasQuickRow(operation) {
		all = append(all, signature("_row_core", operation.InParameters()))
	}
	if pass := operation.PassForm(); pass != "" {
		const parameters = "(IN p_object_type longtext, IN p_object_id longtext, IN p_operator_id longtext, IN p_fence bigint, " +
			"IN p_next_operator_id longtext, IN p_next_department_id longtext, IN p_ttl_seconds bigint)"
		all = append(all, "procedure "+pass+parameters, "procedure "+pass+"_core"+parameters)
	}
	if rows := operation.RowsForm(); rows != "" {
		all = append(all, fmt.Sprintf("procedure %s(IN p_gets longtext)", rows), fmt.Sprintf("procedure %s_core(IN p_gets longtext)", rows))
	}
	return all
}

// displayWidth is what MariaDB, and MySQL before 8.0.19, write behind the types of whole numbers.
var displayWidth = regexp.MustCompile(`(int)\(\d+\)`)

func withoutWidth(columnType string) string { return displayWidth.ReplaceAllString(columnType, "$1") }

// column returns the first column of a query.
func column(t testing.TB, handle *sql.DB, statement string, args ...any) []string {
	t.Helper()
	rows, err := handle.QueryContext(t.Context(), statement, args...)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	defer func() { _ = rows.Close() }()
	var values []string
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return values
}

// catalogued returns the signatures of the database's routines in the form of signatures.
func catalogued(t *testing.T, handle *sql.DB) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, routine := range mustQuery(t, handle,
		"SELECT routine_name AS name, LOWER(routine_type) AS kind FROM information_schema.routines WHERE routine_schema = DATABASE()") {
		name := fmt.Sprint(routine["name"])
		parameters := column(t, handle, `
			SELECT CONCAT_WS(' ', parameter_mode, parameter_name, dtd_identifier) FROM information_schema.parameters
			WHERE specific_schema = DATABASE() AND specific_name = ? ORDER BY ordinal_position`, name)
		found[name] = fmt.Sprintf("%s %s(%s)", routine["kind"], name, withoutWidth(strings.Join(parameters, ", ")))
	}
	return found
}

// Goal: the catalogue holds exactly the contract, in both forms, each with a core, and what refuses
// arguments. Method: compare the two.
func TestCatalogueEqualsContract(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		var want, got []string
		for _, operation := range db.Contract() {
			want = append(want, signatures(operation)...)
		}
		found := catalogued(t, lentPlace(t, product).SQL)
		for _, name := range internalRoutines() {
			if found[name] == "" {
				t.Errorf("no %s", name)
			}
			delete(found, name)
		}
		for _, signature := range found {
			got = append(got, signature)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("the catalogue differs from the contract\ngot\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// Goal: answers have the contract's names, types and order: the OUT parameters of a row form, the columns of the others, and one row.
// Method: call each on a lock and a waiter of its own.
func TestResultSetsEqualContract(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		handle := lentPlace(t, product).SQL
		for _, operation := range db.Contract() {
			got := resultSet(t, handle, operation)
			var want []string
			switch {
			case operation.Version:
				want = []string{"p_version number"}
			case operation.ResultSet():
				for _, column := range operation.Columns {
					want = append(want, column.Name+" "+string(column.Type))
				}
			default:
				for _, parameter := range operation.RowParameters() {
					want = append(want, strings.Replace(parameter.Name+" "+string(parameter.Type), " flag", " text", 1))
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s returns the columns %q, want %q", operation.Name, got, want)
			}
		}
	})
}

// argumentsFor gets a lock and lists a waiter for an operation, and returns IN arguments that name them.
func argumentsFor(t *testing.T, handle *sql.DB, operation db.Operation) []any {
	t.Helper()
	mustQuery(t, handle, "DELETE FROM appl_lock WHERE object_id = ?", operation.Name) // another call may have handed it over
	get := mustQuery(t, handle, "CALL get_appl_lock_row('customer', ?, 'JDOE', 'CS', NULL, NULL)", operation.Name)
	mustQuery(t, handle, "CALL announce_appl_lock_waiter_row('customer', ?, 'JDOE', 'CS', ?, NULL)", operation.Name, operation.Name)
	mustQuery(t, handle, "CALL set_appl_lock_policy_row('customer', NULL, NULL, NULL, 'BOSS', NULL, NULL, NULL, NULL)")
	if operation.Name == "inbox_appl_locks" {
		get = mustQuery(t, handle, "CALL transfer_appl_lock_row('customer', ?, 'JDOE', 'JDOE', 'CS', NULL, 'BOSS', 'ill')", operation.Name)
	}
	if operation.Name == "see_appl_lock" {
		get = mustQuery(t, handle, "CALL transfer_appl_lock_row('customer', ?, 'JDOE', 'ASMITH', 'CS', NULL, 'BOSS', 'ill')", operation.Name)
	}
	given := map[string]any{
		"p_object_type": "customer", "p_object_id": operation.Name, "p_operator_id": "JDOE", "p_client_id": operation.Name,
		"p_asker_id": "ASMITH", "p_answer": "GIVE",
		"p_from_operator_id": "JDOE", "p_to_operator_id": "ASMITH", "p_fence": get[0]["p_fence"], "p_max_rows": 1, "p_permits": 1, "p_actor_id": "BOSS", "p_reason": "why",
		"p_grants": fmt.Sprintf(`[{"object_type": "customer", "object_id": "%s", "operator_id": "JDOE", "fence": %v, "ttl_seconds": 60}]`,
			operation.Name, get[0]["p_fence"]),
	}
	var arguments []any
	for _, parameter := range operation.InParameters() {
		arguments = append(arguments, given[parameter.Name])
	}
	return arguments
}

// resultSet calls an operation's row form for a live lock, and returns the columns of the one row that comes
// back.
func resultSet(t *testing.T, handle *sql.DB, operation db.Operation) []string {
	t.Helper()
	arguments := argumentsFor(t, handle, operation)
	name := operation.RowForm()
	rows, err := handle.QueryContext(t.Context(), fmt.Sprintf("CALL %s(%s)", name, contract.Placeholders(len(arguments))), arguments...)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	defer func() { _ = rows.Close() }()
	types, err := rows.ColumnTypes()
	if err != nil {
		t.Fatal(err)
	}
	var columns []string
	for _, of := range types {
		kind := map[string]string{"BIGINT": "number", "INT": "number", "DATETIME": "timestamp", "CHAR": "text", "VARCHAR": "text"}
		columns = append(columns, of.Name()+" "+kind[of.DatabaseTypeName()])
	}
	count := 0
	for rows.Next() {
		count++
	}
	if more := rows.NextResultSet(); count != 1 || more || rows.Err() != nil {
		t.Errorf("%s returns %d rows, want 1; another result set %t, %v", name, count, more, rows.Err())
	}
	return columns
}

// pinnedMode is the sql_mode that every routine runs in, whatever the caller's.
const pinnedMode = "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION"

// dataAccess returns what an operation declares that it does, in all its forms.
func dataAccess(name string) string {
	for _, form := range []string{"_core", "_row"} {
		name = strings.TrimSuffix(name, form)
	}
	switch name {
	case "inquire_appl_lock", "appl_lock_policy":
		return "READS SQL DATA"
	case "appl_lock_version", "appl_lock_key", "appl_lock_number", "appl_lock_text", "get_appl_lock_check":
		return "CONTAINS SQL"
	}
	return "MODIFIES SQL DATA"
}

// Goal: owner's rights, the contract's data access, not deterministic, a comment, our own sql_mode and byte
// comparison of all texts. Method: ask the catalogue for routines that lack one of them.
func TestRoutinesAreSafe(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		handle := lentPlace(t, product).SQL
		routines := mustQuery(t, handle, `
			SELECT routine_name AS name, security_type AS security, sql_data_access AS reads_or_modifies, is_deterministic AS is_fixed,
				routine_comment <> '' AS has_comment, sql_mode AS mode, definer = CURRENT_USER() AS is_ours
			FROM information_schema.routines WHERE routine_schema = DATABASE()`)
		for _, routine := range routines {
			name := fmt.Sprint(routine["name"])
			delete(routine, "name")
			want := map[string]string{
				"security": "DEFINER", "reads_or_modifies": dataAccess(name), "is_fixed": "NO",
				"has_comment": "1", "mode": pinnedMode, "is_ours": "1",
			}
			for property, value := range routine {
				if fmt.Sprint(value) != want[property] {
					t.Errorf("%s: %s is %q, want %q", name, property, value, want[property])
				}
			}
		}
		if len(routines) == 0 {
			t.Error("no routines")
		}
		for _, parameter := range column(t, handle, `
			SELECT CONCAT(specific_name, '.', parameter_name) FROM information_schema.parameters
			WHERE specific_schema = DATABASE() AND data_type NOT IN ('bigint', 'datetime', 'tinyint')
				AND NOT (character_set_name <=> 'utf8mb4' AND collation_name <=> 'utf8mb4_bin')`) {
			t.Errorf("%s is not utf8mb4_bin", parameter)
		}
	})
}

// Goal: an upgrade changes an operation without touching what is granted: the two forms do nothing but call
// the core. Method: write what their bodies must be from the contract, and compare but for white space.
func TestWrapperEqualsContract(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		bodies := definitions(t, lentPlace(t, product).SQL)
		for _, operation := range db.Contract() {
			want := map[string]string{operation.Name: wrapper(operation, "p_", "", "")}
			if hasRowForm(operation) {
				declarations, answer := rowFrame(operation)
				want[operation.Name+"_row"] = wrapper(operation, "v_", declarations, answer)
			}
			if hasQuickRow(operation) {
				quick := operation
				quick.Parameters = operation.InParameters()
				want[operation.Name+"_row"] = strings.Replace(wrapper(quick, "", "", ""), "_core(", "_row_core(", 1)
			}
			if pass := operation.PassForm(); pass != "" {
				passing := operation
				passing.Parameters = nil
				for _, name := range []string{"object_type", "object_id", "operator_id", "fence", "next_operator_id", "next_department_id", "ttl_seconds"} {
					passing.Parameters = append(passing.Parameters, db.Parameter{Name: "p_" + name, Direction: db.In})
				}
				want[pass] = strings.Replace(wrapper(passing, "", "", ""), operation.Name+"_core", pass+"_core", 1)
			}
			if rows := operation.RowsForm(); rows != "" {
				list := operation
				list.Parameters = []db.Parameter{{Name: "p_gets", Direction: db.In}}
				body := wrapper(list, "", "", "")
				want[rows] = strings.Replace(body, operation.Name+"_core", rows+"_core", 1)
			}
			for name, body := range want {
				if got := strings.Join(strings.Fields(bodies[name]), ""); got != strings.Join(strings.Fields(body), "") {
					t.Errorf("the body of %s is\n%s\nwant\n%s", name, bodies[name], body)
				}
			}
		}
	})
}

// rowFrame returns what a row form has before and behind the call of the core.
func rowFrame(operation db.Operation) (declarations, answer string) {
	var columns []string
	for _, out := range operation.OutParameters() {
		variable := "v_" + strings.TrimPrefix(out.Name, "p_")
		textType := ""
		if out.Type == db.Text || out.Type == db.FlagType {
			textType = " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
		}
		declarations += fmt.Sprintf("DECLARE %s %s%s;\n", variable, strings.ToUpper(typeName(out)), textType)
		columns = append(columns, variable+" AS "+out.Name)
	}
	if columns == nil {
		columns = []string{"'Y' AS p_ok_fl"}
	}
	return declarations, "SELECT " + strings.Join(columns, ", ") + ";\n"
}

// wrapper returns a body that calls the core; prefix is what its OUT arguments begin with.
func wrapper(operation db.Operation, prefix, declarations, answer string) string {
	var arguments []string
	for _, parameter := range operation.Parameters {
		name := parameter.Name
		if parameter.Direction == db.Out {
			name = prefix + strings.TrimPrefix(name, "p_")
		}
		arguments = append(arguments, name)
	}
	return fmt.Sprintf("BEGIN\n%sDECLARE EXIT HANDLER FOR 1305\n"+
		"SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = '%[2]s: is being replaced; call again, or install it again if that lasts';\n"+
		"CALL %[2]s_core(%s);\n%sEND", declarations, operation.Name, strings.Join(arguments, ", "), answer)
}

// definitions returns the bodies of the database's routines.
func definitions(t *testing.T, handle *sql.DB) map[string]string {
	t.Helper()
	bodies := map[string]string{}
	for _, routine := range mustQuery(t, handle,
		"SELECT routine_name AS name, routine_definition AS body FROM information_schema.routines WHERE routine_schema = DATABASE()") {
		bodies[fmt.Sprint(routine["name"])] = fmt.Sprint(routine["body"])
	}
	return bodies
}

// Goal: the routines in the database equal procedures/mysql. Method: migrate, and compare the bodies byte for byte; both products keep them
// as they were sent.
func TestProcedureTextEqualsSource(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		requireSource(t, lentPlace(t, product).SQL, func(body string) string { return body })
	})
}

// sourceBody finds name and body of each routine in a source.
var sourceBody = regexp.MustCompile(`(?s)\nCREATE PROCEDURE (\w+)\(.*?\nSQL SECURITY DEFINER\n(.*?\nEND)\$\$\n`)

// requireSource checks that the database's routines are those of procedures/mysql in what form leaves of them.
func requireSource(t *testing.T, handle *sql.DB, form func(body string) string) {
	t.Helper()
	got := definitions(t, handle)
	names, err := render.Names("mysql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := render.File(name)
		if err != nil {
			t.Fatal(err)
		}
		sources := sourceBody.FindAllStringSubmatch(text, -1)
		isView := name == "mysql/views.sql" // the servers word views anew: applockctl verify compares them
		if created := strings.Count(text, "\nCREATE "); !isView && (len(sources) != created || created == 0) {
			t.Errorf("%s creates %d routines, %d of them can be read", name, created, len(sources))
		}
		for _, source := range sources {
			if form(got[source[1]]) != form(source[2]) {
				t.Errorf("%s differs from procedures/%s; the database has\n%s", source[1], name, firstDifference(got[source[1]], source[2]))
			}
			delete(got, source[1])
		}
	}
	for name := range got {
		t.Errorf("%s is in the database, but not in procedures/mysql", name)
	}
}

// firstDifference returns the first line of got that is not in want.
func firstDifference(got, want string) string {
	wanted := strings.Split(want, "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(wanted) || line != wanted[i] {
			return line
		}
	}
	return "less"
}

// Goal: every change of the schema shows in review, and the products have the same schema. Method: the
// catalogues as text against one golden file; APPLOCK_UPDATE_GOLDEN=1 (make golden) rewrites it.
func TestGoldenSchema(t *testing.T) {
	t.Parallel()
	var texts []string
	for _, product := range testdb.MySQLProducts() { // one after the other: they share the file
		t.Run(product, func(t *testing.T) {
			text := strings.Join(schema(t, newPlace(t, product).SQL), "\n") + "\n"
			if texts = append(texts, text); text != texts[0] {
				t.Errorf("%s differs\n%s", product, text)
			}
		})
	}
	if len(texts) > 0 {
		contract.Golden(t, "../../../testdata/schema/mysql.golden", texts[0])
	}
}

// schema returns the catalogue as lines. Left out is what a server decides where the schema does not: the
// collation of a table without text, the row format; and what only MariaDB writes of a column that may be NULL.
func schema(t *testing.T, handle *sql.DB) []string {
	t.Helper()
	lines := column(t, handle, `
		SELECT CONCAT('column ', table_name, '.', column_name, ' ', column_type,
			COALESCE(CONCAT(' ', character_set_name, ' ', collation_name), ''),
			IF(is_nullable = 'NO', ' NOT NULL', ''), IF(COALESCE(column_default, 'NULL') = 'NULL', '', CONCAT(' DEFAULT ', QUOTE(TRIM(BOTH '''' FROM column_default)))),
			IF(extra = '', '', CONCAT(' ', extra)), ' -- ', column_comment)
		FROM information_schema.columns
		WHERE table_schema = DATABASE() AND table_name <> 'appl_lock_goose'
			AND table_name NOT IN (SELECT v.table_name FROM information_schema.views AS v WHERE v.table_schema = DATABASE())
		ORDER BY table_name, ordinal_position`)
	for i, line := range lines {
		lines[i] = withoutWidth(line)
	}
	lines = append(lines, column(t, handle, `
		SELECT CONCAT('table ', table_name, ' ', engine, IF(create_options = '', '', CONCAT(' ', create_options)), ' -- ', table_comment)
		FROM information_schema.tables
		WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' AND table_name <> 'appl_lock_goose' ORDER BY table_name`)...)
	lines = append(lines, column(t, handle, `
		SELECT CONCAT('view ', table_name, ' SQL SECURITY ', security_type)
		FROM information_schema.views WHERE table_schema = DATABASE() ORDER BY table_name`)...)
	for _, line := range column(t, handle, `
		SELECT CONCAT('constraint ', k.table_name, '.', k.constraint_name, ' ', k.constraint_type, COALESCE(CONCAT(' ', c.check_clause), ''))
		FROM information_schema.table_constraints AS k
		LEFT JOIN information_schema.check_constraints AS c
			ON c.constraint_schema = k.constraint_schema AND c.constraint_name = k.constraint_name
		WHERE k.table_schema = DATABASE() AND k.table_name <> 'appl_lock_goose' ORDER BY k.table_name, k.constraint_name`) {
		lines = append(lines, plainExpression(line))
	}
	lines = append(lines, column(t, handle, `
		SELECT CONCAT('index ', table_name, '.', index_name, IF(MAX(non_unique) = 0, ' UNIQUE ', ' '), index_type, ' (',
			GROUP_CONCAT(CONCAT(column_name, COALESCE(CONCAT('(', sub_part, ')'), ''), ' ', collation) ORDER BY seq_in_index SEPARATOR ', '), ')')
		FROM information_schema.statistics
		WHERE table_schema = DATABASE() AND table_name <> 'appl_lock_goose'
		GROUP BY table_name, index_name, index_type ORDER BY table_name, index_name`)...)
	found := catalogued(t, handle)
	for _, routine := range mustQuery(t, handle, `
		SELECT routine_name AS name, CONCAT(sql_data_access, ' SQL SECURITY ', security_type, ' ', sql_mode, ' -- ', routine_comment) AS text
		FROM information_schema.routines WHERE routine_schema = DATABASE() ORDER BY routine_name`) {
		lines = append(lines, fmt.Sprintf("%s %s", found[fmt.Sprint(routine["name"])], routine["text"]))
	}
	return lines
}

// plainExpression takes out of a CHECK what only one of the products writes into it: MySQL names the
// character set of texts, escapes their quotes and puts parentheses around every operation, MariaDB around
// none that does not need them.
func plainExpression(text string) string {
	text = strings.NewReplacer("_utf8mb4", "", `\`, "", "`", "").Replace(text)
	var out strings.Builder
	var kept []bool // of the parentheses that are open: those of a function's arguments
	for i, char := range text {
		switch char {
		case '(':
			kept = append(kept, i > 0 && text[i-1] != ' ' && text[i-1] != '(')
		case ')':
			keep := kept[len(kept)-1]
			if kept = kept[:len(kept)-1]; keep {
				out.WriteRune(char)
			}
			continue
		}
		if char != '(' || kept[len(kept)-1] {
			out.WriteRune(char)
		}
	}
	return out.String()
}
