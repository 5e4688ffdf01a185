package openid

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console"
	"github.com/applock/applock/internal/testing/testclient"
)

// issuer is one of the test's own, which signs everybody in as mlee.
type issuer struct {
	*httptest.Server
	key *rsa.PrivateKey

	mutex sync.Mutex
	// asked are the questions of the browsers, by code.
	asked map[string]url.Values
	// bend changes what a token says, and signer is who signs it.
	bend   func(claims map[string]any)
	signer *rsa.PrivateKey
	// forgets is true if it accepts a code again and again.
	forgets bool
	// refreshes is what it does for who comes with a refresh token, which each answer has unless it is refreshNever.
	refreshes refreshing
	// refresh is the token that is good once, and refreshed how often one was.
	refresh   string
	refreshed int
}

// refreshing is a kind of issuer.
type refreshing int

const (
	refreshAlways refreshing = iota
	refreshNever
	refreshRefused
	refreshFails
	refreshWithoutIDToken
)

func (i *issuer) does(refreshes refreshing) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.refreshes = refreshes
}

// taken returns how often somebody came with a refresh token since it was last asked.
func (i *issuer) taken() int {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	number := i.refreshed
	i.refreshed = 0
	return number
}

func newKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{key: newKey(t), asked: map[string]url.Values{}, bend: func(map[string]any) {}}
	i.signer = i.key
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		tell(w, map[string]any{
			"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"RS256"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		public := i.key.PublicKey
		tell(w, map[string]any{"keys": []any{map[string]any{
			"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1",
			"n": encoded(public.N.Bytes()), "e": encoded(big.NewInt(int64(public.E)).Bytes()),
		}}})
	})
	mux.HandleFunc("GET /authorize", i.authorize)
	mux.HandleFunc("POST /token", i.token)
	i.Server = httptest.NewTLSServer(mux)
	t.Cleanup(i.Close)
	return i
}

// signs has tokens say something else, or be signed by somebody else.
func (i *issuer) signs(bend func(claims map[string]any), signer *rsa.PrivateKey) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.bend, i.signer = bend, signer
	if bend == nil {
		i.bend = func(map[string]any) {}
	}
}

func tell(w http.ResponseWriter, what any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(what)
}

func encoded(text []byte) string { return base64.RawURLEncoding.EncodeToString(text) }

// authorize sends the browser back with a code.
func (i *issuer) authorize(w http.ResponseWriter, r *http.Request) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	asked := r.URL.Query()
	back := url.Values{"state": {asked.Get("state")}}
	code := rand.Text()
	i.asked[code] = asked
	back.Set("code", code)
	http.Redirect(w, r, asked.Get("redirect_uri")+"?"+back.Encode(), http.StatusSeeOther)
}

// token turns a code into a token, once, for who has the secret and the proof.
func (i *issuer) token(w http.ResponseWriter, r *http.Request) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if r.FormValue("grant_type") == "refresh_token" {
		i.tokenAgain(w, r)
		return
	}
	asked, found := i.asked[r.FormValue("code")]
	if !i.forgets {
		delete(i.asked, r.FormValue("code"))
	}
	id, secret, _ := r.BasicAuth()
	proof := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !found || id != "applock" || secret != "hush" || asked.Get("code_challenge_method") != "S256" ||
		asked.Get("code_challenge") != encoded(proof[:]) || r.FormValue("redirect_uri") != asked.Get("redirect_uri") {
		http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
		return
	}
	i.tell(w, asked.Get("nonce"))
}

// tell answers with tokens, of which the one to refresh is new each time.
func (i *issuer) tell(w http.ResponseWriter, nonce string) {
	claims := map[string]any{
		"iss": i.URL, "aud": "applock", "sub": "4711", "preferred_username": "mlee", "email": "mlee@example.com", "email_verified": true,
		"nonce": nonce, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	}
	i.bend(claims)
	answer := map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": sign(claims, i.signer)}
	if i.refreshes != refreshNever {
		i.refresh = rand.Text()
		answer["refresh_token"] = i.refresh
	}
	if nonce == "" && i.refreshes == refreshWithoutIDToken {
		delete(answer, "id_token")
	}
	tell(w, answer)
}

