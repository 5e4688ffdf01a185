package console

import (
	"encoding/csv"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/reading"
)

// handOver hands an object over, for MLEE.
func (d desk) handOver(t *testing.T, grant applock.Grant, operator, department, reason string) {
	t.Helper()
	to := applock.Owner{Operator: operator, Department: department}
	request := applock.TransferRequest{Object: grant.Object, From: grant.Owner.Operator, To: to, Actor: "MLEE", Reason: reason}
	if _, err := d.client.Transfer(t.Context(), request); err != nil {
		t.Fatal(err)
	}
}

// Goal: the search finds any part of an object, an operator, a department or a note, whatever the case and the blanks around, all
// words of it, and an
// object that nobody holds. Method: searches among twenty thousand locks, and what each page has.
func TestSearch(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Config{})
	fill(t, d, 20000)
	d.hold(t, "case:300879-1", "Tanja.Rossi", "Billing", time.Hour)
	d.note(t, d.hold(t, "order:7", "jdoe", "Claims", time.Hour), "Wartet auf Übersetzung")
	for search, want := range map[string]string{
		"300879": "case:300879-1", "Tanja.Rossi": "case:300879-1", "billing": "case:300879-1", "tanja.rossi ": "case:300879-1", "  TANJA": "case:300879-1",
		"case:300879-1": "case:300879-1", "rossi BILL 879": "case:300879-1", "rossi claims": "", "übersetzung": "order:7", "ÜBERSETZ": "order:7",
		"CUSTOMER:00999": "customer:00999", "op03 01999": "", "op04 01999": "customer:01999", "%": "", "_": "", "nothing of it": "",
	} {
		page := d.see(t, "/locks?q="+url.QueryEscape(search), http.StatusOK)
		if got := strings.Join(objects(t, page), " "); got != want {
			t.Errorf("%q finds %q, want %q", search, got, want)
		}
		check(t, page, `name="q" value="`+html.EscapeString(strings.TrimSpace(search))+`"`)
		if want == "" {
			check(t, page, "No lock has “"+html.EscapeString(search)+"”", "To the desk of ")
		}
	}
	check(t, d.see(t, "/locks?q=customer%3A99999", http.StatusOK), "Nobody holds the object of this name", `href="object?name=customer%3a99999"`)
	check(t, d.see(t, "/locks?q=op03&sort=-object", http.StatusOK), "1 to 20", `rel="next"`)
	for _, address := range []string{"/", "/object?name=customer:00001", "/operator?name=OP01", "/health", "/nonsense", "/history"} {
		w := d.do(request(http.MethodGet, address, ""))
		check(t, w.Body.String(), `<form class="search" role="search" method="get" action="locks">`)
	}
}

// Goal: the first page has who blocks whom, grouped by object, with the holder, the note and the actions; what ends within the hour;
// what has happened, also of one
// department only, the newest first; and who holds most. Method: a desk with all of it.
func TestNow(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	d.note(t, d.hold(t, "customer:42", "JDOE", "Sales", 48*time.Hour), "call back at three")
	d.hold(t, "customer:43", "JDOE", "Sales", 20*time.Minute)
	d.hold(t, "customer:44", "ASMITH", "Claims", 48*time.Hour)
	for _, operator := range []string{"PKING", "BJONES", "CWU"} {
		d.wait(t, "customer:42", operator)
	}
	d.wait(t, "order:1", "PKING")
	d.handOver(t, d.hold(t, "case:1", "JDOE", "Sales", 48*time.Hour), "ASMITH", "Claims", "the first change")
	d.handOver(t, d.hold(t, "case:2", "CWU", "Legal", 48*time.Hour), "BJONES", "Billing", "the second change")
	page := d.see(t, "/", http.StatusOK)
	check(t, page, "<strong>4</strong> waiting", "<strong>2</strong> blocked objects", "<strong>5</strong> locks", "<strong>1</strong> end within 1 h",
		"<strong>3 waiting</strong>", "and 1 more", "call back at three", "nobody holds it", `href="transfer?name=customer%3a42"`, `href="release?name=customer%3a42"`,
		"the first change", `title="TRANSFERRED"`)
	if strings.Index(page, "the second change") > strings.Index(page, "the first change") {
		t.Error("the newest event is not the first")
	}
	if got := strings.Join(objects(t, page), " "); got != "customer:42 order:1 customer:43" {
		t.Errorf("the page has %s", got)
	}
	if most := regexp.MustCompile(`<th scope="row"><a href="operator\?name=(\w+)`).FindStringSubmatch(page); most == nil || most[1] != "JDOE" && most[1] != "ASMITH" {
		t.Errorf("who holds most is %v", most)
	}
	page = d.see(t, "/?department=Legal", http.StatusOK)
	check(t, page, "the second change", `href="history?since=1d&amp;department=Legal"`)
	if strings.Contains(page, "the first change") {
		t.Error("another department's event is there")
	}
	looks := deskOn(d.client, Config{Timeout: time.Hour})
	if strings.Contains(looks.see(t, "/", http.StatusOK), "release?") {
		t.Error("an action is offered to who may only look")
	}
	check(t, d.see(t, "/waiters?type=order", http.StatusOK), "1 waiting for 1 objects", "nobody holds it")
}

