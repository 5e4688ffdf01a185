package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
)

// looker is somebody whose page asks whether it still shows what the database has.
type looker struct {
	desk    desk
	address string
	// person is for a sign-in by header.
	person  string
	version string
}

// asks returns the answer to one question of the page, and remembers the version that it shows from then on.
func (l *looker) asks() (status int, page string) {
	r := request(http.MethodGet, l.address, "")
	r.Header.Set("If-None-Match", l.version)
	r.Header.Set("X-User", l.person)
	w := l.desk.do(r)
	if version := w.Header().Get("ETag"); version != "" {
		l.version = version
	}
	return w.Code, w.Body.String()
}

// Goal: how often the database is read does not depend on how many look: two changes a second, and one who looks or two hundred, at
// different moments of the interval. Method: SQLite, in a time of the test's own; the calls of the driver.
func TestViewersShareReads(t *testing.T) {
	t.Parallel()
	const asked = 5
	for address, reads := range map[string]int64{
		"/": 3, "/locks": 2, "/locks?within=2h&sort=left": 2, "/locks?sort=-waiters": 2, "/object?name=customer%3A42": 3, "/waiters": 2, "/history": 1, "/policies": 0, "/desk": 4,
	} {
		for _, lookers := range []int{1, 200} {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, supervisor())
				d.see(t, "/statistics", http.StatusOK) // the rights of this minute
				var all []*looker
				for range lookers {
					all = append(all, &looker{desk: d, address: address, version: "none"})
				}
				d.calls.taken()
				for i := range asked {
					for n, each := range all {
						if n%(max(lookers/4, 1)) == 0 {
							d.get(t, "customer:42", fmt.Sprintf("OP%d", n%2), time.Hour)
							d.release(t, "customer:42", fmt.Sprintf("OP%d", n%2))
						}
						if status, _ := each.asks(); status != http.StatusOK && status != http.StatusNotModified {
							t.Fatalf("%s: status %d", address, status)
						}
						time.Sleep(DefaultInterval / time.Duration(lookers))
					}
					got := d.calls.locks.Swap(0) + d.calls.waiters.Swap(0) + d.calls.events.Swap(0) + d.calls.inquiries.Swap(0)
					present := d.calls.askers.Swap(0) + d.calls.viewers.Swap(0)
					d.calls.stats.Swap(0) // once a minute
					if got > 2*reads || got < reads {
						t.Errorf("%s: for %d who look, interval %d has %d reads, want %d, or twice as many", address, lookers, i, got, reads)
					}
					if most := int64(6); present > most {
						t.Errorf("%s: for %d who look, interval %d has %d reads of who is there, want %d at most", address, lookers, i, present, most)
					}
				}
				time.Sleep(time.Hour)
				if got := d.calls.taken(); got != "0 0 0 0 0" {
					t.Errorf("nobody asks, and there are %s calls", got)
				}
			})
		}
	}
}

// Goal: each change of what a page shows is told, nothing else is, and whoever opens the page sees it at once. Method: changes, the
// question of a page after each, and a page that is opened before.
func TestChangesAreTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, Config{})
		locks, object := &looker{desk: d, address: "/locks", version: "none"}, &looker{desk: d, address: "/object?name=customer%3A42", version: "none"}
		look := func(what string, changed map[*looker]bool) {
			t.Helper()
			for _, page := range []*looker{locks, object} {
				want := map[bool]int{true: http.StatusOK, false: http.StatusNotModified}[changed[page]]
				if status, text := page.asks(); status != want || (status == http.StatusNotModified) != (text == "") {
					t.Errorf("%s: %s has status %d, want %d, and %d bytes", what, page.address, status, want, len(text))
				}
			}
			time.Sleep(DefaultInterval)
		}
		both := map[*looker]bool{locks: true, object: true}
		look("the first question", both)
		look("nothing", nil)
		grant := d.get(t, "customer:42", "JDOE", time.Hour)
		if page := d.see(t, "/locks?sort=left", http.StatusOK); !strings.Contains(page, "customer:42") {
			t.Error("a page that is opened lacks a new lock")
		}
		look("a get", both)
		d.get(t, "customer:42", "JDOE", 2*time.Hour)
		look("a renewal", both)
		d.note(t, grant, "later")
		look("a note", both)
		d.wait(t, "customer:42", "PKING")
		look("a waiter", both)
		d.get(t, "order:7", "JDOE", time.Hour)
		look("another lock", map[*looker]bool{locks: true})
		d.release(t, "customer:42", "JDOE")
		look("a release", both)
		look("nothing after it", nil)
	})
}