// tokenAgain answers to a refresh token.
func (i *issuer) tokenAgain(w http.ResponseWriter, r *http.Request) {
	i.refreshed++
	switch {
	case i.refreshes == refreshFails:
		http.Error(w, "out of order", http.StatusBadGateway)
	case i.refreshes == refreshRefused || r.FormValue("refresh_token") != i.refresh:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid_grant"}`)
	default:
		i.tell(w, "")
	}
}

func sign(claims map[string]any, key *rsa.PrivateKey) string {
	body, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	text := encoded([]byte(`{"alg":"RS256","kid":"1"}`)) + "." + encoded(body)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		panic(err)
	}
	return text + "." + encoded(signature)
}

// place is a console, mounted below a path, where people sign in at an issuer.
type place struct {
	issuer  *issuer
	signIn  *SignIn
	address string
	mutex   sync.Mutex
	late    time.Duration
}

func newPlace(t *testing.T, change func(*Config)) *place {
	t.Helper()
	p := &place{issuer: newIssuer(t)}
	client := testclient.Open(t, "sqlite:"+testclient.InstalledSQLite(t), "", nil)
	mux := http.NewServeMux()
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	p.address = server.URL + "/locks/"
	config := Config{
		Issuer: p.issuer.URL, ClientID: "applock", ClientSecret: "hush", Address: p.address, Client: p.issuer.Client(), Session: time.Hour,
	}
	change(&config)
	var err error
	p.signIn, err = New(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	p.signIn.now = func() time.Time {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		return time.Now().Add(p.late)
	}
	mux.Handle("/locks/", http.StripPrefix("/locks", console.Handler(client, console.Config{SignIn: p.signIn, Timeout: time.Hour})))
	return p
}

func (p *place) wait(d time.Duration) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.late += d
}

// browser returns one with cookies of its own.
func (p *place) browser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar, Transport: p.issuer.Client().Transport}
}

// answer is what a browser shows at last.
type answer struct {
	status  int
	text    string
	address *url.URL
}

func ask(t *testing.T, browser *http.Client, method, address string, headers map[string]string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	w, err := browser.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	body, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{status: w.StatusCode, text: string(body), address: w.Request.URL}
}

