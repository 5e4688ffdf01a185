package openid

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console"
)

// Goal: a person who opens a page is sent to the issuer, comes back to that page with a name, and stays signed in until the end of the
// session or until it is ended. Method: a browser with cookies, and a clock of the test's own.
func TestSession(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	browser := p.browser()
	got := p.open(browser, "locks?type=a%26b&sort=left")
	if got.status != http.StatusOK || !strings.Contains(got.text, "You are <bdi>mlee</bdi>") || got.address.Path != "/locks/locks" ||
		got.address.RawQuery != "sort=left&type=a%26b" {
		t.Fatalf("status %d at %s: %s", got.status, got.address, got.text)
	}
	browser.CheckRedirect = noFollowing // a session needs no issuer
	p.wait(59 * time.Minute)
	if got := p.open(browser, "waiters"); got.status != http.StatusOK {
		t.Errorf("within the session: status %d", got.status)
	}
	p.wait(time.Minute)
	for _, test := range []struct {
		method, page, mode string
		status             int
	}{
		{http.MethodGet, "waiters", "", http.StatusSeeOther},
		{http.MethodGet, "waiters", "cors", http.StatusUnauthorized}, // a script or a form cannot be sent on
		{http.MethodGet, "waiters", "no-cors", http.StatusUnauthorized},
		{http.MethodPost, "release", "", http.StatusUnauthorized},
		{http.MethodGet, "style.css", "", http.StatusOK},
	} {
		got := p.ask(browser, test.method, p.address+test.page, map[string]string{"Sec-Fetch-Mode": test.mode})
		if got.status != test.status || strings.Contains(got.text, `href="sign-in"`) != (test.status == http.StatusUnauthorized) {
			t.Errorf("after the session: %+v: status %d", test, got.status)
		}
	}
	browser.CheckRedirect = nil
	if got := p.open(browser, ""); !strings.Contains(got.text, "You are <bdi>mlee</bdi>") {
		t.Errorf("signed in again: %s", got.text)
	}
	known := p.session(browser)
	if got := p.ask(browser, http.MethodPost, p.address+"sign-out", map[string]string{"Sec-Fetch-Site": "cross-site"}); got.status != http.StatusForbidden {
		t.Errorf("another site ends the session: status %d", got.status)
	}
	if got := p.ask(browser, http.MethodPost, p.address+"sign-out", nil); !strings.Contains(got.text, "You are signed out") {
		t.Errorf("signed out: %s", got.text)
	}
	r := httptest.NewRequest(http.MethodGet, p.address, nil)
	r.AddCookie(known)
	if person, err := p.signIn.Identify(r); err == nil {
		t.Errorf("a kept cookie of an ended session is that of %s", person.Name)
	}
}

// group has tokens name a role, and change what else they say.
func group(role string, more ...string) func(claims) {
	return func(said claims) {
		said["groups"] = role
		for _, claim := range more {
			said[claim] = "x"
		}
	}
}

// inSession is a browser that has signed in as somebody with the role supervisors.
func inSession(p *place) (ask func(method, mode string) (console.Person, error)) {
	p.t.Helper()
	p.issuer.says(group("supervisors"))
	browser := p.browser()
	if got := p.open(browser, ""); got.status != http.StatusOK {
		p.t.Fatalf("status %d: %s", got.status, got.text)
	}
	return func(method, mode string) (console.Person, error) {
		r := httptest.NewRequest(method, p.address, nil)
		r.Header.Set("Sec-Fetch-Mode", mode)
		r.AddCookie(p.session(browser))
		return p.signIn.Identify(r)
	}
}

