package weblock_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/applocktest"
	"github.com/applock/applock/applock/weblock"
	"github.com/applock/applock/internal/testing/testclient"
)

// keys are what a page sends, or is told.
type keys map[string]any

// office is a database with a handler, and a header that stands for the session of an application.
type office struct {
	*applocktest.Locks
	handler http.Handler
}

func owner(r *http.Request) (applock.Owner, error) {
	if name := r.Header.Get("Session"); name != "" {
		return applock.Owner{Operator: name, Department: "sales"}, nil
	}
	return applock.Owner{}, errors.New("no session")
}

func newOffice(t *testing.T, config weblock.Config) *office {
	t.Helper()
	config.Owner = owner
	locks := applocktest.New(t)
	return &office{Locks: locks, handler: weblock.New(locks.Client, config)}
}

// tab is a page in somebody's browser.
type tab struct {
	*office
	person, client, fence string
	acquired, position    any
}

func (o *office) tab(person, client string) *tab {
	return &tab{office: o, person: person, client: client}
}

// sends sends what the page has, and these keys. The page keeps what it is told, as applock.js does.
func (p *tab) sends(t *testing.T, route string, of keys) (status int, told keys) {
	t.Helper()
	body := keys{
		"object_type": "customer", "object_id": "42", "client_id": p.client, "fence": p.fence, "acquired_ts": p.acquired, "position": p.position,
	}
	for key, value := range of {
		body[key] = value
	}
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest(http.MethodPost, "/"+route, strings.NewReader(string(text)))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	request.Header.Set("Session", p.person)
	recorded := httptest.NewRecorder()
	p.handler.ServeHTTP(recorded, request)
	if err := json.Unmarshal(recorded.Body.Bytes(), &told); err != nil {
		t.Fatalf("%s: %v in %s", route, err, recorded.Body)
	}
	if recorded.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%s may be kept: %v", route, recorded.Header())
	}
	if recorded.Code == http.StatusOK && told["fence"] != "" {
		p.fence = told["fence"].(string) //nolint:forcetypeassert // the test ends otherwise, too
	}
	p.acquired, p.position = told["acquired_ts"], told["next_position"]
	return recorded.Code, told
}

// is sends, and compares the status, the outcome and the holder.
func (p *tab) is(t *testing.T, route string, of keys, status int, outcome, holder string) keys {
	t.Helper()
	got, told := p.sends(t, route, of)
	if got != status || told["outcome"] != outcome || told["holder_id"] != holder {
		t.Fatalf("%s of %s: %d %v, want %d %s of %q", route, p.person, got, told, status, outcome, holder)
	}
	return told
}

// lock returns the live lock, zero for none.
func (o *office) lock(t *testing.T) applock.Lock {
	t.Helper()
	for lock, err := range o.Client.List(t.Context(), applock.ListRequest{ObjectType: "customer", ObjectID: "42"}) {
		if err != nil {
			t.Fatal(err)
		}
		return lock
	}
	return applock.Lock{}
}

