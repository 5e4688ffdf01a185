package db_test

import (
	"testing"

	"github.com/applock/applock/internal/db"
)

// Goal: a caller who stops waiting for a call knows whether it was sent, and otherwise what it waited for. Method: a call that records
// nothing, and one that waits for a connection: of a pool with free ones and of one without, and then gets it.
func TestSending(t *testing.T) {
	t.Parallel()
	db.Connects(t.Context(), nil)() // nobody asks about it
	for allInUse, kind := range map[bool]db.Kind{false: db.KindUnreachable, true: db.KindPool} {
		ctx, sending := db.Tracked(t.Context())
		if why, known := sending.Unsent(); why != nil || known {
			t.Errorf("nothing is noted yet: %v, %t", why, known)
		}
		connected := db.Connects(ctx, func() bool { return allInUse })
		if why, known := sending.Unsent(); db.KindOf(why) != kind || !known {
			t.Errorf("all in use %t: %v, %t, want kind %d", allInUse, why, known, kind)
		}
		connected()
		if why, known := sending.Unsent(); why != nil || !known {
			t.Errorf("sent: %v, %t", why, known)
		}
	}
}