// Goal: what the issuer says of somebody now counts within minutes: roles that were taken away, and a person who is out. It is asked once
// for many requests, and an issuer that is out of order puts nobody out at once, nor keeps anybody in. Method: a clock of the test's own,
// and an issuer that gives refresh tokens, each good once.
func TestRolesAreAskedForAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t, func(c *Config) { c.RolesClaim, c.Session = "groups", 8*time.Hour })
	ask := inSession(p)
	for _, step := range []struct {
		what  string
		says  func(claims)
		does  refreshing
		wait  time.Duration
		roles string
		asked int
	}{
		{"at once", group("staff"), refreshAlways, 0, "supervisors", 0},
		{"minutes later", group("staff"), refreshAlways, DefaultRecheck, "staff", 1},
		{"out of order", group("staff"), refreshFails, DefaultRecheck, "staff", 1},
		{"still out of order", group("staff"), refreshFails, DefaultRecheck - time.Second, "staff", 1},
		{"in order again", group("staff"), refreshAlways, retryAfter, "staff", 1},
		{"for another program", group("x", "azp"), refreshAlways, DefaultRecheck, "staff", 1},
		{"nobody has looked for long", group("staff"), refreshAlways, 4 * DefaultRecheck, "staff", 1},
		{"out of order for long", group("staff"), refreshFails, 2 * DefaultRecheck, "", 1},
	} {
		p.issuer.says(step.says)
		p.issuer.does(step.does)
		p.wait(step.wait)
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				person, err := ask(http.MethodGet, "navigate")
				if got := strings.Join(person.Roles, "|"); got != step.roles || (err == nil) != (step.roles != "") {
					t.Errorf("%s: the roles %q of %s, %v", step.what, got, person.Name, err)
				}
			})
		}
		all.Wait()
		p.issuer.set(func() {
			if p.issuer.refreshed != step.asked {
				t.Errorf("%s: the issuer is asked %d times, want %d", step.what, p.issuer.refreshed, step.asked)
			}
			p.issuer.refreshed = 0
		})
	}
	for name, refuse := range map[string]func(){
		"refused":         func() { p.issuer.does(refreshRefused) },
		"somebody else's": func() { p.issuer.says(group("supervisors", "sub")) },
	} {
		p.issuer.does(refreshAlways)
		ask := inSession(p)
		refuse()
		p.wait(DefaultRecheck)
		for range 2 {
			if _, err := ask(http.MethodGet, "navigate"); err == nil {
				t.Errorf("a refresh token that is %s keeps the session", name)
			}
		}
	}
}

// Goal: where the issuer gives no refresh token, or none that tells who it is, a page leads to the issuer after minutes, which knows the
// person still, and a form has as long again. Method: pages and forms, and a clock of the test's own.
func TestSessionsWithoutRefreshTokens(t *testing.T) {
	t.Parallel()
	const half = DefaultRecheck / 2 // what the machine needs itself is less
	for _, refreshes := range []refreshing{refreshNever, refreshWithoutIDToken} {
		p := newPlace(t, func(c *Config) { c.RolesClaim, c.Session = "groups", 8*time.Hour })
		p.issuer.does(refreshes)
		ask := inSession(p)
		for _, test := range []struct{ page, form bool }{{true, true}, {false, true}, {false, true}, {false, false}} {
			p.wait(half)
			for mode, want := range map[[2]string]bool{
				{http.MethodGet, "navigate"}: test.page, {http.MethodPost, "navigate"}: test.form, {http.MethodGet, "cors"}: test.form,
			} {
				if _, err := ask(mode[0], mode[1]); (err == nil) != want {
					t.Errorf("%s after %s: %v", mode, p.late, err)
				}
			}
		}
	}
}

// Goal: the roles of a person are those of a claim, many or one, and nothing else is taken for one. Method: claims.
func TestRolesOfAClaim(t *testing.T) {
	t.Parallel()
	for want, claim := range map[string]any{"a|b": []any{"a", 7, "b"}, "one": "one", "": map[string]any{"a": true}} {
		if got := strings.Join(textsOf(claim), "|"); got != want {
			t.Errorf("of %v the roles are %q", claim, got)
		}
	}
}

