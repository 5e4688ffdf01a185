package browser_test

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// newOffice is a desk whose people are named by a header, as behind a proxy.
func newOffice(t *testing.T, flags ...string) *desk {
	t.Helper()
	flags = append(flags, "--user-header", "X-User", "--proxy", "127.0.0.0/8", "--may-change", "BROWN,JDOE,mlee")
	return newDeskOn(t, "sqlite:"+t.TempDir()+"/applock.db", flags...)
}

// newColleague opens a browser of somebody whom the proxy has signed in.
func newColleague(t *testing.T, name string) person {
	t.Helper()
	p := newPerson(t)
	p.do(t, network.Enable(), network.SetExtraHTTPHeaders(network.Headers{"X-User": name}))
	return p
}

// Goal: who stays on the first page is told there who asks, what was given, and that it has ended untaken. Method: two browsers that stay on Now, and a
// minute in which nobody takes up the lock.
func TestToldOnNow(t *testing.T) {
	t.Parallel()
	d := newOffice(t)
	d.run(t, "get", "customer:42", "--operator", "JDOE")
	jdoe, brown := newColleague(t, "JDOE"), newColleague(t, "BROWN")
	brown.opens(t, d, "ask?name=customer%3A42")
	brown.presses(t, theButton)
	jdoe.opens(t, d, "")
	brown.opens(t, d, "")
	same := brown.stays(t)
	const badge = "document.querySelector('.badge')?.textContent === '1' && document.title.startsWith('(1) ')"
	jdoe.has(t, "BROWN asks you for customer:42.")
	jdoe.awaits(t, badge)
	jdoe.follows(t, `#told a[href="desk#asked"]`)
	jdoe.presses(t, `button[value="GIVE"]`)
	jdoe.has(t, "GIVEN")

	brown.has(t, "JDOE has given you customer:42.", "Take up customer:42")
	brown.awaits(t, badge)
	brown.seconds(t, "70")
	brown.has(t, "customer:42 was given to you and is not yours any more.", "Get customer:42")
	brown.awaits(t, badge)
	same()
	brown.presses(t, "#told button")
	brown.has(t, "ACQUIRED")
}

// goesTo presses Tab until an element has the focus.
func (p person) goesTo(t *testing.T, selector string) {
	t.Helper()
	for range 60 {
		if asks[bool](t, p, "document.activeElement.matches('"+selector+"')") {
			return
		}
		p.do(t, chromedp.KeyEvent(kb.Tab))
	}
	t.Fatalf("the keyboard does not come to %s", selector)
}

// types presses keys and waits for the page behind them.
func (p person) types(t *testing.T, keys string) {
	t.Helper()
	p.do(t, chromedp.Evaluate("window.before = true", nil), chromedp.KeyEvent(keys))
	p.awaits(t, "window.before === undefined && document.readyState === 'complete'")
}

// Goal: BROWN asks for JDOE's lock, is given it, and takes it up by the keyboard alone, told by pages that stay open; Enter in the reason answers
// nothing. Method: two browsers, and keys.
func TestAskAndGiveByKeyboard(t *testing.T) {
	t.Parallel()
	d := newOffice(t)
	d.run(t, "get", "customer:42", "--operator", "JDOE")
	jdoe, brown := newColleague(t, "JDOE"), newColleague(t, "BROWN")
	brown.opens(t, d, "object?name=customer%3A42")
	brown.goesTo(t, `a[href^="ask?"]`)
	brown.types(t, kb.Enter)
	brown.goesTo(t, "#message")
	brown.types(t, "please"+kb.Enter)
	brown.has(t, "Your desk, BROWN", "please")

	jdoe.opens(t, d, "locks")
	jdoe.goesTo(t, `.person a`)
	jdoe.types(t, kb.Enter)
	jdoe.has(t, "please")
	jdoe.goesTo(t, `input[name="reason"]`)
	jdoe.do(t, chromedp.Evaluate("window.before = true", nil), chromedp.KeyEvent("done"+kb.Enter))
	jdoe.goesTo(t, `button[value="GIVE"]`)
	if !asks[bool](t, jdoe, "window.before === true") {
		t.Error("Enter in the reason has answered")
	}
	jdoe.types(t, kb.Enter)
	jdoe.has(t, "GIVEN")
	brown.has(t, "JDOE has given you customer:42.")
	brown.goesTo(t, ".given button")
	brown.types(t, kb.Enter)
	brown.has(t, "RENEWED")
}

