package applock_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
)

// stuckDriver never ends its connections.
type stuckDriver struct{ db.Driver }

func (d stuckDriver) Close() error {
	time.Sleep(time.Hour)
	return nil
}

// Goal: Close of a client returns in time when a server does not answer, and says so. Method: connections that take an hour
// to end.
func TestClientCloseHasALimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := clients.New[*applock.Client](stuckDriver{}, nil, lease.Hooks{})
		began := time.Now()
		err := client.Close()
		if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "its connections are still being closed") || took > 6*time.Second {
			t.Errorf("closed after %s with %v, want 5 s and a word of it", took, err)
		}
		time.Sleep(time.Hour) // the connections end
	})
}
