package console

import (
	"context"
	"errors"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
	"github.com/applock/applock/applock/console/internal/pages"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
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

// sends sends a form, nil to get a page, and returns the page behind it, which has this status and these texts.
func (d desk) sends(t *testing.T, address string, form url.Values, status int, texts ...string) (page string) {
	t.Helper()
	method := http.MethodPost
	if form == nil {
		method = http.MethodGet
	}
	w := d.do(request(method, address, form.Encode()))
	if w.Code == http.StatusSeeOther {
		w = d.do(request(http.MethodGet, "/"+w.Header().Get("Location"), ""))
	}
	if w.Code != status {
		t.Errorf("%s by %v has status %d, want %d: %s", address, form, w.Code, status, w.Body)
	}
	check(t, w.Body.String(), texts...)
	return w.Body.String()
}

func (d desk) holder(t *testing.T, object string) applock.Lock {
	t.Helper()
	lock, err := d.client.Inquire(t.Context(), objectOf(t, object))
	if err != nil && !errors.Is(err, applock.ErrNotHeld) {
		t.Fatal(err)
	}
	return lock
}

// heldBy compares who holds each object, empty for nobody.
func (d desk) heldBy(t *testing.T, holders map[string]string) {
	t.Helper()
	for object, want := range holders {
		if lock := d.holder(t, object); lock.Owner.Operator != want {
			t.Errorf("%s is held by %q, want %q", object, lock.Owner.Operator, want)
		}
	}
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
		d.sends(t, "/"+verb, form, http.StatusConflict, "FREE", "Nothing has happened: nobody holds the object any more.")
		check(t, d.see(t, "/"+verb+"?name="+object, http.StatusConflict), "nobody holds the object any more")
		again := d.get(t, object, "JDOE", time.Hour)
		d.sends(t, "/"+verb, form, http.StatusConflict, "HELD", ">JDOE</a>")
		if lock := d.holder(t, object); lock.Fence != again.Fence || lock.Note != "" {
			t.Errorf("%s with an old fence: %+v", verb, lock)
		}
		form.Del("confirmed")
		d.sends(t, "/"+verb, form, http.StatusConflict, "HELD")
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
			d.sends(t, "/"+verb, form, http.StatusForbidden)
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
	for _, change := range map[string]func(form url.Values){
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
		d.sends(t, "/release", form, http.StatusBadRequest)
	}
	d.sends(t, "/release", confirmedForm(grant, strings.Repeat("x", 1<<20)), http.StatusRequestEntityTooLarge)
	desk := deskForm("JDOE", "ASMITH")
	desk.Set("confirmed", "yes")
	d.sends(t, "/release", desk, http.StatusOK, "Who is notified") // a confirmation that names no lock is a plan
	d.sends(t, "/release", confirmedForm(grant, strings.Repeat("x", applock.MaxReasonLength+1)), http.StatusBadRequest, "“Reason” has 256 characters")
	both := confirmedForm(grant, "because")
	both.Add("lock", both.Get("lock"))
	d.sends(t, "/note", both, http.StatusBadRequest)
	for range 500 {
		both.Add("lock", both.Get("lock"))
	}
	d.sends(t, "/release", both, http.StatusRequestEntityTooLarge) // more than a plan has
	if w := d.do(request(http.MethodPut, "/release", "")); w.Code == http.StatusOK {
		t.Error("another method than POST is let through")
	}
	if lock := d.holder(t, "customer:42"); lock.Fence != grant.Fence {
		t.Errorf("something was released: %+v", lock)
	}
}

// Goal: a hand-over goes to somebody who is known, or to whom it was confirmed to go, and a name has no character that cannot be seen.
// Method: names in the form of a hand-over, as a browser or a hand sends them.
func TestTargets(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	grant := d.get(t, "customer:42", "JDOE", time.Hour)
	d.get(t, "customer:43", "ASMITH", time.Hour)
	d.wait(t, "customer:42", "PKING")
	if _, err := d.client.Take(t.Context(), applock.TakeRequest{
		Object: d.get(t, "customer:44", "FORMER", time.Hour).Object, Owner: applock.Owner{Operator: "BJONES", Department: "legal"}, Reason: "x",
	}); err != nil {
		t.Fatal(err)
	}
	d.release(t, "customer:44", "BJONES")
	check(t, d.see(t, "/transfer?name=customer%3A42", http.StatusOK), `<option value="ASMITH" label="ASMITH (CS)">`, `<option value="PKING"`,
		`<option value="BJONES" label="BJONES (legal)">`, `list="people"`)
	for _, test := range []struct{ to, department, unknown, plan, problem string }{
		{to: "ASMITH", plan: "to ASMITH (CS)"},
		{to: "ASMITH", department: "sales", plan: "to ASMITH (sales)"},
		{to: "BJONES", plan: "to BJONES (legal)"},
		{to: "FORMER", plan: "to FORMER (CS)"},
		{to: "PKING", plan: "to PKING (CS)"}, // who has none: the lock's
		{to: "asmihtth", problem: "No operator asmihtth is known"},
		{to: "asmihtth", unknown: "asmith", problem: "No operator asmihtth is known"},
		{to: "asmihtth", unknown: "asmihtth", plan: "to asmihtth (CS)"},
		{to: "ASMITH\u200b", problem: `“To which operator” has a character that cannot be seen, which is written as an escape here: ASMITH\u200b.`},
		{to: "ASM\nITH", problem: `ASM\nITH`},
		{to: "\u202eASMITH", problem: `\u202eASMITH`},
		{to: "ASMITH\u3164", problem: "cannot be seen"},
		{to: "ASMITH", department: "C\u00adS", problem: `“Department of that operator” has a character that cannot be seen`},
		{to: "Müller-Lüdenscheidt 山田", unknown: "Müller-Lüdenscheidt 山田", plan: "to Müller-Lüdenscheidt 山田 (CS)"},
	} {
		form := confirmedForm(grant, "JDOE is ill")
		form.Set("to", test.to)
		form.Set("department", test.department)
		form.Set("unknown", test.unknown)
		if test.problem != "" { // also where a hand goes past the plan
			page := d.sends(t, "/transfer", form, http.StatusBadRequest, test.problem)
			if ask := strings.Contains(page, `name="unknown" value="asmihtth"`); ask != (test.to == "asmihtth") {
				t.Errorf("%q asks whether it is meant: %t", test.to, ask)
			}
			continue
		}
		form.Del("confirmed")
		d.sends(t, "/transfer", form, http.StatusOK, "<button>Hand over customer:42 "+test.plan+"</button>")
	}
	d.hold(t, "case:1", "MLEE", "legal", time.Hour)
	check(t, d.see(t, "/take?name=customer%3A42", http.StatusOK), `value="legal"`)
	if lock := d.holder(t, "customer:42"); lock.Fence != grant.Fence {
		t.Errorf("%+v", lock)
	}
}

// Goal: the answer to a hand-over offers the way back to each who has lost locks, as a plan with all that a plan has. Method: locks of two
// operators, taken over and handed back; and a release, which has no way back.
func TestHandBack(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	first := d.get(t, "a:1", "JDOE", time.Hour)
	d.note(t, first, "a note")
	form := confirmedForm(first, "by mistake")
	for _, object := range []string{"a:2", "a:3"} {
		operator := "JDOE"
		if object == "a:3" {
			operator = "BJONES"
		}
		form.Add("lock", pages.FormatGrant(d.get(t, object, operator, time.Hour).Key()))
	}
	form.Set("carry", "yes")
	answer := d.sends(t, "/take", form, http.StatusOK, "TAKEN</strong> Taken over. You have it now. 3 of 3.", `<button class="small">Hand back 2 locks to JDOE (CS)</button>`, `<button class="small">Hand back a:3 to BJONES (CS)</button>`)
	_, back, _ := strings.Cut(answer, `action="transfer">`)
	back, _, _ = strings.Cut(back, "</form>")
	plan := d.sends(t, "/transfer", formOf(back), http.StatusOK, "<button>Hand over 2 locks of MLEE to JDOE (CS)</button>", "Handed back", "a note")
	confirmed := formOf(plan)
	confirmed.Set("carry", "yes")
	d.sends(t, "/transfer", confirmed, http.StatusOK, "TRANSFERRED</strong> Handed over. 2 of 2.")
	for object, want := range map[string]string{"a:1": "JDOE (CS) a note", "a:2": "JDOE (CS) ", "a:3": "MLEE (CS) "} {
		if lock := d.holder(t, object); lock.Owner.String()+" "+lock.Note != want {
			t.Errorf("%s is held by %s, with the note %q", object, lock.Owner, lock.Note)
		}
	}
	answer = d.sends(t, "/release", confirmedForm(d.get(t, "a:4", "JDOE", time.Hour), "gone"), http.StatusOK)
	if strings.Contains(answer, "Hand back") {
		t.Error("a release can be handed back")
	}
}

// Goal: the form of a note has the note that is there, also one of several lines; it can be changed and cleared, and what somebody else
// has changed meanwhile, by the same grant, is not overwritten: both texts are shown, and to send it again is to decide again. Method: the
// forms, with a change before the plan and before the confirmation.
func TestNoteOfAnother(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	grant := d.get(t, "customer:42", "JDOE", time.Hour)
	d.note(t, grant, "first line\nsecond <line>")
	page := d.see(t, "/note?name=customer%3A42", http.StatusOK)
	check(t, page, "first line\nsecond &lt;line&gt;</textarea>")
	form := formOf(page)
	form.Set("reason", "mine\r\nof two lines") // as browsers send it
	confirmed := formOf(d.sends(t, "/note", form, http.StatusOK, "first line", "of two lines", "<button>Save the note on customer:42</button>"))

	d.note(t, grant, "theirs")
	again := d.sends(t, "/note", confirmed, http.StatusConflict, "somebody has changed the note", "theirs", "mine")
	if note := d.holder(t, "customer:42").Note; note != "theirs" {
		t.Errorf("the note is %q", note)
	}
	d.sends(t, "/note", form, http.StatusConflict) // the plan says it, too
	form = formOf(again)
	form.Set("reason", "mine\r\nof two lines")
	plan := d.sends(t, "/note", form, http.StatusOK)
	d.sends(t, "/note", formOf(plan), http.StatusOK, "NOTED</strong> The note is saved.")
	if note := d.holder(t, "customer:42").Note; note != "mine\nof two lines" {
		t.Errorf("the note is %q", note)
	}

	form = formOf(d.see(t, "/note?name=customer%3A42", http.StatusOK))
	form.Set("reason", "")
	plan = d.sends(t, "/note", form, http.StatusOK, "<button>Clear the note on customer:42</button>", "(no note)")
	d.sends(t, "/note", formOf(plan), http.StatusOK, "NOTED")
	if note := d.holder(t, "customer:42").Note; note != "" {
		t.Errorf("the note is %q", note)
	}
	form = formOf(d.see(t, "/note?name=customer%3A42", http.StatusOK))
	form.Set("reason", "")
	d.sends(t, "/note", form, http.StatusBadRequest, "“Note” is missing.")
}

// meeting is a database at which two who look at a lock wait for each other, at most a moment: so both know it before either changes it.
type meeting struct {
	db.Driver
	looked atomic.Int32
	met    chan struct{}
}

func (m *meeting) ApplLockLive(ctx context.Context, params db.ApplLockLiveParams) ([]db.Lock, error) {
	locks, err := m.Driver.ApplLockLive(ctx, params)
	if m.looked.Add(1) == 2 {
		close(m.met)
	}
	select {
	case <-m.met:
	case <-time.After(200 * time.Millisecond):
	}
	return locks, err
}

// Goal: of two supervisors who save a note at once one is refused. Method: two confirmations whose looks at the note meet, if they can.
func TestTwoNotesAtOnce(t *testing.T) {
	t.Parallel()
	behind := newDesk(t, Config{})
	grant := behind.get(t, "customer:42", "JDOE", time.Hour)
	config := supervisor()
	config.Timeout = time.Hour
	d := deskOn(clients.New[*applock.Client](&meeting{Driver: clients.Driver(behind.client), met: make(chan struct{})}, nil, lease.Hooks{}), config)
	d.console.own.rights = allRights
	var saved, refused atomic.Int32
	var both sync.WaitGroup
	for _, text := range []string{"one", "two"} {
		both.Go(func() {
			switch w := d.submit("/note", confirmedForm(grant, text)); w.Code {
			case http.StatusSeeOther:
				saved.Add(1)
			case http.StatusConflict:
				refused.Add(1)
			}
		})
	}
	both.Wait()
	if saved.Load() != 1 || refused.Load() != 1 {
		t.Errorf("%d saved, %d refused", saved.Load(), refused.Load())
	}
}
