package browser_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// plans fills in a form that hands over, also to somebody whom nobody knows, and returns the page of the plan.
func (p person) plans(t *testing.T, d *desk, address, to string) string {
	t.Helper()
	p.opens(t, d, address)
	p.do(t, chromedp.SendKeys("#to", to, chromedp.ByQuery), chromedp.SendKeys("#reason", "month-end", chromedp.ByQuery))
	p.presses(t, theButton)
	if asks[bool](t, p, "document.querySelector('[name=unknown]:not([type=hidden])') !== null") {
		p.do(t, chromedp.Click("[name=unknown]", chromedp.ByQuery))
		p.presses(t, theButton)
	}
	p.has(t, "Who is notified")
	return p.page(t, d)
}

// page returns where the browser is, below the console.
func (p person) page(t *testing.T, d *desk) string {
	t.Helper()
	return strings.TrimPrefix(asks[string](t, p, "location.href"), d.address)
}

// axe returns what axe-core finds in a page, targets that are too small included.
func (p person) axe(t *testing.T) []string {
	t.Helper()
	path := os.Getenv("APPLOCK_TEST_AXE")
	if path == "" {
		t.Fatal("there is no axe-core: run make test-console, which fetches it, or say where axe.min.js is by APPLOCK_TEST_AXE")
	}
	script, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const findings = `axe.run(document, {resultTypes: ["violations"], rules: {"target-size": {enabled: true}}}).then((found) => found.violations
		.map((one) => "axe: " + one.id + ": " + one.help + ": " + one.nodes.map((node) => node.html.slice(0, 80)).join(" ")))`
	var faults []string
	p.do(t, chromedp.Evaluate(string(script)+";0", nil), chromedp.Evaluate(findings, &faults, func(params *runtime.EvaluateParams) *runtime.EvaluateParams {
		return params.WithAwaitPromise(true)
	}))
	return faults
}

// Goal: a desk is handed over after a plan, once: what somebody was faster with, in another browser or at a shell, is left as it is, and
// back and reload repeat nothing. Method: two browsers and applockctl at one desk.
func TestTwoBrowsersAndAShell(t *testing.T) {
	t.Parallel()
	onEachProduct(t, func(t *testing.T, d *desk) {
		for _, object := range []string{"customer:42", "customer:43", "order:7"} {
			d.run(t, "get", object, "--operator", "jdoe")
		}
		one, two := newPerson(t), newPerson(t)
		two.opens(t, d, "operator?name=pking")
		two.has(t, "Holds nothing.")
		one.plans(t, d, "transfer?desk=jdoe", "asmith")
		one.has(t, "Hand over 3 locks of jdoe to asmith", "jdoe loses 3 locks to asmith.", "order:7")
		d.run(t, "transfer", "customer:42", "--from", "jdoe", "--to", "pking", "--by", "asmith")
		two.has(t, "customer:42")
		one.presses(t, theButton)
		one.has(t, "TRANSFERRED Handed over. 2 of 3.", "HELD Nothing has happened", "pking")
		one.do(t, chromedp.Reload())
		one.has(t, "Handed over. 2 of 3.")
		d.run(t, "get", "order:8", "--operator", "jdoe")
		one.leaves(t, "history.back()")
		one.has(t, "jdoe loses 3 locks to asmith.")
		one.presses(t, theButton)
		one.has(t, "TRANSFERRED Handed over. 2 of 3.", "HELD Nothing has happened")
		two.opens(t, d, "operator?name=asmith")
		two.has(t, "customer:43", "order:7", "month-end")
		if got := d.run(t, "inquire", "order:8"); !strings.Contains(got, "jdoe") {
			t.Errorf("afterwards: %s", got)
		}
		if history := d.run(t, "history", "--operator", "mlee"); strings.Count(history, "TRANSFERRED") != 2 {
			t.Errorf("the history is\n%s", history)
		}
	})
}

