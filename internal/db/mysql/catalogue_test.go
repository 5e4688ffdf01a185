package mysql_test

import (
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/applock/applock/internal/build/render"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testdb"
)

// hasQuickRow tells of an operation that its row form has a core of its own: the same decision, without an inner CALL.
func hasQuickRow(operation db.Operation) bool {
	return operation.Name == "get_appl_lock" || operation.Name == "release_appl_lock"
}

// hasRowForm tells of an operation that the row form is a routine of its own.
func hasRowForm(operation db.Operation) bool { return operation.RowForm() != operation.Name }

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

// argumentsFor gets a lock and lists a waiter for an operation, and returns IN arguments that name them.
func argumentsFor(t *testing.T, handle *sql.DB, operation db.Operation) []any {
	t.Helper()
	mustQuery(t, handle, "DELETE FROM appl_lock WHERE object_id = ?", operation.Name) // another call may have handed it over
	get := mustQuery(t, handle, "CALL get_appl_lock_row('customer', ?, 'JDOE', 'CS', NULL, NULL)", operation.Name)
	mustQuery(t, handle, "CALL announce_appl_lock_waiter_row('customer', ?, 'JDOE', 'CS', ?, NULL)", operation.Name, operation.Name)
	mustQuery(t, handle, "CALL set_appl_lock_policy_row('customer', NULL, NULL, NULL, 'BOSS', NULL, NULL, NULL, NULL)")
	if operation.Name == "inbox_appl_locks" {
		get = mustQuery(t, handle, "CALL transfer_appl_lock_row('customer', ?, 'JDOE', 'ASMITH', 'CS', NULL, 'BOSS', 'ill')", operation.Name)
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

// pinnedMode is the sql_mode that every routine runs in, whatever the caller's.
const pinnedMode = "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION"

// Goal: all texts of a caller are compared as bytes. Method: ask the catalogue for parameters of another collation. The golden schema has
// the other properties of routines.
func TestParametersAreComparedAsBytes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		for _, parameter := range column(t, lentPlace(t, product).SQL, `
			SELECT CONCAT(specific_name, '.', parameter_name) FROM information_schema.parameters
			WHERE specific_schema = DATABASE() AND data_type NOT IN ('bigint', 'datetime', 'tinyint')
				AND NOT (character_set_name <=> 'utf8mb4' AND collation_name <=> 'utf8mb4_bin')`) {
			t.Errorf("%s is not utf8mb4_bin", parameter)
		}
	})
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
