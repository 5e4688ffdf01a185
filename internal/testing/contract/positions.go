package contract

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
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

// Goal: an inbox shows each event once, also an event whose transaction commits after a later one was read, and however many events there
// are, requests have room on its page. Method: one transaction that is open while another commits; many at once, each open for up to 60 ms,
// and one that make test-inbox keeps open for ten minutes; the bound where a dialect has one; more events than a page has rows.
func positions(t *testing.T, backend Backend) {
	t.Run("OpenTransaction", func(t *testing.T) { openTransaction(t, backend) })
	t.Run("ManyTransactions", func(t *testing.T) { manyTransactions(t, backend) })
	t.Run("Bound", func(t *testing.T) { positionBound(t, backend) })
	t.Run("Room", func(t *testing.T) { roomOnThePage(t, backend) })
}

// reader reads an inbox as the contract says, in small pages. For comparison it also reads on after the last event that it has seen.
type reader struct {
	place    Place
	position string
	last     int64
	told     map[int64]int
	naive    map[int64]bool
}

func newReader(place Place) *reader {
	return &reader{place: place, told: map[int64]int{}, naive: map[int64]bool{}}
}

// read reads pages until one has no event.
func (r *reader) read(ctx context.Context) error {
	for {
		rows, err := r.call(ctx, r.position, 7)
		if err != nil {
			return err
		}
		events := 0
		for _, row := range rows {
			if row.NextPosition != rows[0].NextPosition {
				return fmt.Errorf("next_position is %s and %s in one answer", rows[0].NextPosition, row.NextPosition)
			}
			if row.EventID == 0 {
				continue
			}
			events++
			if r.told[row.EventID]++; r.told[row.EventID] > 1 {
				return fmt.Errorf("event %d again behind %s", row.EventID, r.position)
			}
		}
		if len(rows) > 0 {
			r.position = rows[0].NextPosition
		}
		if events == 0 {
			break
		}
	}
	rows, err := r.call(ctx, strconv.FormatInt(r.last, 10), 10_000)
	for _, row := range rows {
		r.naive[row.EventID] = true
		r.last = max(r.last, row.EventID)
	}
	return err
}

func (r *reader) call(ctx context.Context, position string, most int64) ([]db.Notice, error) {
	return r.place.Driver.InboxApplLocks(ctx, db.InboxApplLocksParams{OperatorID: victim, Position: position, MaxRows: most})
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
	// read returns up to which event all is told. Somebody waits, so that each answer has a position.
	read := func() string {
		t.Helper()
		mustGet(t, place.Client, customer(2), victim)
		waiter := db.AnnounceApplLockWaiterParams{ObjectType: "customer", ObjectID: "2", OperatorID: boss, ClientID: "p1"}
		if err := errors.Join(place.Driver.AnnounceApplLockWaiter(t.Context(), waiter), reads.read(t.Context())); err != nil {
			t.Fatal(err)
		}
		upTo, _, _ := strings.Cut(reads.position, ",")
		return upTo
	}
	upTo := read()
	if place.dialect() == "mysql" || place.dialect() == "db2" {
		for _, passed := range []time.Duration{0, 14 * time.Minute} {
			if err := place.Advance(t.Context(), passed); err != nil {
				t.Fatal(err)
			}
			if upTo = read(); upTo != "0" {
				t.Errorf("all is told up to %s after %s, want 0 for 15 minutes", upTo, passed)
			}
		}
		if err := place.Advance(t.Context(), 2*time.Minute); err != nil {
			t.Fatal(err)
		}
		upTo = read()
	}
	for limit := time.Now().Add(stepLimit); upTo < strconv.FormatInt(reads.last, 10); upTo = read() {
		if time.Now().After(limit) {
			t.Fatalf("all is told up to %s, want %d", upTo, reads.last)
		}
	}
}

// roomOnThePage hands over more locks than a page has rows. Then one of them is taken, and one is asked for.
func roomOnThePage(t *testing.T, backend Backend) {
	t.Parallel()
	place := backend.New(t)
	handed, page := 1200, 1000
	if place.dialect() == "db2" {
		handed, page = 60, 50 // what stands in for it is slow
	}
	var gets []db.GetApplLockParams
	for i := range handed {
		gets = append(gets, db.GetApplLockParams{ObjectType: "customer", ObjectID: strconv.Itoa(i), OperatorID: "OLD", TTLSeconds: 3600})
	}
	if err := place.Driver.InTx(t.Context(), func(tx db.Driver) error {
		_, err := tx.GetApplLocks(t.Context(), gets)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := place.Client.TransferAll(t.Context(), applock.TransferAllRequest{From: "OLD", To: applock.Owner{Operator: victim}, Actor: boss}); err != nil {
		t.Fatal(err)
	}
	told := map[int64]bool{}
	read := func(position applock.InboxPosition) (map[applock.NoticeKind]int, applock.InboxPosition) {
		t.Helper()
		notices, next, err := place.Client.Inbox(t.Context(), applock.InboxRequest{Operator: victim, Position: position, PageSize: page})
		kinds := map[applock.NoticeKind]int{}
		for _, notice := range notices {
			kinds[notice.Kind]++
			if notice.Event != 0 && position != "" && told[notice.Event] {
				t.Errorf("event %d again behind %s", notice.Event, position)
			}
			told[notice.Event] = true
		}
		if err != nil || len(notices) > page {
			t.Fatalf("%d notices, %v", len(notices), err)
		}
		return kinds, next
	}
	_, next := read("")
	if err := take(t.Context(), place, customer(7), func() {}); err != nil {
		t.Fatal(err)
	}
	ask := applock.AskRequest{Object: customer(8), Owner: applock.Owner{Operator: "ASKER"}, Client: "tab1"}
	if _, err := place.Client.Ask(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
	if kinds, _ := read(next); kinds["TAKEN"] != 1 || kinds["AWAITED"] != 1 || kinds["HANDED"] != handed-page {
		t.Errorf("the second page has %v, want what was taken, what is asked for, and %d handed over", kinds, handed-page)
	}
	if kinds, _ := read(""); kinds["AWAITED"] != 1 || kinds["HANDED"] != page-1 {
		t.Errorf("a first page has %v, want what is asked for, and else what was handed over", kinds)
	}
}
