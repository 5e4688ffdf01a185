package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const theButton = "main form button"

// attack would be a script wherever it is not escaped.
const attack = `"><script>alert(1)</script><img src=x onerror=alert(2)>`

// Goal: a supervisor hands over, is told when somebody was faster, and neither back nor reload does
// anything again. Method: the pages as people use them, and applockctl as the others.
func TestSupervisorsDay(t *testing.T) {
	t.Parallel()
	for product, dsn := range map[string]string{"sqlite": "sqlite:" + t.TempDir() + "/applock.db", "postgres": postgres(t)} {
		t.Run(product, func(t *testing.T) {
			t.Parallel()
			aDay(t, newDeskOn(t, dsn, "--by", "mlee", "--may-change", "mlee"))
		})
	}
}

func aDay(t *testing.T, d *desk) {
	t.Helper()
	d.run(t, "get", "customer:42", "--operator", "jdoe", "--department", "sales")
	p := newPerson(t)
	p.opens(t, d, "locks")
	p.has(t, "customer:42")
	p.follows(t, `a[href="object?name=customer%3a42"]`)
	p.has(t, "jdoe", "Nobody waits for it.")
	p.follows(t, `a[href^="transfer?"]`)
	p.do(t, chromedp.WaitVisible("#to", chromedp.ByQuery))

	// While the question is open, somebody else is faster.
	p.do(t, chromedp.SendKeys("#to", "asmith", chromedp.ByQuery), chromedp.SendKeys("#reason", "jdoe is ill", chromedp.ByQuery))
	p.presses(t, theButton)
	p.has(t, "No operator asmith is known")
	p.do(t, chromedp.Click("[name=unknown]", chromedp.ByQuery))
	p.presses(t, theButton)
	p.has(t, "jdoe loses customer:42 to asmith (sales).", "The history keeps your name, mlee")
	// A button rests once its form is sent: here the form goes nowhere.
	p.do(t, chromedp.Evaluate(`document.querySelector("main form").addEventListener("submit", (event) => event.preventDefault()); 0`, nil), chromedp.Click(theButton, chromedp.ByQuery))
	p.awaits(t, "document.querySelector('"+theButton+"').disabled")
	p.do(t, chromedp.Reload())
	d.run(t, "transfer", "customer:42", "--from", "jdoe", "--to", "pking", "--by", "asmith")
	p.presses(t, theButton)
	p.has(t, "HELD", "pking")

	// Once more, from him; with the keyboard alone.
	p.opens(t, d, "transfer?name=customer%3A42")
	p.do(t, chromedp.Focus("#to", chromedp.ByQuery), chromedp.KeyEvent("asmith"+kb.Tab+"service"+kb.Tab+kb.Tab+attack+kb.Enter))
	p.has(t, "Hand over customer:42 to asmith (service)?", attack)
	p.presses(t, theButton)
	p.has(t, "TRANSFERRED", "asmith", "service")
	d.run(t, "release", "customer:42", "--operator", "asmith")
	d.run(t, "get", "customer:42", "--operator", "asmith")
	p.do(t, chromedp.Reload())
	p.has(t, "TRANSFERRED")
	p.leaves(t, "history.back()")
	p.has(t, "Who is notified")
	p.leaves(t, "history.forward()")
	p.has(t, "TRANSFERRED")
	p.leaves(t, "history.back()")
	p.has(t, "Who is notified")
	p.presses(t, theButton)
	p.has(t, "TRANSFERRED Handed over.") // the first answer
	if history := d.run(t, "history", "--operator", "mlee"); strings.Count(history, "TRANSFERRED") != 1 {
		t.Errorf("the history is\n%s", history)
	}
}