// Goal: cookies are for this host, encrypted connections and no script, say nothing, and are new with each sign-in; the issuer is
// asked with a state, a nonce and a proof key; and people who are signing in are not put out by those who only begin to. Method: the answers
// that set cookies, and more beginnings than sessions are kept.
func TestCookiesAndQuestions(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	words := map[string]bool{}
	for range 2 {
		begun, asked := p.begin("/waiters")
		for name, want := range map[string]string{
			"response_type": "code", "client_id": "applock", "redirect_uri": p.address + "signed-in", "code_challenge_method": "S256",
		} {
			if got := asked.Query().Get(name); got != want {
				t.Errorf("%s is %q", name, got)
			}
		}
		for _, name := range []string{"state", "nonce", "code_challenge"} {
			if word := asked.Query().Get(name); len(word) < 26 || words[word] {
				t.Errorf("%s is %q", name, word)
			} else {
				words[word] = true
			}
		}
		for range most + 1 {
			p.begin("/")
		}
		page, cookies, err := p.finish(p.answer(asked), begun)
		if err != nil || page != "/waiters" {
			t.Fatalf("%q, %v", page, err)
		}
		for _, cookie := range append(cookies, begun) {
			if !cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteLaxMode || !strings.HasPrefix(cookie.Name, "__Host-") ||
				cookie.Path != "/" || cookie.Domain != "" || strings.Contains(cookie.Value, "mlee") || cookie.Value != "" && words[cookie.Value] {
				t.Errorf("the cookie %s", cookie)
			}
			words[cookie.Value] = true
		}
	}
}

// Goal: tabs of one browser that sign in at once get in, each to its page and in any order; and those that are begun and left are
// bounded. Method: sign-ins that begin one after the other and end backwards, then more of them than a browser may have.
func TestTabsSignInAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	browser := p.browser()
	browser.CheckRedirect = noFollowing
	begin := func(page string) (back string) {
		t.Helper()
		return "signed-in?" + p.answer(p.open(browser, "sign-in?page="+page).location).Encode()
	}
	for _, tab := range slices.Backward([]string{begin("waiters"), begin("health"), begin("statistics")}) {
		for _, want := range []int{http.StatusSeeOther, http.StatusBadRequest} {
			if got := p.open(browser, tab); got.status != want {
				t.Errorf("a tab: status %d, want %d: %s", got.status, want, got.text)
			}
		}
	}
	if got := p.open(browser, ""); !strings.Contains(got.text, "You are <bdi>mlee</bdi>") {
		t.Errorf("signed in: %s", got.text)
	}
	var tabs []string
	for range tabsMost + 3 {
		tabs = append(tabs, begin("waiters"))
	}
	if got := len(p.cookies(browser)); got != tabsMost+1 { // and the session's
		t.Errorf("a browser has %d cookies", got)
	}
	for i, tab := range tabs {
		want := http.StatusSeeOther
		if i < 3 {
			want = http.StatusBadRequest
		}
		if got := p.open(browser, tab); got.status != want {
			t.Errorf("tab %d: status %d, want %d", i, got.status, want)
		}
	}
}

// says returns a change of claims.
func says(claim string, value any, more ...any) func(claims) {
	return func(said claims) {
		said[claim] = value
		for i := 0; i < len(more); i += 2 {
			said[more[i].(string)] = more[i+1]
		}
	}
}

