package applock_test

import (
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
)

// Goal: the words and numbers that this package writes out, for readers, are those of the drivers. Method: compare each.
func TestWordsAreThoseOfTheDrivers(t *testing.T) {
	t.Parallel()
	for ours, theirs := range map[applock.Outcome]db.Outcome{
		applock.OutcomeAcquired:      db.Acquired,
		applock.OutcomeRenewed:       db.Renewed,
		applock.OutcomeTransferred:   db.Transferred,
		applock.OutcomeTaken:         db.Taken,
		applock.OutcomeReleased:      db.Released,
		applock.OutcomeFree:          db.Free,
		applock.OutcomeHeld:          db.Held,
		applock.OutcomeNoted:         db.Noted,
		applock.OutcomeFull:          db.Full,
		applock.OutcomeBusy:          db.Busy,
		applock.OutcomeWouldTransfer: db.WouldTransfer,
		applock.OutcomeWouldRelease:  db.WouldRelease,
	} {
		if string(ours) != theirs {
			t.Errorf("%q, and the drivers say %q", ours, theirs)
		}
	}
	for ours, theirs := range map[applock.ListOrder]db.LiveOrder{
		applock.ByObject:   db.LiveByKey,
		applock.ByTimeLeft: db.LiveEndsSoonest,
		applock.ByAge:      db.LiveOldest,
		applock.ByWaiters:  db.LiveWaitedFor,
	} {
		if string(ours) != string(theirs) {
			t.Errorf("%q, and the drivers say %q", ours, theirs)
		}
	}
	if applock.ContractVersion != db.ContractVersion {
		t.Errorf("contract %d, and the drivers' is %d", applock.ContractVersion, db.ContractVersion)
	}
}
