package console

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
	"github.com/applock/applock/applock/console/internal/pages"
	"github.com/applock/applock/applock/console/internal/reading"
)

// signedInDesk is a desk whose people, and their groups, are named by headers of a proxy on this host.
func signedInDesk(t *testing.T) desk {
	t.Helper()
	d, _ := logged(t)
	return d
}

// logged is a desk for such people, with a log.
func logged(t *testing.T) (d desk, log *bytes.Buffer) {
	t.Helper()
	signIn, err := TrustedHeader("X-User", "X-Groups", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	if err != nil {
		t.Fatal(err)
	}
	log = &bytes.Buffer{}
	mayChange := func(person string) bool { return person != "AUDITOR" }
	return newDesk(t, Config{SignIn: signIn, MayChange: mayChange, Logger: slog.New(slog.NewTextHandler(log, nil))}), log
}

// by is a request of a person of some groups. A form makes it a POST.
func (d desk) by(person, address string, form url.Values, groups ...string) *httptest.ResponseRecorder {
	if form != nil {
		return d.as(person, groups...).submit(address, form)
	}
	return d.as(person, groups...).do(request(http.MethodGet, address, ""))
}

// as returns the desk for a person of some groups.
func (d desk) as(person string, groups ...string) desk {
	handler := d.handler
	d.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("X-User", person)
		r.Header.Set("X-Groups", strings.Join(groups, ","))
		handler.ServeHTTP(w, r)
	})
	return d
}

func (d desk) asking(t *testing.T) []applock.Asker {
	t.Helper()
	var all []applock.Asker
	for asker, err := range d.client.Asking(t.Context(), applock.AskingRequest{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, asker)
	}
	return all
}

func askForm(object, message, wait string) url.Values {
	return url.Values{"name": {object}, "message": {message}, "wait": {wait}}
}

var respondForm = regexp.MustCompile(`(?s)<form method="post" action="respond">.*?</form>`)

// answerForm is the form of a desk, with an answer.
func answerForm(t *testing.T, page, answer, reason string) url.Values {
	t.Helper()
	form := formOf(respondForm.FindString(page))
	if form.Get("lock") == "" {
		t.Fatalf("the desk has no form to answer: %s", page)
	}
	form.Set("answer", answer)
	form.Set("reason", reason)
	return form
}

func lacks(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(page, text) {
			t.Errorf("the page has %q", text)
		}
	}
}

// Goal: an operator asks, the holder reads it and gives, the operator is told, takes it up, and the holder is told. Method: the pages of
// both, and the lock after each step.
func TestAskAndGive(t *testing.T) {
	t.Parallel()
	d := signedInDesk(t)
	grant := d.get(t, "customer:42", "JDOE", time.Hour)
	check(t, d.by("BROWN", "/object?name=customer%3A43", nil).Body.String(), "<button>Get customer:43</button>")
	check(t, d.by("BROWN", "/ask?name=customer%3A42", nil).Body.String(), "Ask for customer:42", "JDOE holds customer:42, reads your message")
	d.as("BROWN").sends(t, "/ask", askForm("customer:42", "it is urgent, <b>please</b>", "8h"), http.StatusOK,
		"Your desk, BROWN", "it is urgent, &lt;b&gt;please", "none yet", `data-asks="yes"`, "JDOE", "Withdraw")
	theirs := d.by("JDOE", "/desk", nil).Body.String()
	check(t, theirs, "Your desk, JDOE", "it is urgent", "BROWN asks", `<a href="operator?name=BROWN">BROWN</a>`, `<a class="small button" href="extend?name=customer%3a42" data-key="e"`)
	lacks(t, theirs, "data-asks")
	for address, text := range map[string]string{"/": "Who asks for what", "/locks": "BROWN asks", "/object?name=customer%3A42": "asks for it", "/operator?name=JDOE": "BROWN asks"} {
		check(t, d.by("MLEE", address, nil).Body.String(), text)
	}
	lacks(t, d.by("MLEE", "/operator?name=JDOE", nil).Body.String(), `action="respond"`)

	d.as("JDOE").sends(t, "/respond", answerForm(t, theirs, "GIVE", "it is yours"), http.StatusOK, "GIVEN",
		"BROWN has the lock now. It ends within a minute unless that operator takes it up.")
	if lock := d.holder(t, "customer:42"); lock.Owner.Operator != "BROWN" || lock.Fence <= grant.Fence {
		t.Fatalf("the lock is %+v", lock)
	}
	mine := d.by("BROWN", "/desk", nil).Body.String()
	check(t, mine, "JDOE has given you customer:42. Take it up, or it ends in", `<button>Take up customer:42</button>`, "it is yours", "You ask for nothing.")
	check(t, d.by("JDOE", "/desk", nil).Body.String(), "Nobody asks for what you hold.", "Holds nothing.", "gave <a", "it is yours")
	d.as("BROWN").sends(t, "/get", url.Values{"name": {"customer:42"}}, http.StatusOK, "RENEWED", "You have it until")
	if left := d.holder(t, "customer:42").Left; left < 24*time.Hour {
		t.Errorf("it was taken up for %s", left)
	}
	lacks(t, d.by("BROWN", "/desk", nil).Body.String(), "Take up customer:42")
}

