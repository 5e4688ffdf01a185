package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/pages"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
)

// deskForm is what the first form on a desk sends.
func deskForm(holder, to string) url.Values {
	return url.Values{"desk": {holder}, "to": {to}, "unknown": {to}, "lasts": {"1h"}, "reason": {"JDOE is ill"}}
}

// Goal: a plan is done once: a second click, or the way back, shows the first answer. Method: a plan confirmed by two requests at the same time, and
// once more by somebody else.
func TestPlanIsUsedOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	grant := d.get(t, "a:1", "JDOE", time.Hour)
	form := confirmedForm(grant, "gone")
	form.Del("confirmed")
	plan := d.sends(t, "/release", form, http.StatusOK)
	confirmed := formOf(plan)
	var clicks sync.WaitGroup
	for range 2 {
		clicks.Go(func() {
			w := d.submit("/release", confirmed)
			check(t, d.see(t, "/"+w.Header().Get("Location"), http.StatusOK), "<strong>RELEASED</strong>")
		})
	}
	clicks.Wait()
	d.get(t, "a:1", "JDOE", time.Hour)
	d.sends(t, "/release", confirmed, http.StatusOK, "<strong>RELEASED</strong>")
	if lock := d.holder(t, "a:1"); lock.Fence <= grant.Fence {
		t.Errorf("the second use has released %+v", lock)
	}
}

// Goal: a plan and an answer are read by the person whose they are, at a console with the same key; else a plan is called lost, with nothing done.
// Method: their addresses, opened by another person, and at a console with a key of its own.
func TestPlansAreOfOnePersonAndKey(t *testing.T) {
	t.Parallel()
	config := supervisor()
	config.Key = [32]byte{1}
	d := newDesk(t, config)
	form := confirmedForm(d.get(t, "a:1", "JDOE", time.Hour), "gone")
	form.Del("confirmed")
	stranger, alone := config, config
	stranger.SignIn, alone.Key = Local("PKING"), [32]byte{}
	for _, by := range []Config{config, alone} { // the key of a console without one is like no other's
		sealed := deskOn(d.client, by).submit("/release", form).Header().Get("Location")
		for _, other := range []Config{stranger, alone} {
			check(t, deskOn(d.client, other).see(t, "/"+sealed, http.StatusNotFound), "Nothing has happened yet: begin again")
		}
	}
	form.Set("confirmed", "yes")
	sealed := d.submit("/release", form).Header().Get("Location")
	check(t, deskOn(d.client, config).see(t, "/"+sealed, http.StatusOK), "<strong>RELEASED</strong>")
	check(t, deskOn(d.client, stranger).see(t, "/"+sealed, http.StatusNotFound), "This answer cannot be read any more")
}

