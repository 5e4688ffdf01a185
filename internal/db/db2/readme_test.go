package db2_test

import (
	"strings"
	"testing"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/testfile"
)

// Goal: docs/grants/db2.sql grants each routine, and to the right roles. Method: compare the statements with the contract.
func TestReadmeGrantsEqualContract(t *testing.T) {
	t.Parallel()
	grants := testfile.Read(t, "../../../docs/grants/db2.sql")
	roles := map[string]string{
		"transfer_appl_lock": "supervisor", "take_appl_lock": "supervisor", "transfer_appl_locks": "supervisor", "release_appl_locks": "supervisor",
		"purge_appl_locks": "janitor", "purge_appl_lock_history": "administrator",
		"set_appl_lock_policy": "administrator", "drop_appl_lock_policy": "administrator",
	}
	for _, operation := range db.Contract() {
		role := "operator"
		if other := roles[operation.Name]; other != "" {
			role = other
		}
		kind := "PROCEDURE"
		if operation.Version {
			kind = "FUNCTION"
		}
		for _, name := range []string{operation.Name, operation.RowForm()} {
			grant := "GRANT EXECUTE ON " + kind + " applock." + name + " TO ROLE applock_" + role + ";\n"
			if !strings.Contains(grants, grant) {
				t.Errorf("docs/grants/db2.sql lacks %s", grant)
			}
		}
	}
}