// Goal: whoever opens a page is sent to the issuer, comes back to that page with a name, and stays signed in until the end of the
// session or until he ends it. Method: a browser with cookies, and a clock of the test's own.
func TestSession(t *testing.T) {
	t.Parallel()
	p := newPlace(t, func(*Config) {})
	browser := p.browser(t)
	got := ask(t, browser, http.MethodGet, p.address+"?type=a%26b&sort=left", nil)
	if got.status != http.StatusOK || !strings.Contains(got.text, "You are <bdi>mlee</bdi>") || got.address.Path != "/locks/" ||
		got.address.Query().Get("type") != "a&b" || got.address.Query().Get("sort") != "left" {
		t.Fatalf("status %d at %s: %s", got.status, got.address, got.text)
	}
	// Without following: a session needs no issuer.
	browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	p.wait(59 * time.Minute)
	if got := ask(t, browser, http.MethodGet, p.address+"waiters", nil); got.status != http.StatusOK {
		t.Errorf("within the session: status %d", got.status)
	}
	p.wait(time.Minute)
	if got := ask(t, browser, http.MethodGet, p.address+"waiters", nil); got.status != http.StatusSeeOther {
		t.Errorf("after the session: status %d", got.status)
	}
	// What a script or a form asks for is not sent on.
	for _, mode := range []string{"cors", "no-cors", "same-origin"} {
		got := ask(t, browser, http.MethodGet, p.address+"waiters", map[string]string{"Sec-Fetch-Mode": mode})
		if got.status != http.StatusUnauthorized || !strings.Contains(got.text, `href="sign-in"`) {
			t.Errorf("%s: status %d", mode, got.status)
		}
	}
	if got := ask(t, browser, http.MethodGet, p.address+"style.css", nil); got.status != http.StatusOK {
		t.Errorf("style.css: status %d", got.status)
	}
	if got := ask(t, browser, http.MethodPost, p.address+"release", nil); got.status != http.StatusUnauthorized {
		t.Errorf("a form: status %d", got.status)
	}
	browser.CheckRedirect = nil
	if got := ask(t, browser, http.MethodGet, p.address, nil); !strings.Contains(got.text, "You are <bdi>mlee</bdi>") {
		t.Errorf("signed in again: %s", got.text)
	}
	evil := map[string]string{"Sec-Fetch-Site": "cross-site"}
	if got := ask(t, browser, http.MethodPost, p.address+"sign-out", evil); got.status != http.StatusForbidden {
		t.Errorf("another site ends the session: status %d", got.status)
	}
	known := cookieOf(t, browser, p)
	if got := ask(t, browser, http.MethodPost, p.address+"sign-out", nil); !strings.Contains(got.text, "You are signed out") {
		t.Errorf("signed out: %s", got.text)
	}
	// Also for who has kept the cookie.
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, p.address, nil)
	r.AddCookie(known)
	if person, err := p.signIn.Identify(r); err == nil {
		t.Errorf("a session that was ended is that of %s", person.Name)
	}
}

// inSession is a browser that has signed in as somebody with the role supervisors.
func inSession(t *testing.T, p *place) (ask func(method, mode string) (console.Person, error)) {
	t.Helper()
	p.issuer.signs(func(claims map[string]any) { claims["groups"] = "supervisors" }, p.issuer.key)
	browser := p.browser(t)
	asks := func(method, mode string) (console.Person, error) {
		r, _ := http.NewRequestWithContext(t.Context(), method, p.address, nil)
		r.Header.Set("Sec-Fetch-Mode", mode)
		r.AddCookie(cookieOf(t, browser, p))
		return p.signIn.Identify(r)
	}
	if got := askPage(t, browser, p); got.status != http.StatusOK {
		t.Fatalf("status %d: %s", got.status, got.text)
	}
	return asks
}

func askPage(t *testing.T, browser *http.Client, p *place) answer {
	t.Helper()
	return ask(t, browser, http.MethodGet, p.address, nil)
}

