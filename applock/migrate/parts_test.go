package migrate_test

import (
	"testing"

	"github.com/applock/applock/applock/migrate"
	internal "github.com/applock/applock/internal/migrate"
)

// Goal: the parts that this package writes out, for readers, are those that the findings name. Method: compare each.
func TestPartsAreThoseOfTheFindings(t *testing.T) {
	t.Parallel()
	for ours, theirs := range map[migrate.Part]internal.Part{
		migrate.PartSteps:    internal.PartSteps,
		migrate.PartTables:   internal.PartTables,
		migrate.PartRoutines: internal.PartRoutines,
		migrate.PartViews:    internal.PartViews,
		migrate.PartOwners:   internal.PartOwners,
		migrate.PartRights:   internal.PartRights,
	} {
		if string(ours) != string(theirs) {
			t.Errorf("%q, and the findings say %q", ours, theirs)
		}
	}
}
