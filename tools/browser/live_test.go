package browser_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// rowOf is a script's expression for the row of an object.
func rowOf(object string) string {
	return `Array.from(document.querySelectorAll("main tbody tr")).find((row) => row.querySelector("th a").textContent === "` + object + `")`
}

// seconds has the page live on for a while. What shall not happen meanwhile can only be missed by a machine that is slow.
func (p person) seconds(t *testing.T, number string) {
	t.Helper()
	p.do(t, chromedp.Evaluate("new Promise((done) => setTimeout(done, 1000 * "+number+"))", nil, func(params *runtime.EvaluateParams) *runtime.EvaluateParams {
		return params.WithAwaitPromise(true)
	}))
}

// Goal: a page shows changes by itself, under the pointer and while somebody works on it, and takes nothing away: neither the focus nor the
// selection nor what has been typed. Method: applockctl changes locks; rows that a script has marked are the same ones afterwards.
func TestLivePage(t *testing.T) {
	t.Parallel()
	d, p := newDesk(t), newPerson(t)
	p.opens(t, d, "locks")
	p.has(t, "No lock is held.")
	same := p.stays(t)
	d.run(t, "get", "customer:42", "--operator", "jdoe", "--ttl", "2h")
	p.has(t, "customer:42")
	row := rowOf("customer:42")
	p.do(t, chromedp.Evaluate(row+".mine = true", nil))
	tick := row + ".querySelector('[name=lock]').checked"
	kept := func(what, expression string) {
		t.Helper()
		if !asks[bool](t, p, row+".mine === true && "+expression) {
			t.Errorf("%s is lost, or the row is another one", what)
		}
	}
	place := asks[[]float64](t, p, "(({x, y}) => [x + 5, y + 5])("+row+".getBoundingClientRect())")
	p.do(t, chromedp.MouseEvent("mouseMoved", place[0], place[1]), chromedp.Evaluate(row+".querySelector('th a').focus()", nil))
	p.awaits(t, row+".matches(':hover')")
	d.run(t, "get", "customer:43", "--operator", "asmith", "--ttl", "1h")
	p.has(t, "customer:43")
	kept("the focus", "document.activeElement.textContent === 'customer:42'")

	p.do(t, chromedp.Evaluate("getSelection().selectAllChildren("+row+".querySelector('th a')); "+tick+" = true; 0", nil))
	d.run(t, "get", "customer:41", "--operator", "asmith", "--ttl", "3h")
	p.has(t, "customer:41")
	kept("the selection", "getSelection().toString() === 'customer:42'")
	kept("the tick", tick)

	p.do(t, chromedp.Evaluate("document.querySelector('details').open = true", nil), chromedp.SendKeys(`input[name="operator"]`, "jd", chromedp.ByQuery))
	d.run(t, "note", "customer:42", "--operator", "jdoe", "waits for documents")
	p.has(t, "waits for documents")
	kept("what was typed", "document.activeElement.name === 'operator' && document.activeElement.value === 'jd' && document.querySelector('details').open")
	d.run(t, "release", "customer:41", "--operator", "asmith")
	p.lacks(t, "customer:41")
	kept("what was typed", "document.activeElement.name === 'operator' && document.activeElement.value === 'jd'")
	kept("the tick", tick)
	d.run(t, "release", "customer:42", "--operator", "jdoe")
	d.run(t, "get", "customer:42", "--operator", "jdoe", "--ttl", "2h")
	p.awaits(t, row+" !== undefined && !"+tick) // it was for the other grant
	same()

	p.opens(t, d, "locks?sort=left")
	first := "document.querySelector('main tbody tr').textContent"
	p.awaits(t, first+".includes('customer:43')")
	p.do(t, chromedp.Evaluate(row+".mine = true; "+row+".querySelector('th a').focus()", nil))
	d.run(t, "get", "customer:43", "--operator", "asmith", "--ttl", "3h")
	p.awaits(t, first+".includes('customer:42') && document.querySelectorAll('main tbody tr').length === 2")
	kept("the focus, when a row goes down,", "document.activeElement.textContent === 'customer:42'")
	d.run(t, "get", "customer:42", "--operator", "jdoe", "--ttl", "4h")
	p.awaits(t, first+".includes('customer:43')")
	kept("the focus, when its row goes down,", "document.activeElement.textContent === 'customer:42'")
}