// Goal: no text of a lock, and no parameter of an address, runs in a browser. Method: an attack in each of them, and every page; what
// would run opens a dialogue, which fails the test.
func TestAttacksDoNotRun(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	object := strings.ReplaceAll(attack, ":", "") + ":" + attack
	d.run(t, "get", object, "--operator", attack+"1", "--department", attack)
	d.run(t, "transfer", object, "--from", attack+"1", "--to", attack, "--to-department", attack, "--by", attack, "--reason", attack)
	d.run(t, "note", object, "--operator", attack, attack)
	waiter := d.command(t.Context(), "get", object, "--operator", attack+"2", "--wait", "1h")
	if err := waiter.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = waiter.Process.Kill(); _ = waiter.Wait() })
	p := newPerson(t)
	p.opens(t, d, "waiters")
	p.has(t, attack)
	name, operator := url.QueryEscape(object), url.QueryEscape(attack)
	for _, address := range []string{
		"", "locks", "locks?sort=-waiters", "history", "object?name=" + name, "operator?name=" + operator, "waiters", "transfer?name=" + name,
		"take?name=" + name, "release?name=" + name, "note?name=" + name, "transfer?desk=" + operator, "release?desk=" + operator,
	} {
		p.opens(t, d, address)
		p.has(t, "onerror=alert(2)")
	}
	p.plans(t, d, "transfer?name="+name, attack+"3")
	p.plans(t, d, "transfer?desk="+operator, attack+"3")
	p.presses(t, theButton)
	p.has(t, "TRANSFERRED")
	parameters := []string{
		"type", "prefix", "operator", "department", "older", "within", "sort", "after", "behind", "name", "desk", "sealed", "waiting", "no-department", "q", "skip", "since",
	}
	all := url.Values{}
	addresses := []string{"object?name=a:" + operator, "answer?sealed=" + operator, "transfer?name=a:" + operator}
	for _, parameter := range parameters {
		all.Set(parameter, attack)
		addresses = append(addresses, "locks?"+url.Values{parameter: {attack}}.Encode())
	}
	for _, page := range []string{"", "locks", "history", "policies", "object", "operator", "waiters", "statistics", "health", "transfer", "take", "answer", "nonsense"} {
		addresses = append(addresses, page+"?"+all.Encode())
	}
	for _, address := range addresses {
		p.opens(t, d, address)
		p.awaits(t, "document.readyState === 'complete' && document.querySelector('h1') !== null")
	}
}

// Goal: whoever may only look changes nothing, whatever his browser sends: the console refuses it, and where the console would not, the
// database does. Method: forms by a script of the page itself; a role with an auditor's rights on PostgreSQL.
func TestRoleWithoutRights(t *testing.T) {
	t.Parallel()
	dsn := postgres(t)
	owner := newDeskOn(t, dsn, "--by", "mlee")
	owner.run(t, "get", "customer:42", "--operator", "jdoe")
	fence := asksFence(t, owner)
	// The cluster has the role: a name of its own.
	address, err := url.Parse(dsn)
	if err != nil {
		t.Fatal("the DSN is no URL")
	}
	role := "r" + strings.Trim(address.Path, "/")
	execute(t, dsn, "CREATE ROLE "+role+" LOGIN PASSWORD 'secret'")
	t.Cleanup(func() { execute(t, dsn, "DROP OWNED BY "+role+"; DROP ROLE "+role) })
	owner.run(t, "grant", "--to", role, "--as", "auditor")
	address.User = url.UserPassword(role, "secret")
	auditor := serving(t, &desk{program: owner.program, dsn: address.String(), flags: []string{"--by", "mlee", "--may-change", "mlee"}})
	send := func(verb string) string {
		return `window.answered = 0; fetch("` + verb + `", {method: "POST", body: new URLSearchParams({lock: "` + grantOf("customer:42", "jdoe", fence) +
			`", to: "mlee", reason: "x", confirmed: "yes"})}).then((answer) => { window.answered = answer.status }); 0`
	}
	for name, d := range map[string]*desk{"look only": owner, "auditor": auditor} {
		p := newPerson(t)
		p.opens(t, d, "object?name=customer%3A42")
		p.has(t, "jdoe")
		for _, verb := range []string{"transfer", "take", "release", "note"} {
			p.do(t, chromedp.Evaluate(send(verb), nil))
			p.awaits(t, "window.answered !== 0")
			if got := asks[int](t, p, "window.answered"); got != http.StatusForbidden {
				t.Errorf("%s: %s has status %d", name, verb, got)
			}
		}
	}
	if got := owner.run(t, "inquire", "customer:42"); !strings.Contains(got, "jdoe") {
		t.Errorf("afterwards: %s", got)
	}
}