// Goal: what the issuer says of somebody now counts within minutes: roles that were taken away, and a person who is out. It is asked once
// for many requests, and an issuer that is out of order puts nobody out at once, nor keeps anybody in. Method: a clock of the test's own,
// and an issuer that gives refresh tokens, each good once.
func TestRolesAreAskedForAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t, func(c *Config) { c.RolesClaim, c.Session = "groups", 8*time.Hour })
	ask := inSession(t, p)
	has := func(what, roles string, asked int) {
		t.Helper()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				person, err := ask(http.MethodGet, "navigate")
				if got := strings.Join(person.Roles, "|"); got != roles || err != nil || person.Name != "mlee" {
					t.Errorf("%s: the roles %q of %s, %v", what, got, person.Name, err)
				}
			})
		}
		all.Wait()
		if got := p.issuer.taken(); got != asked {
			t.Errorf("%s: the issuer is asked %d times, want %d", what, got, asked)
		}
	}
	p.issuer.signs(func(claims map[string]any) { claims["groups"] = "staff" }, p.issuer.key)
	has("at once", "supervisors", 0)
	p.wait(DefaultRecheck)
	has("minutes later", "staff", 1)
	p.wait(DefaultRecheck)
	p.issuer.does(refreshFails)
	has("out of order", "staff", 1)
	p.wait(DefaultRecheck - time.Second)
	has("still out of order", "staff", 1)
	p.issuer.does(refreshAlways)
	p.wait(retryAfter)
	has("in order again", "staff", 1)
	p.issuer.signs(func(claims map[string]any) { claims["groups"], claims["azp"] = "x", "x" }, p.issuer.key)
	p.wait(DefaultRecheck)
	has("for another program", "staff", 1)
	p.issuer.signs(func(claims map[string]any) { claims["groups"] = "staff" }, p.issuer.key)
	p.wait(4 * DefaultRecheck)
	has("nobody has looked for long", "staff", 1)
	p.issuer.does(refreshFails)
	p.wait(2 * DefaultRecheck)
	if _, err := ask(http.MethodGet, "navigate"); err == nil {
		t.Error("an issuer that is out of order keeps people in")
	}
	for name, refuse := range map[string]func(){
		"refused":         func() { p.issuer.does(refreshRefused) },
		"somebody else's": func() { p.issuer.signs(func(claims map[string]any) { claims["sub"] = "4712" }, p.issuer.key) },
	} {
		p.issuer.does(refreshAlways)
		ask := inSession(t, p)
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
		ask := inSession(t, p)
		for _, test := range []struct {
			wait       time.Duration
			page, form bool
		}{{half, true, true}, {half, false, true}, {half, false, true}, {half, false, false}} {
			p.wait(test.wait)
			if _, err := ask(http.MethodGet, "navigate"); (err == nil) != test.page {
				t.Errorf("a page after %s: %v", p.late, err)
			}
			for method, mode := range map[string]string{http.MethodPost: "navigate", http.MethodGet: "cors"} {
				if _, err := ask(method, mode); (err == nil) != test.form {
					t.Errorf("%s in mode %s after %s: %v", method, mode, p.late, err)
				}
			}
		}
	}
}

// Goal: the roles of a person are those of a claim, many or one, and nothing else is taken for one. Method: tokens.
func TestRolesOfAClaim(t *testing.T) {
	t.Parallel()
	p := newPlace(t, func(c *Config) { c.RolesClaim = "groups" })
	for want, claim := range map[string]any{
		"a|b": []any{"a", 7, "b"}, "one": "one", "": nil, "[]": map[string]any{"a": true},
	} {
		p.issuer.signs(func(claims map[string]any) { claims["groups"] = claim }, p.issuer.key)
		browser := p.browser(t)
		ask(t, browser, http.MethodGet, p.address, nil)
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, p.address, nil)
		r.AddCookie(cookieOf(t, browser, p))
		person, err := p.signIn.Identify(r)
		if got := strings.Join(person.Roles, "|"); got != strings.Trim(want, "[]") || person.Name != "mlee" || err != nil {
			t.Errorf("of %v the roles are %q, %v", claim, got, err)
		}
	}
}

func cookieOf(t *testing.T, browser *http.Client, p *place) *http.Cookie {
	t.Helper()
	address, err := url.Parse(p.address)
	if err != nil {
		t.Fatal(err)
	}
	for _, cookie := range browser.Jar.Cookies(address) {
		if cookie.Name == p.signIn.cookie {
			return cookie
		}
	}
	t.Fatal("there is no session")
	return nil
}