// Goal: of two parts that differ by nothing but seconds the version is the same, and of others it is not. Method: rows at different times.
func TestVersionLeavesOutCounters(t *testing.T) {
	t.Parallel()
	c := newConsole(nil, Config{})
	version := func(v view) string {
		text, err := c.body(v, shown{Data: v.data})
		if err != nil {
			t.Fatal(err)
		}
		return versionOf(text, c.counters)
	}
	locks := func(left time.Duration, note string) string {
		lock := applock.Lock{Object: applock.Object{Type: "customer", ID: "42"}, Left: left, Note: note}
		return version(view{template: "list", data: listed{Rows: []row{{Lock: lock}}}})
	}
	waiters := func(waited time.Duration, operator string) string {
		return version(view{template: "object", data: objectShown{Waiters: []applock.Waiter{{Waited: waited, Owner: applock.Owner{Operator: operator}}}}})
	}
	if locks(time.Hour, "") != locks(time.Minute, "") || locks(time.Hour, "") == locks(time.Hour, "a") || locks(time.Hour, `data-seconds="1">a<`) == locks(time.Hour, "") {
		t.Error("the version of locks is not that of all but what is left")
	}
	if waiters(time.Hour, "A") != waiters(time.Minute, "A") || waiters(time.Hour, "A") == waiters(time.Hour, "B") {
		t.Error("the version of waiters is not that of all but how long they have waited")
	}
}

// byHeader believes the header of anybody.
type byHeader struct{}

func (byHeader) Identify(r *http.Request) (Person, error) {
	return Person{Name: r.Header.Get("X-User")}, nil
}

// Goal: who shares a page with others gets nothing of theirs: neither the name nor what they may do. Method: two people who may do
// different things, and who ask at the same moment.
func TestSharedPageIsNobodys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, Config{SignIn: byHeader{}, MayChange: func(person string) bool { return person != "EVE" }})
		d.get(t, "customer:42", "JDOE", time.Hour)
		for range 2 {
			for _, person := range []string{"MLEE", "PKING", "EVE"} {
				l := &looker{desk: d, address: "/object?name=customer%3A42", person: person, version: "none"}
				_, page := l.asks()
				if !strings.Contains(page, "You are "+string(value(person))) || strings.Contains(page, `href="release?`) != (person != "EVE") {
					t.Errorf("%s sees %s", person, page)
				}
			}
			if got := d.calls.taken(); got != "0 2 2 0 2" && got != "0 0 0 0 0" {
				t.Errorf("for those with the same rights, and those without, there are %s calls", got)
			}
		}
	})
}

// Goal: while the database is away each page says so with a status that the script understands, it is read by one of those who wait, the
// log has a line for each read, and all is well as soon as the database is back. Method: a driver that fails as told.
func TestDatabaseIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		d := newDesk(t, Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		d.calls.failure.Store(&failing{fmt.Errorf("password=secret")})
		l := &looker{desk: d, address: "/", version: "none"}
		for range 3 {
			status, page := l.asks()
			if status < http.StatusInternalServerError || !strings.Contains(page, `data-version=""`) || strings.Contains(page, "secret") {
				t.Errorf("status %d: %s", status, page)
			}
		}
		if lines := strings.Count(log.String(), "\n"); lines != 3 {
			t.Errorf("the log has %d lines for three reads:\n%s", lines, log.String())
		}
		d.calls.failure.Store(nil)
		if status, _ := l.asks(); status != http.StatusOK {
			t.Errorf("it is back, and the status is %d", status)
		}
		if page := d.see(t, "/locks?within=soon", http.StatusBadRequest); strings.Contains(page, "data-interval") {
			t.Error("an address that is wrong asks again and again")
		}
	})
}

// reads is a shared read that takes a second and counts how often it is run.
type reads struct {
	shared *shared[string, int]
	number int
	err    error
}

func newReads(age time.Duration) *reads {
	return &reads{shared: &shared[string, int]{age: age, results: map[string]*result[int]{}}}
}

