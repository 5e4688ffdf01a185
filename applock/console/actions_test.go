package console

import (
	"errors"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
)

var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// formOf returns what the form of a page carries by itself.
func formOf(page string) url.Values {
	form := url.Values{}
	for _, match := range hidden.FindAllStringSubmatch(page, -1) {
		form.Add(match[1], html.UnescapeString(match[2]))
	}
	return form
}

// follow fetches what the browser is sent to.
func (d desk) follow(t *testing.T, w *httptest.ResponseRecorder) (status int, page string) {
	t.Helper()
	if w.Code != http.StatusSeeOther {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	answer := d.do(request(http.MethodGet, "/"+w.Header().Get("Location"), ""))
	return answer.Code, answer.Body.String()
}

func (d desk) holder(t *testing.T, object string) applock.Lock {
	t.Helper()
	parsed, err := applock.ParseObject(object)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := d.client.Inquire(t.Context(), parsed)
	if err != nil && !errors.Is(err, applock.ErrNotHeld) {
		t.Fatal(err)
	}
	return lock
}

func (d desk) events(t *testing.T) []applock.Event {
	t.Helper()
	var all []applock.Event
	for event, err := range d.client.History(t.Context(), applock.HistoryRequest{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, event)
	}
	return all
}

// Goal: a transfer asks, says what will happen and who will be told, does it once, and shows the answer again as often as
// somebody looks. Method: the forms as a browser without a script sends them, and then back and reload.
func TestTransfer(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	d.get(t, "customer:42", "JDOE", time.Hour)
	d.wait(t, "customer:42", "PKING")
	check(t, d.see(t, "/object?name=customer%3A42", http.StatusOK), `href="transfer?name=customer%3a42"`)
	form := formOf(d.see(t, "/transfer?name=customer%3A42", http.StatusOK))
	form.Set("to", "ASMITH")
	form.Set("unknown", "ASMITH")
	form.Set("reason", "")
	if w := d.submit("/transfer", form); w.Code != http.StatusBadRequest {
		t.Errorf("without a reason: status %d", w.Code)
	} else {
		check(t, w.Body.String(), "“Reason” is missing.", `value="ASMITH"`)
	}
	form.Set("reason", "JDOE is ill")
	form.Set("department", "CS")
	_, plan := d.follow(t, d.submit("/transfer", form))
	check(t, plan, "<h1>Hand over customer:42 to ASMITH (CS)?</h1>", "<button>Hand over customer:42 to ASMITH (CS)</button>",
		"JDOE loses customer:42 to ASMITH (CS).", "Waiting, and keeps waiting: PKING.", "In the inbox, with the reason: JDOE.", "In the inbox, with the reason: ASMITH (CS).",
		"By the refusal of the next save or renewal: JDOE.", "The history keeps your name, MLEE", "JDOE is ill")
	if lock := d.holder(t, "customer:42"); lock.Owner.Operator != "JDOE" {
		t.Fatal("it was done before it was confirmed")
	}
	confirmed := formOf(plan)
	done := d.submit("/transfer", confirmed)
	for range 2 {
		status, page := d.follow(t, done)
		check(t, page, "TRANSFERRED</strong> Handed over.", ">ASMITH</a> <span class=\"department\">CS</span>")
		if status != http.StatusOK {
			t.Errorf("status %d", status)
		}
	}
	// Back, and once more.
	status, page := d.follow(t, d.submit("/transfer", confirmed))
	check(t, page, "HELD", ">ASMITH</a>")
	if status != http.StatusConflict {
		t.Errorf("the answer HELD has status %d", status)
	}
	events := d.events(t)
	if len(events) != 1 || events[0].Actor != "MLEE" || events[0].Reason != "JDOE is ill" || events[0].To.Operator != "ASMITH" {
		t.Errorf("the history has %+v", events)
	}
}

// Goal: whatever has happened between the page and the confirmation, the answer is who has the object now, and no other
// grant is touched. Method: the forms of a grant that is not live any more, of which the same operator has another one.
func TestChangedHandsMeanwhile(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	for _, verb := range access.Changes() {
		object := verb + ":1"
		old := d.get(t, object, "JDOE", time.Hour)
		if _, err := d.client.Release(t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: old.Object, Operator: "JDOE"}}); err != nil {
			t.Fatal(err)
		}
		form := confirmedForm(old, "why not")
		form.Set("to", "ASMITH")
		status, page := d.follow(t, d.submit("/"+verb, form))
		check(t, page, "FREE", "Nothing has happened: nobody holds the object any more.")
		if status != http.StatusConflict {
			t.Errorf("%s of what is free: status %d", verb, status)
		}
		again := d.get(t, object, "JDOE", time.Hour)
		status, page = d.follow(t, d.submit("/"+verb, form))
		check(t, page, "HELD", ">JDOE</a>")
		if lock := d.holder(t, object); lock.Fence != again.Fence || lock.Note != "" || status != http.StatusConflict {
			t.Errorf("%s with an old fence: status %d, %+v", verb, status, lock)
		}
		form.Del("confirmed")
		if status, page := d.follow(t, d.submit("/"+verb, form)); status != http.StatusConflict || !strings.Contains(page, "HELD") {
			t.Errorf("%s asks about a grant that has ended: status %d", verb, status)
		}
	}
	if events := d.events(t); len(events) != 0 {
		t.Errorf("the history has %+v", events)
	}
}

