package postgres

import (
	"context"
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
	if err := db.CheckSchema(schema); err != nil {
		return nil, err
	}
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

// Revokes returns the statements that revoke all rights of a role, granted or not.
func Revokes(schema, from string, _ []migrate.Right) ([]string, error) {
	var views []string
	for _, view := range db.Views() {
		views = append(views, schema+"."+view.Name)
	}
	return []string{
		"REVOKE ALL ON ALL ROUTINES IN SCHEMA " + schema + " FROM " + roleName(from),
		"REVOKE ALL ON TABLE " + strings.Join(views, ", ") + " FROM " + roleName(from),
		"REVOKE USAGE ON SCHEMA " + schema + " FROM " + roleName(from),
	}, nil
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
