package console

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
)

// deskForm is what the first form on a desk sends.
func deskForm(holder, to string) url.Values {
	return url.Values{"name": {holder}, "to": {to}, "reason": {"JDOE is ill"}}
}

// Goal: a desk is handed over after a dry run that shows each lock, once, and the answer is that of the procedure for each. Method:
// the forms of a browser without a script, then back and reload, and the same with a new lock.
func TestHandDeskOver(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	for _, object := range []string{"customer:42", "customer:43", "order:7"} {
		d.get(t, object, "JDOE", time.Hour)
	}
	d.get(t, "customer:44", "BJONES", time.Hour)
	d.wait(t, "customer:42", "PKING")
	check(t, d.see(t, "/operator?name=JDOE", http.StatusOK), `href="transfer-desk?name=JDOE"`, `href="release-desk?name=JDOE"`)
	form := formOf(d.see(t, "/transfer-desk?name=JDOE", http.StatusOK))
	form.Set("to", "ASMITH")
	form.Set("department", "CS")
	w := d.submit("/transfer-desk", form)
	check(t, w.Body.String(), "“Reason” is missing.", `value="ASMITH"`)
	if w.Code != http.StatusBadRequest {
		t.Errorf("without a reason: status %d", w.Code)
	}
	form.Set("reason", "JDOE is ill")
	form.Set("type", "customer")
	_, plan := d.follow(t, d.submit("/transfer-desk", form))
	check(t, plan, "Locks that end: 2. JDOE loses them, and ASMITH (CS) gets new ones.", "WOULD_TRANSFER", `data-label="Waiting">1</td>`,
		"JDOE finds it in the inbox", "ASMITH (CS) finds it in the inbox", "The history keeps that it was you, MLEE", "JDOE is ill")
	if got := strings.Join(objects(t, plan), " "); got != "customer:42 customer:43" {
		t.Errorf("the plan is about %s", got)
	}
	if lock := d.holder(t, "customer:42"); lock.Owner.Operator != "JDOE" {
		t.Fatal("it was done before it was confirmed")
	}
	confirmed := formOf(plan)
	done := d.submit("/transfer-desk", confirmed)
	for range 2 {
		status, page := d.follow(t, done)
		check(t, page, "Handed over: 2.", "TRANSFERRED", "To the desk of ASMITH")
		if got := strings.Join(objects(t, page), " "); got != "customer:42 customer:43" || status != http.StatusOK {
			t.Errorf("status %d, the answer is about %s", status, got)
		}
	}
	// Back, and once more; also when there is something new to be handed over.
	for range 2 {
		status, page := d.follow(t, d.submit("/transfer-desk", confirmed))
		check(t, page, "Nothing has happened")
		if status != http.StatusConflict {
			t.Errorf("an old confirmation has status %d", status)
		}
		d.get(t, "customer:45", "JDOE", time.Hour)
	}
	if events := d.events(t); len(events) != 2 || events[0].Actor != "MLEE" || events[0].Reason != "JDOE is ill" || events[1].To.Operator != "ASMITH" {
		t.Errorf("the history has %+v", events)
	}
	for object, want := range map[string]string{"customer:43": "ASMITH", "customer:44": "BJONES", "customer:45": "JDOE", "order:7": "JDOE"} {
		if lock := d.holder(t, object); lock.Owner.Operator != want {
			t.Errorf("%s is held by %s", object, lock.Owner)
		}
	}
}

// Goal: a confirmation is about the grants that were on the page: after one of them has ended, or was begun again, nothing
// happens. Method: each of them between the plan and its confirmation.
func TestDeskChangedMeanwhile(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	d.get(t, "customer:42", "JDOE", time.Hour)
	old := d.get(t, "customer:43", "JDOE", time.Hour)
	for what, change := range map[string]func(){
		"released and got again": func() {
			if _, err := d.client.Release(t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: old.Object, Operator: "JDOE"}}); err != nil {
				t.Fatal(err)
			}
			d.get(t, "customer:43", "JDOE", time.Hour)
		},
		"one more": func() { d.get(t, "customer:44", "JDOE", time.Hour) },
	} {
		_, plan := d.follow(t, d.submit("/release-desk", deskForm("JDOE", "")))
		confirmed := formOf(plan)
		change()
		status, page := d.follow(t, d.submit("/release-desk", confirmed))
		check(t, page, "Nothing has happened: what JDOE holds has changed", "WOULD_RELEASE")
		if status != http.StatusConflict || formOf(page).Get("seen") == confirmed.Get("seen") {
			t.Errorf("%s: status %d", what, status)
		}
	}
	if events := d.events(t); len(events) != 0 {
		t.Errorf("the history has %+v", events)
	}
	// A renewal is the same grant.
	_, plan := d.follow(t, d.submit("/release-desk", deskForm("JDOE", "")))
	d.get(t, "customer:42", "JDOE", 2*time.Hour)
	_, page := d.follow(t, d.submit("/release-desk", formOf(plan)))
	check(t, page, "Released: 3.", "RELEASED")
	_, plan = d.follow(t, d.submit("/release-desk", deskForm("JDOE", "")))
	check(t, plan, "JDOE holds nothing of it")
	if strings.Contains(plan, `<form method="post"`) {
		t.Error("an empty desk can be released")
	}
}

// meanwhile is a database where somebody is faster, right before a desk is changed.
type meanwhile struct {
	db.Driver
	faster func()
}

func (m meanwhile) TransferApplLocks(ctx context.Context, params db.TransferApplLocksParams) ([]db.ChangedLock, error) {
	if params.DryRunFL != db.Yes {
		m.faster()
	}
	return m.Driver.TransferApplLocks(ctx, params)
}

