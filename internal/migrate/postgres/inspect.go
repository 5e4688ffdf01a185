package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3/database"

	"github.com/applock/applock/internal/migrate"
)

// installed is a table or a routine in the database.
type installed struct {
	owner string
	// open is true if PUBLIC has a right on it.
	open bool
	body string
	// definer is true if it runs with its owner's rights.
	definer  bool
	settings string
}

var (
	// arguments matches the types of a routine's arguments in the REVOKE from PUBLIC.
	arguments = regexp.MustCompile(`\((.*)\) FROM PUBLIC;`)
	body      = regexp.MustCompile(`(?s)\nAS \$\$(.*)\$\$;\n$`)
	setting   = regexp.MustCompile(`(?m)^SET (\w+) = '(.*)'$`)
)

// inspect is compare in a transaction that finds PostgreSQL's own functions and operators, whatever the session's search_path leads to.
func (s site) inspect(ctx context.Context, client database.DBTxConn, want migrate.Installation) ([]migrate.Finding, error) {
	session, ok := client.(interface {
		BeginTx(ctx context.Context, options *sql.TxOptions) (*sql.Tx, error)
	})
	if !ok {
		return nil, fmt.Errorf("inspect by a %T", client)
	}
	tx, err := session.BeginTx(ctx, nil)
	if err != nil {
		return nil, s.Interpret(ctx, err)
	}
	defer func() { _ = tx.Rollback() }() // it has changed nothing
	if _, err := tx.ExecContext(ctx, "SET LOCAL search_path = pg_catalog, pg_temp"); err != nil {
		return nil, s.Interpret(ctx, err)
	}
	return s.compare(ctx, tx, want)
}

// compare compares each routine: its arguments, text, settings and SECURITY. It checks that all routines and tables have one owner, who is
// no superuser, and that PUBLIC has no rights.
func (s site) compare(ctx context.Context, client database.DBTxConn, want migrate.Installation) ([]migrate.Finding, error) {
	tables, err := s.tables(ctx, client)
	if err != nil {
		return nil, s.Interpret(ctx, err)
	}
	routines, err := s.routines(ctx, client)
	if err != nil {
		return nil, s.Interpret(ctx, err)
	}
	owner := cmp.Or(want.Owner, tables["appl_lock"].owner)
	findings, err := s.inspectOwners(ctx, client, owner, want.Owner != "")
	if err != nil {
		return nil, s.Interpret(ctx, err)
	}
	inTables, err := s.inspectTables(ctx, client, want.Tables, owner)
	if err != nil {
		return nil, s.Interpret(ctx, err)
	}
	findings = append(findings, inTables...)
	for _, name := range names(want.Tables) {
		findings = append(findings, s.rightsOn("table", name, owner, tables[name])...)
	}
	for _, view := range want.Views {
		found, err := s.inspectView(ctx, client, view, tables[view.Name], owner)
		if err != nil {
			return nil, s.Interpret(ctx, err)
		}
		findings = append(findings, found...)
	}
	for _, routine := range want.Routines {
		is, found := routines[routine.Name+"("+argumentsOf(routine)+")"]
		finding := migrate.Finding{
			Part: migrate.PartRoutines, Name: strings.ToLower(routine.Kind) + " " + routine.Name, Mend: s.creating(routine),
		}
		switch {
		case !found:
			finding.Problem = "is missing"
		case !s.same(is, routine.Definition()):
			finding.Problem = "has another text or other settings than this program installs"
		}
		if finding.Problem != "" {
			findings = append(findings, finding)
		}
		if found {
			name := routine.Name + "(" + argumentsOf(routine) + ")"
			findings = append(findings, s.rightsOn(strings.ToLower(routine.Kind), name, owner, is)...)
		}
	}
	foreign, err := s.foreign(ctx, client, want, owner, routines)
	return append(findings, foreign...), s.Interpret(ctx, err)
}

// rightsOn checks the owner and the rights of PUBLIC.
func (s site) rightsOn(kind, signature, owner string, is installed) []migrate.Finding {
	name, _, _ := strings.Cut(signature, "(")
	about := s.Schema + "." + signature
	revoked := strings.ToUpper(kind)
	if kind == "view" {
		revoked = "TABLE"
	}
	var findings []migrate.Finding
	if is.open {
		verb := map[bool]string{true: "used", false: "executed"}[revoked == "TABLE"]
		findings = append(findings, migrate.Finding{
			Part: migrate.PartRights, Name: kind + " " + name, Problem: "may be " + verb + " by everybody (PUBLIC)",
			Mend: []string{"REVOKE ALL ON " + revoked + " " + about + " FROM PUBLIC"},
		})
	}
	if is.owner != owner {
		findings = append(findings, migrate.Finding{
			Part: migrate.PartOwners, Name: kind + " " + name, Problem: fmt.Sprintf("belongs to %s, and the installation to %s", is.owner, owner),
			Mend: []string{"ALTER " + strings.ToUpper(kind) + " " + about + " OWNER TO " + pgx.Identifier{owner}.Sanitize()},
		})
	}
	return findings
}

