package mysql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/applock/applock/internal/migrate"
)

// right is an account's right on a table or on a procedure.
type right struct {
	name, user, host, privileges string
	// looks is true for the current account.
	looks bool
}

// everybody reports whether all accounts have the right: MariaDB's PUBLIC has it, or the account without a name.
func (r right) everybody() bool { return r.user == "" || r.isPublic() }

func (r right) isPublic() bool { return r.user == "PUBLIC" && r.host == "" }

// account is the account's name in statements, except for PUBLIC.
func (r right) account() string {
	switch {
	case r.isPublic():
		return r.user
	case r.host == "": // a role of MariaDB
		return quote(r.user)
	}
	return quote(r.user) + "@" + quote(r.host)
}

// grantee is the account's name in a REVOKE.
func (r right) grantee() string {
	if r.host == "" || r.host == "%" {
		return r.user
	}
	return r.user + "@" + r.host
}

// proceduresRights are the rights to execute the procedures of a database.
const proceduresRights = `SELECT Routine_name, User, Host, 'EXECUTE', FALSE
	FROM mysql.procs_priv
	WHERE Db = COALESCE(NULLIF(?, ''), DATABASE()) AND Routine_type = 'PROCEDURE' AND FIND_IN_SET('Execute', Proc_priv) > 0`

// inspectRights finds the rights of everybody, and the accounts that can change a table without the procedures. The current account and the
// definers need that right.
func (s site) inspectRights(
	ctx context.Context, client migrate.Client, tables []string, routines map[string]installed,
) ([]migrate.Finding, error) {
	onProcedures, err := s.rightsOn(ctx, client, proceduresRights)
	if err != nil {
		return nil, err
	}
	onTables, err := s.rightsOn(ctx, client, `SELECT Table_name, User, Host, Table_priv, CONCAT(User, '@', Host) = CURRENT_USER()
		FROM mysql.tables_priv
		WHERE Db = COALESCE(NULLIF(?, ''), DATABASE())`)
	if err != nil {
		return nil, err
	}
	definers := map[string]bool{}
	for _, routine := range routines {
		definers[routine.definer] = true
	}
	var findings []migrate.Finding
	for _, right := range onProcedures {
		if right.everybody() && routines[right.name].definer != "" {
			findings = append(findings, s.openTo(right, "procedure", "executed"))
		}
	}
	for _, right := range onTables {
		switch {
		case !slices.Contains(tables, right.name):
		case right.everybody():
			findings = append(findings, s.openTo(right, "table", "used"))
		case !right.looks && !definers[right.user+"@"+right.host]:
			findings = append(findings, s.changedBy(right)...)
		}
	}
	return findings, nil
}

func (s site) rightsOn(ctx context.Context, client migrate.Client, query string) ([]right, error) {
	fields := func(is *right) []any { return []any{&is.name, &is.user, &is.host, &is.privileges, &is.looks} }
	return migrate.Read(ctx, client, fields, query, s.Schema)
}

func (s site) openTo(is right, kind, verb string) migrate.Finding {
	object := s.Qualify(is.name)
	if kind == "procedure" {
		object = "PROCEDURE " + object
	}
	who := "PUBLIC"
	if is.user == "" {
		who = "the account without a name"
	}
	return migrate.Finding{
		Part: migrate.PartRights, Name: kind + " " + is.name, Problem: fmt.Sprintf("may be %s by everybody (%s)", verb, who),
		Mend: []string{fmt.Sprintf("REVOKE %s ON %s FROM %s", is.privileges, object, is.account())},
	}
}

// changedBy returns the findings about an account that may change a table. The right to read is no finding.
func (s site) changedBy(is right) []migrate.Finding {
	var changes []string
	for privilege := range strings.SplitSeq(is.privileges, ",") {
		if slices.Contains([]string{"Insert", "Update", "Delete", "Drop", "Alter"}, privilege) {
			changes = append(changes, strings.ToUpper(privilege))
		}
	}
	if len(changes) == 0 {
		return nil
	}
	privileges := strings.Join(changes, ", ")
	return []migrate.Finding{{
		Part: migrate.PartRights, Name: "table " + is.name,
		Problem:   fmt.Sprintf("may be changed by %s without the procedures (%s)", is.grantee(), privileges),
		Statement: fmt.Sprintf("REVOKE %s ON %s FROM %s", privileges, s.Qualify(is.name), is.account()),
	}}
}