// Goal: nothing but a token of the issuer, for this console, about this sign-in of this browser, begins a session. Method: each of
// it bent once, and a sign-in that is as it should be.
func TestBentAnswers(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	other, two := newKey(t), []string{"applock", "x"}
	for name, test := range map[string]struct {
		says func(claims)
		// change changes the answer, or what is done before it arrives.
		change func(url.Values)
		alone  bool
		good   bool
	}{
		"as it should be":  {good: true},
		"another audience": {says: says("aud", "somebody")},
		"another issuer":   {says: says("iss", "https://evil.example.com")},
		"two audiences":    {says: says("aud", two, "azp", "applock"), good: true},
		"whose is unsaid":  {says: says("aud", two)},
		"another's of two": {says: says("aud", two, "azp", "x")},
		"another's":        {says: says("azp", "x")},
		"a list's":         {says: says("azp", []string{"applock"})},
		"another nonce":    {says: says("nonce", "x")},
		"no nonce":         {says: func(said claims) { delete(said, "nonce") }},
		"too old":          {says: says("exp", time.Now().Add(-time.Hour).Unix())},
		"no name":          {says: func(said claims) { delete(said, "preferred_username") }},
		"a name of a list": {says: says("preferred_username", []string{"mlee"})},
		"another state":    {change: func(answer url.Values) { answer.Set("state", "x") }},
		"no state":         {change: func(answer url.Values) { answer.Del("state") }},
		"another code":     {change: func(answer url.Values) { answer.Set("code", "x") }},
		"an error":         {change: func(answer url.Values) { answer.Set("error", "access_denied") }},
		"another browser":  {alone: true},
		"too late":         {change: func(url.Values) { p.wait(signingIn) }},
		"another signer":   {change: func(url.Values) { p.issuer.set(func() { p.issuer.signer = other }) }},
	} {
		if test.says == nil {
			test.says = func(claims) {}
		}
		p.issuer.says(test.says)
		cookie, asked := p.begin("")
		answer := p.answer(asked)
		if test.change != nil {
			test.change(answer)
		}
		if test.alone {
			cookie = nil
		}
		for again := range 2 { // the second time it is used up
			_, cookies, err := p.finish(answer, cookie)
			session := slices.ContainsFunc(cookies, func(c *http.Cookie) bool { return c.Name == p.signIn.cookie && c.Value != "" })
			if want := test.good && again == 0; session != want || (err == nil) != want {
				t.Errorf("%s, time %d: a session: %t, %v", name, again+1, session, err)
			}
			if err != nil && strings.Contains(err.Error(), answer.Get("code")) && len(answer.Get("code")) > 1 {
				t.Errorf("%s: the error has the code: %v", name, err)
			}
		}
	}
}

// Goal: a sign-in begins one session, whatever the issuer accepts, and however many come back with it at once. Method: an issuer that
// accepts a code again.
func TestSignInIsUsedOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	p.issuer.forgets = true
	cookie, asked := p.begin("")
	answer := p.answer(asked)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			_, _, err := p.finish(answer, cookie)
			if refused := new(console.RefusedError); err != nil && (!errors.As(err, &refused) || refused.Status != http.StatusBadRequest) {
				t.Errorf("not the first: %v", err)
			}
		})
	}
	all.Wait()
	if sessions := len(p.signIn.sessions.of); sessions != 1 {
		t.Errorf("one sign-in has %d sessions", sessions)
	}
}

// Goal: an email counts only where it is verified, and a name that cannot be an actor gets nobody in. Method: claims.
func TestNames(t *testing.T) {
	t.Parallel()
	p := newPlace(t, func(config *Config) { config.Claim = "email" })
	for name, test := range map[string]struct {
		says func(claims)
		want string
	}{
		"verified":     {func(claims) {}, "You are <bdi>mlee@example.com</bdi>"},
		"not verified": {says("email_verified", false), "not verified"},
		"no word":      {func(said claims) { delete(said, "email_verified") }, "not verified"},
		"too long":     {says("email", strings.Repeat("x", 256)), "The name has 256 characters"},
		"turned round": {says("email", "\u202eeelm"), "202E, which is not seen"},
		"blank":        {says("email", " \u00a0"), "The name is empty"},
		"blank before": {says("email", " mlee@example.com"), "The name begins or ends with a blank"},
	} {
		p.issuer.says(test.says)
		before := len(p.signIn.sessions.of)
		got := p.open(p.browser(), "")
		if in := len(p.signIn.sessions.of) > before; in != (name == "verified") || in != (got.status == http.StatusOK) || !strings.Contains(got.text, test.want) {
			t.Errorf("%s: status %d: %s", name, got.status, got.text)
		}
	}
}

// Goal: nobody is sent anywhere but to a page of this console, and sign-ins that fail keep nobody out: behind a proxy all have one address.
// Method: pages of elsewhere, answers that nobody has asked for, and tokens of another sign-in.
func TestFailuresAndPages(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	for page, want := range map[string]string{
		"https://evil.example.com/x": "/locks/x", "//evil.example.com/x": "/locks/x", `/\evil.example.com`: "/locks/evil.example.com",
		"javascript:alert(1)": "/locks/", "../../admin": "/locks/", "/waiters?type=a": "/locks/waiters",
	} {
		got := p.open(p.browser(), "sign-in?page="+url.QueryEscape(page))
		if got.address.Path != want || "https://"+got.address.Host+"/locks/" != p.address {
			t.Errorf("%s leads to %s", page, got.address)
		}
	}
	browser := p.browser()
	for range 10 {
		p.issuer.says(says("nonce", "x"))
		if got := p.open(browser, ""); got.status != http.StatusForbidden {
			t.Errorf("status %d of another sign-in", got.status)
		}
		p.issuer.says(func(claims) {})
		if got := p.open(browser, "signed-in?code=x&state=y"); got.status != http.StatusBadRequest {
			t.Errorf("status %d of what nobody has begun", got.status)
		}
	}
	if got := p.open(browser, ""); got.status != http.StatusOK {
		t.Errorf("after ten failures: status %d", got.status)
	}
}