// Goal: cookies are for this host, encrypted connections and no script, say nothing, and are new with each sign-in; the issuer is
// asked with a state, a nonce and a proof key. Method: the answers that set them.
func TestCookiesAndQuestions(t *testing.T) {
	t.Parallel()
	p := newPlace(t, func(*Config) {})
	begin := httptest.NewRecorder()
	location, err := p.signIn.Begin(begin, httptest.NewRequest(http.MethodGet, "/sign-in", nil), "/waiters")
	if err != nil {
		t.Fatal(err)
	}
	asked, err := url.Parse(location)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"response_type": "code", "client_id": "applock", "redirect_uri": p.address + "signed-in", "code_challenge_method": "S256",
	} {
		if got := asked.Query().Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	for _, name := range []string{"state", "nonce", "code_challenge"} {
		if got := asked.Query().Get(name); len(got) < 26 {
			t.Errorf("%s is %q", name, got)
		}
	}
	// The issuer sends the browser back, which the console sees as one request.
	back := ask(t, noFollowing(p.issuer.Client()), http.MethodGet, location, nil)
	if back.status != http.StatusSeeOther {
		t.Fatalf("the issuer: status %d", back.status)
	}
	words := map[string]bool{}
	for range 2 {
		begin := httptest.NewRecorder()
		location, err := p.signIn.Begin(begin, httptest.NewRequest(http.MethodGet, "/sign-in", nil), "/waiters")
		if err != nil {
			t.Fatal(err)
		}
		finish := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/signed-in?"+answerOf(t, p, location).Encode(), nil)
		r.AddCookie(begin.Result().Cookies()[0])
		if page, err := p.signIn.Finish(finish, r); err != nil || page != "/waiters" {
			t.Fatalf("%q, %v", page, err)
		}
		for _, cookie := range append(begin.Result().Cookies(), finish.Result().Cookies()...) {
			if !cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteLaxMode || !strings.HasPrefix(cookie.Name, "__Host-") ||
				cookie.Path != "/" || cookie.Domain != "" || strings.Contains(cookie.Value, "mlee") {
				t.Errorf("the cookie %s", cookie)
			}
			if cookie.Value != "" && words[cookie.Value] {
				t.Errorf("%s is used again", cookie.Value)
			}
			words[cookie.Value] = true
		}
	}
}

func noFollowing(client *http.Client) *http.Client {
	same := *client
	same.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &same
}

// answerOf is what the issuer sends a browser back with.
func answerOf(t *testing.T, p *place, location string) url.Values {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, location, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := noFollowing(p.issuer.Client()).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	back, err := w.Location()
	if err != nil {
		t.Fatal(err)
	}
	return back.Query()
}

// Goal: tabs of one browser that sign in at once get in, each to its page and in any order; and those that are begun and left are
// bounded. Method: sign-ins that begin one after the other and end backwards, then more of them than a browser may have.
func TestTabsSignInAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t, func(*Config) {})
	browser := p.browser(t)
	browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	begin := func(page string) (back string) {
		t.Helper()
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, p.address+"sign-in?page="+page, nil)
		w, err := browser.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Body.Close()
		return "signed-in?" + answerOf(t, p, w.Header.Get("Location")).Encode()
	}
	for _, tab := range slices.Backward([]string{begin("waiters"), begin("health"), begin("statistics")}) {
		if got := ask(t, browser, http.MethodGet, p.address+tab, nil); got.status != http.StatusSeeOther {
			t.Errorf("a tab: status %d: %s", got.status, got.text)
		}
		if got := ask(t, browser, http.MethodGet, p.address+tab, nil); got.status != http.StatusBadRequest {
			t.Errorf("a tab that comes back again: status %d", got.status)
		}
	}
	if got := ask(t, browser, http.MethodGet, p.address, nil); !strings.Contains(got.text, "You are <bdi>mlee</bdi>") {
		t.Errorf("signed in: %s", got.text)
	}
	var tabs []string
	for range tabsMost + 3 {
		tabs = append(tabs, begin("waiters"))
	}
	address, err := url.Parse(p.address)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(browser.Jar.Cookies(address)); got != tabsMost+1 { // and the session's
		t.Errorf("a browser has %d cookies", got)
	}
	for i, tab := range tabs {
		want := http.StatusSeeOther
		if i < 3 {
			want = http.StatusBadRequest
		}
		if got := ask(t, browser, http.MethodGet, p.address+tab, nil); got.status != want {
			t.Errorf("tab %d: status %d, want %d", i, got.status, want)
		}
	}
}

