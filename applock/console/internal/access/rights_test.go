package access_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
	"github.com/applock/applock/applock/console/internal/changes"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/testclient"
)

// refusing is a database whose user may not note, and which counts how often somebody tries.
type refusing struct {
	db.Driver
	asked int
	err   error
}

func (r *refusing) NoteApplLock(ctx context.Context, params db.NoteApplLockParams) (db.Result, error) {
	r.asked++
	if r.err != nil {
		return db.Result{}, r.err
	}
	return r.Driver.NoteApplLock(ctx, params)
}

// Goal: rights are asked for once a minute at most, a failure is no answer, and asking leaves nothing behind. Method: a
// driver that counts, and a clock of the test's own.
func TestRightsAreKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, rightsAreKept)
}

func rightsAreKept(t *testing.T) {
	client := testclient.Open(t, "sqlite:"+testclient.InstalledSQLite(t), "", nil)
	refused := &refusing{Driver: clients.Driver(client), err: &db.Error{Kind: db.KindPrivilege, Err: errors.New("no")}}
	r := access.NewRights(changes.Probes(clients.New[*applock.Client](refused, nil, lease.Hooks{})))
	ask := func(noteAllowed bool, asked int) {
		t.Helper()
		granted := r.Read(t.Context())
		for _, name := range access.Changes() {
			if granted[name] != (noteAllowed || name != "note") {
				t.Errorf("%s is granted: %t", name, granted[name])
			}
		}
		if refused.asked != asked {
			t.Errorf("asked %d times, want %d", refused.asked, asked)
		}
	}
	ask(false, 1)
	time.Sleep(time.Minute - 1)
	ask(false, 1)
	time.Sleep(time.Nanosecond)
	refused.err = errors.New("broken off")
	ask(true, 2) // nobody knows, and the database will say so
	refused.err = nil
	ask(true, 3)
	ask(true, 3)
	for event, err := range client.History(t.Context(), applock.HistoryRequest{}) {
		t.Errorf("the history has %+v, %v", event, err)
	}
	for lock, err := range client.List(t.Context(), applock.ListRequest{}) {
		t.Errorf("there is %+v, %v", lock, err)
	}
}