// inspectView compares the text, the options, the owner and the rights of an existing view.
func (s site) inspectView(
	ctx context.Context, client database.DBTxConn, view *migrate.RoutineText, is installed, owner string,
) ([]migrate.Finding, error) {
	if is.owner == "" {
		return nil, nil // reported as missing already
	}
	findings := s.rightsOn("view", view.Name, owner, is)
	differs, err := s.viewDiffers(ctx, client, view)
	if err != nil || !differs && is.settings == "" {
		return findings, err
	}
	return append(findings, migrate.Finding{
		Part: migrate.PartViews, Name: "view " + view.Name,
		Problem: "has another text or other options than this program installs", Mend: s.creating(view),
	}), nil
}

// viewDiffers lets the server parse our text as a temporary view, in a subtransaction that is rolled back, and compares the results. A view
// from a dump was parsed from the server's words and may look different from one parsed from ours. If the server cannot do it, as on a
// replica, it reports no difference.
func (s site) viewDiffers(ctx context.Context, client database.DBTxConn, view *migrate.RoutineText) (bool, error) {
	const differs = "LK998"
	wanted := strings.NewReplacer(
		"CREATE OR REPLACE VIEW "+view.Name+" ", "CREATE TEMPORARY VIEW "+view.Name+" ",
		"FROM appl_lock", "FROM "+s.Schema+".appl_lock", "JOIN appl_lock", "JOIN "+s.Schema+".appl_lock",
	).Replace(view.Definition())
	if _, err := client.ExecContext(ctx, "SAVEPOINT compare"); err != nil {
		return false, err
	}
	_, err := client.ExecContext(ctx, fmt.Sprintf(`DO $compare$
DECLARE
    v_same boolean;
    v_text text;
BEGIN
    BEGIN
        %[1]s
        v_text := pg_get_viewdef('pg_temp.%[2]s'::regclass);
        v_same := v_text = pg_get_viewdef('%[3]s'::regclass);
        EXECUTE 'CREATE OR REPLACE TEMPORARY VIEW %[2]s AS ' || v_text;
        v_same := v_same OR pg_get_viewdef('pg_temp.%[2]s'::regclass) = pg_get_viewdef('%[3]s'::regclass);
        RAISE EXCEPTION USING ERRCODE = 'LK999';
    EXCEPTION
        WHEN SQLSTATE 'LK999' THEN
            NULL;
    END;
    IF NOT v_same THEN
        RAISE EXCEPTION USING ERRCODE = '%[4]s';
    END IF;
END
$compare$`, wanted, view.Name, s.qualify(view.Name), differs))
	var answer interface{ SQLState() string }
	if !errors.As(err, &answer) {
		return false, err
	}
	_, err = client.ExecContext(ctx, "ROLLBACK TO SAVEPOINT compare")
	return answer.SQLState() == differs, err
}

// recreating returns the statements that create a view anew. A view with other columns cannot be replaced, so its grants are lost.
func (s site) recreating(view *migrate.RoutineText) []string {
	return append([]string{"DROP VIEW IF EXISTS " + s.qualify(view.Name)}, s.creating(view)...)
}

// names returns the names of the tables, including goose's.
func names(tables []migrate.Table) []string {
	names := []string{migrate.VersionTable}
	for _, table := range tables {
		names = append(names, table.Name)
	}
	return names
}

// inspectTables compares the indexes, and the rights to change a table or to create objects in the schema.
func (s site) inspectTables(
	ctx context.Context, client database.DBTxConn, tables []migrate.Table, owner string,
) ([]migrate.Finding, error) {
	indexes, err := migrate.ReadNames(ctx, client, "SELECT indexname FROM pg_indexes WHERE schemaname = $1", s.Schema)
	if err != nil {
		return nil, err
	}
	findings := migrate.MissingIndexes(tables, indexes, s.qualify)
	writers, err := s.writers(ctx, client, names(tables))
	if err != nil {
		return nil, err
	}
	creating, err := s.owned(ctx, client, creators, owner)
	for _, creator := range slices.Sorted(maps.Keys(creating)) {
		for _, statement := range creating[creator] {
			writers = append(writers, migrate.Finding{
				Part: migrate.PartRights, Name: "schema " + s.Schema,
				Problem:   "lets " + creator + " add objects, and so put functions before those that the procedures call",
				Statement: statement,
			})
		}
	}
	return append(findings, writers...), err
}

