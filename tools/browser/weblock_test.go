package browser_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/chromedp"
)

// shop is the customer form of applock/weblock/demo, as a process.
type shop struct {
	// dsn is empty for a file of the demo's own.
	dsn, listen string
	server      *exec.Cmd
}

// newShop has a database of PostgreSQL, whose clock a test can set forward.
func newShop(t *testing.T) *shop {
	t.Helper()
	return newShopOn(t, postgres(t))
}

func newShopOn(t *testing.T, dsn string) *shop {
	t.Helper()
	s := &shop{dsn: dsn, listen: "127.0.0.1:0"}
	s.serve(t)
	t.Cleanup(func() { s.stop() })
	return s
}

// serve begins to serve, at the same address from the second time on.
func (s *shop) serve(t *testing.T) {
	t.Helper()
	s.server = exec.CommandContext(context.WithoutCancel(t.Context()), "../../bin/demo-web", "--dsn", s.dsn, "--listen", s.listen)
	s.server.Stderr = os.Stderr
	stdout, err := s.server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.server.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	s.listen = strings.Split(line, "/")[2]
}

func (s *shop) stop() {
	_ = s.server.Process.Kill()
	_ = s.server.Wait()
}

// advance sets the database's clock forward, as applocktest does.
func (s *shop) advance(t *testing.T, by string) {
	t.Helper()
	execute(t, s.dsn, strings.ReplaceAll(`
		UPDATE applock.appl_lock SET acquired_ts = acquired_ts - $, lock_ts = lock_ts - $, expires_ts = expires_ts - $, released_ts = released_ts - $;
		UPDATE applock.appl_lock_ask SET since_ts = since_ts - $, expires_ts = expires_ts - $, shown_ts = shown_ts - $, answered_ts = answered_ts - $;
		UPDATE applock.appl_lock_viewer SET since_ts = since_ts - $, seen_ts = seen_ts - $, expires_ts = expires_ts - $`, "$", "interval '"+by+"'"))
}

// opens opens the form of a customer, in a browser of a person who has signed in.
func (s *shop) opens(t *testing.T, name, id string) person {
	t.Helper()
	p := newPerson(t)
	s.opensIn(t, p, name, id)
	return p
}

func (s *shop) opensIn(t *testing.T, p person, name, id string) {
	t.Helper()
	p.do(t, chromedp.Navigate("http://"+s.listen+"/?as="+url.QueryEscape(name)+"&id="+url.QueryEscape(id)))
	p.awaits(t, "window.lock !== undefined")
}

// is waits until the lock of a page has a state and no doubt.
func (p person) is(t *testing.T, state string) {
	t.Helper()
	p.awaits(t, "window.lock?.state === '"+state+"' && lock.doubt === ''")
}

// clicks presses a button of the banner.
func (p person) clicks(t *testing.T, button string) {
	t.Helper()
	p.awaits(t, "document.querySelector('[name="+button+"]') !== null")
	p.do(t, chromedp.Evaluate("document.querySelector('[name="+button+"]').click()", nil))
}

// saves types a name, sends the form, and waits for its answer.
func (p person) saves(t *testing.T, name, answer string) {
	t.Helper()
	p.do(t, chromedp.Evaluate(fmt.Sprintf(`document.forms[0].elements.name.value = %q; document.querySelector("output").textContent = "";
		document.forms[0].onsubmit({preventDefault() {}}); 0`, name), nil))
	p.awaits(t, fmt.Sprintf("document.querySelector('output').textContent.includes(%q)", answer))
}

func fence(t *testing.T, p person) string {
	t.Helper()
	return asks[string](t, p, "lock.fence")
}

