package lease_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/internal/fakebackend"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite"
)

// awayAtFirst is a database that cannot be reached by the first call of get.
type awayAtFirst struct {
	db.Driver
	calls atomic.Int64
}

func (d *awayAtFirst) GetApplLock(ctx context.Context, params db.GetApplLockParams) (db.Result, error) {
	if d.calls.Add(1) == 1 {
		return db.Result{}, &db.Error{Kind: db.KindUnreachable, Err: errors.New("connection refused")}
	}
	return d.Driver.GetApplLock(ctx, params)
}

// Goal: a get that has time waits through an outage, as MaxWait promises. Method: the first call finds no database.
func TestGetWaitsThroughAnOutage(t *testing.T) {
	t.Parallel()
	driver, err := sqlite.Open("sqlite:" + filepath.Join(t.TempDir(), "away.db"))
	if err != nil {
		t.Fatal(err)
	}
	away := &awayAtFirst{Driver: driver}
	client := clients.New[*applock.Client](away, nil, lease.Hooks{})
	t.Cleanup(func() { _ = client.Close() })
	if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	request := applock.GetRequest{Object: applock.Object{Type: "job", ID: "nightly"}, Owner: applock.Owner{Operator: "JDOE"}}
	request.MaxWait = time.Minute
	if grant, err := client.Get(t.Context(), request); err != nil || grant.Outcome != applock.OutcomeAcquired {
		t.Errorf("get with a wait: %v, %v, want it to be acquired once the database is back", grant.Outcome, err)
	}
	if calls := away.calls.Load(); calls < 2 {
		t.Errorf("%d calls, want another one after the outage", calls)
	}
}

// Goal: a wait that ends in an outage of the polls tells the holder that an attempt has found since, and before that why the polls fail, as
// ErrUnreachable where the error says no more. Method: another program's lock, and a backend that answers no poll; the attempt comes after
// half a minute.
func TestOutageOfThePollsIsTold(t *testing.T) {
	t.Parallel()
	for cause, unreachable := range map[error]bool{applock.ErrUnreachable: true, errors.New("odd"): true, applock.ErrPrivilege: false, applock.ErrSchema: false} {
		for _, wait := range []time.Duration{10 * time.Second, time.Minute} {
			backend := fakebackend.New()
			backend.Fault = func(_ context.Context, call fakebackend.Call) fakebackend.Fault {
				if call.Operation == fakebackend.Poll {
					return fakebackend.Fault{Refuse: cause}
				}
				return fakebackend.Fault{}
			}
			play(t, fakebackend.Polled{Backend: backend}, func(t *testing.T, leases *lease.Leases) {
				backend.Hold(nightly, applock.Owner{Operator: "JDOE"}, time.Hour)
				ctx, cancel := context.WithTimeout(t.Context(), wait)
				defer cancel()
				_, err := leases.Acquire(ctx, within(time.Hour))
				var held *applock.HeldError
				if found := errors.As(err, &held) && held.Holder.Owner.Operator == "JDOE"; found != (wait == time.Minute) {
					t.Errorf("%s without polls: %v; that JDOE holds it is told: %t", wait, err, found)
				}
				if held == nil && (!errors.Is(err, cause) || errors.Is(err, applock.ErrUnreachable) != unreachable || strings.Count(err.Error(), cause.Error()) != 1) {
					t.Errorf("%s without polls, which fail with %q: %v", wait, cause, err)
				}
			})
		}
	}
}
