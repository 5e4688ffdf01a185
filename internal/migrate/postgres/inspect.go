package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/internal/migrate"
)

// installed is a table or a routine in the database.
type installed struct {
	// name has the arguments of a routine.
	name, owner string
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
func (s site) inspect(ctx context.Context, client migrate.Client, want migrate.Installation) ([]migrate.Finding, error) {
	session, ok := client.(migrate.Beginner)
	if !ok {
		return nil, fmt.Errorf("inspect by a %T", client)
	}
	tx, err := session.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }() // it has changed nothing
	if err := migrate.Execute(ctx, tx, "SET LOCAL search_path = pg_catalog, pg_temp"); err != nil {
		return nil, err
	}
	return s.compare(ctx, tx, want)
}

// compare compares each routine: its arguments, text, settings and SECURITY. It checks that all routines and tables have one owner, who is
// no superuser, and that PUBLIC has no rights.
func (s site) compare(ctx context.Context, client migrate.Client, want migrate.Installation) ([]migrate.Finding, error) {
	tables, err := s.tables(ctx, client)
	if err != nil {
		return nil, err
	}
	routines, err := s.routines(ctx, client)
	if err != nil {
		return nil, err
	}
	owner := cmp.Or(want.Owner, tables["appl_lock"].owner)
	findings, err := s.inspectOwners(ctx, client, owner, want.Owner != "")
	if err != nil {
		return nil, err
	}
	inTables, err := s.inspectTables(ctx, client, want.Tables, owner)
	if err != nil {
		return nil, err
	}
	behind, err := s.inspectSequences(ctx, client)
	if err != nil {
		return nil, err
	}
	absurd, err := s.inspectRows(ctx, client)
	if err != nil {
		return nil, err
	}
	findings = slices.Concat(findings, inTables, behind, absurd)
	for _, name := range migrate.TableNames(want.Tables) {
		findings = append(findings, s.rightsOn("table", tables[name], owner)...)
	}
	for _, view := range want.Views {
		found, err := s.inspectView(ctx, client, view, tables[view.Name], owner)
		if err != nil {
			return nil, err
		}
		findings = append(findings, found...)
	}
	for _, routine := range want.Routines {
		findings = append(findings, s.inspectRoutine(routine, routines[signatureOf(routine)], owner)...)
	}
	foreign, err := s.foreign(ctx, client, want, owner, routines)
	return append(findings, foreign...), err
}

// inspectRoutine compares a routine with the one of its signature, which has no owner if it is missing.
func (s site) inspectRoutine(routine *migrate.RoutineText, is installed, owner string) []migrate.Finding {
	kind := strings.ToLower(routine.Kind)
	finding := migrate.Finding{Part: migrate.PartRoutines, Name: kind + " " + routine.Name, Mend: s.creating(routine)}
	if is.owner == "" {
		finding.Problem = "is missing"
		return []migrate.Finding{finding}
	}
	findings := s.rightsOn(kind, is, owner)
	if !s.same(is, routine.Definition()) {
		finding.Problem = "has another text or other settings than this program installs"
		findings = append([]migrate.Finding{finding}, findings...)
	}
	return findings
}