// Goal: whichever page is open says within one poll who asks for what the person holds, what the person has been given, and what became of it
// otherwise. Method: two people who never leave their first page, which asks by its version.
func TestEveryPageTells(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := signedInDesk(t)
		d.get(t, "customer:42", "JDOE", time.Hour)
		for i := range reading.RowsOfPage + 1 { // so that what is given is not among the first
			d.get(t, fmt.Sprintf("a:%d", i), "BROWN", time.Hour)
		}
		jdoe := &looker{desk: d, address: "/", person: "JDOE", version: "none"}
		brown := &looker{desk: d, address: "/history", person: "BROWN", version: "none"}
		poll := func(of *looker) string {
			time.Sleep(DefaultInterval)
			_, page := of.asks()
			return page
		}
		lacks(t, poll(jdoe), `class="badge"`, `<title>(`)
		d.as("BROWN").sends(t, "/ask", askForm("customer:42", "please", ""), http.StatusOK)
		check(t, poll(jdoe), `<title>(1) `, `<span class="badge">1</span>`, "BROWN asks you for customer:42.", `href="desk#asked"`)
		lacks(t, poll(brown), `<title>(`)
		d.as("JDOE").sends(t, "/respond", answerForm(t, d.by("JDOE", "/desk", nil).Body.String(), "GIVE", ""), http.StatusOK)
		check(t, poll(brown), `<title>(1) `, "JDOE has given you customer:42. Take it up, or it ends in", "<button>Take up customer:42</button>")
		lacks(t, poll(jdoe), `<title>(`)
		desk := &looker{desk: d, address: "/desk", person: "BROWN", version: "none"}
		poll(desk)
		d.release(t, "customer:42", "BROWN")
		check(t, poll(brown), `<title>(1) `, "customer:42 was given to you and is not yours any more.", "<button>Get customer:42</button>")
		check(t, poll(desk), `<title>(1) `, "customer:42 was given to you and is not yours any more.")
		for range 2 {
			for _, of := range []*looker{brown, desk} {
				if status, page := of.asks(); status != http.StatusNotModified {
					t.Errorf("%s says something else at once: %s", of.address, page)
				}
			}
		}
		d.as("BROWN").sends(t, "/get", url.Values{"name": {"customer:42"}}, http.StatusOK)
		lacks(t, poll(brown), `<title>(`)
	})
}

// Goal: what is not given is told: later and no with the reason, to the asker's desk; a request can be withdrawn. Method: the desks.
func TestAskAndNotGive(t *testing.T) {
	t.Parallel()
	d := signedInDesk(t)
	d.get(t, "customer:42", "JDOE", time.Hour)
	d.as("BROWN").sends(t, "/ask", askForm("customer:42", "please", ""), http.StatusOK)
	for _, of := range []struct{ answer, text, theirs string }{{"LATER", "Not yet.", "answered: not yet"}, {"NO", "No.", "Nobody asks for what you hold."}} {
		form := answerForm(t, d.by("JDOE", "/desk", nil).Body.String(), of.answer, "because of "+of.answer)
		d.as("JDOE").sends(t, "/respond", form, http.StatusOK, "TOLD", "BROWN finds your answer in the inbox: ")
		check(t, d.by("BROWN", "/desk", nil).Body.String(), "<strong>"+of.text+"</strong>", "because of "+of.answer)
		check(t, d.by("JDOE", "/desk", nil).Body.String(), of.theirs)
	}
	form := url.Values{"name": {"customer:42"}, "client": {access.Client}}
	d.as("BROWN").sends(t, "/withdraw", form, http.StatusOK, "You ask for nothing.")
	if asking := d.asking(t); len(asking) != 0 {
		t.Errorf("after it was withdrawn: %+v", asking)
	}
}

