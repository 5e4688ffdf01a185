package mysql_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/testing/testclient"
)

// forcedIndex finds an index that a view's text forces.
var forcedIndex = regexp.MustCompile(`(?i) FORCE INDEX \([^)]*\)`)

// Goal: a changed view is found, in any form in which a server stores its text, and repaired. Nothing is found without a change, even in
// the view whose text forces an index. Method: one change after the other, the answer of status, and a repair.
func TestHeavyDamagedViewsAreFoundAndMended(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		handle := newPlace(t, product).SQL
		client := testclient.MySQL(t, handle)
		owner := nameOf(plainOwner(t, client, handle))
		found := func() []migrate.Finding { return findingsOf(t, client) }
		if findings := found(); len(findings) > 0 {
			t.Errorf("without damage: %+v", findings)
		}
		waiting := value(t, handle, "SELECT view_definition FROM information_schema.views WHERE table_schema = DATABASE() AND table_name = 'appl_lock_waiting'")
		noIndex := forcedIndex.ReplaceAllString(waiting, "")
		if noIndex == waiting {
			t.Fatalf("appl_lock_waiting forces no index: %s", waiting)
		}
		for _, damage := range []struct{ statement, name, problem string }{
			{"DROP VIEW appl_lock_stats", "view appl_lock_stats", "is missing"},
			{"CREATE OR REPLACE SQL SECURITY DEFINER VIEW appl_lock_policies AS SELECT * FROM appl_lock_policy WHERE object_type <> 'x'", "view appl_lock_policies", "has another text"},
			{"CREATE OR REPLACE SQL SECURITY DEFINER VIEW appl_lock_waiting AS " + noIndex, "view appl_lock_waiting", "has another text"},
			{"ALTER SQL SECURITY INVOKER VIEW appl_lock_history AS SELECT * FROM appl_lock_event", "view appl_lock_history", "rights of its reader"},
		} {
			mustQuery(t, handle, strings.Replace(damage.statement, "SQL SECURITY", "DEFINER = '"+owner+"' SQL SECURITY", 1))
			findings := found()
			if len(findings) != 1 || findings[0].Name != damage.name || !strings.Contains(findings[0].Problem, damage.problem) {
				t.Errorf("%s: %+v, want %s %s", damage.statement, findings, damage.name, damage.problem)
			}
			if _, err := migrate.Repair(t.Context(), client, migrate.RepairRequest{}); err != nil {
				t.Errorf("repair after %s: %v", damage.statement, err)
			}
			if left := found(); len(left) > 0 {
				t.Errorf("after a repair of %s: %+v", damage.statement, left)
			}
		}
	})
}
