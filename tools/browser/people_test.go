package browser_test

import (
	"net/url"
	"os"
	"strings"
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
	p := newPerson(t)
	p.awaitsWaiter(t, d, object, attack+"2")
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
