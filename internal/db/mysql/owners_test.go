package mysql_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// nameOf returns the name of an account that a test has made.
func nameOf(as func(config *driver.Config)) string {
	var config driver.Config
	as(&config)
	return config.User
}

// plainOwner gives an installation to an account that has what docs/grants.md names, and returns how to connect as it.
func plainOwner(t *testing.T, client *applock.Client, root *sql.DB) func(config *driver.Config) {
	t.Helper()
	as := account(t, root, "dba")
	repaired, err := migrate.Repair(t.Context(), client, migrate.RepairRequest{Owner: nameOf(as)})
	if err != nil || len(repaired.Left) > 0 {
		t.Fatalf("repair for a plain owner: %+v, %v", repaired, err)
	}
	return as
}

func findingsOf(t *testing.T, client *applock.Client) []migrate.Finding {
	t.Helper()
	status, err := migrate.Status(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	return status.Findings
}

// checkOwner fails the test unless the only finding is an account with these rights.
func checkOwner(t *testing.T, client *applock.Client, what, name string, rights ...string) {
	t.Helper()
	findings := findingsOf(t, client)
	if len(rights) == 0 {
		if len(findings) > 0 {
			t.Errorf("%s: %+v", what, findings)
		}
		return
	}
	if len(findings) != 1 {
		t.Fatalf("%s: %+v, want one finding", what, findings)
	}
	is := findings[0]
	if is.Part != migrate.PartOwners || is.Name != "account "+name+"@%" || !is.NeedsOwner || is.Repairable {
		t.Errorf("%s: %+v, want the owner", what, is)
	}
	for _, right := range rights {
		if !strings.Contains(is.Problem, "may write on a server that is read only by its rights: ") || !strings.Contains(is.Problem, right) {
			t.Errorf("%s: %s, want %s", what, is.Problem, right)
		}
	}
}

// Goal: an owner by whose rights procedures write on a server that is read only is found, with the right, and a plain one is none; who
// may not see that is not told so. Method: an installation of root, what a repair gives to a plain account, and each right granted to
// that account.
func TestOwnersWithTooManyRightsAreFound(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := newPlace(t, product)
		client := testclient.MySQL(t, place.SQL)
		powers := map[string][]string{
			"mariadb": {"SUPER", "READ_ONLY ADMIN", "CONNECTION ADMIN"},
			"mysql":   {"SUPER", "CONNECTION_ADMIN", "SYSTEM_VARIABLES_ADMIN"},
		}[product]
		checkOwner(t, client, "installed by root", "root", powers...)
		reader := testdb.OpenMySQL(t, place.DSN, account(t, place.SQL, "dba"))
		checkOwner(t, testclient.MySQL(t, reader), "who may not see it", "")

		name := nameOf(plainOwner(t, client, place.SQL))
		checkOwner(t, client, "a plain owner", name)
		requireWorking(t, client, place.SQL, "")
		for _, power := range powers {
			mustQuery(t, place.SQL, fmt.Sprintf("GRANT %s ON *.* TO '%s'", power, name))
			checkOwner(t, client, power, name, power)
			mustQuery(t, place.SQL, fmt.Sprintf("REVOKE %s ON *.* FROM '%s'", power, name))
			checkOwner(t, client, power+" revoked", name)
		}
		mustQuery(t, place.SQL, "GRANT ALL PRIVILEGES ON *.* TO '"+name+"'")
		checkOwner(t, client, "all privileges", name, powers...)
	})
}

// Goal: a right that the owner has by a role counts where the role is active in its procedures: a default role, and the roles of that.
// Method: roles of roles on MySQL; on MariaDB procedures have no role of their owner.
func TestHeavyOwnersWithRolesAreFound(t *testing.T) {
	t.Parallel()
	place := newPlace(t, "mysql")
	client := testclient.MySQL(t, place.SQL)
	name := nameOf(plainOwner(t, client, place.SQL))
	inner, outer := nameOf(account(t, place.SQL)), nameOf(account(t, place.SQL)) // an account serves as a role
	for _, statement := range []string{
		"GRANT CONNECTION_ADMIN ON *.* TO '" + inner + "'", "GRANT '" + inner + "' TO '" + outer + "'", "GRANT '" + outer + "' TO '" + name + "'",
	} {
		mustQuery(t, place.SQL, statement)
	}
	checkOwner(t, client, "a role that is not active", name)
	mustQuery(t, place.SQL, "SET DEFAULT ROLE '"+outer+"' TO '"+name+"'")
	checkOwner(t, client, "a default role", name, "CONNECTION_ADMIN by the role "+inner)
	mustQuery(t, place.SQL, "REVOKE '"+inner+"' FROM '"+outer+"'")
	checkOwner(t, client, "the role of the role revoked", name)
}

// Goal: a new owner changes nothing for callers. Method: an operator, who gets an object before and after.
func TestNewOwnerKeepsGrants(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := newPlace(t, product)
		operator := testdb.OpenMySQL(t, place.DSN, account(t, place.SQL, "operator"))
		for _, outcome := range []applock.Outcome{applock.OutcomeAcquired, applock.OutcomeRenewed} {
			got, err := testclient.MySQL(t, operator).Get(t.Context(), applock.GetRequest{
				Object: applock.Object{Type: "customer", ID: "42"}, Owner: applock.Owner{Operator: "JDOE"},
			})
			if err != nil || got.Outcome != outcome {
				t.Errorf("%v, %v, want %s", got, err, outcome)
			}
			plainOwner(t, testclient.MySQL(t, place.SQL), place.SQL)
		}
	})
}

// Goal: a repair gives nothing to an account that is not there, loses no procedure where it may not give them away, and leaves what root
// makes anew to the plain owner. Method: an unknown account, an account without the right, and a procedure that is gone.
func TestRepairKeepsThePlainOwner(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := newPlace(t, product)
		client := testclient.MySQL(t, place.SQL)
		as := plainOwner(t, client, place.SQL)
		_, err := migrate.Repair(t.Context(), client, migrate.RepairRequest{Owner: "nobody_" + nameOf(as)})
		if err == nil || !strings.Contains(err.Error(), "does not exist") {
			t.Errorf("an unknown owner: %v", err)
		}
		plain := testclient.MySQL(t, testdb.OpenMySQL(t, place.DSN, as))
		if _, err := migrate.Repair(t.Context(), plain, migrate.RepairRequest{Owner: "root@%"}); err == nil {
			t.Error("a plain account has given its procedures away")
		}
		checkOwner(t, client, "nothing is lost", nameOf(as))
		mustQuery(t, place.SQL, "DROP PROCEDURE get_appl_lock_core")
		repaired, err := migrate.Repair(t.Context(), client, migrate.RepairRequest{})
		if err != nil || len(repaired.Left) > 0 {
			t.Errorf("a repair by root: %+v, %v", repaired, err)
		}
		others := value(t, place.SQL, `SELECT COUNT(*) FROM information_schema.routines
			WHERE routine_schema = DATABASE() AND definer <> '`+nameOf(as)+`@%'`)
		if others != "0" {
			t.Errorf("%s procedures have another owner", others)
		}
	})
}
