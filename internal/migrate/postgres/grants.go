package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
)

// plainName matches a role that needs no quotes.
var plainName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// Grants returns the statements that grant a role's rights. They revoke PUBLIC's rights first: a restore without privileges lets PUBLIC
// call everything.
func Grants(schema string, role db.Role, to string) ([]string, error) {
	to = roleName(to)
	var procedures, functions []string
	for _, routine := range migrate.Routines(role) {
		name := schema + "." + routine.Name
		// A routine that returns rows or a value is a function, called by SELECT.
		if routine.Name == routine.Operation.RowForm() {
			functions = append(functions, name)
		} else {
			procedures = append(procedures, name)
		}
	}
	statements := []string{
		"REVOKE ALL ON ALL ROUTINES IN SCHEMA " + schema + " FROM PUBLIC",
		"GRANT USAGE ON SCHEMA " + schema + " TO " + to,
	}
	if len(procedures) > 0 {
		statements = append(statements, grant("EXECUTE", "PROCEDURE", procedures, to))
	}
	statements = append(statements, grant("EXECUTE", "FUNCTION", functions, to))
	var views []string
	for _, view := range role.Visible() {
		views = append(views, schema+"."+view.Name)
	}
	if len(views) > 0 {
		statements = append(statements, grant("SELECT", "TABLE", views, to))
	}
	return statements, nil
}

// Revokes returns the statements that revoke all rights of a role, granted or not, and PUBLIC's, which the role would still have.
func Revokes(schema, from string, _ []migrate.Right) []string {
	var views []string
	for _, view := range db.Views() {
		views = append(views, schema+"."+view.Name)
	}
	return []string{
		"REVOKE ALL ON ALL ROUTINES IN SCHEMA " + schema + " FROM PUBLIC, " + roleName(from),
		"REVOKE ALL ON TABLE " + strings.Join(views, ", ") + " FROM " + roleName(from),
		"REVOKE USAGE ON SCHEMA " + schema + " FROM " + roleName(from),
	}
}

// roleName quotes the name of a role if necessary.
func roleName(name string) string {
	switch {
	case strings.EqualFold(name, "public"):
		return `"` + name + `"` // a role with this name, never everybody
	case plainName.MatchString(name):
		return name
	}
	return pgx.Identifier{name}.Sanitize()
}

func grant(right, kind string, names []string, to string) string {
	return fmt.Sprintf("GRANT %s ON %s\n    %s\n    TO %s", right, kind, strings.Join(names, ",\n    "), to)
}

// rights returns the rights on routines and views, except the owner's.
func (s site) rights(ctx context.Context) ([]migrate.Right, error) {
	return migrate.ReadRights(ctx, s.Handle, `SELECT r.rolname, p.proname
		FROM pg_catalog.pg_proc p
		CROSS JOIN LATERAL pg_catalog.aclexplode(p.proacl) a
		JOIN pg_catalog.pg_roles r ON r.oid = a.grantee
		WHERE p.pronamespace = pg_catalog.to_regnamespace($1) AND a.privilege_type = 'EXECUTE' AND a.grantee <> p.proowner
		UNION ALL
		SELECT r.rolname, c.relname
		FROM pg_catalog.pg_class c
		CROSS JOIN LATERAL pg_catalog.aclexplode(c.relacl) a
		JOIN pg_catalog.pg_roles r ON r.oid = a.grantee
		WHERE c.relnamespace = pg_catalog.to_regnamespace($1) AND c.relkind = 'v'
			AND a.privilege_type = 'SELECT' AND a.grantee <> c.relowner`)
}