// Goal: a lock goes through all states but lost: free, mine, theirs, asked, mine. Method: JDOE edits, BROWN sees who, asks, is told later and then
// given the lock, and edits; fences are texts.
func TestAskAndGive(t *testing.T) {
	t.Parallel()
	o := newOffice(t, weblock.Config{})
	jdoe, brown := o.tab("JDOE", "a"), o.tab("BROWN", "b")
	brown.is(t, "beat", nil, 200, "FREE", "")
	jdoe.is(t, "open", nil, 200, "ACQUIRED", "JDOE")
	if err := o.Client.Note(t.Context(), o.lock(t).Key(), "waits"); err != nil {
		t.Fatal(err)
	}
	if told := brown.is(t, "beat", nil, 200, "HELD", "JDOE"); told["note"] != "waits" {
		t.Errorf("BROWN is told %v", told)
	}
	other := keys{"object_id": "43"}
	o.tab("JDOE", "c").is(t, "open", other, 200, "ACQUIRED", "JDOE")
	o.tab("BROWN", "d").is(t, "ask", other, 200, "ASKED", "JDOE") // which is no business of the pages of 42
	if told := brown.is(t, "open", nil, 409, "HELD", "JDOE"); told["note"] != "waits" || told["fence"] != "" || told["take_fl"] != "N" ||
		told["seconds_left"] != float64(180) || told["acquired_ts"] != jdoe.acquired || told["status"] != float64(409) || told["title"] == "" {
		t.Errorf("BROWN is told %v", told)
	}
	brown.is(t, "ask", keys{"message": "please", "position": "of another database"}, 200, "ASKED", "JDOE")
	notices := jdoe.is(t, "beat", nil, 200, "RENEWED", "JDOE")["notices"].([]any)
	if asked := notices[0].(map[string]any); len(notices) != 1 || asked["outcome"] != "AWAITED" || asked["message"] != "please" || asked["fence"] != jdoe.fence || asked["other_operator_id"] != "BROWN" {
		t.Errorf("JDOE is told %v", notices)
	}
	jdoe.is(t, "answer", keys{"asker_id": "BROWN", "asker_client_id": "b", "answer": "LATER", "reason": "soon"}, 200, "TOLD", "JDOE")
	if told := brown.is(t, "ask", keys{"message": "please"}, 200, "ASKED", "JDOE"); told["notices"].([]any)[0].(map[string]any)["reason"] != "soon" {
		t.Errorf("BROWN is told %v", told)
	}
	jdoe.is(t, "answer", keys{"asker_id": "BROWN", "answer": "GIVE"}, 200, "GIVEN", "BROWN")
	brown.is(t, "ask", keys{"message": "please"}, 409, "OWN", "BROWN")
	brown.is(t, "open", nil, 200, "RENEWED", "BROWN")
	if lock := o.lock(t); lock.Left != 180*time.Second {
		t.Errorf("BROWN has %+v", lock)
	}
	jdoe.is(t, "beat", nil, 409, "HELD", "BROWN")
}

// Goal: keeping is renewing by the fence, and nothing else: a grant that has ended is lost, is not taken again, and releases nobody's. Method: the
// grant expires; another edits meanwhile and leaves, or stays; the person edits again in another page.
func TestLostIsLost(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(*testing.T, *office) (outcome, holder string){
		"nobody came": func(*testing.T, *office) (string, string) { return "FREE", "" },
		"another came and left": func(t *testing.T, o *office) (string, string) {
			other := o.tab("BROWN", "b")
			other.is(t, "open", nil, 200, "ACQUIRED", "BROWN")
			other.is(t, "stop", nil, 200, "RELEASED", "")
			return "FREE", ""
		},
		"another edits": func(t *testing.T, o *office) (string, string) {
			o.tab("BROWN", "b").is(t, "open", nil, 200, "ACQUIRED", "BROWN")
			return "HELD", "BROWN"
		},
		"another page of the person edits": func(t *testing.T, o *office) (string, string) {
			o.tab("JDOE", "c").is(t, "open", nil, 200, "ACQUIRED", "JDOE")
			o.Advance(time.Minute) // nobody sees it any more
			return "HELD", "JDOE"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, weblock.Config{})
			jdoe := o.tab("JDOE", "a")
			jdoe.is(t, "open", nil, 200, "ACQUIRED", "JDOE")
			own := jdoe.acquired
			o.Advance(10 * time.Minute)
			outcome, holder := meanwhile(t, o)
			after := o.lock(t)
			for range 2 {
				jdoe.is(t, "beat", nil, 409, outcome, holder)
				jdoe.acquired = own
			}
			jdoe.sends(t, "stop", nil)
			jdoe.sends(t, "leave", nil)
			if now := o.lock(t); now.Fence != after.Fence || now.TTL != after.TTL {
				t.Errorf("the page that has lost changes %+v to %+v", after, now)
			}
		})
	}
}

