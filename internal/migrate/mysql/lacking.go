package mysql

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
)

// needed are the rights that the definer of procedures and views needs on the database.
func needed() []string { return []string{"SELECT", "INSERT", "UPDATE", "DELETE", "EXECUTE"} }

// given returns the rights of an account, as user and host, in a database. They are global or on the database. A right on one of its
// procedures or tables counts as one on the database.
const given = `WITH a AS (SELECT ? AS user, ? AS host, COALESCE(NULLIF(?, ''), DATABASE()) AS db)
	SELECT p.privilege_type
	FROM a JOIN information_schema.user_privileges AS p ON p.grantee = CONCAT('''', a.user, '''@''', a.host, '''')
	UNION
	SELECT p.privilege_type
	FROM a JOIN information_schema.schema_privileges AS p
		ON p.grantee = CONCAT('''', a.user, '''@''', a.host, '''') AND a.db LIKE p.table_schema
	UNION
	SELECT 'EXECUTE'
	FROM a JOIN mysql.procs_priv AS p ON p.user = a.user AND p.host = a.host AND p.db = a.db
	UNION
	SELECT n.privilege_type
	FROM a
	JOIN mysql.tables_priv AS p ON p.user = a.user AND p.host = a.host AND p.db = a.db
	CROSS JOIN (SELECT 'SELECT' AS privilege_type UNION SELECT 'INSERT' UNION SELECT 'UPDATE' UNION SELECT 'DELETE') AS n`

// inspectLacking finds definers that lack rights, for example after loading a dump into a database of another name. For a repair with a new
// owner only that owner counts. It finds none if the user may not read the database mysql.
func (s site) inspectLacking(ctx context.Context, client migrate.Client, want migrate.Installation) ([]migrate.Finding, error) {
	definers, err := s.definers(ctx, client, want)
	if err != nil {
		return nil, err
	}
	place, err := migrate.Value[string](ctx, client, "SELECT COALESCE(NULLIF(?, ''), DATABASE())", s.Schema)
	if err != nil {
		return nil, err
	}
	var findings []migrate.Finding
	for _, definer := range definers {
		lacks, err := s.lacks(ctx, client, definer)
		switch {
		case s.isDenied(ctx, err):
			return nil, nil
		case err != nil:
			return nil, err
		case len(lacks) == 0:
			continue
		}
		privileges := strings.Join(lacks, ", ")
		findings = append(findings, migrate.Finding{
			Part: migrate.PartOwners, Name: "account " + definer,
			Problem:   "lacks privileges on the database that procedures and views need, since they run with its rights: " + privileges,
			Statement: fmt.Sprintf("GRANT %s ON `%s`.* TO %s", privileges, strings.ReplaceAll(place, "`", "``"), account(definer)),
		})
	}
	return findings, nil
}

// definers returns the accounts by whose rights procedures and views run, or shall run.
func (s site) definers(ctx context.Context, client migrate.Client, want migrate.Installation) ([]string, error) {
	if want.Owner != "" {
		owner, err := s.owner(ctx, client, want.Owner)
		return []string{owner}, err
	}
	is, err := s.definitions(ctx, client)
	return slices.Sorted(maps.Keys(is.ownedBy(want))), err
}

// lacks returns which of the rights an account lacks. It is not for accounts that do not exist, which another check finds, and returns
// nothing for an account with roles.
func (s site) lacks(ctx context.Context, client migrate.Client, definer string) ([]string, error) {
	user, host := parted(definer)
	exists, err := s.isAlive(ctx, client, definer)
	if err != nil || !exists {
		return nil, err
	}
	has, err := migrate.ReadNames(ctx, client, given, user, host, s.Schema)
	if err != nil {
		return nil, err
	}
	lacks := slices.DeleteFunc(needed(), func(privilege string) bool { return has[privilege] })
	if len(lacks) == 0 {
		return nil, nil
	}
	roles, err := migrate.ReadNames(ctx, client, "SELECT default_role_user FROM mysql.default_roles WHERE user = ? AND host = ?", user, host)
	if db.KindOf(s.Interpret(ctx, err)) == db.KindSchema { // MariaDB, where no role is active in a procedure
		return lacks, nil
	}
	if err != nil || len(roles) > 0 {
		return nil, err
	}
	return lacks, nil
}