// Goal: a desk is handed over after a plan that shows each lock, once, and the answer is that of the database for each. Method: the
// forms of a browser without a script, twice, and the same with a new lock.
func TestHandDeskOver(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	for _, object := range []string{"customer:42", "customer:43", "order:7"} {
		d.get(t, object, "JDOE", time.Hour)
	}
	d.get(t, "customer:44", "BJONES", time.Hour)
	d.wait(t, "customer:42", "PKING")
	d.wait(t, "customer:42", "ASMITH")
	d.wait(t, "customer:44", "CWU")
	page := d.see(t, "/operator?name=JDOE", http.StatusOK)
	check(t, page, `href="transfer?desk=JDOE"`, `href="release?desk=JDOE"`)
	if strings.Index(page, "transfer?desk") > strings.Index(page, "<table") {
		t.Error("a desk is handed over below its locks")
	}
	form := formOf(d.see(t, "/transfer?desk=JDOE", http.StatusOK))
	form.Set("to", "ASMITH")
	form.Set("unknown", "ASMITH")
	form.Set("department", "CS")
	form.Set("reason", "JDOE is ill")
	form.Set("type", "customer")
	plan := d.sends(t, "/transfer", form, http.StatusOK, "<button>Hand over 2 locks of JDOE to ASMITH (CS)</button>", "JDOE loses 2 locks to ASMITH (CS).", "Waiting, and keeps waiting: PKING.", "Waiting, and gets it in this step: ASMITH.",
		"In the inbox, with the reason: JDOE.", "The history keeps your name, MLEE", "JDOE is ill")
	if strings.Contains(plan, "WOULD_TRANSFER") || strings.Index(plan, "<button>") > strings.Index(plan, "<table") {
		t.Error("the plan repeats what it is, or its button is below it")
	}
	if got := strings.Join(objects(t, plan), " "); got != "customer:42 customer:43" {
		t.Errorf("the plan is about %s", got)
	}
	d.heldBy(t, map[string]string{"customer:42": "JDOE"})
	confirmed := formOf(plan)
	d.get(t, "customer:45", "JDOE", time.Hour)
	for range 2 {
		answer := d.sends(t, "/transfer", confirmed, http.StatusOK, "TRANSFERRED</strong> Handed over. 2 of 2.", "To the desk of ASMITH")
		if got := strings.Join(objects(t, answer), " "); got != "customer:42 customer:43" {
			t.Errorf("the answer is about %s", got)
		}
	}
	confirmed.Set("to", "BJONES") // which the person has not done
	confirmed.Set("unknown", "BJONES")
	d.sends(t, "/transfer", confirmed, http.StatusConflict, "HELD</strong> Nothing has happened", "2 of 2.")
	if events := d.events(t); len(events) != 2 || events[0].Actor != "MLEE" || events[0].Reason != "JDOE is ill" || events[1].To.Operator != "ASMITH" {
		t.Errorf("the history has %+v", events)
	}
	d.heldBy(t, map[string]string{"customer:43": "ASMITH", "customer:44": "BJONES", "customer:45": "JDOE", "order:7": "JDOE"})
	plan = d.sends(t, "/transfer", deskForm("CWU", "ASMITH"), http.StatusOK, "No lock is left to change: CWU.")
	if strings.Contains(plan, "<button>Hand") {
		t.Error("an empty desk can be handed over")
	}
}

// Goal: several locks of the list are one plan, whoever holds them; what has changed hands meanwhile is left as it is and said, before
// and after the confirmation. Method: boxes that are ticked in the list, one of whose locks changes hands before the plan, another before the
// confirmation.
func TestSelectedLocks(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	for object, operator := range map[string]string{"a:1": "JDOE", "a:2": "JDOE", "a:3": "BJONES", "a:4": "JDOE"} {
		d.get(t, object, operator, time.Hour)
	}
	page := d.see(t, "/locks", http.StatusOK)
	form := url.Values{}
	for _, box := range regexp.MustCompile(`<input type=checkbox name=lock form=s value="([^"]*)" aria-label="a:[123]">`).FindAllStringSubmatch(page, -1) {
		form.Add("lock", strings.ReplaceAll(box[1], "&amp;", "&"))
	}
	if len(form["lock"]) != 3 {
		t.Fatalf("the list has %d of three boxes:\n%s", len(form["lock"]), page)
	}
	form = formOf(d.sends(t, "/release", form, http.StatusOK, "<h1>Release 3 locks of 2 operators</h1>", "a:3"))
	form.Set("reason", "month-end")
	d.release(t, "a:1", "JDOE")
	d.wait(t, "a:3", "PKING")
	plan := d.sends(t, "/release", form, http.StatusOK, "<button>Release 2 locks of 2 operators</button>", "Changed since you chose them, and left out: 1.", "FREE", "Waiting, and will try to get it: PKING.")
	d.release(t, "a:2", "JDOE")
	d.get(t, "a:2", "JDOE", time.Hour)
	d.sends(t, "/release", formOf(plan), http.StatusConflict, "RELEASED</strong> Released. 1 of 2.", "HELD</strong> Nothing has happened", "1 of 2.")
	d.heldBy(t, map[string]string{"a:2": "JDOE", "a:3": "", "a:4": "JDOE"})
	d.sends(t, "/release", url.Values{}, http.StatusBadRequest)
}

