package browser_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

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
	newPerson(t).awaitsWaiter(t, d, "case:300879-00012345678", "jdoe")
	return d
}

// outside returns the elements that are not wholly in the window, or that something cuts off, from left to right. What is cut off in a
// row has its whole text in the title; the menu and the person scroll on a telephone.
const outside = `Array.from(document.querySelectorAll("body *")).filter((e) => {
  if (e.matches("td, th") && e.querySelector("[title]:not(time)") !== null || e.closest(".unseen, .skip, dialog, thead, [title], nav, .person") !== null || e.closest("details:not([open]) > :not(summary)") !== null) return false;
  const box = e.getBoundingClientRect();
  return box.width > 0 && (box.right > innerWidth + 1 || box.left < -1 || e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== "visible");
}).map((e) => e.outerHTML.slice(0, 80))`

// Goal: at no width between 400 and 1,280 pixels, nor at those of a telephone and of a large screen, does anything stick out or hide.
// Method: each
// page at each width, and the boxes of its elements.
func TestNothingSticksOut(t *testing.T) {
	t.Parallel()
	d, p := crowded(t), newPerson(t)
	for _, address := range []string{
		"", "locks", "locks?q=billing&within=30d&sort=-left", "waiters", "history", "statistics", "policies", "health", "operator?name=Tanja.Rossi",
		"object?name=case%3A300879-00012345678", "people", "requests",
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

// Goal: at 1280 pixels each row of a list is one line, whatever the names and notes are, and its columns are as wide as with short ones; the
// end of a long name is seen, and the whole is in its title. A page has twenty rows, which are seen at once, no short name is broken at any width,
// and the width of a large screen is used. A page has one filled button at most. Method: boxes, with names of 230 characters.
func TestOneLineForEachRow(t *testing.T) {
	t.Parallel()
	d, p := crowded(t), newPerson(t)
	p.wide(t, 1280)
	p.opens(t, d, "locks")
	const seen = `Array.from(document.querySelectorAll("tbody tr")).filter((row) => row.getBoundingClientRect().bottom <= document.querySelector("footer").getBoundingClientRect().top).length`
	if rows := asks[int](t, p, seen); rows != 20 {
		t.Errorf("%d locks are seen at 1280 by 800", rows)
	}
	const columns = `Array.from(document.querySelectorAll("thead th"), (th) => th.offsetWidth).join()`
	before := asks[string](t, p, columns)
	long := "Großkunde:" + strings.Repeat("Käufer & Söhne ", 14) + "7781"
	d.run(t, "get", long, "--operator", strings.Repeat("o", 60), "--department", strings.Repeat("d", 60), "--ttl", "10m")
	d.run(t, "note", long, "--operator", strings.Repeat("o", 60), strings.Repeat("a long note ", 20))
	d.run(t, "transfer", long, "--from", strings.Repeat("o", 60), "--to", strings.Repeat("p", 60), "--by", strings.Repeat("b", 60), "--reason", strings.Repeat("a long reason ", 15))
	d.run(t, "ask", long, "--operator", "jdoe", "--client", "tab", "--message", strings.Repeat("a long message ", 15))
	p.has(t, "Großkunde")
	if after := asks[string](t, p, columns); after != before {
		t.Errorf("the columns were %s, and are %s", before, after)
	}
	const high = `Array.from(document.querySelectorAll(".rows tbody tr")).filter((row) => row.offsetHeight > 32).map((row) => row.innerText)`
	const filled = `Array.from(document.querySelectorAll("main :is(button, .button)")).filter((b) => getComputedStyle(b).backgroundColor !== "rgba(0, 0, 0, 0)").length`
	name := url.QueryEscape(long)
	for _, address := range []string{"", "locks", "locks?q=7781", "history", "people", "requests", "waiters", "statistics", "object?name=" + name, "operator?name=" + strings.Repeat("p", 60)} {
		p.opens(t, d, address)
		for _, row := range asks[[]string](t, p, high) {
			t.Errorf("%q has a row of several lines: %q", address, row)
		}
		if buttons := asks[int](t, p, filled); buttons > 1 {
			t.Errorf("%q has %d filled buttons", address, buttons)
		}
	}
	p.opens(t, d, "locks?type=customer")
	const broken = `Array.from(document.querySelectorAll("tbody th a:not(:has(.cut))")).filter((a) => a.getClientRects().length > 1 || a.offsetHeight > 30).map((a) => a.textContent)`
	for _, width := range []int64{360, 768, 800, 1024, 1920} {
		p.wide(t, width)
		if names := asks[[]string](t, p, broken); len(names) > 0 {
			t.Errorf("%d pixels wide: broken are %q", width, names)
		}
	}
	if width := asks[int](t, p, `document.querySelector("table").offsetWidth`); width < 1800 {
		t.Errorf("of 1920 pixels the table has %d", width)
	}
	p.opens(t, d, "locks?q=7781")
	const ends = `(() => { const box = document.querySelector("tbody .cut span:last-child").getBoundingClientRect(), cell = document.querySelector("tbody th").getBoundingClientRect();
		return box.width > 0 && box.right <= cell.right + 1; })()`
	if !asks[bool](t, p, ends) || asks[string](t, p, `document.querySelector("tbody .cut").title`) != long {
		t.Error("the end of a long name is not seen, or its title is not the whole")
	}
}

// Goal: the foot covers no row that the keyboard goes to, by j or by Tab, and on a telephone head and foot take 100 pixels at most. Method: boxes
// after each key, on a page that is higher than the window.
func TestFootCoversNoRow(t *testing.T) {
	t.Parallel()
	d, p := crowded(t), newPerson(t)
	const covered = `(() => { const box = document.activeElement.getBoundingClientRect(), foot = document.querySelector("footer").getBoundingClientRect();
		return box.bottom > foot.top + 1 && document.activeElement.closest("footer, body > dialog") === null && document.activeElement !== document.body; })()`
	for _, key := range []string{"j", kb.Tab} {
		p.do(t, emulation.SetDeviceMetricsOverride(1280, 400, 1, false))
		p.opens(t, d, "locks")
		p.awaits(t, "document.readyState === 'complete' && !document.getElementById('keys-open').hidden")
		for i := range 40 {
			p.do(t, chromedp.KeyEvent(key))
			if asks[bool](t, p, covered) {
				t.Fatalf("after %d times %q the foot covers %s", i+1, key, asks[string](t, p, "document.activeElement.outerHTML"))
			}
		}
	}
	for _, width := range []int64{360, 390} {
		p.wide(t, width)
		p.opens(t, d, "locks")
		p.awaits(t, "document.readyState === 'complete'")
		if high := asks[int](t, p, `document.querySelector("header").offsetHeight + document.querySelector("footer").offsetHeight`); high > 100 {
			t.Errorf("at %d pixels head and foot take %d", width, high)
		}
	}
}

// Goal: a supervisor finds a lock, goes from row to row and opens one by the keyboard alone, is told the keys, and can turn them off.
// Method: keys.
func TestKeys(t *testing.T) {
	t.Parallel()
	d, p := crowded(t), newPerson(t)
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