// Goal: an answer is about the grant that the page showed: what has changed since is told in plain words, and nothing happens. Method: a
// form of a desk, and somebody who is faster.
func TestAnswersComeTooLate(t *testing.T) {
	t.Parallel()
	for want, faster := range map[string]func(d desk){
		"HELD": func(d desk) {
			d.release(t, "customer:42", "JDOE")
			d.get(t, "customer:42", "JDOE", time.Hour)
		},
		"FREE": func(d desk) { d.release(t, "customer:42", "JDOE") },
		"GONE": func(d desk) {
			d.as("BROWN").sends(t, "/withdraw", url.Values{"name": {"customer:42"}, "client": {access.Client}}, http.StatusOK)
		},
	} {
		d := signedInDesk(t)
		d.get(t, "customer:42", "JDOE", time.Hour)
		d.as("BROWN").sends(t, "/ask", askForm("customer:42", "", ""), http.StatusOK)
		form := answerForm(t, d.by("JDOE", "/desk", nil).Body.String(), "GIVE", "")
		faster(d)
		before := d.holder(t, "customer:42")
		d.as("JDOE").sends(t, "/respond", form, http.StatusConflict, "<strong>"+want+"</strong> Nothing has happened")
		if after := d.holder(t, "customer:42"); after.Fence != before.Fence || after.Owner != before.Owner {
			t.Errorf("%s: the lock is %+v", want, after)
		}
	}
}

// Goal: nobody asks for what is free or its own, with a message that is too long or turns words, or without the right; and nobody answers
// for somebody else. Method: forms, and who asks afterwards.
func TestRequestsAreRefused(t *testing.T) {
	t.Parallel()
	d := signedInDesk(t)
	grant := d.get(t, "customer:42", "JDOE", time.Hour)
	for _, of := range []struct {
		person, address string
		form            url.Values
		status          int
		text            string
	}{
		{"BROWN", "/ask", askForm("customer:43", "x", ""), http.StatusConflict, "FREE</strong> Nobody holds it, so there is nobody to ask."},
		{"BROWN", "/ask?name=customer%3A43", nil, http.StatusConflict, "Get customer:43"},
		{"JDOE", "/ask", askForm("customer:42", "x", ""), http.StatusConflict, "OWN</strong> You hold it yourself."},
		{"JDOE", "/ask?name=customer%3A42", nil, http.StatusConflict, "You hold it yourself."},
		{"BROWN", "/ask", askForm("customer:42", strings.Repeat("x", 256), ""), http.StatusBadRequest, "“Message” has 256 characters, at most 255"},
		{"BROWN", "/ask", askForm("customer:42", "a\u202eb", ""), http.StatusBadRequest, `which is written as an escape here: a\u202eb`},
		{"BROWN", "/ask", askForm("customer:42", "a\nb", ""), http.StatusBadRequest, "“Message” has a character that cannot be seen"},
		{"BROWN", "/ask", askForm("customer:42", "x", "soon"), http.StatusBadRequest, "“Give up after” is written as"},
		{"BROWN", "/ask", askForm("customer", "x", ""), http.StatusBadRequest, "“Object”"},
		{"BROWN", "/ask", url.Values{"message": {"x"}}, http.StatusBadRequest, "is missing: select one"},
		{"AUDITOR", "/ask", askForm("customer:42", "x", ""), http.StatusForbidden, "You have no right"},
		{"AUDITOR", "/ask?name=customer%3A42", nil, http.StatusForbidden, "You have no right"},
		{"AUDITOR", "/get", url.Values{"name": {"customer:43"}}, http.StatusForbidden, "You have no right"},
		{"AUDITOR", "/withdraw", url.Values{"name": {"customer:42"}, "client": {"console"}}, http.StatusForbidden, "You have no right"},
		{"AUDITOR", "/respond", url.Values{"lock": {pages.FormatGrant(grant.Key())}}, http.StatusForbidden, "You have no right"},
		{"BROWN", "/respond", url.Values{"lock": {pages.FormatGrant(grant.Key())}, "asker": {"BROWN"}, "answer": {"GIVE"}}, http.StatusForbidden, "You have no right"},
		{"JDOE", "/respond", url.Values{"lock": {pages.FormatGrant(grant.Key())}, "asker": {"BROWN"}, "answer": {"MAYBE"}}, http.StatusBadRequest, "must be GIVE, LATER or NO"},
		{"JDOE", "/respond", url.Values{"lock": {"x"}, "asker": {"BROWN"}, "answer": {"GIVE"}}, http.StatusBadRequest, "is missing"},
		{"BROWN", "/get", url.Values{"name": {"customer:42"}}, http.StatusConflict, "HELD</strong> Nothing has happened: JDOE"},
	} {
		d.as(of.person).sends(t, of.address, of.form, of.status, of.text)
	}
	lacks(t, d.by("AUDITOR", "/locks", nil).Body.String(), `formaction="ask"`)
	lacks(t, d.by("AUDITOR", "/object?name=customer%3A42", nil).Body.String(), `href="ask?`)
	r := request(http.MethodPost, "/ask", askForm("customer:42", "x", "").Encode())
	r.Header.Set("X-User", "BROWN")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	if w := d.do(r); w.Code != http.StatusForbidden {
		t.Errorf("a form of another site has status %d", w.Code)
	}
	if asking, lock := d.asking(t), d.holder(t, "customer:42"); len(asking) != 0 || lock.Fence != grant.Fence {
		t.Errorf("%+v ask, and the lock is %+v", asking, lock)
	}
}