func (m meanwhile) ReleaseApplLocks(ctx context.Context, params db.ReleaseApplLocksParams) ([]db.ChangedLock, error) {
	if params.DryRunFL != db.Yes {
		m.faster()
	}
	return m.Driver.ReleaseApplLocks(ctx, params)
}

// Goal: what was changed beyond the plan that was confirmed is marked in the answer, and nothing else is: what the operator got in the
// moment before the change. Method: a get in that moment, of another object, and of one that was just released.
func TestDeskAnswerMarksWhatNobodyConfirmed(t *testing.T) {
	t.Parallel()
	for name, marked := range map[string][]string{"transfer-desk": {"order:7"}, "release-desk": {"customer:43", "order:7"}} {
		behind := newDesk(t, Config{})
		behind.get(t, "customer:42", "JDOE", time.Hour)
		behind.get(t, "customer:43", "JDOE", time.Hour)
		config := supervisor()
		config.Timeout = time.Hour
		d := deskOn(clients.New(meanwhile{Driver: clients.Driver(behind.client), faster: func() {
			behind.release(t, "customer:43", "JDOE")
			behind.get(t, "customer:43", "JDOE", time.Hour)
			behind.get(t, "order:7", "JDOE", time.Hour)
		}}, nil, lease.Hooks{}), config)
		_, plan := d.follow(t, d.submit("/"+name, deskForm("JDOE", "ASMITH")))
		status, page := d.follow(t, d.submit("/"+name, formOf(plan)))
		check(t, page, ": 3.", fmt.Sprintf("%d of them began after you confirmed", len(marked)))
		if status != http.StatusOK {
			t.Errorf("%s: status %d", name, status)
		}
		var got []string
		for _, line := range strings.Split(page, "\n") {
			if strings.Contains(line, "not confirmed") {
				got = append(got, objects(t, line)...)
			}
		}
		if !slices.Equal(got, marked) {
			t.Errorf("%s: marked are %q, want %q", name, got, marked)
		}
	}
}

// Goal: a desk of more locks than a page has is handed over page by page, each with its dry run, its confirmation and its
// answer. Method: one lock more than a page has.
func TestDeskByPages(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	params := make([]db.GetApplLockParams, rowsOfDesk+1)
	for i := range params {
		params[i] = db.GetApplLockParams{ObjectType: "customer", ObjectID: fmt.Sprintf("%05d", i), OperatorID: "JDOE", TTLSeconds: 3600}
	}
	if err := clients.Driver(d.client).InTx(t.Context(), func(tx db.Driver) error {
		_, err := tx.GetApplLocks(t.Context(), params)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	form := deskForm("JDOE", "ASMITH")
	for page, rows := range []int{rowsOfDesk, 1} {
		_, plan := d.follow(t, d.submit("/transfer-desk", form))
		if got := len(objects(t, plan)); got != rows || strings.Contains(plan, "There are more") != (page == 0) {
			t.Fatalf("plan %d has %d locks", page, got)
		}
		_, answer := d.follow(t, d.submit("/transfer-desk", formOf(plan)))
		check(t, answer, fmt.Sprintf("Handed over: %d.", rows))
		form = formOf(answer)
		if next := form.Get("after") == fmt.Sprintf("customer:%05d", rowsOfDesk-1); next != (page == 0) {
			t.Fatalf("behind page %d the form begins behind %q", page, form.Get("after"))
		}
	}
	if lock := d.holder(t, fmt.Sprintf("customer:%05d", rowsOfDesk)); lock.Owner.Operator != "ASMITH" {
		t.Errorf("the last lock is held by %s", lock.Owner)
	}
}

// Goal: nobody changes a desk who may not, and no form is believed blindly. Method: people, forms, and what is held afterwards.
func TestDeskChangesAreRefused(t *testing.T) {
	t.Parallel()
	looks := newDesk(t, Config{})
	looks.get(t, "customer:42", "JDOE", time.Hour)
	if strings.Contains(looks.see(t, "/operator?name=JDOE", http.StatusOK), "transfer-desk") {
		t.Error("the page offers what is refused")
	}
	d := newDesk(t, supervisor())
	d.get(t, "customer:42", "JDOE", time.Hour)
	for _, verb := range deskVerbs() {
		looks.see(t, "/"+verb.name+"?name=JDOE", http.StatusForbidden)
		form := deskForm("JDOE", "ASMITH")
		form.Set("confirmed", "yes")
		if w := looks.submit("/"+verb.name, form); w.Code != http.StatusForbidden {
			t.Errorf("%s: status %d", verb.name, w.Code)
		}
		// A confirmation without what was seen.
		status, page := d.follow(t, d.submit("/"+verb.name, form))
		check(t, page, "Nothing has happened")
		if status != http.StatusConflict {
			t.Errorf("%s without a plan: status %d", verb.name, status)
		}
		d.see(t, "/"+verb.name, http.StatusBadRequest)
		for field, value := range map[string]string{"name": "", "after": "nonsense", "reason": strings.Repeat("x", maxForm)} {
			bad := deskForm("JDOE", "ASMITH")
			bad.Set(field, value)
			if w := d.submit("/"+verb.name, bad); w.Code < http.StatusBadRequest {
				t.Errorf("%s with a bad %s: status %d", verb.name, field, w.Code)
			}
		}
	}
	for name, desk := range map[string]desk{"who looks": looks, "the supervisor": d} {
		if lock := desk.holder(t, "customer:42"); lock.Owner.Operator != "JDOE" {
			t.Errorf("%s: held by %s", name, lock.Owner)
		}
	}
}
