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
	lock, err := d.client.Inquire(t.Context(), objectOf(t, object))
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
		check(t, d.see(t, "/"+verb+"?name="+object, http.StatusConflict), "nobody holds the object any more")
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
			d.see(t, "/"+verb+"?desk=JDOE", http.StatusForbidden)
		}
		lacks(t, d.see(t, "/operator?name=JDOE", http.StatusOK), "transfer?")
		lacks(t, d.see(t, "/locks", http.StatusOK), "checkbox name=lock")
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
		"bad next":     func(form url.Values) { form.Set("next", "nonsense") },
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
	desk := deskForm("JDOE", "ASMITH")
	desk.Set("confirmed", "yes")
	_, page := d.follow(t, d.submit("/release", desk)) // a confirmation that names no lock is a plan
	check(t, page, "Who is notified")
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
