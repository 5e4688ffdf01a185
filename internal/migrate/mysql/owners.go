package mysql

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/applock/applock/internal/migrate"
)

// powers are the rights to write on a read-only server or to end that state; ALL PRIVILEGES includes them.
const powers = `('SUPER', 'CONNECTION_ADMIN', 'READ_ONLY_ADMIN', 'SYSTEM_VARIABLES_ADMIN', 'CONNECTION ADMIN', 'READ_ONLY ADMIN')`

// ownPowers returns an account's own powers. Without the right to read the database mysql it returns only those of the current account.
const ownPowers = `SELECT privilege_type FROM information_schema.user_privileges
	WHERE grantee = CONCAT('''', ?, '''@''', ?, '''') AND privilege_type IN ` + powers

// rolePowers returns the powers by roles that are active in the account's procedures: default and mandatory roles, and theirs.
// activate_all_roles_on_login activates no others there. On MariaDB no role is active.
const rolePowers = `WITH RECURSIVE active (user, host) AS (
		SELECT default_role_user, default_role_host FROM mysql.default_roles WHERE user = ? AND host = ?
		UNION
		SELECT edge.from_user, edge.from_host FROM active JOIN mysql.role_edges AS edge
		WHERE edge.to_user = active.user AND edge.to_host = active.host
	)
	SELECT DISTINCT CONCAT(p.privilege_type, ' by the role ', active.user)
	FROM active JOIN information_schema.user_privileges AS p
	WHERE p.grantee = CONCAT('''', active.user, '''@''', active.host, '''') AND p.privilege_type IN ` + powers

// powersOf returns an account's excessive rights, as far as this user may know.
func (s site) powersOf(ctx context.Context, client migrate.Client, account string) ([]string, error) {
	user, host := parted(account)
	found, err := migrate.ReadNames(ctx, client, ownPowers, user, host)
	if err != nil {
		return nil, err
	}
	version, err := migrate.Value[string](ctx, client, "SELECT VERSION()")
	if err != nil {
		return nil, err
	}
	if !strings.Contains(version, "MariaDB") {
		byRole, err := migrate.ReadNames(ctx, client, rolePowers, user, host)
		if err != nil && !s.isDenied(ctx, err) {
			return nil, err
		}
		maps.Copy(found, byRole)
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// inspectOwners finds definers with too many rights, and those that want.Owner shall replace. Without want.Owner a single plain account
// replaces the others, if there is one.
func (s site) inspectOwners(ctx context.Context, client migrate.Client, want migrate.Installation, is present) ([]migrate.Finding, error) {
	owner, err := s.owner(ctx, client, want.Owner)
	if err != nil {
		return nil, err
	}
	owned, accounts := is.ownedBy(want), is.owners(want)
	tooMany, plain, err := s.judge(ctx, client, accounts)
	if err != nil {
		return nil, err
	}
	if owner == "" && len(plain) == 1 {
		owner = plain[0]
	}
	firstView := want.Views[:min(1, len(want.Views))]
	var findings []migrate.Finding
	for _, account := range accounts {
		has := tooMany[account]
		if len(has) == 0 && (want.Owner == "" || account == owner) {
			continue
		}
		finding := migrate.Finding{
			Part: migrate.PartOwners, Name: "account " + account,
			Problem: fmt.Sprintf("is the owner of %d of the procedures and views", len(owned[account])),
		}
		if len(has) > 0 {
			finding.Problem += ", which may write on a server that is read only by its rights: " + strings.Join(has, ", ")
		}
		if owner != "" && owner != account {
			finding.Mend = is.giving(slices.Concat(firstView, owned[account]), owner)
		}
		finding.NeedsOwner = finding.Mend == nil
		findings = append(findings, finding)
	}
	return findings, nil
}

// judge returns each account's excessive rights, and the plain accounts, which have none.
func (s site) judge(
	ctx context.Context, client migrate.Client, accounts []string,
) (tooMany map[string][]string, plain []string, err error) {
	tooMany = map[string][]string{}
	for _, account := range accounts {
		if tooMany[account], err = s.powersOf(ctx, client, account); err != nil {
			return nil, nil, err
		}
		if len(tooMany[account]) == 0 {
			plain = append(plain, account)
		}
	}
	return tooMany, plain, nil
}

// askForOwner marks the findings about missing owners as needing a new one. A repair without a name makes this account the owner. That
// suffices if the account is plain, or if one plain owner is left, who gets everything back.
func (s site) askForOwner(
	ctx context.Context, client migrate.Client, want migrate.Installation, is present, findings []migrate.Finding,
) ([]migrate.Finding, error) {
	ofGone := func(finding migrate.Finding) bool { return finding.Part == migrate.PartOwners }
	if want.Owner != "" || !slices.ContainsFunc(findings, ofGone) {
		return findings, nil
	}
	_, plain, err := s.judge(ctx, client, is.owners(want))
	if err != nil || len(plain) == 1 {
		return findings, err
	}
	account, err := migrate.Value[string](ctx, client, "SELECT CURRENT_USER()")
	if err != nil {
		return nil, err
	}
	powers, err := s.powersOf(ctx, client, account)
	for at := range findings {
		findings[at].NeedsOwner = len(powers) > 0 && ofGone(findings[at])
	}
	return findings, err
}

// owner returns an account, NAME or NAME@HOST, as in the catalogue. It fails if the account does not exist, since some servers would accept
// it as a definer.
func (s site) owner(ctx context.Context, client migrate.Client, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	if !strings.Contains(name, "@") {
		name += "@%"
	}
	exists, err := s.isAlive(ctx, client, name)
	if err == nil && !exists {
		err = fmt.Errorf("the account %s does not exist", name)
	}
	return name, err
}

// grantsOnProcedures returns the statements that restore the grants of each procedure; none if this user may not see them.
func (s site) grantsOnProcedures(ctx context.Context, client migrate.Client) (map[string][]string, error) {
	rights, err := s.rightsOn(ctx, client, proceduresRights)
	if err != nil && !s.isDenied(ctx, err) {
		return nil, err
	}
	grants := map[string][]string{}
	for _, is := range rights {
		if !is.everybody() {
			grants[is.name] = append(grants[is.name], fmt.Sprintf("GRANT EXECUTE ON PROCEDURE %s TO %s", s.Qualify(is.name), is.account()))
		}
	}
	return grants, nil
}

// giving returns the statements that give procedures and views to an owner by recreating them. The first is a view, and before a procedure
// is dropped its present grants are repeated: an account without the right to do either fails there, while nothing is lost.
func (is present) giving(texts []*migrate.RoutineText, owner string) []string {
	var statements []string
	for _, text := range texts {
		grants := is.grants[text.Name]
		if text.Kind != migrate.KindView {
			statements = slices.Concat(statements, grants, replacing(text, is.mode, owner), grants)
			continue
		}
		for _, statement := range createView(text) {
			statements = append(statements, definedBy(owner, "SQL SECURITY", statement))
		}
	}
	return statements
}

// definedBy inserts the definer before the words of a statement, unless it is empty.
func definedBy(owner, words, statement string) string {
	if owner == "" {
		return statement
	}
	return strings.Replace(statement, words, "DEFINER = "+account(owner)+" "+words, 1)
}
