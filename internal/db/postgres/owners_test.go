package postgres_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/testing/testclient"
)

// giveToOwner gives an installation to a role without rights of its own, whose everything goes back when the test ends.
func giveToOwner(t *testing.T, pool *pgxpool.Pool, client *applock.Client) string {
	t.Helper()
	name := "applock_test_owner" + strings.TrimPrefix(pool.Config().ConnConfig.Database, "applock_test")
	call(t, pool, "CREATE ROLE "+name)
	t.Cleanup(func() {
		if _, err := pool.Exec(context.Background(), "REASSIGN OWNED BY "+name+" TO CURRENT_USER; DROP ROLE "+name); err != nil {
			t.Error(err)
		}
	})
	repaired, err := migrate.Repair(t.Context(), client, migrate.RepairRequest{Owner: name})
	if err != nil || len(repaired.Repaired) == 0 || len(repaired.Left) > 0 {
		t.Fatalf("repair for a plain owner: %+v, %v", repaired, err)
	}
	return name
}

// checkOwner fails the test unless the only finding is a superuser of this name, or there is none where that is empty.
func checkOwner(t *testing.T, client *applock.Client, what, superuser string) {
	t.Helper()
	status, err := migrate.Status(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	if superuser == "" {
		if len(status.Findings) > 0 {
			t.Errorf("%s: %+v", what, status.Findings)
		}
		return
	}
	if len(status.Findings) != 1 {
		t.Fatalf("%s: %+v, want one finding", what, status.Findings)
	}
	is := status.Findings[0]
	if is.Part != migrate.PartOwners || is.Name != "role "+superuser || !strings.HasPrefix(is.Problem, "is a superuser, and owns ") ||
		!is.NeedsOwner || is.Repairable {
		t.Errorf("%s: %+v, want the owner", what, is)
	}
}

// Goal: a superuser whose rights the routines have is found, and a plain owner is none; a repair gives everything to one, and keeps it
// there. Method: an installation of a superuser, one of a plain role, that role made a superuser; an unknown role; a routine that a
// superuser has replaced.
func TestSuperusersAreFound(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	pool := newPool(t, place.DSN)
	client := testclient.Postgres(t, pool)
	root := pool.Config().ConnConfig.User
	checkOwner(t, client, "installed by a superuser", root)
	_, err := migrate.Repair(t.Context(), client, migrate.RepairRequest{Owner: "nobody_at_all"})
	if err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("an unknown owner: %v", err)
	}
	plain := giveToOwner(t, pool, client)
	checkOwner(t, client, "a plain owner", "")
	var others int
	row := pool.QueryRow(t.Context(), `SELECT
		(SELECT count(*) FROM pg_class WHERE relnamespace = 'applock'::regnamespace AND pg_get_userbyid(relowner) <> $1)
		+ (SELECT count(*) FROM pg_proc WHERE pronamespace = 'applock'::regnamespace AND pg_get_userbyid(proowner) <> $1)
		+ (SELECT count(*) FROM pg_namespace WHERE nspname = 'applock' AND pg_get_userbyid(nspowner) <> $1)`, plain)
	if err := row.Scan(&others); err != nil || others > 0 {
		t.Errorf("%d things have another owner, %v", others, err)
	}
	for _, sql := range []string{"ALTER ROLE " + plain + " SUPERUSER", "ALTER ROLE " + plain + " NOSUPERUSER"} {
		call(t, pool, sql)
		checkOwner(t, client, sql, map[bool]string{true: plain}[strings.HasSuffix(sql, " SUPERUSER")])
	}
	call(t, pool, "DROP FUNCTION applock.renew_appl_locks")
	repaired, err := migrate.Repair(t.Context(), client, migrate.RepairRequest{})
	if err != nil || len(repaired.Repaired) == 0 || len(repaired.Left) > 0 {
		t.Errorf("a repair by a superuser: %+v, %v", repaired, err)
	}
	checkOwner(t, client, "a repair by a superuser", "")

	call(t, pool, `CREATE FUNCTION applock."Wrapper"(p_id text, OUT p_fl text) LANGUAGE sql SECURITY DEFINER AS 'SELECT 1::text'`)
	repaired, err = migrate.Repair(t.Context(), client, migrate.RepairRequest{})
	if err != nil || len(repaired.Repaired) > 0 || len(repaired.Left) != 1 || repaired.Left[0].Name != "role "+root {
		t.Fatalf("a superuser's own routine: %+v, %v", repaired, err)
	}
	call(t, pool, repaired.Left[0].Statement)
	checkOwner(t, client, "a superuser's own routine, given away", "")
}