// Goal: several that are selected in the list are asked for with one message. Method: the list's form.
func TestAskForSeveral(t *testing.T) {
	t.Parallel()
	d := signedInDesk(t)
	one, two := d.get(t, "customer:42", "JDOE", time.Hour), d.get(t, "customer:43", "ASMITH", time.Hour)
	check(t, d.by("BROWN", "/locks", nil).Body.String(), `formaction="ask"`, `value="`+pages.FormatGrant(one.Key())+`"`)
	var form string
	for _, selected := range []url.Values{{"all": {"type=customer"}}, {"lock": {pages.FormatGrant(one.Key()), pages.FormatGrant(two.Key())}}} {
		form = d.as("BROWN").sends(t, "/ask", selected, http.StatusOK, "Ask for 2 locks", "Each holder reads your message")
	}
	carried := formOf(form)
	carried.Set("message", "both, please")
	d.as("BROWN").sends(t, "/ask", carried, http.StatusOK, "customer:42", "customer:43", "both, please")
	if got := d.asking(t); len(got) != 2 {
		t.Errorf("asking are %+v", got)
	}
	carried.Add("name", "customer:44")
	d.as("BROWN").sends(t, "/ask", carried, http.StatusConflict, "FREE</strong> Nobody holds it", "ASKED</strong> ASMITH finds your request")
}

