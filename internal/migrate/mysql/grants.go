package mysql

import (
	"context"
	"fmt"
	"strings"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
)

// Grants returns the statements that grant a role's rights to an account, NAME or NAME@HOST, or to a role. Without a schema they apply to
// the database of the connection.
func Grants(schema string, role db.Role, to string) ([]string, error) {
	qualify := db.Handle{Schema: schema}.Qualify
	var statements []string
	grant := func(routine string) {
		statements = append(statements, fmt.Sprintf("GRANT EXECUTE ON PROCEDURE %s TO %s", qualify(routine), account(to)))
	}
	for _, routine := range migrate.Routines(role) {
		grant(routine.Name)
		if routine.Name != routine.Operation.RowForm() {
			continue
		}
		for _, beside := range []string{routine.Operation.RowsForm(), routine.Operation.PassForm()} {
			if beside != "" {
				grant(beside)
			}
		}
	}
	for _, view := range role.Visible() {
		statements = append(statements, fmt.Sprintf("GRANT SELECT ON %s TO %s", qualify(view.Name), account(to)))
	}
	return statements, nil
}

// Revokes returns the statements that revoke the given rights of an account. Revoking others would be an error.
func Revokes(schema, from string, rights []migrate.Right) []string {
	qualify := db.Handle{Schema: schema}.Qualify
	var statements []string
	for _, right := range rights {
		if right.Grantee != strings.TrimSuffix(from, "@%") {
			continue
		}
		what := "EXECUTE ON PROCEDURE "
		if migrate.IsView(right.Name) {
			what = "SELECT ON "
		}
		statements = append(statements, "REVOKE "+what+qualify(right.Name)+" FROM "+account(from))
	}
	return statements
}

// revoked finds an account that does not exist, for which there was nothing to revoke.
func (s site) revoked(ctx context.Context, client migrate.Client, from string) error {
	_, err := migrate.Value[string](ctx, client, "SHOW GRANTS FOR "+account(from))
	if s.isDenied(ctx, err) { // only an administrator sees others' grants
		return nil
	}
	return s.Interpret(ctx, err)
}

// account quotes an account. The last @ separates the host, since a name may contain @.
func account(name string) string {
	at := strings.LastIndex(name, "@")
	if at < 0 {
		return quote(name)
	}
	return quote(name[:at]) + "@" + quote(name[at+1:])
}

// quote quotes a name as a string of SQL. Doubled quotes work with any sql_mode. A backslash is doubled, which is wrong with
// NO_BACKSLASH_ESCAPES.
func quote(name string) string {
	return "'" + strings.NewReplacer("'", "''", `\`, `\\`).Replace(name) + "'"
}

// rights returns the rights on routines and views, except those of everybody.
func (s site) rights(ctx context.Context) ([]migrate.Right, error) {
	var views []string
	for _, view := range db.Views() {
		views = append(views, "'"+view.Name+"'")
	}
	return migrate.ReadRights(ctx, s.Handle, `SELECT CASE WHEN r.host IN ('', '%') THEN r.user ELSE CONCAT(r.user, '@', r.host) END, r.name
		FROM (
			SELECT Host AS host, User AS user, Db AS db, CONVERT(Routine_name USING utf8mb4) AS name
			FROM mysql.procs_priv
			WHERE Routine_type = 'PROCEDURE' AND FIND_IN_SET('Execute', Proc_priv) > 0
			UNION ALL
			SELECT Host, User, Db, CONVERT(Table_name USING utf8mb4)
			FROM mysql.tables_priv
			WHERE Table_name IN (`+strings.Join(views, ", ")+`) AND FIND_IN_SET('Select', Table_priv) > 0
		) AS r
		WHERE r.db = COALESCE(NULLIF(?, ''), DATABASE()) AND NOT (r.user = '' OR r.user = 'PUBLIC' AND r.host = '')`)
}