// Goal: a beat renews once a minute, and a page that nobody sees, with a beat a minute, stays alive and listed as idle. Method: the time of
// the last renewal, and another's view, while the database's clock goes on.
func TestBeats(t *testing.T) {
	t.Parallel()
	for name, beats := range map[string]struct {
		every          time.Duration
		hidden         bool
		times, renewed int
		state          string
	}{
		"seen":   {15 * time.Second, false, 16, 3, "EDITING"},
		"hidden": {time.Minute, true, 4, 4, "IDLE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, weblock.Config{})
			jdoe, brown := o.tab("JDOE", "a"), o.tab("BROWN", "b")
			jdoe.is(t, "open", nil, 200, "ACQUIRED", "JDOE")
			renewed := 0
			for range beats.times {
				o.Advance(beats.every)
				before := o.lock(t).LockedAt
				jdoe.acquired = o.lock(t).AcquiredAt // all times of the database are earlier now
				jdoe.is(t, "beat", keys{"hidden": beats.hidden}, 200, "RENEWED", "JDOE")
				if o.lock(t).LockedAt.After(before) {
					renewed++
				}
			}
			if renewed != beats.renewed {
				t.Errorf("%d beats have renewed %d times, want %d", beats.times, renewed, beats.renewed)
			}
			o.Advance(2*beats.every - time.Second) // one is late
			seen := brown.is(t, "beat", nil, 200, "HELD", "JDOE")["present"].([]any)
			if len(seen) != 1 || seen[0].(map[string]any)["state"] != beats.state {
				t.Errorf("before the next beat BROWN sees %v", seen)
			}
		})
	}
}

// counted counts the calls of a client, which are a statement each on PostgreSQL.
type counted struct {
	slog.Handler
	calls *atomic.Int64
}

func (counted) Enabled(context.Context, slog.Level) bool { return true }

func (c counted) Handle(context.Context, slog.Record) error { c.calls.Add(1); return nil }

// Goal: docs/weblock.md is right about the load. Method: the calls of a beat of a page that edits, with and without a renewal, and of one that reads.
func TestStatements(t *testing.T) {
	t.Parallel()
	calls := new(atomic.Int64)
	client := testclient.Open(t, "sqlite:"+testclient.InstalledSQLite(t), "", slog.New(counted{slog.DiscardHandler, calls}))
	o := &office{handler: weblock.New(client, weblock.Config{Owner: owner})}
	jdoe, brown := o.tab("JDOE", "a"), o.tab("BROWN", "b")
	jdoe.is(t, "open", nil, 200, "ACQUIRED", "JDOE")
	brown.is(t, "beat", nil, 200, "HELD", "JDOE")
	for _, beat := range []struct {
		of      *tab
		outcome string
		keys    keys
		want    int64
	}{{jdoe, "RENEWED", nil, 2}, {jdoe, "RENEWED", keys{"acquired_ts": nil}, 3}, {brown, "HELD", nil, 1}} {
		calls.Store(0)
		beat.of.is(t, "beat", beat.keys, 200, beat.outcome, "JDOE")
		if got := calls.Load(); got != beat.want {
			t.Errorf("a beat of %s with %v is %d statements, want %d", beat.of.person, beat.keys, got, beat.want)
		}
	}
}