// Goal: JDOE edits, BROWN sees it, asks, is given it, and edits what JDOE has saved; a supervisor takes it with a reason, which BROWN reads; it
// can all be used by everybody. Method: three browsers, axe-core, names and messages that would run if they could.
func TestWebLockGoesOn(t *testing.T) {
	t.Parallel()
	s := newShopOn(t, "")
	jdoe := s.opens(t, "JDOE"+attack, attack)
	jdoe.is(t, "mine")
	brown := s.opens(t, "BROWN"+attack, attack)
	brown.is(t, "theirs")
	brown.has(t, "JDOE"+attack+" has been editing this since")
	brown.do(t, chromedp.SendKeys("applock-banner input", attack, chromedp.ByQuery))
	brown.clicks(t, "ask")
	brown.has(t, "You have asked JDOE")
	jdoe.has(t, "asks for this: "+attack)
	for _, fault := range jdoe.axe(t) {
		t.Error(fault)
	}
	jdoe.saves(t, "Miller", "Saved.")
	jdoe.clicks(t, "GIVE")
	jdoe.is(t, "theirs")
	brown.is(t, "mine")
	brown.awaits(t, "document.forms[0].elements.name.value === 'Miller'")
	brown.saves(t, "Miller & Son", "Saved.")

	mlee := s.opens(t, "MLEE", attack)
	mlee.is(t, "theirs")
	mlee.clicks(t, "take")
	mlee.has(t, "must not be empty")
	mlee.do(t, chromedp.SendKeys("applock-banner input", "month-end", chromedp.ByQuery))
	mlee.clicks(t, "take")
	mlee.is(t, "mine")
	brown.is(t, "lost")
	brown.has(t, "MLEE has taken it: month-end")
	brown.saves(t, "stale", "Not saved")
	mlee.clicks(t, "stop")
	mlee.is(t, "free")
	brown.clicks(t, "edit")
	brown.is(t, "mine")
	brown.awaits(t, "document.forms[0].elements.name.value === 'Miller & Son'")
}

// Goal: a page that was frozen for ten minutes, while another edited and left, has lost its lock, cannot save its draft, and still has it. Method:
// chromium freezes the page, and the database's clock is set forward.
func TestWebLockFrozen(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	jdoe := s.opens(t, "JDOE", "42")
	jdoe.is(t, "mine")
	jdoe.do(t, page.SetWebLifecycleState(page.SetWebLifecycleStateStateFrozen))
	s.advance(t, "10 minutes")
	brown := s.opens(t, "BROWN", "42")
	brown.is(t, "mine")
	brown.saves(t, "Miller", "Saved.")
	brown.clicks(t, "stop")
	brown.is(t, "free")
	jdoe.do(t, page.SetWebLifecycleState(page.SetWebLifecycleStateStateActive))
	jdoe.saves(t, "draft", "Not saved")
	jdoe.is(t, "lost")
	jdoe.awaits(t, "document.forms[0].elements.name.value === 'draft' && document.forms[0].elements.name.readOnly")
	brown.awaits(t, "fetch('customer?id=42').then((answer) => answer.json()).then((saved) => window.saved = saved.name) && window.saved === 'Miller'")
}

// Goal: a browser that is killed keeps nobody out for longer than the lock lasts. Method: the process, and three minutes of the database's clock.
func TestWebLockBrowserKilled(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	jdoe := s.opens(t, "JDOE", "42")
	jdoe.is(t, "mine")
	if err := chromedp.FromContext(jdoe.ctx).Browser.Process().Kill(); err != nil {
		t.Fatal(err)
	}
	brown := s.opens(t, "BROWN", "42")
	brown.is(t, "theirs")
	s.advance(t, "3 minutes")
	brown.is(t, "free")
	brown.clicks(t, "edit")
	brown.is(t, "mine")
}

// Goal: a reload and another tab go on with the same grant, also when one of them is closed; a lock of seven days is as it was after its form was
// opened and closed. Method: two tabs of a browser, and what the database has.
func TestWebLockReloadAndTabs(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	one := s.opens(t, "JDOE", "42")
	one.is(t, "mine")
	before := fence(t, one)
	one.do(t, chromedp.Reload())
	one.is(t, "mine")
	ctx, closeTab := chromedp.NewContext(one.ctx)
	other := person{ctx: ctx}
	s.opensIn(t, other, "JDOE", "42")
	other.is(t, "mine")
	if after := []string{fence(t, one), fence(t, other)}; after[0] != before || after[1] != before {
		t.Errorf("the fences are %s and then %v", before, after)
	}
	closeTab()
	s.advance(t, "25 seconds")
	one.do(t, chromedp.Evaluate("window.before = lock.told; 0", nil))
	one.awaits(t, "lock.told !== window.before")
	one.is(t, "mine")

	d := &desk{program: "../../bin/applockctl", dsn: s.dsn}
	d.run(t, "get", "customer:7", "--operator", "JDOE", "--ttl", "7d")
	long := d.run(t, "inquire", "customer:7", "--output", "json")
	s.opensIn(t, one, "JDOE", "7")
	one.is(t, "mine")
	one.do(t, chromedp.Navigate("about:blank"))
	s.opensIn(t, one, "JDOE", "7")
	one.clicks(t, "stop")
	one.is(t, "free")
	if after := d.run(t, "inquire", "customer:7", "--output", "json"); expiry(after) != expiry(long) {
		t.Errorf("before %s, after %s", long, after)
	}
}