// Goal: a request is repeated as long as its person has a page of the console open, whichever it is, every 15 s however many pages these
// are, with the same message and a time to give up; nobody else's page repeats it; what becomes free is told. Method: pages that ask for ten
// minutes, in a time of the test's own; the database's clock is the real one, and stands for all of it.
func TestRequestsLiveWithThePage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := signedInDesk(t)
		d.get(t, "customer:42", "JDOE", time.Hour)
		d.get(t, "customer:43", "JDOE", time.Hour)
		d.as("BROWN").sends(t, "/ask", askForm("customer:42", "please", ""), http.StatusOK)
		d.as("BROWN").sends(t, "/ask", askForm("customer:43", "please", "1d"), http.StatusOK)
		open := func(person string, pages int, during time.Duration) int64 {
			d.calls.asks.Swap(0)
			for range during / DefaultInterval {
				for range pages {
					(&looker{desk: d, address: "/waiters", person: person, version: "none"}).asks()
				}
				time.Sleep(DefaultInterval)
			}
			return d.calls.asks.Swap(0)
		}
		before := d.asking(t)
		for pages := range 3 {
			if got, want := open("BROWN", pages, 10*time.Minute), int64(min(pages, 1)*2*600/16); got < want-2 || got > want+2 {
				t.Errorf("%d pages ask %d times in ten minutes, want about %d", pages, got, want)
			}
		}
		if got := open("JDOE", 1, time.Minute); got != 0 {
			t.Errorf("the holder's page asks %d times", got)
		}
		after := d.asking(t)
		if len(after) != 2 || !after[0].Since.Equal(before[0].Since) || after[0].Message != "please" || !after[0].Until.IsZero() || after[1].Until.IsZero() {
			t.Errorf("after twenty minutes: %+v", after)
		}
		d.release(t, "customer:42", "JDOE")
		open("BROWN", 1, time.Minute)
		check(t, d.by("BROWN", "/desk", nil).Body.String(), "Nobody holds customer:42 any more.", "Get customer:42", "data-asks")
		d.get(t, "customer:42", "KIM", time.Hour)
		lacks(t, d.by("BROWN", "/desk", nil).Body.String(), "Nobody holds")
		d.release(t, "customer:42", "KIM")
		d.get(t, "customer:44", "JDOE", time.Hour)
		d.as("BROWN").sends(t, "/ask", askForm("customer:44", "please", ""), http.StatusOK)
		d.release(t, "customer:44", "JDOE")
		open("BROWN", 1, time.Minute)
		check(t, d.by("BROWN", "/desk", nil).Body.String(), "Nobody holds customer:44 any more.")
		d.as("BROWN").sends(t, "/get", url.Values{"name": {"customer:44"}}, http.StatusOK, "ACQUIRED")
		d.as("BROWN").sends(t, "/withdraw", url.Values{"name": {"customer:43"}, "client": {access.Client}}, http.StatusOK)
		open("BROWN", 1, time.Minute)
		lacks(t, d.by("BROWN", "/desk", nil).Body.String(), "Nobody holds", "data-asks")
		if got := open("BROWN", 1, time.Minute); got != 0 {
			t.Errorf("who asks for nothing asks %d times", got)
		}
	})
}

// Goal: who looks is on the list, on the lock's page and on the desk, and nothing is where the policy of the type has no presence. Method:
// viewers of two types.
func TestPresenceIsShown(t *testing.T) {
	t.Parallel()
	d := signedInDesk(t)
	if err := d.client.SetPolicy(t.Context(), applock.SetPolicyRequest{Policy: applock.Policy{Type: "secret", WithoutPresence: true}, Actor: "MLEE"}); err != nil {
		t.Fatal(err)
	}
	see := func(object, operator string, state applock.PresenceState) {
		parsed, err := applock.ParseObject(object)
		if err != nil {
			t.Fatal(err)
		}
		request := applock.SeeRequest{Object: parsed, Owner: applock.Owner{Operator: operator}, Client: "tab", State: state}
		if _, err := d.client.See(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
	for _, object := range []string{"customer:42", "secret:1"} {
		d.get(t, object, "JDOE", time.Hour)
		see(object, "JDOE", applock.StateEditing)
		see(object, "BROWN", applock.StateEditing)
		see(object, "KIM", applock.StateViewing)
		see(object, "LEE", applock.StateIdle)
	}
	for _, address := range []string{"/locks", "/desk", "/locks?sort=left"} {
		page := d.by("JDOE", address, nil).Body.String()
		check(t, page, "BROWN edits", "KIM, LEE look")
		if strings.Count(page, `class="here"`) != 2 {
			t.Errorf("%s tells more, or of the holder, or of a type without presence", address)
		}
	}
	check(t, d.by("MLEE", "/object?name=customer%3A42", nil).Body.String(), "Who asks, and who looks", "edits it", "looks at it", "has it open, but is idle")
	lacks(t, d.by("MLEE", "/object?name=secret%3A1", nil).Body.String(), "Who asks, and who looks")
	d.calls.blind.Store(true) // an account without the right to see them still gets the pages
	for _, address := range []string{"/", "/locks?type=customer", "/object?name=customer%3A42", "/operator?name=JDOE", "/waiters"} {
		if w := d.by("MLEE", address, nil); w.Code != http.StatusOK {
			t.Errorf("%s has status %d", address, w.Code)
		}
	}
}