// writers finds the accounts, except the owner, that can change a table without the routines, also through a view.
func (s site) writers(ctx context.Context, client database.DBTxConn, tables []string) (findings []migrate.Finding, err error) {
	rows, err := client.QueryContext(ctx, `
		SELECT c.relname, r.rolname, string_agg(a.privilege_type, ', ' ORDER BY a.privilege_type)
		FROM pg_class AS c
		CROSS JOIN LATERAL aclexplode(c.relacl) AS a
		JOIN pg_roles AS r ON r.oid = a.grantee
		WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'p', 'v') AND a.grantee <> c.relowner
			AND a.privilege_type IN ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE')
		GROUP BY c.relname, r.rolname
		ORDER BY c.relname, r.rolname`, s.Schema)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var table, writer, privileges string
		if err := rows.Scan(&table, &writer, &privileges); err != nil {
			return nil, err
		}
		kind := "table "
		if migrate.IsView(table) {
			kind = "view "
		}
		if kind == "view " || slices.Contains(tables, table) {
			findings = append(findings, migrate.Finding{
				Part: migrate.PartRights, Name: kind + table,
				Problem:   fmt.Sprintf("may be changed by %s without the procedures (%s)", writer, privileges),
				Statement: fmt.Sprintf("REVOKE %s ON %s FROM %s", privileges, s.qualify(table), roleName(writer)),
			})
		}
	}
	return findings, rows.Err()
}

// tables returns the tables and views of the schema.
func (s site) tables(ctx context.Context, client database.DBTxConn) (map[string]installed, error) {
	return query(ctx, client, `
		SELECT c.relname, pg_get_userbyid(c.relowner), EXISTS (SELECT FROM aclexplode(c.relacl) AS a WHERE a.grantee = 0),
			'', false, CASE c.relkind WHEN 'v' THEN array_to_string(c.reloptions, E'\n') END
		FROM pg_class AS c
		WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'p', 'v')`, s.Schema)
}

// routines returns the routines of the schema by name and arguments. Without a list of rights a routine has PostgreSQL's default: everybody
// may execute it.
func (s site) routines(ctx context.Context, client database.DBTxConn) (map[string]installed, error) {
	return query(ctx, client, `
		SELECT p.proname || '(' || oidvectortypes(p.proargtypes) || ')', pg_get_userbyid(p.proowner),
			EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a WHERE a.grantee = 0),
			p.prosrc, p.prosecdef, array_to_string(p.proconfig, E'\n', '')
		FROM pg_proc AS p
		WHERE p.pronamespace = to_regnamespace($1)`, s.Schema)
}

func query(ctx context.Context, client database.DBTxConn, text, schema string) (found map[string]installed, err error) {
	rows, err := client.QueryContext(ctx, text, schema)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	found = map[string]installed{}
	for rows.Next() {
		var name string
		var is installed
		var settings *string
		if err := rows.Scan(&name, &is.owner, &is.open, &is.body, &is.definer, &settings); err != nil {
			return nil, err
		}
		if settings != nil {
			is.settings = *settings
		}
		found[name] = is
	}
	return found, rows.Err()
}

// argumentsOf returns the types of a routine's arguments in the catalogue's words.
func argumentsOf(routine *migrate.RoutineText) string {
	for _, statement := range routine.Statements {
		if found := arguments.FindStringSubmatch(statement.Text); found != nil {
			return strings.ReplaceAll(found[1], "timestamptz", "timestamp with time zone")
		}
	}
	return ""
}

// same reports whether the installed routine equals the definition.
func (s site) same(is installed, definition string) bool {
	want := body.FindStringSubmatch(definition)
	var settings []string
	if strings.Contains(definition, "\nSET search_path FROM CURRENT\n") {
		settings = append(settings, "search_path="+s.Schema+", pg_temp")
	}
	for _, found := range setting.FindAllStringSubmatch(definition, -1) {
		settings = append(settings, found[1]+"="+found[2])
	}
	slices.Sort(settings)
	has := slices.Sorted(strings.SplitSeq(is.settings, "\n"))
	return want != nil && is.body == want[1] &&
		is.definer == strings.Contains(definition, "SECURITY DEFINER") &&
		strings.Join(has, "\n") == strings.Join(settings, "\n")
}

// creating returns the statements that create a routine or a view, or replace it and keep its grants.
func (s site) creating(routine *migrate.RoutineText) []string {
	statements := []string{"SET LOCAL search_path = " + s.Schema + ", pg_temp"}
	for _, statement := range routine.Statements {
		statements = append(statements, statement.Text)
	}
	return statements
}
