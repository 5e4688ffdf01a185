package mysql

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pressly/goose/v3/database"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
)

// powers are the rights with which an account writes on a server that is read only, or ends that; ALL PRIVILEGES has them, too.
const powers = `('SUPER', 'CONNECTION_ADMIN', 'READ_ONLY_ADMIN', 'SYSTEM_VARIABLES_ADMIN', 'CONNECTION ADMIN', 'READ_ONLY ADMIN')`

// ownPowers asks for those that an account was granted itself. Who may not read the database mysql sees nobody's but its own.
const ownPowers = `SELECT privilege_type FROM information_schema.user_privileges
	WHERE grantee = CONCAT('''', ?, '''@''', ?, '''') AND privilege_type IN ` + powers

// rolePowers asks for those that it has by a role that is active where its procedures run: a default role, also a mandatory one, and the
// roles of that. Others are not active there, whatever activate_all_roles_on_login says. On MariaDB no role is.
const rolePowers = `WITH RECURSIVE active (user, host) AS (
		SELECT default_role_user, default_role_host FROM mysql.default_roles WHERE user = ? AND host = ?
		UNION
		SELECT edge.from_user, edge.from_host FROM active JOIN mysql.role_edges AS edge
		WHERE edge.to_user = active.user AND edge.to_host = active.host
	)
	SELECT DISTINCT CONCAT(p.privilege_type, ' by the role ', active.user)
	FROM active JOIN information_schema.user_privileges AS p
	WHERE p.grantee = CONCAT('''', active.user, '''@''', active.host, '''') AND p.privilege_type IN ` + powers

// powersOf returns what an account has that is too much, as far as this user may know.
func (s site) powersOf(ctx context.Context, client database.DBTxConn, account string) ([]string, error) {
	user, host := parted(account)
	found, err := migrate.ReadNames(ctx, client, ownPowers, user, host)
	if err != nil {
		return nil, err
	}
	var version string
	if err := client.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
		return nil, err
	}
	if !strings.Contains(version, "MariaDB") {
		byRole, err := migrate.ReadNames(ctx, client, rolePowers, user, host)
		if err != nil && db.KindOf(s.Interpret(ctx, err)) != db.KindPrivilege {
			return nil, err
		}
		maps.Copy(found, byRole)
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// definers are the procedures and views that are there, with the accounts whose rights they have.
type definers struct {
	procedures, views map[string]installed
	alive             map[string]bool
	mode              string
}

// ownedBy returns what each account that exists has given its rights to, the views first.
func (d definers) ownedBy(want migrate.Installation) map[string][]*migrate.RoutineText {
	owned := map[string][]*migrate.RoutineText{}
	for _, text := range slices.Concat(want.Views, want.Routines) {
		if account := cmp.Or(d.views[text.Name].definer, d.procedures[text.Name].definer); d.alive[account] {
			owned[account] = append(owned[account], text)
		}
	}
	return owned
}

// inspectOwners finds the accounts whose rights procedures and views have and that have too many, and those that want.Owner shall
// replace. Without want.Owner the one plain account takes the others' place, if there is one.
func (s site) inspectOwners(
	ctx context.Context, client database.DBTxConn, want migrate.Installation, is definers,
) ([]migrate.Finding, error) {
	owner, err := s.owner(ctx, client, want.Owner)
	if err != nil {
		return nil, err
	}
	owned := is.ownedBy(want)
	accounts := slices.Sorted(maps.Keys(owned))
	tooMany, plain, err := s.judge(ctx, client, accounts)
	if err != nil {
		return nil, err
	}
	if owner == "" && len(plain) == 1 {
		owner = plain[0]
	}
	present := gift{owner: owner, mode: is.mode, first: want.Views[:min(1, len(want.Views))]}
	if present.grants, err = s.grantsOnProcedures(ctx, client); err != nil {
		return nil, err
	}
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
			finding.Mend = present.of(owned[account])
		}
		finding.NeedsOwner = finding.Mend == nil
		findings = append(findings, finding)
	}
	return findings, nil
}

// judge returns what each account has that is too much, and the plain accounts, which have nothing of that.
func (s site) judge(
	ctx context.Context, client database.DBTxConn, accounts []string,
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

// askForOwner returns the findings, where those about an owner that is gone need a new one. A repair without a name makes this account the owner
// instead. That is enough where the account is plain, or one plain owner is left, who gets everything back.
func (s site) askForOwner(
	ctx context.Context, client database.DBTxConn, want migrate.Installation, is definers, findings []migrate.Finding,
) ([]migrate.Finding, error) {
	ofGone := func(finding migrate.Finding) bool { return finding.Part == migrate.PartOwners }
	if want.Owner != "" || !slices.ContainsFunc(findings, ofGone) {
		return findings, nil
	}
	_, plain, err := s.judge(ctx, client, slices.Sorted(maps.Keys(is.ownedBy(want))))
	if err != nil || len(plain) == 1 {
		return findings, err
	}
	var account string
	if err := client.QueryRowContext(ctx, "SELECT CURRENT_USER()").Scan(&account); err != nil {
		return nil, err
	}
	powers, err := s.powersOf(ctx, client, account)
	for at := range findings {
		findings[at].NeedsOwner = len(powers) > 0 && ofGone(findings[at])
	}
	return findings, err
}

// owner returns an account, NAME or NAME@HOST, as the catalogue has it. One that does not exist is an error: some servers would take it
// for a definer.
func (s site) owner(ctx context.Context, client database.DBTxConn, name string) (string, error) {
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

// grantsOnProcedures returns the statements that grant what is granted, by procedure; none where this user may not know that.
func (s site) grantsOnProcedures(ctx context.Context, client database.DBTxConn) (map[string][]string, error) {
	rights, err := s.rightsOn(ctx, client, `SELECT Routine_name, User, Host, 'EXECUTE', FALSE FROM mysql.procs_priv
		WHERE Db = COALESCE(NULLIF(?, ''), DATABASE()) AND Routine_type = 'PROCEDURE' AND FIND_IN_SET('Execute', Proc_priv) > 0`)
	if err != nil && db.KindOf(s.Interpret(ctx, err)) != db.KindPrivilege {
		return nil, err
	}
	grants := map[string][]string{}
	for _, is := range rights {
		if !is.everybody() {
			grants[is.name] = append(grants[is.name], fmt.Sprintf("GRANT EXECUTE ON PROCEDURE %s TO %s", s.qualify(is.name), is.account()))
		}
	}
	return grants, nil
}

// gift is how texts get another owner: they are made anew.
type gift struct {
	owner, mode string
	// first is a view to begin with, and grants are lost with a procedure.
	first  []*migrate.RoutineText
	grants map[string][]string
}

// of returns the statements. Before a procedure is dropped come a view and its grants as they are: who may not give anything away, or not
// grant it again, fails there.
func (g gift) of(texts []*migrate.RoutineText) []string {
	var statements []string
	for _, text := range slices.Concat(g.first, texts) {
		grants := g.grants[text.Name]
		if text.Kind != migrate.KindView {
			statements = slices.Concat(statements, grants, replacing(text, g.mode, g.owner), grants)
			continue
		}
		for _, statement := range createView(text) {
			statements = append(statements, definedBy(g.owner, "SQL SECURITY", statement))
		}
	}
	return statements
}

// definedBy names the owner in a statement, before these words, unless it is empty.
func definedBy(owner, words, statement string) string {
	if owner == "" {
		return statement
	}
	return strings.Replace(statement, words, "DEFINER = "+account(owner)+" "+words, 1)
}
