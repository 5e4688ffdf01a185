package browser_test

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// Goal: a supervisor works over plain HTTP by a name of the network, as people do in an office: browsers send fewer headers there than to
// 127.0.0.1. Method: a release by such a name, with a header that names the person, as a proxy sets it.
func TestByANameOfTheNetwork(t *testing.T) {
	t.Parallel()
	dsn := "sqlite:" + t.TempDir() + "/applock.db"
	d := newDeskOn(t, dsn, "--user-header", "X-User", "--proxy", "127.0.0.0/8", "--may-change", "mlee", "--address", "http://"+networkName)
	d.address = strings.Replace(d.address, "127.0.0.1", networkName, 1)
	d.run(t, "get", "customer:42", "--operator", "jdoe")
	p := newPerson(t)
	p.do(t, network.Enable(), network.SetExtraHTTPHeaders(network.Headers{"X-User": "mlee"}))
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

// Goal: without a sign-in a browser gets in by the printed address, which has no token any more when the page is there; another browser
// reads where to find an address of its own. Method: two browsers.
func TestTokenOfTheAddress(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.run(t, "get", "customer:42", "--operator", "jdoe")
	stranger := newPerson(t)
	stranger.in[d.console] = true // which it is not
	stranger.opens(t, d, "")
	stranger.has(t, "Open the address that this console printed when it started")
	p := newPerson(t)
	p.in[d.console] = true
	token := <-d.tokens
	p.opens(t, d, "locks?type=customer&token="+token)
	p.has(t, "You are mlee", "customer:42")
	if got := p.page(t, d); got != "locks?type=customer" {
		t.Errorf("the browser is at %s", got)
	}
	stranger.opens(t, d, "?token="+token)
	stranger.has(t, "This address was used before")
	stranger.opens(t, d, "locks?token="+<-d.tokens)
	stranger.has(t, "customer:42")
}
