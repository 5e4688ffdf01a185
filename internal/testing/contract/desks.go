package contract

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/applock/applock/applock"
)

// desk is the number of locks of an operator in the tests of TransferAll and ReleaseAll: more than a page, and with a longer answer than
// a dialect's text can keep.
const desk = 250

// Goal: all locks of an operator are handed over and released, in order, page by page, each lock once and with an event. Method: a dry
// run, a transfer and a release of a desk in pages, the transfer twice, and a release with a limit.
func desks(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	fillDesk(t, place.Client, "JDOE")
	mustGet(t, place.Client, customer("of somebody else"), "BROWN")
	request := applock.TransferAllRequest{
		From: "JDOE", To: applock.Owner{Operator: "ASMITH", Department: "SALES"}, Actor: "BOSS", Reason: "JDOE has left", PageSize: 120,
	}
	request.DryRun = true
	requireDesk(t, place.Client.TransferAll, request, applock.OutcomeWouldTransfer, desk)
	request.DryRun = false
	requireDesk(t, place.Client.TransferAll, request, applock.OutcomeTransferred, desk)
	requireDesk(t, place.Client.TransferAll, request, applock.OutcomeTransferred, 0)
	release := applock.ReleaseAllRequest{Operator: "ASMITH", Actor: "BOSS", Reason: "nobody does it", PageSize: 130, DryRun: true}
	requireDesk(t, place.Client.ReleaseAll, release, applock.OutcomeWouldRelease, desk)
	release.DryRun, release.After = false, customer(fmt.Sprintf("%03d", desk-11))
	release.PageSize = 3
	for _, release.Limit = range []int{4, 0} {
		want := 4
		if release.Limit == 0 {
			want = 6 // that are left
		}
		if partly, err := place.Client.ReleaseAll(t.Context(), release); err != nil || len(partly) != want {
			t.Errorf("%d released behind the last but ten, at most %d: want %d: %v", len(partly), release.Limit, want, err)
		}
	}
	release.After, release.PageSize = applock.Object{}, 130
	requireDesk(t, place.Client.ReleaseAll, release, applock.OutcomeReleased, desk-10)
	events := map[applock.EventKind]int{}
	for event, err := range place.Client.History(t.Context(), applock.HistoryRequest{Operator: "BOSS"}) {
		if err != nil {
			t.Fatal(err)
		}
		events[event.Kind]++
	}
	if events[applock.EventTransferred] != desk || events[applock.EventReleased] != desk {
		t.Errorf("events %v, want %d of each", events, desk)
	}
}

func fillDesk(t *testing.T, client *applock.Client, operator string) {
	t.Helper()
	for i := range desk {
		mustGet(t, client, customer(fmt.Sprintf("%03d", i)), operator)
	}
}

// requireDesk expects the first locks of the desk in order, each with the same outcome.
func requireDesk[R any](
	t *testing.T, change func(ctx context.Context, request R) ([]applock.LockChange, error), request R, outcome applock.Outcome, count int,
) {
	t.Helper()
	changes, err := change(t.Context(), request)
	if err != nil {
		t.Fatalf("%s: %v", outcome, err)
	}
	next := 0
	for _, change := range changes {
		if want := customer(fmt.Sprintf("%03d", next)); change.Object != want || change.Outcome != outcome || change.Fence == 0 {
			t.Fatalf("%s: row %d is %+v", outcome, next, change)
		}
		if live := outcome != applock.OutcomeReleased; live != !change.ExpiresAt.IsZero() || live != (change.Left > time.Hour) {
			t.Fatalf("%s: row %d ends %s, in %s", outcome, next, change.ExpiresAt, change.Left)
		}
		next++
	}
	if next != count {
		t.Errorf("%s: %d rows, want %d", outcome, next, count)
	}
}

// Goal: when several operators empty the same desk at once, each lock goes to one of them, whose answer says so, and no lock is left
// behind. Method: each repeats the call until nothing is left; the test counts the answers TRANSFERRED and compares them with the final
// holders.
func desksAtOnce(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	fillDesk(t, place.Client, "JDOE")
	var told atomic.Int64
	empty := func(to string) error {
		for again := true; again; {
			request := applock.TransferAllRequest{From: "JDOE", To: applock.Owner{Operator: to}, PageSize: 40}
			changes, err := place.Client.TransferAll(t.Context(), request)
			busy := errors.Is(err, applock.ErrBusy) || errors.Is(err, applock.ErrRetry)
			if err != nil && !busy {
				return err
			}
			again = busy || len(changes) > 0
			for _, change := range changes {
				if change.Outcome == applock.OutcomeTransferred {
					told.Add(1)
				}
			}
		}
		return nil
	}
	var group sync.WaitGroup
	for _, to := range []string{"ASMITH", "BROWN", "KIM"} {
		group.Go(func() {
			if err := empty(to); err != nil {
				t.Errorf("%s: %v", to, err)
			}
		})
	}
	group.Wait()
	if told.Load() != desk {
		t.Errorf("%d were told to be transferred, want %d", told.Load(), desk)
	}
	if held := countLocks(t.Context(), t, place.Client); held["JDOE"] != 0 || held["ASMITH"]+held["BROWN"]+held["KIM"] != desk {
		t.Errorf("in the end they hold %v", held)
	}
}

func countLocks(ctx context.Context, t *testing.T, client *applock.Client) map[string]int {
	t.Helper()
	held := map[string]int{}
	for lock, err := range client.List(ctx, applock.ListRequest{}) {
		if err != nil {
			t.Fatal(err)
		}
		held[lock.Owner.Operator]++
	}
	return held
}
