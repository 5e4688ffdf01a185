package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// described returns what a reader of screens can say of the elements of a role, beside their text.
func (p person) described(t *testing.T, role string) []string {
	t.Helper()
	var all []string
	p.do(t, chromedp.ActionFunc(func(ctx context.Context) error {
		nodes, err := accessibility.GetFullAXTree().Do(ctx)
		for _, node := range nodes {
			var is, text string
			if node.Role == nil || json.Unmarshal(node.Role.Value, &is) != nil || is != role {
				continue
			}
			if node.Description != nil {
				_ = json.Unmarshal(node.Description.Value, &text) // a text, or none
			}
			all = append(all, text)
		}
		return err
	}))
	return all
}

// wide sets the size of the window.
func (p person) wide(t *testing.T, width int64) {
	t.Helper()
	p.do(t, emulation.SetDeviceMetricsOverride(width, 800, 1, false))
}

// crowded has a desk with forty locks, some with notes and long names, one with somebody who waits.
func crowded(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t)
	for i := range 40 {
		d.run(t, "get", fmt.Sprintf("customer:%d", 300860+i), "--operator", "Tanja.Rossi", "--department", "Billing", "--ttl", fmt.Sprintf("%dm", 30+i*60))
	}
	d.run(t, "note", "customer:300861", "--operator", "Tanja.Rossi", "waits for documents until Friday, and for the signature of both, please do not close")
	long := strings.Repeat("very-long-", 12)
	d.run(t, "get", "invoice:"+long, "--operator", long[:60], "--department", long[:60], "--ttl", "9d")
	d.run(t, "get", "case:300879-00012345678", "--operator", "Miriam.Hassan-Lindqvist", "--department", "Customer Service Northern Region", "--ttl", "6d")
	d.run(t, "transfer", "customer:300865", "--from", "Tanja.Rossi", "--to", "jdoe", "--to-department", "Claims", "--by", "mlee", "--reason", "on holiday")
	waiter := d.command(t.Context(), "get", "case:300879-00012345678", "--operator", "jdoe", "--department", "Claims", "--wait", "1h")
	if err := waiter.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = waiter.Process.Kill(); _ = waiter.Wait() })
	p := newPerson(t)
	p.opens(t, d, "waiters")
	p.has(t, "1 waiting", "jdoe")
	return d
}

// outside returns the elements that are not wholly in the window, or that something cuts off, from left to right.
const outside = `Array.from(document.querySelectorAll("body *")).filter((e) => {
  if (e.closest(".unseen, .skip, dialog, thead") !== null || e.closest("details:not([open]) > :not(summary)") !== null) return false;
  const box = e.getBoundingClientRect();
  return box.width > 0 && (box.right > innerWidth + 1 || box.left < -1 || e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== "visible");
}).map((e) => e.outerHTML.slice(0, 80))`

// Goal: at no width between 400 and 1,280 pixels, nor at those of a telephone and of a large screen, does anything stick out or hide.
// Method: each
// page at each width, and the boxes of its elements.
func TestNothingSticksOut(t *testing.T) {
	t.Parallel()
	d := crowded(t)
	p := newPerson(t)
	for _, address := range []string{
		"", "locks", "locks?q=billing&within=30d&sort=-left", "waiters", "history", "statistics", "policies", "health", "operator?name=Tanja.Rossi",
		"object?name=case%3A300879-00012345678",
	} {
		p.opens(t, d, address)
		for width := int64(360); width <= 1920; width += 40 {
			p.wide(t, width)
			for _, what := range asks[[]string](t, p, outside) {
				t.Errorf("%q, %d pixels wide: %s", address, width, what)
			}
		}
	}
}

// Goal: twenty locks are seen at once at 1280 by 800, none of their names is broken, and the width of a large screen is used. Method:
// boxes.
func TestTwentyRows(t *testing.T) {
	t.Parallel()
	d := crowded(t)
	p := newPerson(t)
	p.wide(t, 1280)
	p.opens(t, d, "locks?type=customer")
	const seen = `Array.from(document.querySelectorAll("tbody tr")).filter((row) => row.getBoundingClientRect().bottom <= document.querySelector("footer").getBoundingClientRect().top).length`
	if rows := asks[int](t, p, seen); rows < 20 {
		t.Errorf("%d locks are seen at 1280 by 800", rows)
	}
	const broken = `Array.from(document.querySelectorAll("tbody th a:not(.long)")).filter((a) => a.getClientRects().length > 1 || a.offsetHeight > 30).map((a) => a.textContent)`
	for _, width := range []int64{360, 768, 800, 1024, 1280} {
		p.wide(t, width)
		if names := asks[[]string](t, p, broken); len(names) > 0 {
			t.Errorf("%d pixels wide: broken are %q", width, names)
		}
	}
	p.wide(t, 1920)
	if width := asks[int](t, p, `document.querySelector("table").offsetWidth`); width < 1800 {
		t.Errorf("of 1920 pixels the table has %d", width)
	}
}

