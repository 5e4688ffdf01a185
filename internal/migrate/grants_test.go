package migrate_test

import (
	"slices"
	"testing"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/migrate"
)

// Goal: the advice about a missing right gives nobody a greater role. Method: each view is taken from an account of each role,
// as by DROP VIEW, and the role that the advice names is compared.
func TestALostViewRaisesNoRole(t *testing.T) {
	t.Parallel()
	for _, role := range db.Roles() {
		for _, lost := range role.Visible() {
			if lost.Name == role.Anchor() {
				continue // nothing tells the role any more
			}
			var rights []migrate.Right
			for _, routine := range migrate.Routines(role) {
				rights = append(rights, migrate.Right{Grantee: "account", Name: routine.Name})
			}
			for _, view := range role.Visible() {
				if view.Name != lost.Name {
					rights = append(rights, migrate.Right{Grantee: "account", Name: view.Name})
				}
			}
			lacks := migrate.Lacks(rights)
			if len(lacks) != 1 || lacks[0].Role != role || !slices.Equal(lacks[0].Operations, []string{lost.Name}) {
				t.Errorf("%s without %s: %+v", role, lost.Name, lacks)
			}
		}
	}
}
