package contract

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
)

const (
	// openVariable is the number of seconds for which one of many transactions stays open. The others stay open for up to longest.
	openVariable = "APPLOCK_INBOX_SECONDS"
	longest      = 60 * time.Millisecond
)

// victim is the operator of the inbox, boss the operator who takes the victim's locks.
const victim, boss = "JDOE", "BOSS"

// Goal: an inbox shows each event at least once, also an event whose transaction commits after a later one was read, and its position
// never goes back. Method: one transaction that is open while another commits; many at once, each open for up to 60 ms, and one that make
// test-inbox keeps open for ten minutes; the bound where a dialect has one.
func positions(t *testing.T, backend Backend) {
	t.Run("OpenTransaction", func(t *testing.T) { openTransaction(t, backend) })
	t.Run("ManyTransactions", func(t *testing.T) { manyTransactions(t, backend) })
	t.Run("Bound", func(t *testing.T) { positionBound(t, backend) })
}

// reader reads an inbox as the contract says. For comparison it also reads on after the last event that it has seen.
type reader struct {
	place       Place
	after, last int64
	told        map[int64]int
	naive       map[int64]bool
}

func newReader(place Place) *reader {
	return &reader{place: place, told: map[int64]int{}, naive: map[int64]bool{}}
}

// read makes one call of each kind.
func (r *reader) read(ctx context.Context) error {
	rows, err := r.call(ctx, r.after)
	if err != nil {
		return err
	}
	for _, row := range rows {
		r.told[row.EventID]++
		switch {
		case row.SafeEventID != rows[0].SafeEventID:
			return fmt.Errorf("safe_event_id is %d and %d in one answer", rows[0].SafeEventID, row.SafeEventID)
		case row.SafeEventID < r.after:
			return fmt.Errorf("safe_event_id %d after %d", row.SafeEventID, r.after)
		case row.EventID != 0 && row.EventID <= r.after:
			return fmt.Errorf("event %d after %d", row.EventID, r.after)
		}
	}
	if len(rows) > 0 {
		r.after = rows[0].SafeEventID
	}
	rows, err = r.call(ctx, r.last)
	for _, row := range rows {
		r.naive[row.EventID] = true
		r.last = max(r.last, row.EventID)
	}
	return err
}

func (r *reader) call(ctx context.Context, after int64) ([]db.Notice, error) {
	const all = 10_000
	rows, err := r.place.Driver.InboxApplLocks(ctx, db.InboxApplLocksParams{OperatorID: victim, AfterEventID: after, MaxRows: all})
	return slices.DeleteFunc(rows, func(row db.Notice) bool { return row.Kind != "TAKEN" }), err
}

// take takes an object for the boss in a transaction, and commits it after a pause.
func take(ctx context.Context, place Place, object applock.Object, pause func()) error {
	tx, err := place.SQL.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // committed ones say so
	_, err = place.Client.WithSQLTx(tx).Take(ctx, applock.TakeRequest{Object: object, Owner: applock.Owner{Operator: boss}, Reason: "urgent"})
	if err != nil {
		return err
	}
	pause()
	return tx.Commit()
}

