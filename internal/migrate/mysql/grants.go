package mysql

import (
	"context"
	"fmt"
	"strings"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
)

// Grants returns the statements that give a role's rights to an account, NAME or NAME@HOST, or to a role. Without a schema
// they are for the database that the client is connected to.
func Grants(schema string, role db.Role, to string) ([]string, error) {
	qualifier := ""
	if schema != "" {
		if err := db.CheckSchema(schema); err != nil {
			return nil, err
		}
		qualifier = schema + "."
	}
	var statements []string
	grant := func(routine string) {
		statements = append(statements, fmt.Sprintf("GRANT EXECUTE ON PROCEDURE %s%s TO %s", qualifier, routine, account(to)))
	}
	for _, routine := range migrate.Routines(role) {
		grant(routine.Name)
		if rows := routine.Operation.RowsForm(); rows != "" && routine.Name == routine.Operation.RowForm() {
			grant(rows)
		}
	}
	return statements, nil
}

// Revokes returns the statements that take from an account what it has: to take more would be an error.
func Revokes(schema, from string, rights []migrate.Right) ([]string, error) {
	qualifier := ""
	if schema != "" {
		qualifier = schema + "."
	}
	var statements []string
	for _, right := range rights {
		if right.Grantee == strings.TrimSuffix(from, "@%") {
			statements = append(statements, fmt.Sprintf("REVOKE EXECUTE ON PROCEDURE %s%s FROM %s", qualifier, right.Routine, account(from)))
		}
	}
	return statements, nil
}

// account quotes an account. The last @ ends the name, which may have others.
func account(name string) string {
	at := strings.LastIndex(name, "@")
	if at < 0 {
		return quote(name)
	}
	return quote(name[:at]) + "@" + quote(name[at+1:])
}

// quote returns a name as a string of SQL, in which a quote is doubled whatever the sql_mode is. A backslash is doubled for
// most sql_modes; names with one are not for the others.
func quote(name string) string {
	return "'" + strings.NewReplacer("'", "''", `\`, `\\`).Replace(name) + "'"
}

// rights returns who may call what, but for everybody.
func (s site) rights(ctx context.Context) ([]migrate.Right, error) {
	return migrate.ReadRights(ctx, s.Handle, `SELECT CASE WHEN Host IN ('', '%') THEN User ELSE CONCAT(User, '@', Host) END, Routine_name
		FROM mysql.procs_priv
		WHERE Db = COALESCE(NULLIF(?, ''), DATABASE()) AND Routine_type = 'PROCEDURE' AND FIND_IN_SET('Execute', Proc_priv) > 0
			AND NOT (User = '' OR User = 'PUBLIC' AND Host = '')`)
}