// Goal: nothing but a token of the issuer, for this console, about this sign-in of this browser, begins a session. Method: each of
// it bent once, and a sign-in that is as it should be.
func TestBentAnswers(t *testing.T) {
	t.Parallel()
	p := newPlace(t, func(*Config) {})
	other := newKey(t)
	for name, test := range map[string]struct {
		bend   func(claims map[string]any)
		answer func(url.Values)
		change func(r *http.Request)
		// before is done between the beginning and the end.
		before func()
		good   bool
	}{
		"as it should be":  {good: true},
		"another audience": {bend: func(claims map[string]any) { claims["aud"] = "somebody" }},
		"another issuer":   {bend: func(claims map[string]any) { claims["iss"] = "https://evil.example.com" }},
		"two audiences":    {bend: func(claims map[string]any) { claims["aud"], claims["azp"] = []string{"applock", "x"}, "applock" }, good: true},
		"whose is unsaid":  {bend: func(claims map[string]any) { claims["aud"] = []string{"applock", "x"} }},
		"another's of two": {bend: func(claims map[string]any) { claims["aud"], claims["azp"] = []string{"applock", "x"}, "x" }},
		"another's":        {bend: func(claims map[string]any) { claims["azp"] = "x" }},
		"a list's":         {bend: func(claims map[string]any) { claims["azp"] = []string{"applock"} }},
		"another nonce":    {bend: func(claims map[string]any) { claims["nonce"] = "x" }},
		"no nonce":         {bend: func(claims map[string]any) { delete(claims, "nonce") }},
		"too old":          {bend: func(claims map[string]any) { claims["exp"] = time.Now().Add(-time.Hour).Unix() }},
		"no name":          {bend: func(claims map[string]any) { delete(claims, "preferred_username") }},
		"a name of a list": {bend: func(claims map[string]any) { claims["preferred_username"] = []string{"mlee"} }},
		"another state":    {answer: func(answer url.Values) { answer.Set("state", "x") }},
		"no state":         {answer: func(answer url.Values) { answer.Del("state") }},
		"another code":     {answer: func(answer url.Values) { answer.Set("code", "x") }},
		"an error":         {answer: func(answer url.Values) { answer.Set("error", "access_denied") }},
		"another browser":  {change: func(r *http.Request) { r.Header.Del("Cookie") }},
		"too late":         {before: func() { p.wait(signingIn) }},
		"another signer":   {before: func() { p.issuer.signs(nil, other) }},
	} {
		p.issuer.signs(test.bend, p.issuer.key)
		begin := httptest.NewRecorder()
		location, err := p.signIn.Begin(begin, httptest.NewRequest(http.MethodGet, "/sign-in", nil), "")
		if err != nil {
			t.Fatal(err)
		}
		answer := answerOf(t, p, location)
		if test.answer != nil {
			test.answer(answer)
		}
		if test.before != nil {
			test.before()
		}
		r := httptest.NewRequest(http.MethodGet, "/signed-in?"+answer.Encode(), nil)
		r.AddCookie(begin.Result().Cookies()[0])
		if test.change != nil {
			test.change(r)
		}
		for again := range 2 { // the second time it is used up
			finish := httptest.NewRecorder()
			_, err = p.signIn.Finish(finish, r)
			session := false
			for _, cookie := range finish.Result().Cookies() {
				session = session || cookie.Name == p.signIn.cookie && cookie.Value != ""
			}
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
	p := newPlace(t, func(*Config) {})
	p.issuer.forgets = true
	begin := httptest.NewRecorder()
	location, err := p.signIn.Begin(begin, httptest.NewRequest(http.MethodGet, "/sign-in", nil), "")
	if err != nil {
		t.Fatal(err)
	}
	answer, cookie := answerOf(t, p, location), begin.Result().Cookies()[0]
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			r := httptest.NewRequest(http.MethodGet, "/signed-in?"+answer.Encode(), nil)
			r.AddCookie(cookie)
			_, err := p.signIn.Finish(httptest.NewRecorder(), r)
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
		bend func(claims map[string]any)
		want string
	}{
		"verified":     {func(map[string]any) {}, "You are <bdi>mlee@example.com</bdi>"},
		"not verified": {func(claims map[string]any) { claims["email_verified"] = false }, "not verified"},
		"no word":      {func(claims map[string]any) { delete(claims, "email_verified") }, "not verified"},
		"too long":     {func(claims map[string]any) { claims["email"] = strings.Repeat("x", 65) }, "The name has 65 characters"},
		"a control":    {func(claims map[string]any) { claims["email"] = "m\x1blee" }, "001B, which is not seen"},
		"turned round": {func(claims map[string]any) { claims["email"] = "\u202eeelm" }, "202E, which is not seen"},
		"blank":        {func(claims map[string]any) { claims["email"] = " \u00a0" }, "The name is empty"},
		"blank before": {func(claims map[string]any) { claims["email"] = " mlee@example.com" }, "The name begins or ends with a blank"},
	} {
		p.issuer.signs(test.bend, p.issuer.key)
		before := len(p.signIn.sessions.of)
		got := ask(t, p.browser(t), http.MethodGet, p.address, nil)
		if in := len(p.signIn.sessions.of) > before; in != (name == "verified") || in != (got.status == http.StatusOK) || !strings.Contains(got.text, test.want) {
			t.Errorf("%s: status %d: %s", name, got.status, got.text)
		}
	}
}

// Goal: nobody is sent anywhere but to a page of this console, and sign-ins that fail keep nobody out: behind a proxy all have one address.
// Method: pages of elsewhere, answers that nobody has asked for, and tokens of another sign-in.
func TestFailuresAndPages(t *testing.T) {
	t.Parallel()
	p := newPlace(t, func(*Config) {})
	for page, want := range map[string]string{
		"https://evil.example.com/x": "/locks/x", "//evil.example.com/x": "/locks/x", `/\evil.example.com`: "/locks/evil.example.com",
		"javascript:alert(1)": "/locks/", "../../admin": "/locks/", "/waiters?type=a": "/locks/waiters",
	} {
		got := ask(t, p.browser(t), http.MethodGet, p.address+"sign-in?page="+url.QueryEscape(page), nil)
		if got.address.Path != want || "https://"+got.address.Host+"/locks/" != p.address {
			t.Errorf("%s leads to %s", page, got.address)
		}
	}
	browser := p.browser(t)
	for range 20 {
		if got := ask(t, browser, http.MethodGet, p.address+"signed-in?code=x&state=y", nil); got.status != http.StatusBadRequest {
			t.Errorf("status %d of what nobody has begun", got.status)
		}
	}
	if got := ask(t, browser, http.MethodGet, p.address, nil); got.status != http.StatusOK {
		t.Errorf("status %d after what anybody can send", got.status)
	}
	browser = p.browser(t)
	p.issuer.signs(func(claims map[string]any) { claims["nonce"] = "x" }, p.issuer.key)
	for range 10 {
		if got := ask(t, browser, http.MethodGet, p.address, nil); got.status != http.StatusForbidden {
			t.Errorf("status %d", got.status)
		}
	}
	p.issuer.signs(nil, p.issuer.key)
	if got := ask(t, p.browser(t), http.MethodGet, p.address, nil); got.status != http.StatusOK {
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
		t.Errorf("an issuer that does not answer: %v", err)
	}
}

// Goal: people who are signing in are not put out by those who only begin to. Method: more beginnings than sessions are kept, between
// a person's beginning and end.
func TestBeginningsPutNobodyOut(t *testing.T) {
	t.Parallel()
	p := newPlace(t, func(*Config) {})
	begin := httptest.NewRecorder()
	location, err := p.signIn.Begin(begin, httptest.NewRequest(http.MethodGet, "/sign-in", nil), "/waiters")
	if err != nil {
		t.Fatal(err)
	}
	for range most + 1 {
		if _, err := p.signIn.Begin(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/sign-in", nil), "/"); err != nil {
			t.Fatal(err)
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/signed-in?"+answerOf(t, p, location).Encode(), nil)
	r.AddCookie(begin.Result().Cookies()[0])
	if page, err := p.signIn.Finish(httptest.NewRecorder(), r); err != nil || page != "/waiters" {
		t.Errorf("%q, %v", page, err)
	}
}

// Goal: what a browser keeps while somebody signs in is read and written by this console only, fits into a cookie, and is for one tab.
// Method: cookies that are bent, of another console, and of another tab; the longest page.
func TestCookieOfASignIn(t *testing.T) {
	t.Parallel()
	p, other := newPlace(t, func(*Config) {}), newPlace(t, func(*Config) {})
	begin := func(p *place, page string) (*http.Cookie, string) {
		w := httptest.NewRecorder()
		location, err := p.signIn.Begin(w, httptest.NewRequest(http.MethodGet, "/sign-in", nil), page)
		if err != nil {
			t.Fatal(err)
		}
		return w.Result().Cookies()[0], location
	}
	cookie, location := begin(p, strings.Repeat("\x01", 500)) // the longest that the console asks for
	if len(cookie.String()) > 1500 {
		t.Errorf("a cookie has %d bytes, and a browser sends %d of them", len(cookie.String()), tabsMost)
	}
	asked, err := url.Parse(location)
	if err != nil {
		t.Fatal(err)
	}
	content, _ := base64.RawURLEncoding.DecodeString(cookie.Value)
	for _, name := range []string{"state", "nonce"} {
		if strings.Contains(string(content), asked.Query().Get(name)) {
			t.Errorf("the cookie shows the %s", name)
		}
	}
	bent, _ := begin(p, "")
	last := bent.Value[len(bent.Value)-2:]
	bent.Value = strings.TrimSuffix(bent.Value, last) + string([]byte{last[1], last[0] ^ 1})
	foreign, _ := begin(other, "")
	tab, _ := begin(p, "")
	for name, value := range map[string]string{"bent": bent.Value, "of another console": foreign.Value, "of another tab": tab.Value, "short": "AAAA", "no base64": "%"} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/signed-in?"+answerOf(t, p, location).Encode(), nil)
		r.AddCookie(&http.Cookie{Name: cookie.Name, Value: value})
		_, err := p.signIn.Finish(w, r)
		var refused *console.RefusedError
		if !errors.As(err, &refused) || refused.Status != http.StatusBadRequest {
			t.Errorf("a cookie %s: %v", name, err)
		}
	}
}

// Goal: what is kept has an end, in number and in time. Method: more than there is room for, and a clock.
func TestKeptIsBounded(t *testing.T) {
	t.Parallel()
	k := newKept[string]()
	now := time.Now()
	first := k.keep("mlee", now.Add(time.Hour), now)
	for range most {
		k.keep("x", now.Add(time.Hour), now)
	}
	if _, found := k.find(first, now); found || len(k.of) != most || len(k.order) != most {
		t.Errorf("%d are kept", len(k.of))
	}
	if x := k.order[0]; k.first(x, now.Add(2*time.Hour), now) || k.first("z", now.Add(time.Hour), now) || !k.first("z", now.Add(2*time.Hour), now) {
		t.Error("a word is taken twice, or one that may have been forgotten")
	}
	k.keep("y", now.Add(3*time.Hour), now.Add(2*time.Hour))
	if len(k.of) != 1 || len(k.order) != 1 {
		t.Errorf("%d that have ended are kept", len(k.of)-1)
	}
}