// Goal: times are in the reader's zone with the zone said, what is left runs down, and without a script times are UTC.
// Method: a browser in Tokyo; and one that runs no script.
func TestWithAndWithoutScript(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.run(t, "get", "customer:42", "--operator", "jdoe", "--ttl", "59s")
	p := newPerson(t)
	p.opens(t, d, "locks")
	p.has(t, "Times are Asia/Tokyo, by the database's clock.")
	if text := asks[string](t, p, "document.querySelector('td time').textContent"); !regexp.MustCompile(`^([A-Z][a-z]{2} )?\d\d:\d\d$`).MatchString(text) {
		t.Errorf("a time is %q", text)
	}
	whole := regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d GMT\+9$`)
	if text := asks[string](t, p, "document.querySelector('td time').title"); !whole.MatchString(text) {
		t.Errorf("the whole time is %q", text)
	}
	const left = "document.querySelector('.left').textContent"
	before := asks[string](t, p, left)
	p.awaits(t, "/^[0-9]+ s$/.test("+left+") && "+left+" !== '"+before+"'")

	d.run(t, "get", "customer:42", "--operator", "jdoe", "--ttl", "50m")
	p.do(t, emulation.SetScriptExecutionDisabled(true))
	p.opens(t, d, "locks")
	var text string
	p.do(t, chromedp.Text("main", &text, chromedp.ByQuery))
	var stamp string
	p.do(t, chromedp.AttributeValue("td time", "title", &stamp, nil, chromedp.ByQuery))
	if !strings.Contains(stamp, " UTC") || !strings.Contains(text, "in 50 m") || !strings.Contains(text, "customer:42") {
		t.Errorf("without a script the page is %s", text)
	}
}

// Goal: a page of another origin changes nothing, in a browser with its own rules. Method: a page that sends the form by
// itself, and what is held afterwards.
func TestOtherOrigin(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.run(t, "get", "customer:42", "--operator", "jdoe")
	_, fence, _ := strings.Cut(d.run(t, "inquire", "customer:42", "--output", "json"), `"fence":`)
	fence, _, _ = strings.Cut(fence, ",")
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<form method="post" action="` + d.address + `release">
<input name="lock" value="` + fence + ` jdoe customer:42"><input name="reason" value="x"><input name="confirmed" value="yes"></form>
<script>document.forms[0].submit()</script>`))
	}))
	defer evil.Close()
	p := newPerson(t)
	p.do(t, chromedp.Navigate(evil.URL))
	p.has(t, "this form came from another site")
	if got := d.run(t, "inquire", "customer:42"); !strings.Contains(got, "jdoe") {
		t.Errorf("afterwards: %s", got)
	}
}

// Goal: a supervisor works over plain HTTP by a name of the network, as people do in an office: browsers send fewer headers there than to
// 127.0.0.1. Method: a release by such a name, with a header that names the person, as a proxy sets it.
func TestByANameOfTheNetwork(t *testing.T) {
	t.Parallel()
	d := newOffice(t, "--address", "http://"+networkName)
	d.address = strings.Replace(d.address, "127.0.0.1", networkName, 1)
	d.run(t, "get", "customer:42", "--operator", "jdoe")
	p := newColleague(t, "mlee")
	p.opens(t, d, "release?name=customer%3A42")
	p.has(t, "You are mlee")
	p.do(t, chromedp.SendKeys("#reason", "month-end", chromedp.ByQuery))
	p.presses(t, theButton)
	p.presses(t, theButton)
	p.has(t, "RELEASED")
	if !strings.HasPrefix(p.page(t, d), "answer?sealed=") {
		t.Errorf("the browser is at %s", p.page(t, d))
	}
}

