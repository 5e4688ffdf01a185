package db_test

import (
	"testing"

	"github.com/applock/applock/internal/db"
)

// Goal: who gives up on a call knows whether it has been sent, and what it waits for otherwise. Method: a call that notes nothing, and one that waits
// for a connection, of a pool that has some left and of one that has not, and has it then.
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