// Goal: what cannot work is refused before anybody signs in. Method: configurations.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	good := Config{Issuer: i.URL, ClientID: "applock", Address: "https://locks.example.com/", Client: i.Client()}
	for name, change := range map[string]func(*Config){
		"no issuer":       func(c *Config) { c.Issuer = "" },
		"no client":       func(c *Config) { c.ClientID = "" },
		"no address":      func(c *Config) { c.Address = "" },
		"plain address":   func(c *Config) { c.Address = "http://locks.example.com/" },
		"plain issuer":    func(c *Config) { c.Issuer = "http://issuer.example.com/" },
		"with a query":    func(c *Config) { c.Address = "https://locks.example.com/?a=b" },
		"no time at all":  func(c *Config) { c.Session = -1 },
		"no time at last": func(c *Config) { c.Recheck = -1 },
		"without a place": func(c *Config) { c.Address = "locks.example.com" },
	} {
		config := good
		change(&config)
		if _, err := New(t.Context(), config); !errors.Is(err, applock.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	local := good
	local.Address = "http://127.0.0.1:8420/"
	if _, err := New(t.Context(), local); err != nil {
		t.Errorf("a loopback address: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(ctx, good); err == nil || errors.Is(err, applock.ErrInvalid) {
		t.Errorf("a caller that has left: %v", err)
	}
}

// Goal: an issuer that is down when the console starts may answer later, and one that answers as another or not at all is refused at once. Method: such
// issuers; TestConsoleIsWatched has one that answers later.
func TestIssuerIsDownAtStart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer func(w http.ResponseWriter)
		starts bool
	}{
		"cut off":            {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, true},
		"fails":              {func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }, true},
		"knows no such page": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) }, false},
		"is another one":     {func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"issuer":"https://other.example.com"}`) }, false},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { test.answer(w) }))
		config := Config{Issuer: server.URL, ClientID: "applock", Address: "https://locks.example.com/", Client: server.Client()}
		if _, err := New(t.Context(), config); (err == nil) != test.starts {
			t.Errorf("the issuer %s: %v", name, err)
		}
		server.Close()
	}
}

// Goal: what a browser keeps while somebody signs in is read and written by this console only, fits into a cookie, and is for one tab.
// Method: cookies that are bent, of another console, and of another tab; the longest page.
func TestCookieOfASignIn(t *testing.T) {
	t.Parallel()
	p, other := newPlace(t, nil), newPlace(t, nil)
	cookie, asked := p.begin(strings.Repeat("\x01", 500)) // the longest that the console asks for
	if len(cookie.String()) > 1500 {
		t.Errorf("a cookie has %d bytes, and a browser sends %d of them", len(cookie.String()), tabsMost)
	}
	content, _ := base64.RawURLEncoding.DecodeString(cookie.Value)
	for _, name := range []string{"state", "nonce"} {
		if strings.Contains(string(content), asked.Query().Get(name)) {
			t.Errorf("the cookie shows the %s", name)
		}
	}
	foreign, _ := other.begin("")
	tab, _ := p.begin("")
	last := cookie.Value[len(cookie.Value)-2:]
	bent := strings.TrimSuffix(cookie.Value, last) + string([]byte{last[1], last[0] ^ 1})
	for name, value := range map[string]string{"bent": bent, "of another console": foreign.Value, "of another tab": tab.Value, "short": "AAAA", "no base64": "%"} {
		_, _, err := p.finish(p.answer(asked), &http.Cookie{Name: cookie.Name, Value: value})
		if refused := new(console.RefusedError); !errors.As(err, &refused) || refused.Status != http.StatusBadRequest {
			t.Errorf("a cookie %s: %v", name, err)
		}
	}
}

// Goal: what is kept has an end, in number and in time. Method: more than there is room for, and a clock.
func TestKeptIsBounded(t *testing.T) {
	t.Parallel()
	k := newKept[string]()
	now := time.Now()
	for word := range most + 1 {
		k.adopt(strconv.Itoa(word), "x", now.Add(time.Hour), now)
	}
	if _, found := k.of["0"]; found || !k.has("0", now.Add(time.Hour)) || len(k.of) != most || len(k.order) != most {
		t.Errorf("%d are kept", len(k.of))
	}
	if got := k.adopt(strconv.Itoa(most), "y", now.Add(time.Hour), now); got != "x" {
		t.Errorf("a value is replaced by %s", got)
	}
	if x := k.order[0]; k.first(x, now.Add(2*time.Hour), now) || k.first("z", now.Add(time.Hour), now) || !k.first("z", now.Add(2*time.Hour), now) {
		t.Error("a word is taken twice, or one that may have been forgotten")
	}
	k.adopt("y", "", now.Add(3*time.Hour), now.Add(2*time.Hour))
	if len(k.of) != 1 || len(k.order) != 1 {
		t.Errorf("%d that have ended are kept", len(k.of)-1)
	}
}

// Goal: a program is known by a token of the issuer for this audience, and by nothing else. Method: tokens that differ from a good one in
// one thing each.
func TestBearer(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	bearer, err := NewBearer(t.Context(), Config{
		Issuer: i.URL, ClientID: "applock", Address: "https://locks.example.com/mcp", Client: i.Client(),
	}, "/.well-known/x")
	if err != nil {
		t.Fatal(err)
	}
	good := func(change func(claims map[string]any)) string {
		claims := map[string]any{
			"iss": i.URL, "aud": "applock", "sub": "4711", "preferred_username": "agent-1", "exp": time.Now().Add(time.Hour).Unix(),
		}
		change(claims)
		return "Bearer " + sign(claims, i.key)
	}
	same := func(map[string]any) {}
	for name, header := range map[string]string{
		"no token":         "",
		"another scheme":   "Basic eDp5",
		"no JWT":           "Bearer x",
		"another audience": good(func(claims map[string]any) { claims["aud"] = "others" }),
		"another issuer":   good(func(claims map[string]any) { claims["iss"] = "https://elsewhere.example.com" }),
		"ended":            good(func(claims map[string]any) { claims["exp"] = time.Now().Add(-time.Hour).Unix() }),
		"nameless":         good(func(claims map[string]any) { delete(claims, "preferred_username") }),
		"a name unseen":    good(func(claims map[string]any) { claims["preferred_username"] = "agent\u200b-1" }),
		"another key":      "Bearer " + sign(map[string]any{"iss": i.URL, "aud": "applock", "preferred_username": "agent-1"}, newKey(t)),
		"bent":             strings.Replace(good(same), ".", ".e", 1),
	} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.Header.Set("Authorization", header)
		_, err := bearer.Identify(r)
		var refused *console.RefusedError
		if !errors.As(err, &refused) || refused.Status != http.StatusUnauthorized ||
			refused.Challenge != `Bearer resource_metadata="https://locks.example.com/.well-known/x"` {
			t.Errorf("%s: %v, want 401 with the challenge", name, err)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	r.Header.Set("Authorization", good(func(claims map[string]any) { claims["aud"], claims["azp"] = []string{"applock", "x"}, "the agent" }))
	person, err := bearer.Identify(r)
	if err != nil || person.Name != "agent-1" {
		t.Errorf("a good token is %q, %v", person.Name, err)
	}
}

// Goal: a sign-in that nobody has made signs nobody in, and says so.
func TestEmptySignIn(t *testing.T) {
	t.Parallel()
	var signIn SignIn
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	if _, err := signIn.Begin(httptest.NewRecorder(), r, ""); err == nil {
		t.Error("it has begun")
	}
	if person, err := signIn.Identify(r); err == nil {
		t.Errorf("%+v is signed in", person)
	}
}