// Goal: the list sorts by each column both ways, and what is filtered is a chip that takes the filter away. Method: clicks on the
// heads and on a chip.
func TestHeadsAndChips(t *testing.T) {
	t.Parallel()
	d := crowded(t)
	p := newPerson(t)
	p.opens(t, d, "locks")
	for i := range 7 {
		head := fmt.Sprintf("thead th:nth-child(%d)", i+1)
		var ways []string
		for range 2 {
			p.presses(t, head+" a")
			ways = append(ways, asks[string](t, p, "document.querySelector('"+head+"').getAttribute('aria-sort')"))
		}
		slices.Sort(ways)
		if !slices.Equal(ways, []string{"ascending", "descending"}) {
			t.Errorf("column %d sorts %q", i+1, ways)
		}
	}
	p.wide(t, 390)
	p.opens(t, d, "locks?within=1h&department=Billing")
	p.has(t, "ends within 1h ×", "department Billing ×", "1 in all")
	p.presses(t, ".chip.set:last-of-type")
	p.lacks(t, "department Billing ×")
}

// Goal: a supervisor finds a lock, goes from row to row and opens one by the keyboard alone, is told the keys, and can turn them off.
// Method: keys.
func TestKeys(t *testing.T) {
	t.Parallel()
	d := crowded(t)
	p := newPerson(t)
	press := func(keys string) {
		t.Helper()
		// The script has run that takes keys.
		p.awaits(t, "document.readyState === 'complete' && !document.getElementById('keys-open').hidden")
		p.do(t, chromedp.KeyEvent(keys))
	}
	p.opens(t, d, "history")
	press("/")
	p.awaits(t, "document.activeElement.id === 'q'")
	p.do(t, chromedp.Evaluate("document.getElementById('q').value = ''", nil)) // what drives the browser types a key also where a page has taken it
	p.do(t, chromedp.Evaluate("window.before = true", nil))
	press("  TANJA.rossi 300879 " + kb.Enter)
	p.awaits(t, "window.before === undefined && document.readyState === 'complete'")
	p.has(t, "customer:300879", "1 in all")
	p.opens(t, d, "locks")
	focused := func(row int) {
		t.Helper()
		p.awaits(t, fmt.Sprintf("document.querySelectorAll('tbody tr')[%d].contains(document.activeElement)", row))
	}
	press("j")
	focused(0)
	press("jj")
	focused(2)
	press("k")
	focused(1)
	name := asks[string](t, p, "document.activeElement.textContent")
	press(kb.Enter)
	p.awaits(t, "document.querySelector('h1').textContent === '"+name+"'")
	press("?")
	p.awaits(t, "document.getElementById('keys').open")
	for _, fault := range p.axe(t) {
		t.Errorf("the help: %s", fault)
	}
	p.do(t, chromedp.Click("#keys-on", chromedp.ByQuery))
	press(kb.Escape)
	p.awaits(t, "!document.getElementById('keys').open")
	p.opens(t, d, "locks")
	press("j/")
	if at := asks[string](t, p, "document.activeElement.nodeName"); at != "BODY" {
		t.Errorf("the keys are off, and the focus is on %s", at)
	}
}

// Goal: the first page leads from who blocks whom to the action, and back. Method: a release by its link.
func TestFirstPageLeadsOn(t *testing.T) {
	t.Parallel()
	d := crowded(t)
	p := newPerson(t)
	p.opens(t, d, "")
	p.has(t, "Who blocks whom", "Miriam.Hassan-Lindqvist", "1 waiting", "customer:300860", "mlee handed over customer:300865", "Who holds most")
	p.follows(t, `a[href^="release?"]`)
	p.do(t, chromedp.WaitVisible("#reason", chromedp.ByQuery), chromedp.SendKeys("#reason", "left the house", chromedp.ByQuery))
	p.presses(t, theButton)
	p.presses(t, theButton)
	p.has(t, "RELEASED")
	p.opens(t, d, "")
	p.has(t, "mlee released case:300879-00012345678", "Nobody waits.")
	p.follows(t, ".person a")
	p.has(t, "Your desk, mlee", "released")
}
