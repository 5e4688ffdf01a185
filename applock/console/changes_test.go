package console

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
)

// asked counts what a hub asks, and answers as it was told to.
type asked struct {
	mutex   sync.Mutex
	topics  []string
	changed map[string]bool
}

func (a *asked) look(_ context.Context, topic string) (bool, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.topics = append(a.topics, topic)
	changed := a.changed[topic]
	delete(a.changed, topic)
	return changed, nil
}

func (a *asked) change(topic string) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.changed[topic] = true
}

func (a *asked) since() string {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	text := strings.Join(a.topics, " ")
	a.topics = nil
	return text
}

func (v *viewer) told() bool {
	select {
	case <-v.news:
		return true
	default:
		return false
	}
}

// Goal: the database is asked once for all who look, in each interval, and not at all while nobody looks; each is told what
// concerns him. Method: viewers that come and go, in a time of the test's own.
func TestHubAsksOnceForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		questions := &asked{changed: map[string]bool{}}
		h := newHub(questions.look, 2*time.Second)
		time.Sleep(time.Minute)
		if got := questions.since(); got != "" {
			t.Errorf("nobody looks, and it asks %q", got)
		}
		one, _ := h.join([]string{topicLocks}, h.version())
		two, _ := h.join([]string{topicLocks}, h.version())
		time.Sleep(3 * time.Second)
		if got := questions.since(); got != "locks locks" {
			t.Errorf("for two who look it asks %q", got)
		}
		seen := h.version()
		questions.change(topicLocks)
		time.Sleep(2 * time.Second)
		if !one.told() || !two.told() || one.told() || h.version() == seen {
			t.Error("not everybody was told once")
		}
		h.leave(two)
		three, _ := h.join([]string{topicWaiters}, h.version())
		questions.since()
		time.Sleep(8 * time.Second)
		if got := questions.since(); got != "waiters locks waiters locks" {
			t.Errorf("of two topics it asks %q", got)
		}
		questions.change(topicWaiters)
		time.Sleep(4 * time.Second)
		if one.told() || !three.told() {
			t.Error("somebody was told what does not concern him")
		}
		h.leave(one)
		h.leave(three)
		synctest.Wait()
		questions.since()
		time.Sleep(time.Minute)
		if got := questions.since(); got != "" {
			t.Errorf("all have gone, and it asks %q", got)
		}
		late, _ := h.join([]string{topicLocks}, seen)
		if !late.told() {
			t.Error("who has seen an old page is not told")
		}
		h.leave(late)
	})
}

// Goal: those who look have an end. Method: as many as there may be, and one more.
func TestViewersAreBounded(t *testing.T) {
	t.Parallel()
	h := newHub(func(context.Context, string) (bool, error) { return false, nil }, time.Hour)
	for range viewersMost {
		v, room := h.join(nil, "")
		if !room {
			t.Fatal("there is no room")
		}
		defer h.leave(v)
	}
	if _, room := h.join(nil, ""); room {
		t.Error("there is room for more")
	}
}

// Goal: each change of a lock or a waiter is noticed, by one query, and nothing else is. Method: changes, and a look after each.
func TestChangesAreNoticed(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Config{})
	look := func(what, topic string, want bool) {
		t.Helper()
		d.calls.taken()
		changed, err := d.console.own.lookForChanges(t.Context(), topic)
		if err != nil || changed != want {
			t.Errorf("%s: changed %t, %v", what, changed, err)
		}
		if calls := d.calls.taken(); calls != map[string]string{topicLocks: "1 0 0 0 0", topicWaiters: "0 1 0 0 0"}[topic] {
			t.Errorf("%s: %s calls", what, calls)
		}
	}
	look("the first look", topicLocks, true)
	look("nothing", topicLocks, false)
	grant := d.get(t, "customer:42", "JDOE", time.Hour)
	look("a get", topicLocks, true)
	look("nothing after it", topicLocks, false)
	d.get(t, "customer:42", "JDOE", 2*time.Hour)
	look("a renewal", topicLocks, true)
	d.note(t, grant, "later")
	look("a note", topicLocks, true)
	look("the first look at waiters", topicWaiters, true)
	d.wait(t, "customer:42", "PKING")
	look("a waiter", topicWaiters, true)
	d.wait(t, "customer:42", "PKING")
	look("the same waiter again", topicWaiters, false)
	if _, err := d.client.Release(t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: grant.Object, Operator: "JDOE"}}); err != nil {
		t.Fatal(err)
	}
	look("a release", topicLocks, true)
	fill(t, d, 50)
	d.console.own.pieceRows = 50
	look("a full piece", topicLocks, true)
	d.get(t, "order:1", "JDOE", time.Hour)
	look("the piece behind it", topicLocks, true)
	look("the first piece again", topicLocks, false)
	d.get(t, "order:2", "JDOE", time.Hour)
	look("a get behind the first piece", topicLocks, true)
}