// proxy is one between the browser and a console.
type proxy struct {
	// gone is true for one whose session has ended.
	gone atomic.Bool
}

func (x *proxy) before(t *testing.T, d *desk) *desk {
	t.Helper()
	target, err := url.Parse(d.address)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.ErrorLog = log.New(io.Discard, "", 0) // browsers leave
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if x.gone.Load() {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, "<h1>Please sign in.</h1>")
			return
		}
		r.Header.Set("X-User", "mlee")
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(server.CloseClientConnections)
	return &desk{program: d.program, dsn: d.dsn, address: server.URL + "/"}
}

// Goal: behind a proxy that signs people in a page shows changes; and when the session ends in the middle, the page leads to the sign-in, and a
// form that is sent then changes nothing. Method: such a proxy.
func TestProxy(t *testing.T) {
	t.Parallel()
	dsn := "sqlite:" + t.TempDir() + "/applock.db"
	direct := newDeskOn(t, dsn, "--user-header", "X-User", "--proxy", "127.0.0.0/8", "--may-change", "mlee")
	x := &proxy{}
	d := x.before(t, direct)
	p := newPerson(t)
	p.opens(t, d, "locks")
	p.has(t, "No lock is held.", "You are mlee")
	d.run(t, "get", "customer:42", "--operator", "jdoe")
	p.has(t, "customer:42")

	p.plans(t, d, "transfer?name=customer%3A42", "asmith")
	x.gone.Store(true)
	p.presses(t, theButton)
	p.has(t, "Please sign in.")
	if got := d.run(t, "inquire", "customer:42"); !strings.Contains(got, "jdoe") {
		t.Errorf("afterwards: %s", got)
	}
	x.gone.Store(false)
	p.opens(t, d, "locks")
	p.has(t, "customer:42")
	x.gone.Store(true)
	d.run(t, "get", "customer:43", "--operator", "jdoe")
	p.has(t, "Please sign in.")
}

// Goal: ten thousand locks are no other page than ten: the first one comes, a change appears in it, and the pages behind it have each lock once.
// Method: PostgreSQL, and the links to the next page.
func TestTenThousandLocks(t *testing.T) {
	t.Parallel()
	d := newDeskOn(t, postgres(t), "--by", "mlee")
	execute(t, d.dsn, `INSERT INTO applock.appl_lock (object_type, object_id, operator_id, department_id, fence, acquired_ts, lock_ts, ttl_seconds, expires_ts)
		SELECT 'customer', lpad(i::text, 5, '0'), 'jdoe', '', i, now(), now(), 86400, now() + interval '1 day' FROM generate_series(1, 10000) AS i`)
	p := newPerson(t)
	p.opens(t, d, "locks")
	p.has(t, "customer:00001", "customer:00020")
	d.run(t, "note", "customer:00007", "--operator", "jdoe", "a new note")
	p.has(t, "a new note")
	p.presses(t, `a[rel="next"]`)
	p.has(t, "customer:00021", "customer:00040")
	p.opens(t, d, "locks?sort=left&prefix=customer%3A09")
	p.has(t, "customer:09000")
}
