package applock_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
)

// Goal: who may not do something is told the grant that allows it, and nothing where that is not known. Method: what servers say.
func TestPrivilegeNamesTheGrant(t *testing.T) {
	t.Parallel()
	for said, grant := range map[string]string{
		"ERROR: permission denied for function get_appl_lock_row (SQLSTATE 42501)":                          "applockctl grant --to NAME --as operator",
		"ERROR: permission denied for view appl_lock_stats (SQLSTATE 42501)":                                "applockctl grant --to NAME --as auditor",
		"Error 1370 (42000): execute command denied to user 'u'@'%' for routine 'd.transfer_appl_lock_row'": "applockctl grant --to NAME --as supervisor",
		"Error 1370 (42000): execute command denied to user 'u'@'%' for routine 'd.set_appl_lock_policy'":   "applockctl grant --to NAME --as administrator",
		"Error 1142 (42000): SELECT command denied to user 'u'@'h' for table `d`.`appl_lock_live`":          "applockctl grant --to NAME --as auditor",
		"ERROR: permission denied for table appl_lock_goose (SQLSTATE 42501)":                               "",
		"ERROR: permission denied for database \"crm\" (SQLSTATE 42501)":                                    "",
	} {
		err := clients.Explain(&db.Error{Kind: db.KindPrivilege, Err: errors.New(said)})
		if !errors.Is(err, applock.ErrPrivilege) || !strings.HasSuffix(err.Error(), said) {
			t.Errorf("%s becomes %v", said, err)
		}
		if told := strings.Contains(err.Error(), "applockctl grant"); told != (grant != "") || !strings.Contains(err.Error(), grant) {
			t.Errorf("%s becomes %v, want %q in it", said, err, grant)
		}
	}
}