// Goal: each client is asked by one query for all who look by it, and not while nobody of that role looks. Method: two people of one
// role and none of the others, and the calls of each client.
func TestClientsAreAskedForTheirViewers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls []*counted
		client := func() *applock.Client {
			calls = append(calls, &counted{Driver: nothingHeld{}})
			return clients.New(calls[len(calls)-1], nil, lease.Hooks{})
		}
		c := newConsole(client(), Config{Roles: []Role{{Name: "clerks", Client: client()}, {Name: "auditors", Client: client()}}})
		var all []*viewer
		hub := c.asking(Person{Name: "MLEE", Roles: []string{"auditors", "others"}}).database.hub
		for range 2 {
			v, _ := hub.join([]string{topicLocks}, hub.version())
			all = append(all, v)
		}
		time.Sleep(3 * DefaultInterval / 2)
		for i, want := range []string{"0 0 0 0 0", "0 0 0 0 0", "2 0 0 0 0"} {
			if got := calls[i].taken(); got != want {
				t.Errorf("client %d: %s calls, want %s", i, got, want)
			}
		}
		for _, v := range all {
			hub.leave(v)
		}
		synctest.Wait()
	})
}

// nothingHeld is a database without locks.
type nothingHeld struct{ db.Driver }

func (nothingHeld) ApplLockLive(context.Context, db.ApplLockLiveParams) ([]db.Lock, error) {
	return nil, nil
}

// Goal: a browser is told of a change, through a connection that no proxy collects, and nothing is asked when it has gone.
// Method: a server, a stream, and a get.
func TestStream(t *testing.T) {
	t.Parallel()
	config := Config{Interval: 10 * time.Millisecond}
	d := newDesk(t, config)
	server := httptest.NewServer(d.handler)
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first, _ := d.console.own.hub.join([]string{topicLocks}, d.console.own.hub.version())
	<-first.news // the first look of a process finds all new
	d.console.own.hub.leave(first)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/changes?topics=locks&seen="+d.console.own.hub.version(), nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.Header.Get("Content-Type") != "text/event-stream" || answer.Header.Get("X-Accel-Buffering") != "no" {
		t.Errorf("headers %v", answer.Header)
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Scan()
	if lines.Text() != "retry: 2000" {
		t.Errorf("it begins with %q", lines.Text())
	}
	d.get(t, "customer:42", "JDOE", time.Hour)
	for lines.Scan() && lines.Text() != "event: changed" {
		if strings.HasPrefix(lines.Text(), "data") {
			t.Errorf("%q before any change", lines.Text())
		}
	}
	lines.Scan()
	if lines.Text() != "data: "+d.console.own.hub.version() {
		t.Errorf("it tells %q", lines.Text())
	}
	cancel()
	for {
		d.console.own.hub.mutex.Lock()
		viewers := len(d.console.own.hub.viewers)
		d.console.own.hub.mutex.Unlock()
		if viewers == 0 {
			return
		}
		<-time.After(time.Millisecond)
	}
}

// Goal: one person does not take the streams of all others. Method: as many as one may have and one more, another person, and one that
// ends.
func TestStreamsOfOnePerson(t *testing.T) {
	t.Parallel()
	d, _ := logged(t)
	server := httptest.NewServer(d.handler)
	t.Cleanup(server.Close)
	begin := func(person string) (status int, end func()) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/changes?topics=locks", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-User", person)
		answer, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = answer.Body.Close() })
		return answer.StatusCode, cancel
	}
	var end func()
	for i := range streamsOfPerson {
		status, cancel := begin("MLEE")
		if end = cancel; status != http.StatusOK {
			t.Fatalf("stream %d: status %d", i, status)
		}
	}
	if status, _ := begin("MLEE"); status != http.StatusTooManyRequests {
		t.Errorf("one more: status %d", status)
	}
	if status, _ := begin("PKING"); status != http.StatusOK {
		t.Errorf("somebody else: status %d", status)
	}
	for end(); ; {
		if status, _ := begin("MLEE"); status == http.StatusOK {
			return
		}
	}
}