// Goal: a desk and a list of more locks than a plan has are handed over plan by plan. Method: one lock more than a plan has, by the desk, a
// filter that the database reads, and a search.
func TestDeskByPlans(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	params := make([]db.GetApplLockParams, 500+1)
	for i := range params {
		params[i] = db.GetApplLockParams{ObjectType: "customer", ObjectID: fmt.Sprintf("%05d", i), OperatorID: "JDOE", TTLSeconds: 3600}
	}
	if err := clients.Driver(d.client).InTx(t.Context(), func(tx db.Driver) error {
		_, err := tx.GetApplLocks(t.Context(), params)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, form := range []url.Values{deskForm("JDOE", "ASMITH"), listForm("type=customer&operator=ASMITH", "JDOE"), listForm("q=customer", "ASMITH")} {
		planByPlan(t, d, form)
	}
	d.heldBy(t, map[string]string{fmt.Sprintf("customer:%05d", 500): "ASMITH"})
}

// listForm hands over all locks of a list.
func listForm(query, to string) url.Values {
	form := deskForm("", to)
	form.Set("all", query)
	form.Set("lock", "what is ticked, too")
	return form
}

func planByPlan(t *testing.T, d desk, form url.Values) {
	t.Helper()
	for page, rows := range []int{500, 1} {
		plan := d.sends(t, "/transfer", form, http.StatusOK)
		if got := len(objects(t, plan)); got != rows || strings.Contains(plan, "There are more") != (page == 0) {
			t.Fatalf("plan %d has %d locks", page, got)
		}
		answer := d.sends(t, "/transfer", formOf(plan), http.StatusOK)
		if got := len(objects(t, answer)); got != rows || strings.Contains(answer, "HELD") {
			t.Fatalf("answer %d has %d locks", page, got)
		}
		next, _, more := strings.Cut(answer, "Go on with the next ones")
		if more != (page == 0) {
			t.Fatalf("plan %d: the answer leads on: %t", page, more)
		}
		form = formOf(next)
	}
}

// Goal: locks are extended by one plan and one call, as long as was asked for and the policy allows, none to an earlier end; what has ended or
// changed hands is not, and is said. A hand-over lasts as long as was asked for. Method: plans of several locks; forms without and with
// mistakes; and a lock that is shorter after it has been handed over.
func TestExtend(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	if err := d.client.SetPolicy(t.Context(), applock.SetPolicyRequest{Policy: applock.Policy{Type: "b", LongestTTL: 3 * time.Hour}, Actor: "MLEE"}); err != nil {
		t.Fatal(err)
	}
	form := url.Values{}
	for object, ttl := range map[string]time.Duration{"a:short": time.Hour, "a:long": 9 * time.Hour, "a:free": time.Hour, "a:other": time.Hour, "b:policy": time.Hour} {
		form.Add("lock", pages.FormatGrant(d.get(t, object, "JDOE", ttl).Key()))
	}
	check(t, d.see(t, "/extend?name=a:long", http.StatusOK), `name="lasts" value="9h"`, "Extend a:long")
	d.sends(t, "/extend", form, http.StatusOK, "<h1>Extend 5 locks of JDOE</h1>", `name="lasts" value="" `)
	for lasts, problem := range map[string]string{"": "“Lasts from now” is missing.", "soon": "“Lasts from now” is written as"} {
		form.Set("lasts", lasts)
		d.sends(t, "/extend", form, http.StatusBadRequest, problem)
	}
	form.Set("lasts", "5h")
	plan := d.sends(t, "/extend", form, http.StatusOK, "Extend 5 locks of JDOE?", "New end", "not the holder: JDOE", "without your name")
	d.release(t, "a:free", "JDOE")
	d.release(t, "a:other", "JDOE")
	d.get(t, "a:other", "PKING", time.Hour)
	d.sends(t, "/extend", formOf(plan), http.StatusConflict, "RENEWED</strong> Extended. 3 of 5.", "HELD</strong> Nothing", "FREE</strong> Nothing", "PKING")
	for object, want := range map[string]time.Duration{"a:short": 5 * time.Hour, "a:long": 9 * time.Hour, "b:policy": 3 * time.Hour, "a:other": time.Hour} {
		if left := d.holder(t, object).Left; left > want || left < want-time.Hour/2 {
			t.Errorf("%s lasts %s more, want %s", object, left, want)
		}
	}
	if events := d.events(t); len(events) != 1 { // that of the policy
		t.Errorf("the history has %+v", events)
	}
	form = listForm("prefix=a:long", "ASMITH")
	form.Set("lasts", "2h")
	plan = d.sends(t, "/transfer", form, http.StatusOK)
	d.sends(t, "/transfer", formOf(plan), http.StatusOK)
	if lock := d.holder(t, "a:long"); lock.Owner.Operator != "ASMITH" || lock.Left > 2*time.Hour {
		t.Errorf("handed over it is %+v", lock)
	}
}

// Goal: the plan shows the end that a hand-over gives, which renews, and no column that says nothing. Method: the heads of a plan.
func TestPlanShowsTheEndAfterIt(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	grant := d.get(t, "customer:42", "JDOE", 4*time.Hour)
	if err := d.client.SetPolicy(t.Context(), applock.SetPolicyRequest{Policy: applock.Policy{Type: "customer", LongestTTL: time.Hour}, Actor: "MLEE"}); err != nil {
		t.Fatal(err)
	}
	form := confirmedForm(grant, "JDOE is ill")
	form.Set("to", "ASMITH")
	form.Set("lasts", "")
	form.Del("confirmed")
	plan := d.sends(t, "/transfer", form, http.StatusOK)
	var heads []string
	for _, head := range regexp.MustCompile(`<th scope="col">([^<]*)</th>`).FindAllStringSubmatch(plan, -1) {
		heads = append(heads, head[1])
	}
	if got := strings.Join(heads, ", "); got != "Object, Current end, New end" {
		t.Errorf("the columns are %s", got)
	}
	stamps := regexp.MustCompile(`<td [^>]*><time datetime="([^"]*)"`).FindAllStringSubmatch(plan, -1)
	then, err := time.Parse(time.RFC3339, stamps[1][1])
	if least := grant.ExpiresAt.Add(-3 * time.Hour).Truncate(time.Second); err != nil || then.Before(least) || then.After(least.Add(time.Hour)) {
		t.Errorf("it ends at %s and then at %s, %v", stamps[0][1], then, err)
	}
}

// failingNotes is a database that notes nothing.
type failingNotes struct {
	db.Driver
	err error
}

func (f failingNotes) NoteApplLock(context.Context, db.NoteApplLockParams) (db.Result, error) {
	return db.Result{}, f.err
}

// Goal: a note does not get lost with its grant: the plan shows it, the history keeps it, and it goes over where that is asked for, at
// a hand-over unless somebody says no. Where it cannot go over, the answer says so and has the text. Method: each verb with a note, with
// and without the box, and a database that notes nothing.
func TestNotesAreKept(t *testing.T) {
	t.Parallel()
	const text = "waits for documents until Friday"
	for name, test := range map[string]struct {
		verb           string
		carry, refused bool
		note, said     string
	}{
		"handed over":             {verb: "transfer", carry: true, note: text, said: "carried over"},
		"handed over without":     {verb: "transfer", said: "ended with the grant; the history has it"},
		"handed over, but failed": {verb: "transfer", carry: true, refused: true, said: "not carried over; the history has it."},
		"taken over":              {verb: "take", carry: true, note: text, said: "carried over"},
		"released":                {verb: "release", said: "ended with the grant; the history has it"},
	} {
		behind := newDesk(t, Config{})
		grant := behind.get(t, "customer:42", "JDOE", time.Hour)
		behind.note(t, grant, text)
		client := behind.client
		if test.refused {
			busy := failingNotes{Driver: clients.Driver(client), err: &db.Error{Kind: db.KindBusy, Err: errors.New("locked")}}
			client = clients.New[*applock.Client](busy, nil, lease.Hooks{})
		}
		config := supervisor()
		config.Timeout = time.Hour
		d := deskOn(client, config)
		form := confirmedForm(grant, "JDOE is ill")
		form.Set("to", "ASMITH")
		form.Del("confirmed")
		plan := d.sends(t, "/"+test.verb, form, http.StatusOK, text, "Each note ends with its grant. The history keeps the note after the reason.")
		if box, ticked := strings.Contains(plan, `name="carry"`), strings.Contains(plan, `name="carry" value="yes" checked`); box != (test.verb != "release") || ticked != (test.verb == "transfer") {
			t.Errorf("%s: there is a box: %t, which is ticked: %t", name, box, ticked)
		}
		confirmed := formOf(plan)
		if test.carry {
			confirmed.Set("carry", "yes")
		}
		form.Set("reason", strings.Repeat("r", applock.MaxReasonLength-len(text)))
		d.sends(t, "/"+test.verb, form, http.StatusOK, "A note does not fit whole into the history after this reason")
		d.sends(t, "/"+test.verb, confirmed, http.StatusOK, text, test.said)
		if lock := behind.holder(t, "customer:42"); lock.Note != test.note {
			t.Errorf("%s: the note is %q, want %q", name, lock.Note, test.note)
		}
		if events := behind.events(t); len(events) != 1 || events[0].Actor != "MLEE" || events[0].Reason != "JDOE is ill [note: "+text+"]" {
			t.Errorf("%s: the history has %+v", name, events)
		}
	}
}

// breaking is a database in which something comes before each release.
type breaking struct {
	db.Driver
	before func(id string) error
}

func (b breaking) ReleaseApplLock(ctx context.Context, params db.ReleaseApplLockParams) (db.Result, error) {
	if err := b.before(params.ObjectID); err != nil {
		return db.Result{}, err
	}
	return b.Driver.ReleaseApplLock(ctx, params)
}

// Goal: a lock that another transaction works on is left as it is, and the others are done; after a call without an answer, or when half of
// the time is over, nothing else is begun, and the answer leads on with that. Method: a database that is busy with one of five locks
// and breaks off at the fourth; and one that takes all the time for the first.
func TestFailuresAmongMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, failuresAmongMany)
}