// Goal: every page fits a telephone, in light and in dark, can be read, and can be used by the keyboard. Method: the pages of a
// desk in each size and colour; what sticks out, and what axe-core finds.
func TestEveryPageIsForPeople(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	long := strings.Repeat("very-long-", 12)
	d.run(t, "get", "customer:42", "--operator", "jdoe", "--department", "sales")
	d.run(t, "note", "customer:42", "--operator", "jdoe", "waits for documents until Friday")
	d.run(t, "get", "customer:1017", "--operator", "asmith", "--department", "service", "--ttl", "45m")
	d.run(t, "transfer", "customer:1017", "--from", "asmith", "--to", "pking", "--to-department", "sales", "--by", "mlee", "--reason", "asmith is on holiday")
	d.run(t, "get", "invoice:"+long, "--operator", "bjones", "--department", "billing", "--ttl", "20m")
	d.run(t, "policy", "set", "customer", "--longest-ttl", "8h", "--yield-after", "30m", "--by", "mlee")
	p := newPerson(t)
	p.awaitsWaiter(t, d, "customer:42", "pking")
	plan := p.plans(t, d, "transfer?name=customer%3A42", "cwu")
	deskPlan := p.plans(t, d, "transfer?desk=bjones", "cwu")
	p.plans(t, d, "transfer?desk=pking", "cwu")
	p.presses(t, theButton)
	p.has(t, "TRANSFERRED Handed over.")
	answer := p.page(t, d)
	for name, address := range map[string]string{
		"now": "", "locks": "locks", "filtered": "locks?type=customer&sort=-waiters", "ending-soon": "locks?within=1h&sort=left", "found": "locks?q=sales",
		"object": "object?name=customer%3A42", "handed-over": "object?name=customer%3A1017", "desk": "operator?name=pking", "waiters": "waiters",
		"history": "history", "people": "people", "requests": "requests", "your-desk": "desk", "statistics": "statistics", "policies": "policies", "policy": "policy?type=customer", "health": "health", "transfer": "transfer?name=customer%3A42",
		"transfer-desk": "transfer?desk=jdoe", "note": "note?name=customer%3A42", "error": "nonsense", "plan": plan, "desk-plan": deskPlan, "desk-answer": answer,
	} {
		for _, each := range sizes() {
			p.sized(t, each)
			p.opens(t, d, address)
			p.fits(t, name, each)
		}
	}
	p.opens(t, d, "locks")
	p.do(t, chromedp.Evaluate("document.querySelector('main').append(document.createElement('input'), document.createElement('button')); 0", nil))
	if found := p.axe(t); len(found) < 2 {
		t.Errorf("of a field and a button without a name axe-core says %q", found)
	}
	p.opens(t, d, "locks")
	p.do(t, chromedp.KeyEvent(kb.Tab))
	if got := asks[string](t, p, "document.activeElement.className"); got != "skip" {
		t.Errorf("the first stop of the keyboard is %q", got)
	}
	p.do(t, chromedp.KeyEvent(kb.Enter))
	p.awaits(t, "document.activeElement.id === 'content'")
}

// size is a window and the colours that its owner prefers.
type size struct {
	width, height int64
	scheme        string
}

// axe reports whether axe-core judges a page of this size.
func (s size) axe() bool { return s.scheme == "light" && s.width >= 1280 || s.width == 390 }

func sizes() []size {
	var all []size
	for _, scheme := range []string{"light", "dark"} {
		for width, height := range map[int64]int64{360: 800, 390: 844, 768: 800, 1280: 800, 1920: 1080} {
			all = append(all, size{width, height, scheme})
		}
	}
	return all
}

func (p person) sized(t *testing.T, to size) {
	t.Helper()
	p.do(t, emulation.SetDeviceMetricsOverride(to.width, to.height, 1, false),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: to.scheme}}))
}

// fits reports what of a page sticks out and what hinders a reader, and keeps a picture.
func (p person) fits(t *testing.T, name string, in size) {
	t.Helper()
	what := fmt.Sprintf("%s-%s-%d", name, in.scheme, in.width)
	if got := asks[int64](t, p, "document.scrollingElement.scrollWidth"); got > in.width {
		t.Errorf("%s is %d wide", what, got)
	}
	if in.axe() {
		for _, fault := range p.axe(t) {
			t.Errorf("%s: %s", what, fault)
		}
	}
	p.shoots(t, what)
}
