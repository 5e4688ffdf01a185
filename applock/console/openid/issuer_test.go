package openid

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"github.com/applock/applock/applock/console"
	"github.com/applock/applock/internal/testing/testclient"
)

// claims are what a token says.
type claims = map[string]any

// issuer is one of the test's own, which signs everybody in as mlee.
type issuer struct {
	*httptest.Server
	key *rsa.PrivateKey

	mutex sync.Mutex
	// asked are the questions of the browsers, by code.
	asked map[string]url.Values
	// bend changes what a token says, and signer is who signs it.
	bend   func(claims)
	signer *rsa.PrivateKey
	// forgets is true if it accepts a code again and again.
	forgets bool
	// refreshes is what it does for a refresh token, which each answer has unless it is refreshNever.
	refreshes refreshing
	// refresh is the token that is good once, and refreshed how often one was used.
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
	i := &issuer{key: newKey(t), asked: map[string]url.Values{}, bend: func(claims) {}}
	i.signer = i.key
	keys := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: i.key.Public(), KeyID: "1", Algorithm: oidc.RS256}}}
	mux := http.NewServeMux()
	mux.Handle("/", keys)
	mux.HandleFunc("GET /auth", i.authorize)
	mux.HandleFunc("POST /token", i.token)
	i.Server = httptest.NewTLSServer(mux)
	keys.SetIssuer(i.URL)
	t.Cleanup(i.Close)
	return i
}

// set changes the issuer.
func (i *issuer) set(change func()) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	change()
}

func (i *issuer) does(refreshes refreshing) { i.set(func() { i.refreshes = refreshes }) }

// says has tokens say something else.
func (i *issuer) says(bend func(claims)) { i.set(func() { i.bend, i.signer = bend, i.key }) }

// authorize sends the browser back with a code.
func (i *issuer) authorize(w http.ResponseWriter, r *http.Request) {
	code, asked := rand.Text(), r.URL.Query()
	i.set(func() { i.asked[code] = asked })
	back := url.Values{"state": {asked.Get("state")}, "code": {code}}
	http.Redirect(w, r, asked.Get("redirect_uri")+"?"+back.Encode(), http.StatusSeeOther)
}

// token turns a code into a token, once, for who has the secret and the proof; and a refresh token into the next one.
func (i *issuer) token(w http.ResponseWriter, r *http.Request) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	w.Header().Set("Content-Type", "application/json")
	var nonce string
	var good bool
	if r.FormValue("grant_type") == "refresh_token" {
		i.refreshed++
		if i.refreshes == refreshFails {
			http.Error(w, "out of order", http.StatusBadGateway)
			return
		}
		good = i.refreshes != refreshRefused && r.FormValue("refresh_token") == i.refresh
	} else {
		asked, found := i.asked[r.FormValue("code")]
		if !i.forgets {
			delete(i.asked, r.FormValue("code"))
		}
		id, secret, _ := r.BasicAuth()
		proof := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		good = found && id == "applock" && secret == "hush" && asked.Get("code_challenge_method") == "S256" &&
			asked.Get("code_challenge") == base64.RawURLEncoding.EncodeToString(proof[:]) && r.FormValue("redirect_uri") == asked.Get("redirect_uri")
		nonce = asked.Get("nonce")
	}
	if !good {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid_grant"}`)
		return
	}
	said := claims{
		"iss": i.URL, "aud": "applock", "sub": "4711", "preferred_username": "mlee", "email": "mlee@example.com", "email_verified": true,
		"nonce": nonce, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	}
	i.bend(said)
	answer := claims{"access_token": "x", "token_type": "Bearer", "id_token": sign(said, i.signer)}
	if i.refreshes != refreshNever {
		i.refresh = rand.Text()
		answer["refresh_token"] = i.refresh
	}
	if nonce == "" && i.refreshes == refreshWithoutIDToken {
		delete(answer, "id_token")
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func sign(said claims, key *rsa.PrivateKey) string {
	text, err := json.Marshal(said)
	if err != nil {
		panic(err)
	}
	return oidctest.SignIDToken(key, "1", oidc.RS256, string(text))
}

// place is a console, mounted below a path, where people sign in at an issuer.
type place struct {
	t       *testing.T
	issuer  *issuer
	signIn  *SignIn
	config  Config
	address string
	mutex   sync.Mutex
	late    time.Duration
}

func newPlace(t *testing.T, change func(*Config)) *place {
	t.Helper()
	p := &place{t: t, issuer: newIssuer(t)}
	client := testclient.Open(t, "sqlite:"+testclient.InstalledSQLite(t), "", nil)
	mux := http.NewServeMux()
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	p.address = server.URL + "/locks/"
	p.config = Config{
		Issuer: p.issuer.URL, ClientID: "applock", ClientSecret: "hush", Address: p.address, Client: p.issuer.Client(), Session: time.Hour,
	}
	if change != nil {
		change(&p.config)
	}
	p.signIn = p.replica()
	mux.Handle("/locks/", http.StripPrefix("/locks", console.Handler(client, console.Config{SignIn: p.signIn, Timeout: time.Hour})))
	return p
}

// replica returns a sign-in of the same console.
func (p *place) replica() *SignIn {
	p.t.Helper()
	signIn, err := New(p.t.Context(), p.config)
	if err != nil {
		p.t.Fatal(err)
	}
	signIn.now = func() time.Time {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		return time.Now().Add(p.late)
	}
	return signIn
}

func (p *place) wait(d time.Duration) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.late += d
}