func failuresAmongMany(t *testing.T) {
	behind := newDesk(t, Config{})
	config := supervisor()
	config.Timeout = time.Hour
	errs := map[string]error{"2": &db.Error{Kind: db.KindBusy, Err: errors.New("locked")}, "4": &db.Error{Kind: db.KindInFlight, Err: errors.New("broken off")}}
	late := func() {}
	d := deskOn(clients.New[*applock.Client](breaking{Driver: clients.Driver(behind.client), before: func(id string) error {
		late()
		return errs[id]
	}}, nil, lease.Hooks{}), config)
	d.console.own.rights = allRights
	for _, id := range []string{"1", "2", "3", "4", "5"} {
		behind.get(t, "a:"+id, "JDOE", time.Hour)
	}
	plan := d.sends(t, "/release", deskForm("JDOE", ""), http.StatusOK)
	confirmed := formOf(plan)
	confirmed.Set("next", "b:1") // as if the desk had more than a plan has
	answer := d.sends(t, "/release", confirmed, http.StatusGatewayTimeout, `name="next" value="b:1"`, "RELEASED</strong> Released. 2 of 5.", "Not done, or the outcome is unknown. "+applock.ErrBusy.Error(), "2 of 5 done, 3 left.",
		"It is not known whether this was done: a:4.", "Go on with the 3 left")
	lacks(t, answer, "Go on with the next ones")
	d.sends(t, "/release", formOf(answer), http.StatusOK, "<button>Release 3 locks of JDOE</button>")
	if _, err := behind.client.Release(t.Context(), applock.ReleaseRequest{Key: behind.holder(t, "a:4").Key(), Actor: "MLEE", Reason: "JDOE is ill"}); err != nil {
		t.Fatal(err) // the call without an answer has done it
	}
	d.sends(t, "/release", formOf(answer), http.StatusOK, "<button>Release 2 locks of JDOE</button>", "<strong>RELEASED</strong> Released.")

	clear(errs)
	behind.get(t, "a:4", "JDOE", time.Hour)
	plan = d.sends(t, "/release", deskForm("JDOE", ""), http.StatusOK)
	late = func() { time.Sleep(config.Timeout/2 + 1) }
	d.sends(t, "/release", formOf(plan), http.StatusOK, "RELEASED</strong> Released. 1 of 3.", "1 of 3 done, 2 left.")
	behind.heldBy(t, map[string]string{"a:1": "", "a:2": "", "a:3": "", "a:4": "JDOE", "a:5": "JDOE"})
}
