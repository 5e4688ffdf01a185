package console

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
	"github.com/applock/applock/applock/console/internal/pages"
	"github.com/applock/applock/applock/console/internal/reading"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testfile"
)

// desk is a database with a console on it.
type desk struct {
	client  *applock.Client
	console *console
	handler http.Handler
	calls   *counted
}

// counted counts the calls of the driver that read, and the requests for locks.
type counted struct {
	db.Driver
	locks, waiters, events, stats, inquiries, askers, viewers, asks, eventRows atomic.Int64
	// before, if set, is called before locks are read, and may fail. blind refuses to read askers and viewers.
	before atomic.Pointer[func() error]
	blind  atomic.Bool
}

// allRights has a console offer everything, and send it to the database.
func allRights(context.Context) map[string]bool {
	rights := map[string]bool{}
	for _, right := range access.Changes() {
		rights[right] = true
	}
	return rights
}

func (c *counted) ApplLockLive(ctx context.Context, params db.ApplLockLiveParams) ([]db.Lock, error) {
	c.locks.Add(1)
	if before := c.before.Load(); before != nil {
		if err := (*before)(); err != nil {
			return nil, err
		}
	}
	return c.Driver.ApplLockLive(ctx, params)
}

// read counts a call, and makes it unless a refusal is given.
func read[P, R any](ctx context.Context, number *atomic.Int64, refusal error, call func(context.Context, P) (R, error), params P) (result R, err error) {
	if number.Add(1); refusal != nil {
		return result, refusal
	}
	return call(ctx, params)
}

func (c *counted) refusal(kind db.Kind) error {
	if !c.blind.Load() {
		return nil
	}
	return &db.Error{Kind: kind, Err: errors.New("no")}
}

func (c *counted) ApplLockWaiting(ctx context.Context, params db.ListedParams) ([]db.Waiter, error) {
	return read(ctx, &c.waiters, nil, c.Driver.ApplLockWaiting, params)
}

func (c *counted) ApplLockAsking(ctx context.Context, params db.ListedParams) ([]db.Asker, error) {
	return read(ctx, &c.askers, c.refusal(db.KindPrivilege), c.Driver.ApplLockAsking, params)
}

func (c *counted) ApplLockViewers(ctx context.Context, params db.ListedParams) ([]db.Viewer, error) {
	return read(ctx, &c.viewers, c.refusal(db.KindReadOnly), c.Driver.ApplLockViewers, params)
}

func (c *counted) AskApplLock(ctx context.Context, params db.AskApplLockParams) (db.Result, error) {
	if params.WaitSeconds == nil || *params.WaitSeconds > 0 {
		c.asks.Add(1)
	}
	return c.Driver.AskApplLock(ctx, params)
}

func (c *counted) ApplLockHistory(ctx context.Context, params db.ApplLockHistoryParams) ([]db.Event, error) {
	events, err := read(ctx, &c.events, nil, c.Driver.ApplLockHistory, params)
	c.eventRows.Add(int64(len(events)))
	return events, err
}

func (c *counted) ApplLockStats(ctx context.Context, params db.ApplLockStatsParams) ([]db.Stats, error) {
	return read(ctx, &c.stats, nil, c.Driver.ApplLockStats, params)
}

func (c *counted) InquireApplLock(ctx context.Context, params db.InquireApplLockParams) (db.InquireApplLockResult, error) {
	return read(ctx, &c.inquiries, nil, c.Driver.InquireApplLock, params)
}

// taken returns the calls since it was last asked: locks, waiters, events, statistics, inquiries.
func (c *counted) taken() string {
	return fmt.Sprint(c.locks.Swap(0), c.waiters.Swap(0), c.events.Swap(0), c.stats.Swap(0), c.inquiries.Swap(0))
}

// supervisor lets MLEE change things, on this host.
func supervisor() Config {
	return Config{SignIn: Local("MLEE"), MayChange: func(person string) bool { return person == "MLEE" }}
}