func openTransaction(t *testing.T, backend Backend) {
	t.Parallel()
	if backend.OneWriter {
		return // with one writer none commits while it is open
	}
	place := backend.New(t)
	reads := newReader(place)
	for _, id := range []string{"early", "late", "last"} {
		mustGet(t, place.Client, customer(id), victim)
	}
	nothing := func() {}
	err := take(t.Context(), place, customer("late"), func() { // it has its number, and is not committed
		if err := take(t.Context(), place, customer("early"), nothing); err != nil {
			t.Error(err)
		}
		for range 3 {
			if err := reads.read(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if len(reads.told) != 1 {
			t.Errorf("told %v, want one event", reads.told)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := take(t.Context(), place, customer("last"), nothing); err != nil {
		t.Fatal(err)
	}
	if err := reads.read(t.Context()); err != nil || len(reads.told) != 3 {
		t.Errorf("told %v, %v, want three events", reads.told, err)
	}
	if len(reads.naive) == 3 {
		t.Error("the events were numbered as they were committed: nothing was tried")
	}
}

func manyTransactions(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	reads := newReader(place)
	const writers = 8
	each, open := 25, openFor(t)
	if backend.OneWriter {
		each, open = 4, longest // the others wait for it
	}
	upTo := func(limit time.Duration) func() { return func() { time.Sleep(rand.N(limit)) } }
	ended := make(chan struct{})
	var writing, reading sync.WaitGroup
	writing.Go(func() {
		if err := getAndTake(t.Context(), place, customer("open"), func() { time.Sleep(open) }); err != nil {
			t.Errorf("the transaction that is open for %s: %v", open, err)
		}
	})
	for writer := range writers {
		writing.Go(func() {
			for i := range each {
				if err := getAndTake(t.Context(), place, customer(fmt.Sprintf("%d-%d", writer, i)), upTo(longest)); err != nil {
					t.Errorf("writer %d: %v", writer, err)
				}
				if open > longest {
					time.Sleep(open / time.Duration(each))
				}
			}
		})
	}
	reading.Go(func() {
		for {
			if err := reads.read(t.Context()); err != nil {
				t.Error(err)
			}
			select {
			case <-ended:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
	writing.Wait()
	close(ended)
	reading.Wait()
	if err := reads.read(t.Context()); err != nil {
		t.Error(err)
	}
	var missed, events int
	for event, err := range place.Client.History(t.Context(), applock.HistoryRequest{Operator: victim}) {
		if err != nil {
			t.Fatal(err)
		}
		events++
		if reads.told[event.ID] == 0 {
			missed++
		}
	}
	if missed > 0 || events != writers*each+1 {
		t.Errorf("of %d events %d were not told, want none of %d", events, missed, writers*each+1)
	}
	t.Logf("a transaction was open for %s: of %d events %d were missed, and %d by a reader that goes on behind the last one",
		open, events, missed, events-len(reads.naive))
}

// openFor returns how long one of many transactions stays open.
func openFor(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv(openVariable)
	if text == "" {
		return longest
	}
	seconds, err := strconv.Atoi(text)
	if err != nil || seconds < 1 {
		t.Fatalf("%s is not a number of seconds: %s", openVariable, text)
	}
	return time.Duration(seconds) * time.Second
}

// getAndTake gets an object for the victim, and takes it for the boss in a transaction, with a pause before its commit. It retries when
// the engine refuses.
func getAndTake(ctx context.Context, place Place, object applock.Object, pause func()) error {
	again := func(err error) bool { return errors.Is(err, applock.ErrRetry) || errors.Is(err, applock.ErrBusy) }
	get := func() error {
		_, err := place.Client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: victim}})
		return err
	}
	err := get()
	for again(err) {
		err = get()
	}
	if err != nil {
		return err
	}
	err = take(ctx, place, object, pause)
	for again(err) {
		err = take(ctx, place, object, pause)
	}
	return err
}

// positionBound checks when the position reaches the last event: at once with one writer, on PostgreSQL when no older transaction is
// open, and elsewhere after 15 minutes and not earlier.
func positionBound(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	mustGet(t, place.Client, customer(1), victim)
	if err := take(t.Context(), place, customer(1), func() {}); err != nil {
		t.Fatal(err)
	}
	reads := newReader(place)
	read := func() {
		t.Helper()
		if err := reads.read(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	read()
	looksBack := place.dialect() == "mysql" || place.dialect() == "db2"
	if looksBack && reads.after != 0 {
		t.Errorf("safe_event_id is %d at once, want 0 for 15 minutes", reads.after)
	}
	for _, passed := range []time.Duration{14 * time.Minute, 2 * time.Minute} {
		if looksBack && reads.after != 0 {
			t.Errorf("safe_event_id is %d before %s, want 0 for 15 minutes", reads.after, passed)
		}
		if err := place.Advance(t.Context(), passed); err != nil {
			t.Fatal(err)
		}
		if looksBack {
			read()
		}
	}
	for limit := time.Now().Add(stepLimit); reads.after < reads.last; read() {
		if time.Now().After(limit) {
			t.Fatalf("safe_event_id is %d, want %d", reads.after, reads.last)
		}
	}
}