// Goal: what has happened is on pages, the newest first, each event once, also where a department has few of them. Method: many events
// of two departments.
func TestHistoryPages(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Config{})
	grant := d.hold(t, "case:1", "A0", "Sales", time.Hour)
	const events = 250
	for i := range events {
		department := "Sales"
		if i%50 == 49 {
			department = "Legal"
		}
		d.handOver(t, grant, fmt.Sprintf("A%d", i+1), department, fmt.Sprintf("change %d.", i))
		grant.Owner.Operator = fmt.Sprintf("A%d", i+1)
	}
	changes := regexp.MustCompile(`>change (\d+)\.<`)
	next := regexp.MustCompile(`<a href="([^"]*)" rel="next">`)
	for first, want := range map[string]int{"/history?since=7d": events, "/history?since=7d&department=Sales": events, "/history?department=Legal": 9} {
		var seen []string
		for address := first; address != ""; {
			page := d.see(t, address, http.StatusOK)
			for _, change := range changes.FindAllStringSubmatch(page, -1) {
				seen = append(seen, change[1])
			}
			link := next.FindStringSubmatch(page)
			if address = ""; link != nil {
				address = "/" + html.UnescapeString(link[1])
			}
		}
		unique := slices.Compact(slices.Sorted(slices.Values(seen)))
		if len(seen) != want || len(unique) != want || seen[0] != fmt.Sprint(events-1) {
			t.Errorf("%s has %d events, %d different, the first is %s; want %d", first, len(seen), len(unique), seen[0], want)
		}
	}
	for address, most := range map[string]int64{"/object?name=case%3A1": reading.RowsOfPage + 1, "/operator?name=MLEE": 501} { // from its end, however long it is
		d.calls.taken()
		d.calls.eventRows.Store(0)
		check(t, d.see(t, address, http.StatusOK), fmt.Sprintf(">change %d.<", events-1))
		if calls, rows := d.calls.events.Load(), d.calls.eventRows.Load(); calls != 1 || rows > most {
			t.Errorf("%s reads %d events in %d calls", address, rows, calls)
		}
	}
	check(t, d.see(t, "/history?department=Nobody", http.StatusOK), "The history has no events of this time and filter")
	check(t, d.see(t, "/history?since=soon", http.StatusBadRequest), "“Back to” is written as")
	d.see(t, "/history?after=x", http.StatusBadRequest)
}