// left has the rights on routines and views that $2 or PUBLIC still has, with their grantors.
const left = `SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE $2::text END, a.privilege_type, o.kind, o.name, pg_get_userbyid(a.grantor)
	FROM (
		SELECT 'ROUTINE', format('%I.%I(%s)', $1::text, p.proname, pg_get_function_identity_arguments(p.oid)),
			coalesce(p.proacl, acldefault('f', p.proowner))
		FROM pg_proc AS p
		WHERE p.pronamespace = to_regnamespace($1) AND p.proname LIKE '%appl\_lock%'
		UNION ALL
		SELECT 'TABLE', format('%I.%I', $1::text, c.relname), c.relacl
		FROM pg_class AS c
		WHERE c.relnamespace = to_regnamespace($1) AND c.relkind = 'v' AND c.relname LIKE 'appl\_lock%'
	) AS o (kind, name, acl)
	CROSS JOIN LATERAL aclexplode(o.acl) AS a
	WHERE a.grantee = 0 OR a.grantee = (SELECT r.oid FROM pg_roles AS r WHERE r.rolname = $2::text)`

// lacking has the rights that $2 lacks on the schema, the routines $3 and the views $4, with their owners.
const lacking = `SELECT $2::text, 'USAGE', 'SCHEMA', quote_ident(n.nspname), pg_get_userbyid(n.nspowner)
	FROM pg_namespace AS n
	WHERE n.nspname = $1 AND NOT has_schema_privilege($2, n.oid, 'USAGE')
	UNION ALL
	SELECT $2::text, 'EXECUTE', 'ROUTINE', format('%I.%I(%s)', $1::text, p.proname, pg_get_function_identity_arguments(p.oid)),
		pg_get_userbyid(p.proowner)
	FROM pg_proc AS p
	WHERE p.pronamespace = to_regnamespace($1) AND p.proname = ANY (string_to_array($3, ',')) AND NOT has_function_privilege($2, p.oid, 'EXECUTE')
	UNION ALL
	SELECT $2::text, 'SELECT', 'TABLE', format('%I.%I', $1::text, c.relname), pg_get_userbyid(c.relowner)
	FROM pg_class AS c
	WHERE c.relnamespace = to_regnamespace($1) AND c.relname = ANY (string_to_array($4, ',')) AND NOT has_table_privilege($2, c.oid, 'SELECT')`

// granted looks after a grant: PostgreSQL only warns if the session may not grant, or not revoke what PUBLIC has.
func (s site) granted(ctx context.Context, client migrate.Client, role db.Role, to string) error {
	var routines, views []string
	for _, routine := range migrate.Routines(role) {
		routines = append(routines, routine.Name)
	}
	for _, view := range role.Visible() {
		views = append(views, view.Name)
	}
	const problem = "nothing was granted: %s lacks %s of %s; let %[3]s or a superuser run: GRANT %s TO %s"
	if err := s.refuse(ctx, client, problem, lacking, s.Schema, to, strings.Join(routines, ","), strings.Join(views, ",")); err != nil {
		return err
	}
	return s.refuse(ctx, client, "nothing was granted: "+stays, left, s.Schema, "")
}

// revoked looks after a revoke: the grants of another grantor stay.
func (s site) revoked(ctx context.Context, client migrate.Client, from string) error {
	return s.refuse(ctx, client, "nothing was revoked: "+stays, left, s.Schema, from)
}

const stays = "%s has %s from %s; let %[3]s run: REVOKE %s FROM %s"

// refuse returns a problem if a query finds rights. It names those of the first kind and grantor or owner.
func (s site) refuse(ctx context.Context, client migrate.Client, problem, query string, args ...any) error {
	var who, right, kind, by, first, all string
	var count int
	err := client.QueryRowContext(ctx, `SELECT o.who, o.privilege, o.kind, o.other, min(o.name), string_agg(o.name, ', ' ORDER BY o.name), count(*)
		FROM (`+query+`) AS o (who, privilege, kind, name, other)
		GROUP BY o.who, o.privilege, o.kind, o.other
		ORDER BY o.kind, o.privilege, o.who, o.other
		LIMIT 1`, args...).Scan(&who, &right, &kind, &by, &first, &all, &count)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return s.Interpret(ctx, err)
	}
	what, name := fmt.Sprintf("%s on %s %s", right, strings.ToLower(kind), first), who
	if count > 1 {
		what += fmt.Sprintf(" and %d more", count-1)
	}
	if who != "PUBLIC" {
		name = roleName(who)
	}
	return &db.GrantError{Err: fmt.Errorf(problem, who, what, by, right+" ON "+kind+" "+all, name)}
}