// Goal: a button pauses all that moves, and has it go on. Method: a change, and counters, while it is paused, without a question to the
// console.
func TestPause(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.run(t, "get", "customer:42", "--operator", "jdoe", "--ttl", "50m")
	p := newPerson(t)
	p.opens(t, d, "locks")
	p.has(t, "customer:42")
	p.do(t, chromedp.Evaluate("window.asked = 0; const real = fetch; window.fetch = (...all) => { window.asked++; return real(...all) }; 0", nil))
	p.awaits(t, "window.asked > 0")
	p.do(t, chromedp.Click("#pause", chromedp.ByQuery))
	p.has(t, "Updates paused at ", "Resume updates")
	const left = "document.querySelector('.left').textContent"
	const now = "window.asked + ' ' + " + left
	before := asks[string](t, p, now)
	d.run(t, "get", "customer:43", "--operator", "asmith")
	p.seconds(t, "5")
	if after := asks[string](t, p, now); after != before || asks[bool](t, p, "document.body.innerText.includes('customer:43')") {
		t.Errorf("the page goes on while it is paused: %s, then %s", before, after)
	}
	p.do(t, chromedp.Click("#pause", chromedp.ByQuery))
	p.has(t, "customer:43", "Pause updates")
	p.lacksNews(t)
	_, paused, _ := strings.Cut(before, " ")
	p.awaits(t, left+" !== '"+paused+"'")
}

// lacksNews waits until the page says that all is as it should be.
func (p person) lacksNews(t *testing.T) {
	t.Helper()
	p.awaits(t, "document.getElementById('news').textContent === '' && !document.body.classList.contains('stale')")
}

// isStale waits until a page says that it is not up to date, and has a look at whether it still moves.
func (p person) isStale(t *testing.T) {
	t.Helper()
	p.has(t, "No connection since ")
	if !asks[bool](t, p, "/since [0-2][0-9]:[0-5][0-9]\\./.test(document.querySelector('[role=status]').textContent)") {
		t.Error("it does not say since when")
	}
	p.awaits(t, "getComputedStyle(document.querySelector('main td')).color !== getComputedStyle(document.body).color")
	for _, fault := range p.axe(t) {
		t.Errorf("a page that is not up to date: %s", fault)
	}
	p.shoots(t, "no-connection")
	const left = "document.querySelector('.left').textContent"
	before := asks[string](t, p, left)
	p.seconds(t, "3")
	if after := asks[string](t, p, left); after != before {
		t.Errorf("a counter goes on, from %s to %s", before, after)
	}
}

// Goal: a page whose console has gone says so, stands still, and recovers by itself; one whose session has ended leads to where people sign in. Method:
// the console ends and begins again, at last as one that does not know the browser.
func TestConsoleGoes(t *testing.T) {
	t.Parallel()
	d := newOffice(t) // whose browsers have no token that ends with the process
	d.run(t, "get", "customer:42", "--operator", "jdoe", "--ttl", "50m")
	d.run(t, "get", "customer:43", "--operator", "jdoe", "--ttl", "50m")
	p := newColleague(t, "mlee")
	p.opens(t, d, "locks")
	p.has(t, "customer:42")
	same := p.stays(t)
	d.stop()
	p.isStale(t)
	d.run(t, "release", "customer:42", "--operator", "jdoe")
	d.serve(t)
	p.lacks(t, "customer:42")
	p.has(t, "customer:43")
	p.lacksNews(t)
	same()
	d.stop()
	d.flags = nil
	d.serve(t)
	p.has(t, "This browser is not known here.")
}

// Goal: the same where the console is there and the database is not; a page that is opened meanwhile comes by itself, too. Method: a
// database of PostgreSQL that lets nobody in for a while.
func TestDatabaseGoes(t *testing.T) {
	t.Parallel()
	dsn := postgres(t)
	d := newDeskOn(t, dsn, "--by", "mlee")
	d.run(t, "get", "customer:42", "--operator", "jdoe", "--ttl", "50m")
	address, err := url.Parse(dsn)
	if err != nil {
		t.Fatal("the DSN is no URL")
	}
	name := strings.Trim(address.Path, "/")
	address.Path = "/postgres"
	one, other := newPerson(t), newPerson(t)
	one.opens(t, d, "locks")
	one.has(t, "customer:42")
	execute(t, address.String(), "ALTER DATABASE "+name+" ALLOW_CONNECTIONS false")
	execute(t, address.String(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '"+name+"'")
	one.isStale(t)
	other.opens(t, d, "locks")
	other.has(t, "That did not work")
	execute(t, address.String(), "ALTER DATABASE "+name+" ALLOW_CONNECTIONS true")
	for _, p := range []person{one, other} {
		p.has(t, "customer:42")
		p.lacksNews(t)
	}
}