// Goal: the history is found by event, object, type, actor, operator, department and words of the reason, and is a file with the same events, in
// which no text is a formula. Method: four events, a page and a file for each filter.
func TestHistoryFilters(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	d.handOver(t, d.hold(t, "case:1", "JDOE", "Sales", time.Hour), "ASMITH", "Claims", "=1+1 first Change")
	d.handOver(t, d.hold(t, "case:2", "CWU", "Legal", time.Hour), "BJONES", "Billing", "second change")
	d.handOver(t, d.hold(t, "order:3", "CWU", "Legal", time.Hour), "BJONES", "Billing", "third")
	take := applock.TakeRequest{Object: objectOf(t, "case:2"), Owner: applock.Owner{Operator: "PKING"}, Reason: "fourth"}
	if _, err := d.client.Take(t.Context(), take); err != nil {
		t.Fatal(err)
	}
	for filter, want := range map[string]string{
		"event=TAKEN": "fourth", "event=TRANSFERRED&object=case": "second first", "object=case%3A2": "fourth second", "object=order": "third",
		"actor=PKING": "fourth", "actor=MLEE&reason=CHANGE": "second first", "reason=change+first": "first", "operator=CWU": "third second",
		"department=Claims": "first", "actor=MLEE&department=Legal&reason=third": "third", "actor=NOBODY": "",
	} {
		page, file := d.see(t, "/history?"+filter, http.StatusOK), d.see(t, "/history.csv?"+filter, http.StatusOK)
		records, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(file, "\ufeff"))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		var shown, filed []string
		for _, event := range regexp.MustCompile(`<td class="words" title="(?:=1&#43;1 )?(first|second|third|fourth)`).FindAllStringSubmatch(page, -1) {
			shown = append(shown, event[1])
		}
		for _, record := range records[1:] {
			reason := record[slices.Index(records[0], "reason")]
			if strings.HasPrefix(reason, "=") {
				t.Errorf("a spreadsheet would run %q", reason)
			}
			filed = append(filed, regexp.MustCompile("first|second|third|fourth").FindString(reason))
		}
		if strings.Join(shown, " ") != want || strings.Join(filed, " ") != want {
			t.Errorf("%s: the page has %q, the file %q, want %s", filter, shown, filed, want)
		}
	}
	check(t, d.see(t, "/history?event=TAKEN&actor=PKING", http.StatusOK), `href="history.csv?actor=PKING&amp;event=TAKEN&amp;since=1d"`,
		`<a class="chip set" href="history?actor=PKING&amp;since=1d">event TAKEN`, `<option value="TAKEN" selected>took over</option>`, `<option value="BJONES" label="BJONES">`)
}

// Goal: there is a list of people, with what each holds, waits for and asks for, and one of all requests, page by page. Method: forty people.
func TestPeopleAndRequests(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	for i := range 40 {
		d.hold(t, fmt.Sprintf("case:%d", i), fmt.Sprintf("OP%02d", i), map[bool]string{true: "Sales", false: "Legal"}[i < 30], time.Hour)
		asks := applock.AskRequest{Object: objectOf(t, fmt.Sprintf("case:%d", i)), Owner: applock.Owner{Operator: "ASKER"}, Client: "x", Message: "may I?"}
		if _, err := d.client.Ask(t.Context(), asks); err != nil {
			t.Fatal(err)
		}
	}
	d.hold(t, "order:1", "OP39", "Legal", time.Hour)
	d.wait(t, "case:1", "WAITER")
	people := regexp.MustCompile(`<tr data-key="(\w+)"`)
	page := d.see(t, "/people", http.StatusOK)
	if rows := people.FindAllStringSubmatch(page, -1); len(rows) != reading.RowsOfPage || rows[0][1] != "OP39" || rows[1][1] != "OP00" {
		t.Errorf("the first people are %v", rows)
	}
	check(t, page, "42 in all", "1 to 20", `<a href="people?skip=20" rel="next">`, `<a href="locks?operator=OP39">2</a>`)
	check(t, d.see(t, "/people?skip=40", http.StatusOK), "41 to 42", `data-label="Asks for">40<`, `data-label="Waits for">1<`, `<a href="people?skip=20" rel="prev">`)
	if rows := people.FindAllString(d.see(t, "/people?q=sAL&skip=20", http.StatusOK), -1); len(rows) != 10 {
		t.Errorf("of Sales the second page has %d people", len(rows))
	}
	page = d.see(t, "/requests?type=case&skip=20", http.StatusOK)
	if rows := objects(t, page); len(rows) != reading.RowsOfPage {
		t.Errorf("the second page has the requests %v", rows)
	}
	check(t, page, "40 in all", "21 to 40", "may I?", `<a href="requests?type=case" rel="prev">`)
	check(t, d.see(t, "/requests?type=order", http.StatusOK), "Nobody asks for anything.")
	check(t, d.see(t, "/", http.StatusOK), `<a href="people">All 42 of them</a>`, `<a href="requests">All 40 of them</a>`)
}