// Goal: a page that goes ends its presence and shortens its grant to 20 s, and a reload, the back-forward cache and another page of the person go on
// with it. Method: each of them after a page has left, and none of them.
func TestLeave(t *testing.T) {
	t.Parallel()
	leaves := func(t *testing.T) (*office, *tab) {
		t.Helper()
		o := newOffice(t, weblock.Config{})
		jdoe := o.tab("JDOE", "a")
		jdoe.is(t, "open", nil, 200, "ACQUIRED", "JDOE")
		jdoe.sends(t, "leave", nil)
		if lock := o.lock(t); lock.Left != 20*time.Second {
			t.Errorf("the page leaves %+v", lock)
		}
		if told := o.tab("BROWN", "b").is(t, "beat", nil, 200, "HELD", "JDOE"); len(told["present"].([]any)) != 0 {
			t.Errorf("it is still seen: %v", told)
		}
		jdoe.acquired = nil
		return o, jdoe
	}
	t.Run("the browser is gone", func(t *testing.T) {
		t.Parallel()
		o, _ := leaves(t)
		o.Advance(20 * time.Second)
		o.tab("BROWN", "b").is(t, "open", nil, 200, "ACQUIRED", "BROWN")
	})
	t.Run("twice", func(t *testing.T) {
		t.Parallel()
		o, jdoe := leaves(t)
		o.Advance(10 * time.Second)
		jdoe.sends(t, "leave", nil)
		if lock := o.lock(t); lock.Left != 10*time.Second {
			t.Errorf("the page leaves %+v", lock)
		}
	})
	t.Run("reload", func(t *testing.T) {
		t.Parallel()
		o, before := leaves(t)
		after := o.tab("JDOE", "c")
		after.is(t, "open", nil, 200, "RENEWED", "JDOE")
		before.sends(t, "leave", nil) // which comes late
		if lock := o.lock(t); after.fence != before.fence || lock.Left != 180*time.Second {
			t.Errorf("the reloaded page has fence %s and %+v, before it was %s", after.fence, lock, before.fence)
		}
	})
	t.Run("back-forward cache", func(t *testing.T) {
		t.Parallel()
		o, jdoe := leaves(t)
		o.Advance(15 * time.Second)
		jdoe.is(t, "beat", nil, 200, "RENEWED", "JDOE")
		if lock := o.lock(t); lock.Left != 180*time.Second {
			t.Errorf("the page has %+v", lock)
		}
	})
	t.Run("another page", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t, weblock.Config{})
		one, other := o.tab("JDOE", "a"), o.tab("JDOE", "c")
		one.is(t, "open", nil, 200, "ACQUIRED", "JDOE")
		other.is(t, "open", keys{"hidden": true}, 200, "RENEWED", "JDOE")
		one.sends(t, "leave", nil)
		o.Advance(time.Minute)
		other.is(t, "beat", keys{"hidden": true}, 200, "RENEWED", "JDOE")
	})
}

// Goal: only Stop releases, by the fence, and not while another page of the person edits. Method: two pages that stop, one after the other; a type
// without presence, where nobody knows of other pages.
func TestStop(t *testing.T) {
	t.Parallel()
	o := newOffice(t, weblock.Config{})
	one, other := o.tab("JDOE", "a"), o.tab("JDOE", "c")
	one.is(t, "open", nil, 200, "ACQUIRED", "JDOE")
	other.is(t, "open", nil, 200, "RENEWED", "JDOE")
	one.is(t, "stop", nil, 200, "HELD", "JDOE")
	if lock := o.lock(t); lock.Left != 180*time.Second {
		t.Errorf("while another page edits the lock is %+v", lock)
	}
	other.is(t, "stop", nil, 200, "RELEASED", "")
	if err := o.Client.SetPolicy(t.Context(), applock.SetPolicyRequest{Policy: applock.Policy{Type: "customer", WithoutPresence: true}, Actor: "MLEE"}); err != nil {
		t.Fatal(err)
	}
	o.Advance(time.Minute) // until nobody is listed
	one.is(t, "open", nil, 200, "ACQUIRED", "JDOE")
	one.is(t, "stop", nil, 200, "HELD", "JDOE")
	if lock := o.lock(t); lock.Left != 20*time.Second {
		t.Errorf("without presence the lock is %+v", lock)
	}
}

// Goal: a grant that was there before, for longer than a page's, is neither shortened nor released by opening and closing a form. Method: a lock of
// seven days, and all that a page can do with it.
func TestLongLockStays(t *testing.T) {
	t.Parallel()
	o := newOffice(t, weblock.Config{})
	before, err := o.Client.Get(t.Context(), applock.GetRequest{Object: applock.Object{Type: "customer", ID: "42"}, Owner: applock.Owner{Operator: "JDOE"}})
	if err != nil {
		t.Fatal(err)
	}
	jdoe := o.tab("JDOE", "a")
	jdoe.is(t, "open", nil, 200, "RENEWED", "JDOE")
	jdoe.is(t, "beat", nil, 200, "RENEWED", "JDOE")
	jdoe.is(t, "stop", nil, 200, "HELD", "JDOE")
	jdoe.is(t, "open", nil, 200, "RENEWED", "JDOE")
	jdoe.sends(t, "leave", nil)
	if lock := o.lock(t); lock.Fence != before.Fence || !lock.ExpiresAt.Equal(before.ExpiresAt) || lock.TTL != applock.DefaultTTL {
		t.Errorf("of %+v the page has made %+v", before, lock)
	}
}

