package applock_test

import (
	"testing"
	"time"

	"github.com/applock/applock/applock"
)

// Goal: a wait is told to the database as long as it is or a little longer, and never as one without limit, unless the
// database cannot be told so much. Method: waits around a second, none, and too much.
func TestWaitSeconds(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]int64{
		0:                             0,
		-time.Second:                  1,
		time.Nanosecond:               1,
		time.Second:                   1,
		time.Second + time.Nanosecond: 2,
		90 * time.Second:              90,
		applock.MaxTTL:                315360000,
		applock.MaxTTL + 1:            0,
		time.Duration(1<<63 - 1):      0,
	} {
		if got := applock.WaitSeconds(wait); got != want {
			t.Errorf("%s: %d, want %d", wait, got, want)
		}
	}
}