// Goal: what an operator did and what others did with the operator's locks are told apart, and the head of each page leads there.
// Method: events of both kinds.
func TestDeskTellsActionsFromInbox(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	d.handOver(t, d.hold(t, "case:1", "JDOE", "Sales", time.Hour), "ASMITH", "Claims", "an action of MLEE")
	check(t, d.see(t, "/", http.StatusOK), `<a href="desk">You are MLEE</a>`)
	_, actions, _ := strings.Cut(d.see(t, "/operator?name=MLEE", http.StatusOK), `id="actions"`)
	check(t, actions, "an action of MLEE")
	inbox, actions, _ := strings.Cut(d.see(t, "/operator?name=JDOE", http.StatusOK), `id="actions"`)
	check(t, inbox, "an action of MLEE")
	check(t, actions, "The history has nothing that this operator did.")
}

// Goal: who has the right sets all six rules of a policy, and drops it, after a plan that shows the present rules; what somebody else has changed
// meanwhile is shown first; a second use of a plan does nothing. Method: the forms, and what the database has.
func TestPoliciesAreSet(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	check(t, d.see(t, "/policies", http.StatusOK), `action="policy"`)
	form := formOf(d.see(t, "/policy?type=case", http.StatusOK))
	for name, value := range map[string]string{"default": "2d", "longest": "7d", "yield": "30m", "freely": "yes", "all": "yes", "unseen": "yes", "reason": "audit"} {
		form.Set(name, value)
	}
	policies := func(want ...applock.Policy) {
		t.Helper()
		if got, err := d.client.Policies(t.Context(), ""); err != nil || !slices.Equal(got, want) {
			t.Errorf("there are %+v, want %+v, %v", got, want, err)
		}
	}
	plan := d.sends(t, "/policy", form, http.StatusOK, "<h1>Set the policy of case?</h1>", ">2 d<", ">7 d<", ">30 m<", "needs no reason", "keeps everything", "not shown", "audit", ">10 years<", ">shown<", ">never<")
	policies()
	other := applock.Policy{Type: "case", LongestTTL: time.Hour, HistoryLevel: applock.HistoryChanges}
	if err := d.client.SetPolicy(t.Context(), applock.SetPolicyRequest{Policy: other, Actor: "ROOT"}); err != nil {
		t.Fatal(err)
	}
	plan = d.sends(t, "/policy", formOf(plan), http.StatusOK, "<h1>Set the policy of case?</h1>", ">1 h<")
	policies(other)
	want := applock.Policy{
		Type: "case", DefaultTTL: 48 * time.Hour, LongestTTL: 168 * time.Hour, TakeWithoutReason: true, HistoryLevel: applock.HistoryAll, WithoutPresence: true, YieldAfter: 30 * time.Minute,
	}
	for range 2 {
		d.sends(t, "/policy", formOf(plan), http.StatusOK, "case", ">30 m<", `href="policy?drop=yes&amp;type=case"`)
		policies(want)
	}
	if events := d.events(t); len(events) != 2 || events[1].Actor != "MLEE" || !strings.Contains(events[1].Reason, "audit") {
		t.Errorf("the history has %+v", events)
	}
	check(t, d.see(t, "/policy?type=case", http.StatusOK), `value="2d"`, `value="7d"`, `value="30m"`, `name="unseen" value="yes" checked`)
	form = formOf(d.see(t, "/policy?drop=yes&type=case", http.StatusOK))
	form.Set("reason", "not any more")
	plan = d.sends(t, "/policy", form, http.StatusOK, "<h1>Drop the policy of case?</h1>")
	for range 2 {
		d.sends(t, "/policy", formOf(plan), http.StatusOK, "No type has a policy.")
	}
	policies()
}