// Goal: a request is kept while its page is in the background or paused, and withdrawn by a button; the holder who says not yet is read.
// Method: a page that is paused for longer than a request lasts.
func TestRequestOutlivesAPause(t *testing.T) {
	t.Parallel()
	d := newOffice(t)
	d.run(t, "get", "customer:42", "--operator", "JDOE")
	brown := newColleague(t, "BROWN")
	brown.opens(t, d, "ask?name=customer%3A42")
	brown.presses(t, theButton)
	brown.do(t, chromedp.Click("#pause", chromedp.ByQuery))
	brown.has(t, "Updates paused at ")
	brown.seconds(t, "75")
	if got := d.run(t, "asking"); !strings.Contains(got, "BROWN") {
		t.Errorf("after 75 s there asks nobody: %s", got)
	}
	brown.do(t, chromedp.Click("#pause", chromedp.ByQuery))
	brown.presses(t, `form[action="withdraw"] button`)
	brown.has(t, "You ask for nothing.")
	if got := d.run(t, "asking"); strings.Contains(got, "BROWN") {
		t.Errorf("after it was withdrawn: %s", got)
	}
}

// Goal: the pages of asking and presence fit each size, can be read, and are usable by the keyboard. Method: the desks of two who ask each
// other, in each size and colour, with axe-core.
func TestAskingIsForPeople(t *testing.T) {
	t.Parallel()
	d := newOffice(t)
	long := "customer:" + strings.Repeat("very-long-", 12)
	for _, object := range []string{"case:300879-00012345678", "customer:42", long} {
		d.run(t, "get", object, "--operator", "JDOE", "--department", "sales")
	}
	d.run(t, "note", "customer:42", "--operator", "JDOE", "waits for documents until Friday")
	d.run(t, "get", "order:7", "--operator", "BROWN", "--department", "billing")
	d.run(t, "get", "invoice:1", "--operator", "BROWN", "--department", "billing", "--ttl", "45m")
	brown, jdoe := newColleague(t, "BROWN"), newColleague(t, "JDOE")
	for _, object := range []string{"customer:42", long} {
		brown.opens(t, d, "ask?name="+object)
		brown.do(t, chromedp.SendKeys("#message", "The customer is on the telephone and has asked three times already; could I have it until noon?", chromedp.ByQuery))
		brown.presses(t, theButton)
	}
	jdoe.opens(t, d, "ask?name=order%3A7")
	jdoe.presses(t, theButton)
	brown.opens(t, d, "desk")
	brown.do(t, chromedp.SendKeys(`input[name="reason"]`, "after lunch", chromedp.ByQuery))
	brown.presses(t, `button[value="LATER"]`)
	told := brown.page(t, d)
	brown.opens(t, d, "desk")
	for _, each := range sizes() {
		brown.sized(t, each)
		jdoe.sized(t, each)
		d.run(t, "see", "customer:42", "--operator", "KIM", "--client", "a", "--ttl", "1m")
		d.run(t, "see", "customer:42", "--operator", "LEE", "--client", "a", "--state", "editing", "--ttl", "1m")
		for _, of := range []struct {
			p                   person
			name, address, text string
		}{
			{jdoe, "own-desk-asked", "desk", "The customer is on the telephone"},
			{brown, "now-asked", "", "Who asks for what"},
			{brown, "locks-asked", "locks", "BROWN asks"},
			{brown, "object-asked", "object?name=customer%3A42", "Who asks, and who looks"},
			{brown, "ask", "ask?name=customer%3A42", "Give up after"},
			{brown, "ask-free", "ask?name=customer%3A1", "nobody to ask"},
			{brown, "told", told, "finds your answer in the inbox: not yet"},
			{brown, "own-desk-asks", "desk", "answered: not yet"},
		} {
			of.p.opens(t, d, of.address)
			of.p.has(t, of.text)
			of.p.fits(t, of.name, each)
		}
	}
}