// Goal: a take makes who is signed in the holder, by the grant that was on the page, and the history has it. Method: its forms,
// to the end.
func TestTake(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	d.get(t, "customer:42", "JDOE", time.Hour)
	d.wait(t, "customer:42", "PKING")
	form := formOf(d.see(t, "/take?name=customer%3A42", http.StatusOK))
	form.Set("reason", "the auditor waits")
	_, plan := d.follow(t, d.submit("/take", form))
	check(t, plan, "<button>Take over customer:42</button>", "In the inbox, with the reason: JDOE.", "Waiting, and keeps waiting: PKING.")
	status, page := d.follow(t, d.submit("/take", formOf(plan)))
	check(t, page, "TAKEN", ">MLEE</a>")
	if lock := d.holder(t, "customer:42"); status != http.StatusOK || lock.Owner.Operator != "MLEE" {
		t.Errorf("status %d, held by %s", status, lock.Owner)
	}
	events := d.events(t)
	if len(events) != 1 || events[0].Actor != "MLEE" || events[0].From.Operator != "JDOE" || events[0].Reason != "the auditor waits" {
		t.Errorf("the history has %+v", events)
	}
}

// Goal: release and note do what they say, and the history has who released. Method: their forms, to the end.
func TestReleaseAndNote(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	d.get(t, "customer:42", "JDOE", time.Hour)
	d.wait(t, "customer:42", "PKING")
	form := formOf(d.see(t, "/note?name=customer%3A42", http.StatusOK))
	form.Set("reason", "call him first")
	_, plan := d.follow(t, d.submit("/note", form))
	check(t, plan, "stays as it is", "call him first", "<button>Save the note on customer:42</button>")
	_, page := d.follow(t, d.submit("/note", formOf(plan)))
	check(t, page, "NOTED", "call him first")
	form = formOf(d.see(t, "/release?name=customer%3A42", http.StatusOK))
	form.Set("reason", "left the house")
	_, plan = d.follow(t, d.submit("/release", form))
	check(t, plan, "<button>Release customer:42</button>", "Waiting, and will try to get it: PKING.")
	_, page = d.follow(t, d.submit("/release", formOf(plan)))
	check(t, page, "RELEASED", "Released.")
	events := d.events(t)
	if len(events) != 1 || events[0].Actor != "MLEE" || events[0].Reason != "left the house [note: call him first]" || events[0].Kind != applock.EventReleased {
		t.Errorf("the history has %+v", events)
	}
	check(t, d.see(t, "/release?name=customer%3A42", http.StatusConflict), "nobody holds the object any more")
}

// Goal: nobody changes anything who may not, whatever is sent, and no form is believed blindly. Method: people and
// forms, and what is held afterwards.
func TestChangesAreRefused(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]Config{
		"default":      {},
		"no name":      {SignIn: Local(""), MayChange: func(string) bool { return true }},
		"another name": {SignIn: Local("ASMITH"), MayChange: func(person string) bool { return person == "MLEE" }},
	} {
		d := newDesk(t, config)
		grant := d.get(t, "customer:42", "JDOE", time.Hour)
		for _, verb := range access.Changes() {
			form := confirmedForm(grant, "because")
			form.Set("to", "ASMITH")
			if w := d.submit("/"+verb, form); w.Code != http.StatusForbidden {
				t.Errorf("%s: %s has status %d", name, verb, w.Code)
			}
			check(t, d.see(t, "/"+verb+"?name=customer%3A42", http.StatusForbidden), "You have no right to do that. If you need it, ask the person who runs this console.")
		}
		page := d.see(t, "/object?name=customer%3A42", http.StatusOK)
		if strings.Contains(page, "transfer?") || !strings.Contains(page, "look only") {
			t.Errorf("%s: the page offers what is refused", name)
		}
		if lock := d.holder(t, "customer:42"); lock.Fence != grant.Fence {
			t.Errorf("%s: %+v", name, lock)
		}
	}
	d := newDesk(t, supervisor())
	grant := d.get(t, "customer:42", "JDOE", time.Hour)
	for what, change := range map[string]func(form url.Values){
		"no lock":      func(form url.Values) { form.Del("lock") },
		"no fence":     func(form url.Values) { form.Set("lock", "JDOE customer:42") },
		"fence 0":      func(form url.Values) { form.Set("lock", "0 JDOE customer:42") },
		"no object":    func(form url.Values) { form.Set("lock", "1 JDOE") },
		"no query":     func(form url.Values) { form.Set("lock", "%zz") },
		"bad after":    func(form url.Values) { form.Set("after", "nonsense") },
		"blank reason": func(form url.Values) { form.Set("reason", "  ") },
	} {
		form := confirmedForm(grant, "because")
		change(form)
		if w := d.submit("/release", form); w.Code != http.StatusBadRequest {
			t.Errorf("%s: status %d", what, w.Code)
		}
	}
	if w := d.submit("/release", confirmedForm(grant, strings.Repeat("x", 1<<20))); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a big form has status %d", w.Code)
	}
	long := d.submit("/release", confirmedForm(grant, strings.Repeat("x", applock.MaxReasonLength+1)))
	check(t, long.Body.String(), "“Reason” has 256 characters")
	both := confirmedForm(grant, "because")
	both.Add("lock", both.Get("lock"))
	if w := d.submit("/note", both); w.Code != http.StatusBadRequest {
		t.Errorf("a note on several locks has status %d", w.Code)
	}
	for range 500 {
		both.Add("lock", both.Get("lock"))
	}
	if w := d.submit("/release", both); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("more locks than a plan has: status %d", w.Code)
	}
	if w := d.do(request(http.MethodPut, "/release", "")); w.Code == http.StatusOK {
		t.Error("another method than POST is let through")
	}
	if lock := d.holder(t, "customer:42"); lock.Fence != grant.Fence {
		t.Errorf("something was released: %+v", lock)
	}
}