func (r *reads) get(ctx context.Context, key string, known bool) (int, error) {
	return r.shared.get(ctx, key, known, func() (int, error) {
		r.number++
		number, err := r.number, r.err
		time.Sleep(time.Second)
		return number, err
	})
}

// Goal: a read serves those who asked before it began, and those who are content with an old one; a reload never gets what was read
// before it. Method: reads that take a second, in a time of the test's own.
func TestSharedRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReads(2 * time.Second)
		later := func(known bool, want int) {
			go func() {
				if got, err := r.get(t.Context(), "a", known); got != want || err != nil {
					t.Errorf("known %t: %d, %v, want %d", known, got, err, want)
				}
			}()
			time.Sleep(10 * time.Millisecond)
		}
		later(false, 1)
		for range 10 {
			later(true, 1)
			later(false, 2) // the first read had begun before
		}
		time.Sleep(4500 * time.Millisecond)
		later(true, 2) // which took a second: four more it is good for
		time.Sleep(time.Second)
		later(true, 3)
		synctest.Wait()
		time.Sleep(10 * time.Second)
		if r.number != 3 {
			t.Errorf("%d reads", r.number)
		}
	})
}

// Goal: who leaves keeps nobody waiting, an error serves those who waited for it only, a panic keeps nobody waiting, and what is kept
// has an end. Method: reads of each kind.
func TestSharedReadFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReads(time.Hour)
		r.err = io.EOF
		for range 3 {
			go func() {
				if _, err := r.get(t.Context(), "a", true); !errors.Is(err, io.EOF) {
					t.Errorf("error %v", err)
				}
			}()
		}
		time.Sleep(time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := r.get(ctx, "a", true); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who leaves gets %v", err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		r.err = nil
		if got, err := r.get(t.Context(), "a", true); got != 2 || err != nil {
			t.Errorf("after an error: %d, %v", got, err)
		}
		go func() {
			defer func() { _ = recover() }()
			_, _ = r.shared.get(t.Context(), "b", true, func() (int, error) { time.Sleep(time.Second); panic("b") })
		}()
		time.Sleep(time.Millisecond)
		if _, err := r.get(t.Context(), "b", true); !errors.Is(err, errReadFailed) {
			t.Errorf("beside a panic: %v", err)
		}
		for i := range 3 * sharedMost {
			_, _ = r.get(t.Context(), fmt.Sprint(i), true)
		}
		if got := len(r.shared.results); got > sharedMost {
			t.Errorf("%d results are kept", got)
		}
	})
}

// Goal: an object's and an operator's page read a page of the history, from its end, however long it is. Method: a history of some
// pages, and the calls of the driver with what they return.
func TestHistoryIsReadFromItsEnd(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Config{})
	object := applock.Object{Type: "customer", ID: "42"}
	people := []string{"JDOE", "ASMITH"}
	d.get(t, "customer:42", people[0], time.Hour)
	for i := range 6*rowsOfPage + 1 {
		_, err := d.client.Transfer(t.Context(), applock.TransferRequest{
			Object: object, From: people[i%2], To: applock.Owner{Operator: people[(i+1)%2]}, Actor: "MLEE", Reason: fmt.Sprintf("reason %d.", i),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for address, most := range map[string]int64{
		"/object?name=customer%3A42": rowsOfPage + 1, "/operator?name=JDOE": eventsOfDesk + 1, "/operator?name=MLEE": eventsOfDesk + 1,
	} {
		d.calls.taken()
		d.calls.eventRows.Store(0)
		page := d.see(t, address, http.StatusOK)
		if calls, rows := d.calls.events.Load(), d.calls.eventRows.Load(); calls != 1 || rows > most {
			t.Errorf("%s takes %d calls, which return %d events", address, calls, rows)
		}
		newest, oldest := fmt.Sprintf("reason %d.", 6*rowsOfPage), fmt.Sprintf("reason %d.", 5*rowsOfPage+1)
		_, behind, found := strings.Cut(page, newest)
		if !found || !strings.Contains(behind, oldest) || strings.Contains(page, fmt.Sprintf("reason %d.", 5*rowsOfPage)) {
			t.Errorf("%s does not show the newest %d events, the newest first", address, rowsOfPage)
		}
	}
}
