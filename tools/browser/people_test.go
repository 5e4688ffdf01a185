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

// Goal: no text of a lock runs in a browser. Method: an attack in each of them, and every page; what would run opens a dialogue, which fails the
// test. TestParametersDoNotRun has the parameters of addresses.
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
	x := &proxy{}
	d := x.before(t, newOffice(t))
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