// expiry returns what a lock's end is.
func expiry(lock string) string {
	_, behind, _ := strings.Cut(lock, `"expires_ts":`)
	end, _, _ := strings.Cut(behind, ",")
	return end
}

// Goal: a server that restarts, a network that is gone, and a session that has ended are told apart from a lost lock, and the page goes on with its
// grant afterwards. Method: each of them, and back.
func TestWebLockOutages(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	jdoe := s.opens(t, "JDOE", "42")
	jdoe.is(t, "mine")
	before := fence(t, jdoe)
	back := func(what string) {
		t.Helper()
		jdoe.is(t, "mine")
		if after := fence(t, jdoe); after != before {
			t.Errorf("after %s the fence is %s, before %s", what, after, before)
		}
	}
	s.stop()
	jdoe.awaits(t, "lock.doubt === 'offline' && lock.state === 'mine'")
	s.serve(t)
	back("a restart")
	offline := func(is bool) chromedp.Action {
		return chromedp.ActionFunc(func(ctx context.Context) error {
			_, err := network.EmulateNetworkConditionsByRule([]*network.Conditions{{Offline: is, DownloadThroughput: -1, UploadThroughput: -1}}).Do(ctx)
			return err
		})
	}
	jdoe.do(t, network.Enable(), offline(true))
	jdoe.has(t, "No connection")
	jdoe.do(t, offline(false))
	back("an outage of the network")
	jdoe.do(t, storage.ClearCookies())
	jdoe.has(t, "You are signed out")
	jdoe.do(t, network.SetCookie("person", "JDOE").WithURL("http://"+s.listen+"/"))
	back("a new sign-in")
}

// Goal: a page that goes shortens its grant, and goes on with it when it comes back from the back-forward cache. Method: elsewhere and back; the page is
// the same one, with what the test has left in it.
func TestWebLockBackForwardCache(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	jdoe := newPerson(t, chromedp.Flag("disable-features", "Translate"))
	s.opensIn(t, jdoe, "JDOE", "42")
	jdoe.is(t, "mine")
	before := fence(t, jdoe)
	jdoe.do(t, chromedp.Evaluate("window.kept = true; 0", nil), chromedp.Navigate("http://"+s.listen+"/customer?id=7"))
	s.awaitsLeft(t, `20|1?\d`)
	jdoe.do(t, chromedp.Evaluate("history.back(); 0", nil))
	jdoe.awaits(t, "window.kept === true")
	s.awaitsLeft(t, `1[2-8]\d`)
	jdoe.is(t, "mine")
	if after := fence(t, jdoe); after != before {
		t.Errorf("the fence is %s, before %s", after, before)
	}
}

// awaitsLeft waits until the lock of customer:42 has so many seconds left, by what its pages have sent.
func (s *shop) awaitsLeft(t *testing.T, pattern string) {
	t.Helper()
	d := &desk{program: "../../bin/applockctl", dsn: s.dsn}
	left := regexp.MustCompile(`"seconds_left":(` + pattern + `),`)
	for !left.MatchString(d.run(t, "inquire", "customer:42", "--output", "json")) {
		time.Sleep(100 * time.Millisecond)
	}
}

// Goal: a page of another origin gets, keeps and answers nothing, in a browser with its own rules. Method: such a page in JDOE's browser,
// which sends what the browser lets it send.
func TestWebLockOtherOrigin(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	jdoe := s.opens(t, "JDOE", "42")
	jdoe.is(t, "mine")
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<script>
const body = '{"object_type": "customer", "object_id": "9", "client_id": "x"}';
fetch("http://%s/locks/open", {method: "POST", mode: "no-cors", credentials: "include", body}).then(() => { document.title = "sent" })
</script>`, s.listen)
	}))
	defer evil.Close()
	jdoe.do(t, chromedp.Navigate(evil.URL))
	jdoe.awaits(t, "document.title === 'sent'")
	d := &desk{program: "../../bin/applockctl", dsn: s.dsn}
	if got := d.run(t, "list", "--output", "json"); strings.Contains(got, `"object_id":"9"`) {
		t.Errorf("another origin has got %s", got)
	}
}