// rightsOn checks the owner and the rights of PUBLIC.
func (s site) rightsOn(kind string, is installed, owner string) []migrate.Finding {
	name, _, _ := strings.Cut(is.name, "(")
	about := s.Qualify(is.name)
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
	ctx context.Context, client migrate.Client, view *migrate.RoutineText, is installed, owner string,
) ([]migrate.Finding, error) {
	if is.owner == "" {
		return nil, nil // reported as missing already
	}
	findings := s.rightsOn("view", is, owner)
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
func (s site) viewDiffers(ctx context.Context, client migrate.Client, view *migrate.RoutineText) (bool, error) {
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
$compare$`, wanted, view.Name, s.Qualify(view.Name), differs))
	var answer interface{ SQLState() string }
	if !errors.As(err, &answer) {
		return false, err
	}
	_, err = client.ExecContext(ctx, "ROLLBACK TO SAVEPOINT compare")
	return answer.SQLState() == differs, err
}

// recreating returns the statements that create a view anew. A view with other columns cannot be replaced, so its grants are lost.
func (s site) recreating(view *migrate.RoutineText) []string {
	return append([]string{"DROP VIEW IF EXISTS " + s.Qualify(view.Name)}, s.creating(view)...)
}

// inspectSequences finds a sequence behind its table, as logical replication leaves it, which copies rows alone. Events raise theirs
// themselves, and the next migration would fail. An account that may not read them finds nothing.
func (s site) inspectSequences(ctx context.Context, client migrate.Client) ([]migrate.Finding, error) {
	var findings []migrate.Finding
	for _, numbered := range [][2]string{{"appl_lock_event", "event_id"}, {migrate.VersionTable, "id"}} {
		table, column := numbered[0], numbered[1]
		name := s.Qualify(table)
		sequence, err := migrate.Value[string](ctx, client, `SELECT coalesce(max(n.name), '') FROM pg_get_serial_sequence($1, $2) AS n (name)
			WHERE has_table_privilege($1, 'SELECT') AND has_sequence_privilege(n.name, 'SELECT')`, name, column)
		if err != nil {
			return nil, err
		}
		if sequence == "" {
			continue
		}
		behind, err := migrate.Value[bool](ctx, client, fmt.Sprintf(
			"SELECT coalesce(max(t.%s) > (SELECT s.last_value - (NOT s.is_called)::int FROM %s AS s), false) FROM %s AS t", column, sequence, name))
		if err != nil {
			return nil, err
		}
		if behind {
			findings = append(findings, migrate.Finding{
				Part: migrate.PartTables, Name: "sequence of " + table, Problem: "is behind the greatest " + column + " of the table",
				Mend: []string{fmt.Sprintf("SELECT setval('%s', max(%s)) FROM %s", strings.ReplaceAll(sequence, "'", "''"), column, name)},
			})
		}
	}
	return findings, nil
}

// absurdRows returns some rows, of the first million, with a value that no procedure writes, and the statement that removes each. The table
// has no CHECK constraints, which would cost more than an update.
const absurdRows = `SELECT l.object_type || ':' || l.object_id, format('DELETE FROM %%s WHERE object_type = %%L AND object_id = %%L', $1::text, l.object_type, l.object_id)
	FROM (SELECT t.* FROM %s AS t LIMIT 1000000) AS l
	WHERE NOT (isfinite(l.acquired_ts) AND isfinite(l.lock_ts) AND isfinite(l.expires_ts) AND isfinite(coalesce(l.released_ts, l.lock_ts)))
		OR l.fence NOT BETWEEN 1 AND 9000000000000000000 OR l.ttl_seconds < 1
		OR '' IN (l.object_type, l.object_id, l.operator_id) OR position(':' IN l.object_type) > 0
	LIMIT 5`

// inspectRows finds rows that somebody has written by hand. An account that may not read the table finds nothing.
func (s site) inspectRows(ctx context.Context, client migrate.Client) ([]migrate.Finding, error) {
	name := s.Qualify("appl_lock")
	readable, err := migrate.Value[bool](ctx, client, "SELECT has_table_privilege($1, 'SELECT')", name)
	if err != nil || !readable {
		return nil, err
	}
	rows, err := migrate.Read(ctx, client, func(o *owned) []any { return []any{&o.account, &o.thing} }, fmt.Sprintf(absurdRows, name), name)
	var findings []migrate.Finding
	for _, row := range rows {
		findings = append(findings, migrate.Finding{
			Part: migrate.PartTables, Name: "row " + row.account + " of appl_lock",
			Problem: "has a value that no procedure writes, and with which calls can fail", Statement: row.thing,
		})
	}
	return findings, err
}

// inspectTables compares the indexes, and the rights to change a table or to create objects in the schema.
func (s site) inspectTables(ctx context.Context, client migrate.Client, tables []migrate.Table, owner string) ([]migrate.Finding, error) {
	indexes, err := migrate.ReadNames(ctx, client, "SELECT indexname FROM pg_indexes WHERE schemaname = $1", s.Schema)
	if err != nil {
		return nil, err
	}
	findings := migrate.MissingIndexes(tables, indexes, s.Qualify)
	writers, err := s.writers(ctx, client, migrate.TableNames(tables))
	if err != nil {
		return nil, err
	}
	hidden, err := migrate.ReadNames(ctx, client, `SELECT c.relname FROM pg_class AS c
		WHERE c.relnamespace = to_regnamespace($1) AND c.relrowsecurity AND c.relforcerowsecurity`, s.Schema)
	if err != nil {
		return nil, err
	}
	for _, name := range migrate.TableNames(tables) {
		if hidden[name] {
			findings = append(findings, migrate.Finding{
				Part: migrate.PartRights, Name: "table " + name, Problem: "hides its rows from the procedures (FORCE ROW LEVEL SECURITY)",
				Mend: []string{"ALTER TABLE " + s.Qualify(name) + " NO FORCE ROW LEVEL SECURITY"},
			})
		}
	}
	creating, err := s.owned(ctx, client, creators, owner)
	for _, creator := range creating {
		writers = append(writers, migrate.Finding{
			Part: migrate.PartRights, Name: "schema " + s.Schema,
			Problem:   "lets " + creator.account + " add objects, and so put functions before those that the procedures call",
			Statement: creator.thing,
		})
	}
	return append(findings, writers...), err
}

// writers finds the accounts, except the owner, that can change a table without the routines, also through a view.
func (s site) writers(ctx context.Context, client migrate.Client, tables []string) ([]migrate.Finding, error) {
	type right struct{ table, writer, privileges string }
	rights, err := migrate.Read(ctx, client, func(r *right) []any { return []any{&r.table, &r.writer, &r.privileges} }, `
		SELECT c.relname, r.rolname, string_agg(a.privilege_type, ', ' ORDER BY a.privilege_type)
		FROM pg_class AS c
		CROSS JOIN LATERAL aclexplode(c.relacl) AS a
		JOIN pg_roles AS r ON r.oid = a.grantee
		WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'p', 'v') AND a.grantee <> c.relowner
			AND a.privilege_type IN ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE')
		GROUP BY c.relname, r.rolname
		ORDER BY c.relname, r.rolname`, s.Schema)
	var findings []migrate.Finding
	for _, is := range rights {
		kind := "table "
		if migrate.IsView(is.table) {
			kind = "view "
		} else if !slices.Contains(tables, is.table) {
			continue
		}
		findings = append(findings, migrate.Finding{
			Part: migrate.PartRights, Name: kind + is.table,
			Problem:   fmt.Sprintf("may be changed by %s without the procedures (%s)", is.writer, is.privileges),
			Statement: fmt.Sprintf("REVOKE %s ON %s FROM %s", is.privileges, s.Qualify(is.table), roleName(is.writer)),
		})
	}
	return findings, err
}

// tables returns the tables and views of the schema.
func (s site) tables(ctx context.Context, client migrate.Client) (map[string]installed, error) {
	return s.installed(ctx, client, `
		SELECT c.relname, pg_get_userbyid(c.relowner), EXISTS (SELECT FROM aclexplode(c.relacl) AS a WHERE a.grantee = 0),
			'', false, coalesce(CASE c.relkind WHEN 'v' THEN array_to_string(c.reloptions, E'\n') END, '')
		FROM pg_class AS c
		WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'p', 'v')`)
}

// routines returns the routines of the schema by name and arguments. Without a list of rights a routine has PostgreSQL's default: everybody
// may execute it.
func (s site) routines(ctx context.Context, client migrate.Client) (map[string]installed, error) {
	return s.installed(ctx, client, `
		SELECT p.proname || '(' || oidvectortypes(p.proargtypes) || ')', pg_get_userbyid(p.proowner),
			EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a WHERE a.grantee = 0),
			p.prosrc, p.prosecdef, coalesce(array_to_string(p.proconfig, E'\n', ''), '')
		FROM pg_proc AS p
		WHERE p.pronamespace = to_regnamespace($1)`)
}

func (s site) installed(ctx context.Context, client migrate.Client, query string) (map[string]installed, error) {
	fields := func(is *installed) []any {
		return []any{&is.name, &is.owner, &is.open, &is.body, &is.definer, &is.settings}
	}
	found, err := migrate.Read(ctx, client, fields, query, s.Schema)
	there := map[string]installed{}
	for _, is := range found {
		there[is.name] = is
	}
	return there, err
}

// signatureOf returns a routine's name and the types of its arguments in the catalogue's words.
func signatureOf(routine *migrate.RoutineText) string {
	var types string
	for _, statement := range routine.Statements {
		if found := arguments.FindStringSubmatch(statement.Text); found != nil {
			types = strings.ReplaceAll(found[1], "timestamptz", "timestamp with time zone")
		}
	}
	return routine.Name + "(" + types + ")"
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
	return append([]string{"SET LOCAL search_path = " + s.Schema + ", pg_temp"}, routine.Texts()...)
}