// begin begins a sign-in, and returns its cookie and the issuer's address.
func (p *place) begin(page string) (*http.Cookie, *url.URL) {
	p.t.Helper()
	w := httptest.NewRecorder()
	location, err := p.signIn.Begin(w, httptest.NewRequest(http.MethodGet, "/sign-in", nil), page)
	if err != nil {
		p.t.Fatal(err)
	}
	address, err := url.Parse(location)
	if err != nil {
		p.t.Fatal(err)
	}
	return w.Result().Cookies()[0], address
}

// answer is what the issuer sends a browser back with.
func (p *place) answer(address *url.URL) url.Values {
	p.t.Helper()
	browser := &http.Client{Transport: p.issuer.Client().Transport, CheckRedirect: noFollowing}
	return p.ask(browser, http.MethodGet, address.String(), nil).location.Query()
}

// finish is a browser that comes back with an answer, and a cookie unless that is nil. session is the cookie of the session that begins.
func (p *place) finish(answer url.Values, cookie *http.Cookie) (page string, cookies []*http.Cookie, err error) {
	r := httptest.NewRequest(http.MethodGet, "/signed-in?"+answer.Encode(), nil)
	if cookie != nil {
		r.AddCookie(cookie)
	}
	w := httptest.NewRecorder()
	page, err = p.signIn.Finish(w, r)
	return page, w.Result().Cookies(), err
}

// browser returns one with cookies of its own.
func (p *place) browser() *http.Client {
	p.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return &http.Client{Jar: jar, Transport: p.issuer.Client().Transport}
}

func noFollowing(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// shown is what a browser shows at last.
type shown struct {
	status int
	text   string
	// address is that of the page, and location where it leads.
	address, location *url.URL
}

func (p *place) ask(browser *http.Client, method, address string, headers map[string]string) shown {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, address, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	w, err := browser.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer w.Body.Close()
	body, err := io.ReadAll(w.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	location, _ := w.Location()
	return shown{status: w.StatusCode, text: string(body), address: w.Request.URL, location: location}
}

// open opens a page of the console.
func (p *place) open(browser *http.Client, page string) shown {
	p.t.Helper()
	return p.ask(browser, http.MethodGet, p.address+page, nil)
}

// session returns the cookie of a browser's session.
func (p *place) session(browser *http.Client) *http.Cookie {
	p.t.Helper()
	for _, cookie := range p.cookies(browser) {
		if cookie.Name == p.signIn.cookie {
			return cookie
		}
	}
	p.t.Fatal("there is no session")
	return nil
}

func (p *place) cookies(browser *http.Client) []*http.Cookie {
	address, err := url.Parse(p.address)
	if err != nil {
		p.t.Fatal(err)
	}
	return browser.Jar.Cookies(address)
}
