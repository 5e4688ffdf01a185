package postgres_test

import (
	"strings"
	"testing"

	"github.com/applock/applock/internal/testing/testfile"
)

// Goal: the try-out of docker-compose.yml shows locks, a note and a request, also when it is started again. Method: its SQL, twice.
func TestSQLOfTheTryOut(t *testing.T) {
	t.Parallel()
	pool := migratedPool(t)
	text := testfile.Read(t, "../../../docs/console/try.sql")
	for range 2 {
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "--") {
				call(t, pool, line)
			}
		}
	}
	if count := counted(t, pool, "SELECT count(*) FROM applock.appl_lock_live"); count != 6 {
		t.Errorf("%d locks are live, want 6", count)
	}
	if count := counted(t, pool, "SELECT count(*) FROM applock.appl_lock_asking"); count != 1 {
		t.Errorf("%d ask, want 1", count)
	}
}
