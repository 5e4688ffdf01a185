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
	d := newDeskOn(t, dsn, "--user-header", "X-User", "--proxy", "127.0.0.0/8", "--may-change", "mlee")
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
	if !strings.HasPrefix(p.page(t, d), "answer?id=") {
		t.Errorf("the browser is at %s", p.page(t, d))
	}
}