// Goal: who may take takes with a reason, from the holder whom the page shows and no later one. Method: a supervisor, with and without a reason,
// before and after the lock has changed hands, and an operator.
func TestTake(t *testing.T) {
	t.Parallel()
	var revoked atomic.Bool
	o := newOffice(t, weblock.Config{May: func(r *http.Request, object applock.Object, verb weblock.Verb) error {
		if revoked.Load() && verb == weblock.VerbEdit {
			return errors.New("nobody edits")
		}
		if verb == weblock.VerbTake && (r.Header.Get("Session") != "MLEE" || object.Type != "customer") {
			return errors.New("supervisors take customers")
		}
		return nil
	}})
	jdoe, mlee := o.tab("JDOE", "a"), o.tab("MLEE", "m")
	jdoe.is(t, "open", nil, 200, "ACQUIRED", "JDOE")
	if told := mlee.is(t, "open", nil, 409, "HELD", "JDOE"); told["take_fl"] != "Y" {
		t.Errorf("MLEE is told %v", told)
	}
	seen := mlee.acquired
	if status, told := mlee.sends(t, "take", keys{"holder_id": "JDOE"}); status != 400 || told["argument"] != "reason" {
		t.Errorf("a take without a reason: %d %v", status, told)
	}
	jdoe.is(t, "stop", nil, 200, "RELEASED", "")
	jdoe.is(t, "open", nil, 200, "ACQUIRED", "JDOE")
	mlee.acquired = seen
	mlee.is(t, "take", keys{"holder_id": "JDOE", "reason": "ill"}, 409, "HELD", "JDOE")
	mlee.is(t, "take", keys{"holder_id": "JDOE", "reason": "ill"}, 200, "TAKEN", "MLEE")
	told := jdoe.is(t, "beat", nil, 409, "HELD", "MLEE")
	if notice := told["notices"].([]any)[0].(map[string]any); notice["outcome"] != "TAKEN" || notice["reason"] != "ill" {
		t.Errorf("JDOE is told %v", told)
	}
	if status, told := jdoe.sends(t, "take", keys{"holder_id": "MLEE", "reason": "mine"}); status != 403 || told["detail"] != "supervisors take customers" {
		t.Errorf("JDOE takes: %d %v", status, told)
	}
	if told := o.tab("JDOE", "c").is(t, "open", nil, 409, "HELD", "MLEE"); len(told["notices"].([]any)) != 0 {
		t.Errorf("a new page is told what happened before: %v", told)
	}
	revoked.Store(true)
	if status, told := mlee.sends(t, "beat", nil); status != 403 || told["detail"] != "nobody edits" {
		t.Errorf("without the right MLEE keeps the lock: %d %v", status, told)
	}
}

// Goal: a page saves only with a live fence, in the transaction of the application. Method: a header, a form's field, no fence, one of another person,
// and one that has ended.
func TestAssert(t *testing.T) {
	t.Parallel()
	o := newOffice(t, weblock.Config{})
	handler := weblock.New(o.Client, weblock.Config{Owner: owner})
	jdoe := o.tab("JDOE", "a")
	jdoe.is(t, "open", nil, 200, "ACQUIRED", "JDOE")
	saves := func(person, header, field string) error {
		request := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/save", strings.NewReader(weblock.FenceField+"="+field))
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Session", person)
		request.Header.Set(weblock.FenceHeader, header)
		return handler.Assert(request, o.Client, applock.Object{Type: "customer", ID: "42"})
	}
	if err := errors.Join(saves("JDOE", jdoe.fence, ""), saves("JDOE", "", jdoe.fence)); err != nil {
		t.Error(err)
	}
	if err := saves("JDOE", "", ""); !errors.Is(err, applock.ErrInvalid) {
		t.Errorf("without a fence: %v", err)
	}
	if err := saves("BROWN", jdoe.fence, ""); !errors.Is(err, applock.ErrLost) {
		t.Errorf("of another person: %v", err)
	}
	if err := saves("", jdoe.fence, ""); err == nil {
		t.Error("nobody saves")
	}
	o.Advance(3 * time.Minute)
	if err := saves("JDOE", jdoe.fence, ""); !errors.Is(err, applock.ErrLost) {
		t.Errorf("after its end: %v", err)
	}
}