// Goal: a policy that cannot be is refused by the name of its field, and one who is bound to departments sets none. Method: a good form, with one
// mistake each.
func TestPoliciesAreRefused(t *testing.T) {
	t.Parallel()
	config := supervisor()
	d := newDesk(t, config)
	good := url.Values{"type": {"case"}, "default": {"2d"}, "reason": {"audit"}, "confirmed": {"yes"}}
	for field, mistake := range map[string][2]string{
		"type": {"", "“Type” is missing."}, "default": {"soon", "“Lasts by default” is written as"}, "longest": {"1d", "“Lasts by default” is more than the longest"},
		"yield": {"1s", "“An unanswered request gets it after” is 1s, less than 1m0s."}, "reason": {" ", "“Reason” is missing."},
	} {
		form := maps.Clone(good)
		form.Set(field, mistake[0])
		w := d.submit("/policy", form)
		if w.Code == http.StatusOK { // the plan of what is not there yet
			w = d.submit("/policy", formOf(w.Body.String()))
		}
		check(t, w.Body.String(), mistake[1])
		if w.Code != http.StatusBadRequest {
			t.Errorf("%s %q: status %d", field, mistake[0], w.Code)
		}
	}
	config.Departments = func(string, string) []string { return []string{"sales"} }
	bound := deskOn(d.client, config)
	bound.sends(t, "/policy", good, http.StatusForbidden)
	bound.see(t, "/policy?type=case", http.StatusForbidden)
	lacks(t, bound.see(t, "/policies", http.StatusOK), `action="policy"`, `href="policy?`)
	if got, err := d.client.Policies(t.Context(), ""); err != nil || len(got) > 0 {
		t.Errorf("there are %+v, %v", got, err)
	}
}

// Goal: a row of the statistics leads to the locks of its type and department, and to no others. Method: its links.
func TestStatisticsLeadToTheirLocks(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Config{})
	d.hold(t, "case:1", "JDOE", "Billing", time.Hour)
	d.hold(t, "case:2", "JDOE", "Claims & Co", time.Hour)
	d.hold(t, "case:3", "JDOE", "", time.Hour)
	d.hold(t, "order:4", "JDOE", "Billing", time.Hour)
	var all []string
	for _, link := range regexp.MustCompile(`<th scope="row"><a href="([^"]*)">`).FindAllStringSubmatch(d.see(t, "/statistics", http.StatusOK), -1) {
		all = append(all, objects(t, d.see(t, "/"+html.UnescapeString(link[1]), http.StatusOK))...)
	}
	if got := strings.Join(all, " "); got != "case:3 case:1 case:2 order:4" {
		t.Errorf("the links lead to %s", got)
	}
}

// Goal: where there are more locks than a snapshot has, lists that the database can sort are still whole, others say why there are
// none, and the first page says what it
// has counted. Method: a snapshot of two, and four locks.
func TestMoreLocksThanASnapshot(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Config{})
	for i, ttl := range []int{50, 40, 30, 20} {
		d.get(t, fmt.Sprintf("customer:%d", i), "JDOE", time.Duration(ttl)*time.Minute)
	}
	d.wait(t, "customer:3", "PKING")
	d.console.own.reader.Most = 2
	for address, want := range map[string]string{
		"/locks":                     "customer:0 customer:1 customer:2 customer:3",
		"/locks?sort=left&within=1h": "customer:3 customer:2 customer:1 customer:0",
		"/locks?sort=-waiters":       "customer:3",
		"/locks?q=customer":          "",
		"/locks?sort=-left":          "",
	} {
		page := d.see(t, address, http.StatusOK)
		if got := strings.Join(objects(t, page), " "); got != want {
			t.Errorf("%s shows %q, want %q", address, got, want)
		}
		if want == "" {
			check(t, page, "There are more than 100,000 locks")
		}
	}
	check(t, d.see(t, "/", http.StatusOK), "<strong>2+</strong> locks", "Counted in the first 100,000 locks.", `<a href="operator?name=JDOE">JDOE</a>`, "<strong>4</strong> end within 1 h")
}