func newDesk(t testing.TB, config Config) desk {
	t.Helper()
	config.Timeout = time.Hour // however busy the machine is
	return deskOn(testclient.Open(t, "sqlite:"+testclient.InstalledSQLite(t), "", nil), config)
}

func deskOn(client *applock.Client, config Config) desk {
	if config.SignIn == nil {
		config.SignIn = Local("")
	}
	calls := &counted{Driver: clients.Driver(client)}
	c := newConsole(clients.New[*applock.Client](calls, nil, lease.Hooks{}), config)
	return desk{client: client, console: c, handler: signedIn(c), calls: calls}
}

// signedIn is a console for browsers that have used its token, if it has one.
func signedIn(c *console) http.Handler {
	handler := c.guarded()
	local, is := c.config.SignIn.(*LocalSignIn)
	if !is {
		return handler
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.AddCookie(&http.Cookie{Name: local.cookie, Value: local.session})
		handler.ServeHTTP(w, r)
	})
}

func objectOf(t testing.TB, name string) applock.Object {
	t.Helper()
	object, err := applock.ParseObject(name)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// get has an operator of the department CS get an object.
func (d desk) get(t testing.TB, object, operator string, ttl time.Duration) applock.Grant {
	t.Helper()
	return d.hold(t, object, operator, "CS", ttl)
}

// hold has an operator of a department get an object.
func (d desk) hold(t testing.TB, object, operator, department string, ttl time.Duration) applock.Grant {
	t.Helper()
	owner := applock.Owner{Operator: operator, Department: department}
	grant, err := d.client.Get(t.Context(), applock.GetRequest{Object: objectOf(t, object), Owner: owner, TTL: ttl})
	if err != nil {
		t.Fatal(err)
	}
	return grant
}

// tick renews the grant until the database's clock, which on SQLite counts milliseconds, has gone on: so what is got next was
// got later.
func (d desk) tick(t *testing.T, grant applock.Grant) {
	t.Helper()
	for renewed := grant; !renewed.ExpiresAt.After(grant.ExpiresAt); {
		var err error
		renewed, err = d.client.Get(t.Context(), applock.GetRequest{Object: grant.Object, Owner: grant.Owner})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (d desk) release(t *testing.T, object, operator string) {
	t.Helper()
	if _, err := d.client.Release(t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: objectOf(t, object), Operator: operator}}); err != nil {
		t.Fatal(err)
	}
}

func (d desk) note(t *testing.T, grant applock.Grant, text string) {
	t.Helper()
	if err := d.client.Note(t.Context(), grant.Key(), text); err != nil {
		t.Fatal(err)
	}
}

func (d desk) wait(t *testing.T, object, operator string) {
	t.Helper()
	of := objectOf(t, object)
	err := clients.Driver(d.client).AnnounceApplLockWaiter(t.Context(), db.AnnounceApplLockWaiterParams{
		ObjectType: of.Type, ObjectID: of.ID, OperatorID: operator, ClientID: "test", WaitSeconds: 600,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// request is one of a browser on this host.
func request(method, address, body string) *http.Request {
	r := httptest.NewRequest(method, "http://localhost:8420"+address, strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:40000"
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	return r
}

func (d desk) do(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, r)
	return w
}

// see returns the text of a page.
func (d desk) see(t testing.TB, address string, status int) string {
	t.Helper()
	w := d.do(request(http.MethodGet, address, ""))
	if w.Code != status {
		t.Errorf("%s: status %d, want %d: %s", address, w.Code, status, w.Body)
	}
	return w.Body.String()
}

// submit sends a form.
func (d desk) submit(address string, form url.Values) *httptest.ResponseRecorder {
	return d.do(request(http.MethodPost, address, form.Encode()))
}

var objectLink = regexp.MustCompile(`<th scope="row">(?:<input[^>]*>)?<a href="object\?name=([^"]*)">`)

// objects returns what a list has, in order.
func objects(t *testing.T, page string) []string {
	t.Helper()
	var all []string
	for _, match := range objectLink.FindAllStringSubmatch(page, -1) {
		name, err := url.QueryUnescape(html.UnescapeString(match[1]))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, name)
	}
	return all
}

func check(t *testing.T, page string, texts ...string) {
	t.Helper()
	unmarked := strings.NewReplacer("<bdi>", "", "</bdi>", "").Replace(page)
	for _, text := range texts {
		if !strings.Contains(unmarked, text) {
			t.Errorf("the page lacks %q:\n%s", text, page)
		}
	}
}

// Goal: each filter and each order is an address, and shows what it says. Method: a few locks, and the lists of addresses.
func TestList(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Config{})
	d.tick(t, d.get(t, "order:7", "JDOE", 30*time.Minute))
	d.tick(t, d.get(t, "customer:42", "JDOE", 48*time.Hour))
	d.tick(t, d.get(t, "customer:43", "ASMITH", 24*time.Hour))
	d.note(t, d.get(t, "invoice:1", "BJONES", 36*time.Hour), "waits for documents")
	d.wait(t, "customer:43", "MLEE")
	d.wait(t, "customer:43", "PKING")
	for address, want := range map[string]string{
		"/locks":                           "customer:42 customer:43 invoice:1 order:7",
		"/locks?type=customer":             "customer:42 customer:43",
		"/locks?prefix=customer%3A42":      "customer:42",
		"/locks?operator=JDOE":             "customer:42 order:7",
		"/locks?operator=jdoe":             "",
		"/locks?department=CS&type=order":  "order:7",
		"/locks?no-department=1":           "",
		"/locks?older=1h":                  "",
		"/locks?within=1h":                 "order:7",
		"/locks?within=1d12h&sort=left":    "order:7 customer:43 invoice:1",
		"/locks?waiting=1":                 "customer:43",
		"/locks?waiting=1&operator=JDOE":   "",
		"/locks?sort=-waiters":             "customer:43 customer:42 invoice:1 order:7",
		"/locks?sort=waiters":              "customer:42 invoice:1 order:7 customer:43",
		"/locks?sort=-object":              "order:7 invoice:1 customer:43 customer:42",
		"/locks?sort=operator":             "customer:43 invoice:1 customer:42 order:7",
		"/locks?sort=-operator":            "customer:42 order:7 invoice:1 customer:43",
		"/locks?sort=department":           "customer:42 customer:43 invoice:1 order:7",
		"/locks?sort=-note":                "invoice:1 customer:42 customer:43 order:7",
		"/locks?sort=-age":                 "invoice:1 customer:43 customer:42 order:7",
		"/locks?sort=-left":                "customer:42 invoice:1 customer:43 order:7",
		"/locks?sort=-object&skip=3":       "customer:42",
		"/locks?sort=-object&skip=99":      "",
		"/locks?sort=age":                  "order:7 customer:42 customer:43 invoice:1",
		"/locks?sort=left":                 "order:7 customer:43 invoice:1 customer:42",
		"/locks?sort=left&prefix=customer": "customer:43 customer:42",
		"/locks?after=customer%3A43":       "invoice:1 order:7",
	} {
		if got := strings.Join(objects(t, d.see(t, address, http.StatusOK)), " "); got != want {
			t.Errorf("%s shows %q, want %q", address, got, want)
		}
	}
	noon := 12*60 - time.Now().UTC().Hour()*60 - time.Now().UTC().Minute() // the offset of a zone where it is noon
	if got := objects(t, d.see(t, fmt.Sprintf("/locks?within=today&offset=%d", noon), http.StatusOK)); len(got) != 1 || got[0] != "order:7" {
		t.Errorf("at noon %q end today", got)
	}
	check(t, d.see(t, "/locks?sort=waiters", http.StatusOK), `data-label="Waiting">2<td`)
	for sort, link := range map[string]string{"left": "ascending\"><a href=\"locks?sort=-left\"", "-left": "descending\"><a href=\"locks?sort=left\""} {
		check(t, d.see(t, "/locks?sort="+sort, http.StatusOK), "aria-sort=\""+link)
	}
	check(t, d.see(t, "/locks", http.StatusOK), "waits for documents", `<h1>Locks</h1>`, `<a href="locks" aria-current="page">`, "4 in all", `data-label="Waiting">2<td`)
	check(t, d.see(t, "/locks?within=1h&sort=left", http.StatusOK), `<h1>Ending within an hour</h1>`)
	check(t, d.see(t, "/locks?operator=nobody", http.StatusOK), "No lock passes the filter")
	for address, text := range map[string]string{
		"/locks?operater=JDOE":                        "operater is no filter of this list, which has q, type, prefix, operator",
		"/waiters?operator=JDOE":                      "operator is no filter of this list",
		"/history.csv?q=JDOE":                         "q is no filter of this list, which has since, department, operator, event, actor, object, reason.",
		"/history?event=LOST":                         "“What happened” is one of [TRANSFERRED TAKEN",
		"/locks?sort=nonsense":                        "sort is the name of no column",
		"/locks?skip=x":                               "skip is not a number of rows",
		"/locks?within=today&offset=x":                "offset is written in minutes east of UTC",
		"/locks?within=soon":                          "“Ends within” is written as",
		"/locks?older=99999999d":                      "“Held for at least” is written as",
		"/locks?type=a%3Ab":                           "“Type” must not contain",
		"/locks?type=a&prefix=b":                      "“Object begins with” already names the type",
		"/locks?after=ab":                             "“Object”",
		"/locks?operator=" + strings.Repeat("x", 256): "“Operator” has 256 characters",
	} {
		check(t, d.see(t, address, http.StatusBadRequest), text)
	}
}

// fill makes many locks, without a call for each.
func fill(t testing.TB, d desk, number int) {
	t.Helper()
	params := make([]db.GetApplLockParams, number)
	for i := range params {
		params[i] = db.GetApplLockParams{
			ObjectType: "customer", ObjectID: fmt.Sprintf("%05d", i), OperatorID: fmt.Sprintf("OP%02d", i%7), DepartmentID: "sales", TTLSeconds: int64(3600 + i%977),
		}
	}
	err := clients.Driver(d.client).InTx(t.Context(), func(tx db.Driver) error {
		_, err := tx.GetApplLocks(t.Context(), params)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Goal: a page of ten thousand locks is one query for the locks and one for who waits, and pages in another order are none at all
// while a snapshot
// lasts; the pages behind it have no lock twice, and the number of all is told. Method: count the calls of the driver, and follow the
// links to the next page.
func TestHeavyTenThousandLocks(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor()) // whose page has a box for each lock
	const locks = 10000
	fill(t, d, locks)
	next := regexp.MustCompile(`<a href="([^"]*)" rel="next">`)
	d.see(t, "/locks", http.StatusOK) // how many there are is asked for once a minute
	d.console.own.reader.Counts.Age, d.console.own.reader.Names.Age = time.Hour, time.Hour
	address, seen := "/locks", map[string]bool{}
	for range 5 {
		d.calls.taken()
		page := d.see(t, address, http.StatusOK)
		if got := d.calls.taken(); got != "1 1 0 0 0" {
			t.Errorf("%s takes %s calls", address, got)
		}
		check(t, page, "about "+"10,000"+" in all")
		if size := len(page); size > 56<<10 {
			t.Errorf("%s has %d bytes", address, size)
		}
		for _, object := range objects(t, page) {
			if seen[object] {
				t.Errorf("%s has %s again", address, object)
			}
			seen[object] = true
		}
		link := next.FindStringSubmatch(page)
		if link == nil {
			t.Fatalf("%s has no next page", address)
		}
		address = "/" + html.UnescapeString(link[1])
	}
	if len(seen) != 5*reading.RowsOfPage {
		t.Errorf("%d locks on five pages", len(seen))
	}
	d.calls.taken()
	for _, order := range []string{"left", "-left", "age", "-object", "operator", "-operator", "-waiters", "note"} {
		page := d.see(t, "/locks?sort="+order, http.StatusOK)
		if rows := len(objects(t, page)); rows != reading.RowsOfPage {
			t.Errorf("sort=%s shows %d locks", order, rows)
		}
		check(t, page, "10,000"+" in all", "1 to 20", `rel="next"`)
	}
	if got, want := d.calls.taken(), fmt.Sprintf("%d 8 0 0 0", 8*(locks/applock.MaxPageSize+1)); got != want {
		t.Errorf("the lists of all orders take %s calls, want %s", got, want)
	}
	last := d.see(t, fmt.Sprintf("/locks?after=customer%%3A%05d", locks-reading.RowsOfPage-1), http.StatusOK)
	if got := objects(t, last); len(got) != reading.RowsOfPage || next.MatchString(last) {
		t.Errorf("the last page has %d locks, or one behind it", len(got))
	}
	d.calls.taken()
	look := fmt.Sprintf("%d 1 ", locks/applock.MaxPageSize+1) // one look at all locks
	for address, calls := range map[string]string{
		"/locks?within=2h&prefix=customer%3A0": "1 1 0 0 0",
		"/locks?waiting=1":                     look + "0 0 0",
		"/":                                    look + "1 0 0",
		"/object?name=customer%3A00001":        "0 1 1 0 1",
		"/operator?name=OP01":                  "1 2 1 0 0",
		"/waiters":                             look + "0 0 0",
		"/people":                              look + "0 0 0",
		"/requests":                            "0 0 0 0 0",
		"/history":                             "0 0 1 0 0",
		"/statistics":                          "0 0 0 1 0",
		"/policies":                            "0 0 0 0 0",
		"/health":                              "0 0 0 0 0",
	} {
		d.see(t, address, http.StatusOK)
		if got := d.calls.taken(); got != calls {
			t.Errorf("%s takes %s calls, want %s", address, got, calls)
		}
	}
}

// Goal: each page tells what it is for. Method: a desk with all of it, and the words of its pages.
func TestPages(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Config{Checks: []Check{
		{Name: "Steps", Run: func(context.Context) (string, error) { return "all applied", nil }},
		{Name: "Clock", Run: func(context.Context) (string, error) { return "late", io.EOF }},
		{Name: "Disk", Run: func(context.Context) (string, error) { return "", fmt.Errorf("password=secret") }},
		{Name: "Purge", Run: func(context.Context) (string, error) { return "this account may not look", ErrNotChecked }},
	}})
	grant := d.get(t, "customer:42", "JDOE", 48*time.Hour)
	if _, err := d.client.Transfer(t.Context(), applock.TransferRequest{
		Object: grant.Object, From: "JDOE", To: applock.Owner{Operator: "ASMITH", Department: "CS"}, Actor: "MLEE", Reason: "JDOE is ill",
	}); err != nil {
		t.Fatal(err)
	}
	d.wait(t, "customer:42", "PKING")
	check(t, d.see(t, "/object?name=customer%3A42", http.StatusOK),
		`<h1>customer:42</h1>`, `<a href="operator?name=ASMITH">ASMITH</a>`, "PKING", "TRANSFERRED", "JDOE is ill", `data-seconds="1`, `data-interval="2000"`)
	check(t, d.see(t, "/object?name=customer%3A43", http.StatusOK), "Nobody holds it.", "Nobody waits for it.", "The history has no events of this object.")
	check(t, d.see(t, "/operator?name=ASMITH", http.StatusOK), "Desk of ASMITH", "customer:42", "TRANSFERRED")
	check(t, d.see(t, "/operator?name=PKING", http.StatusOK), "Holds nothing.", "Nobody else has handed over", "The history has nothing that this operator did.")
	check(t, d.see(t, "/waiters", http.StatusOK), "1 waiting for 1 objects", "PKING", "customer:42", "ASMITH")
	check(t, d.see(t, "/waiters?type=order", http.StatusOK), "Nobody waits.")
	check(t, d.see(t, "/statistics", http.StatusOK), "<svg", "<strong>1</strong> locks", "<strong>1</strong> waiting", `<rect width="100"`, `data-interval="2000"`)
	health := d.see(t, "/health", http.StatusServiceUnavailable)
	check(t, health, "SQLite", "contract", "all applied", "late", "its log has the details", `<span class="none">not checked</span>`, "this account may not look")
	if strings.Contains(health, "secret") {
		t.Error("an error of a check is shown as it is")
	}
	d.console.own.config.Checks = d.console.own.config.Checks[3:] // what was checked is well
	d.see(t, "/health", http.StatusOK)
	check(t, d.see(t, "/nonsense", http.StatusNotFound), "There is no such page.")
	check(t, d.see(t, "/operator", http.StatusBadRequest), "“Operator” must not be empty.")
	check(t, d.see(t, "/object?name=", http.StatusBadRequest), "“Object”")
	for _, name := range pages.StaticFiles() {
		d.see(t, "/"+name, http.StatusOK)
	}
}

// Goal: it mounts below any path: every address in a page is relative, also those that the browser is sent to. Method: a
// mux with a prefix, and each address of each page.
func TestMountsAnywhere(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	grant := d.get(t, "customer:42", "JDOE", time.Hour)
	mux := http.NewServeMux()
	mux.Handle("/desk/locks/", http.StripPrefix("/desk/locks", d.handler))
	addresses := regexp.MustCompile(`(?:href|src|action)="([^"]*)"`)
	for _, page := range []string{"", "locks", "locks?sort=-left&q=42", "history", "policies", "object?name=customer%3A42", "operator?name=JDOE", "waiters", "statistics", "health", "transfer?name=customer%3A42", "transfer?desk=JDOE"} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, request(http.MethodGet, "/desk/locks/"+page, ""))
		if w.Code != http.StatusOK {
			t.Errorf("%q: status %d", page, w.Code)
		}
		for _, match := range addresses.FindAllStringSubmatch(w.Body.String(), -1) {
			if strings.HasPrefix(match[1], "/") || strings.Contains(match[1], "//") {
				t.Errorf("%q has the address %s", page, match[1])
			}
		}
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, request(http.MethodPost, "/desk/locks/release", confirmedForm(grant, "gone").Encode()))
	if location := w.Header().Get("Location"); w.Code != http.StatusSeeOther || !strings.HasPrefix(location, "answer?sealed=") {
		t.Errorf("status %d, location %q", w.Code, location)
	}
}

// confirmedForm is the last form of an action on a grant.
func confirmedForm(grant applock.Grant, reason string) url.Values {
	return url.Values{
		"lock": {pages.FormatGrant(grant.Key())}, "reason": {reason}, "lasts": {"1h"}, "unknown": {"ASMITH"}, "confirmed": {"yes"},
	}
}

// Goal: a page is sent compressed to a browser that can read it, and never to another site, which could learn from the size what is in it.
// Method: requests for a page.
func TestPagesAreCompressed(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	for from, want := range map[[2]string]bool{
		{"gzip, br", "none"}: true, {"gzip", "same-origin"}: true, {"gzip", "cross-site"}: false, {"gzip", ""}: false, {"", "same-origin"}: false,
	} {
		r := request(http.MethodGet, "/locks", "")
		r.Header.Set("Accept-Encoding", from[0])
		r.Header.Set("Sec-Fetch-Site", from[1])
		w := d.do(r)
		text, err := io.Reader(w.Body), error(nil)
		if got := w.Header().Get("Content-Encoding") == "gzip"; got != want {
			t.Errorf("for %q it is compressed: %t", from, got)
		} else if got {
			text, err = gzip.NewReader(w.Body)
		}
		if err != nil {
			t.Fatal(err)
		}
		if all, err := io.ReadAll(text); err != nil || !strings.HasSuffix(string(all), "</html>\n") {
			t.Errorf("for %q the page is %s, %v", from, all, err)
		}
	}
}

// Goal: the code on the page is the code that runs. Method: the page's block is in the example.
func TestPageShowsTheExample(t *testing.T) {
	t.Parallel()
	_, block, found := strings.Cut(testfile.Read(t, "../../docs/console.md"), "```go\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed || !strings.Contains(testfile.Read(t, "example_test.go"), block) {
		t.Errorf("docs/console.md has other code than ExampleHandler:\n%s", block)
	}
}
