package console

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock/console/internal/pages"
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
		"/": 3, "/locks": 2, "/locks?within=2h&sort=left": 2, "/locks?sort=-waiters": 2, "/object?name=customer%3A42": 3, "/waiters": 2, "/history": 1, "/people": 2, "/requests": 0, "/statistics": 0, "/policies": 0, "/desk": 4,
	} {
		for _, lookers := range []int{1, 200} {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, supervisor())
				d.see(t, "/locks?type=none", http.StatusOK) // the rights and the names of this minute
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
					if most := int64(8); present > most { // of an object's page, and of all objects for what waits for its readers
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

// Goal: of two parts that differ by nothing but seconds the version is the same, and of others it is not. Method: counters and their like.
func TestVersionLeavesOutCounters(t *testing.T) {
	t.Parallel()
	of := func(text string) string { return versionOf(template.HTML(text)) }
	left := of(`<span data-seconds="3600">1 h</span> a`)
	if left != of(`<span data-seconds="60">1 m</span> a`) || left == of(`<span data-seconds="3600">1 h</span> b`) || left == of(`<span data-seconds=&#34;60&#34;&gt;1 m</span> a`) {
		t.Error("the version is not that of all but the seconds")
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
		d.see(t, "/locks?sort=left", http.StatusOK)
		time.Sleep(time.Nanosecond) // what is read at one moment serves all of it
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
		d := newDesk(t, Config{SignIn: byHeader{}, MayChange: func(person string) bool { return person[0] != 'E' }})
		d.get(t, "customer:42", "JDOE", time.Hour)
		for range 2 {
			for _, person := range []string{"MLEE", "PKING", "EVE", "EVA"} {
				l := &looker{desk: d, address: "/object?name=customer%3A42", person: person, version: "none"}
				_, page := l.asks()
				if !strings.Contains(page, "You are "+string(pages.Value(person))) || strings.Contains(page, `href="release?`) != (person[0] != 'E') {
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
		away := func() error { return errors.New("password=secret") }
		d.calls.before.Store(&away)
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
		d.calls.before.Store(nil)
		if status, _ := l.asks(); status != http.StatusOK {
			t.Errorf("it is back, and the status is %d", status)
		}
		if page := d.see(t, "/locks?within=soon", http.StatusBadRequest); strings.Contains(page, "data-interval") {
			t.Error("an address that is wrong asks again and again")
		}
	})
}
