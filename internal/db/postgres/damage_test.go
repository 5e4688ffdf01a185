package postgres_test

import (
	"strings"
	"testing"

	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/testing/testclient"
)

// Goal: a changed view is found, in any form in which a version of the server stores its text, and repaired. Nothing is found without a
// change. Method: one change after the other, the answer of status, and a repair.
func TestHeavyDamagedViewsAreFoundAndMended(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	pool := newPool(t, place.DSN)
	client := testclient.Postgres(t, pool)
	found := func() []migrate.Finding {
		t.Helper()
		status, err := migrate.Status(t.Context(), client)
		if err != nil {
			t.Fatal(err)
		}
		return status.Findings
	}
	giveToOwner(t, pool, client)
	user := roleWithGrants(t, pool, "nobody")
	for _, damage := range []struct{ statement, name, problem string }{
		{"SELECT 1", "", ""},
		{"DROP VIEW applock.appl_lock_stats", "view appl_lock_stats", "is missing"},
		{"CREATE OR REPLACE VIEW applock.appl_lock_policies AS SELECT * FROM applock.appl_lock_policy WHERE object_type <> 'x'", "view appl_lock_policies", "has another text"},
		{"ALTER VIEW applock.appl_lock_live SET (security_barrier = true)", "view appl_lock_live", "other options"},
		{"GRANT SELECT ON applock.appl_lock_history TO PUBLIC", "view appl_lock_history", "by everybody"},
		{"ALTER VIEW applock.appl_lock_waiting OWNER TO " + user, "view appl_lock_waiting", "belongs to"},
		{"ALTER VIEW applock.appl_lock_policies RENAME COLUMN history_level TO level", "view appl_lock_policies", "history_level"},
	} {
		call(t, pool, damage.statement)
		findings := found()
		if damage.name == "" {
			if len(findings) > 0 {
				t.Errorf("without damage: %+v", findings)
			}
			continue
		}
		if len(findings) == 0 || findings[0].Name != damage.name || !strings.Contains(findings[0].Problem, damage.problem) {
			t.Errorf("%s: %+v, want %s %s", damage.statement, findings, damage.name, damage.problem)
		}
		if _, err := migrate.Repair(t.Context(), client, migrate.RepairRequest{}); err != nil {
			t.Errorf("repair after %s: %v", damage.statement, err)
		}
		if left := found(); len(left) > 0 {
			t.Errorf("after a repair of %s: %+v", damage.statement, left)
		}
	}
}

// Goal: a right to change a table by way of a view is found. Method: such a right, which is for people to decide on.
func TestWritersThroughViewsAreFound(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	pool := newPool(t, place.DSN)
	giveToOwner(t, pool, testclient.Postgres(t, pool))
	user := roleWithGrants(t, pool, "nobody")
	call(t, pool, "GRANT DELETE ON applock.appl_lock_live TO "+user)
	defer call(t, pool, "REVOKE ALL ON applock.appl_lock_live FROM "+user)
	status, err := migrate.Status(t.Context(), testclient.Postgres(t, pool))
	if err != nil || len(status.Findings) != 1 || status.Findings[0].Name != "view appl_lock_live" {
		t.Errorf("%+v, %v, want the view", status.Findings, err)
	}
}
