package applock_test

import (
	"context"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
)

// announcedDriver keeps the seconds of the last wait.
type announcedDriver struct {
	db.Driver

	seconds int64
}

func (d *announcedDriver) AnnounceApplLockWaiter(_ context.Context, params db.AnnounceApplLockWaiterParams) error {
	d.seconds = params.WaitSeconds
	return nil
}

// Goal: a wait is told to the database as long as it is or a little longer, and never as one without limit, unless the
// database cannot be told so much. Method: waits around a second, none, and too much.
func TestWaitSeconds(t *testing.T) {
	t.Parallel()
	var driver announcedDriver
	announcer := clients.OfApplock.Operations(clients.New[*applock.Client](&driver, nil, lease.Hooks{})).(interface {
		Announce(ctx context.Context, object applock.Object, owner applock.Owner, clientID string, wait time.Duration) error
	})
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
		if err := announcer.Announce(t.Context(), applock.Object{}, applock.Owner{}, "", wait); driver.seconds != want || err != nil {
			t.Errorf("%s: %d, want %d, %v", wait, driver.seconds, want, err)
		}
	}
}
