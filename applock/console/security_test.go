package console

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/clients"
)

// Goal: without a sign-in nobody but this host gets in, not through a proxy of this host either, nor a page whose name was
// made to lead here. Method: requests that are one of those.
func TestLocal(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(r *http.Request)
		status int
	}{
		"this host":      {func(*http.Request) {}, http.StatusNotFound},
		"by IPv6":        {func(r *http.Request) { r.RemoteAddr, r.Host = "[::1]:4000", "[::1]:8420" }, http.StatusNotFound},
		"by 127.0.0.1":   {func(r *http.Request) { r.Host = "127.0.0.1" }, http.StatusNotFound},
		"mapped":         {func(r *http.Request) { r.RemoteAddr = "[::ffff:127.0.0.1]:4000" }, http.StatusNotFound},
		"another host":   {func(r *http.Request) { r.RemoteAddr = "10.0.0.7:4000" }, http.StatusForbidden},
		"no address":     {func(r *http.Request) { r.RemoteAddr = "" }, http.StatusForbidden},
		"another name":   {func(r *http.Request) { r.Host = "evil.example.com" }, http.StatusForbidden},
		"similar name":   {func(r *http.Request) { r.Host = "localhost.example.com:8420" }, http.StatusForbidden},
		"a proxy":        {func(r *http.Request) { r.Header.Set("X-Forwarded-For", "127.0.0.1") }, http.StatusForbidden},
		"a proxy by RFC": {func(r *http.Request) { r.Header.Set("Forwarded", "for=10.0.0.7") }, http.StatusForbidden},
	} {
		d := deskOn(clients.New[*applock.Client](nil, nil, lease.Hooks{}), Config{})
		r := request(http.MethodGet, "/nonsense", "") // which is missing for those who get in
		test.change(r)
		if w := d.do(r); w.Code != test.status {
			t.Errorf("%s: status %d, want %d", name, w.Code, test.status)
		}
	}
}

// Goal: the header of a proxy is believed from the proxy only, once, and as a name. Method: addresses and headers.
func TestTrustedHeader(t *testing.T) {
	t.Parallel()
	networks := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}
	signIn, err := TrustedHeader("x-forwarded-user", "x-groups", networks)
	if err != nil {
		t.Fatal(err)
	}
	one := []string{"a, b,c"}
	for name, test := range map[string]struct {
		remote string
		names  []string
		want   string
		roles  []string
	}{
		"the proxy":  {"10.1.2.3:9", []string{"mlee"}, "mlee", one},
		"as IPv6":    {"[::ffff:10.1.2.3]:9", []string{" mlee "}, "mlee", one},
		"no proxy":   {"10.2.2.3:9", []string{"mlee"}, "", one},
		"loopback":   {"127.0.0.1:9", []string{"mlee"}, "", one},
		"no header":  {"10.1.2.3:9", nil, "", one},
		"two":        {"10.1.2.3:9", []string{"eve", "mlee"}, "", one},
		"empty":      {"10.1.2.3:9", []string{""}, "", one},
		"long":       {"10.1.2.3:9", []string{strings.Repeat("x", 256)}, "", one},
		"a control":  {"10.1.2.3:9", []string{"m\x1blee"}, "", one},
		"unseen":     {"10.1.2.3:9", []string{"m\u200blee"}, "", one},
		"turned":     {"10.1.2.3:9", []string{"\u202eeelm"}, "", one},
		"a hard one": {"10.1.2.3:9", []string{"m\u00a0lee"}, "", one},
		"a blank":    {"10.1.2.3:9", []string{"m\u2800lee"}, "", one},
		"a name":     {"10.1.2.3:9", []string{"Zoë O’Neill-王 محمد"}, "Zoë O’Neill-王 محمد", one},
		"not UTF-8":  {"10.1.2.3:9", []string{"m\xfflee"}, "", one},
		"no address": {"@", []string{"mlee"}, "", one},
		"two roles":  {"10.1.2.3:9", []string{"mlee"}, "", []string{"a", "b"}},
	} {
		r := request(http.MethodGet, "/", "")
		r.RemoteAddr = test.remote
		r.Header["X-Forwarded-User"] = test.names
		r.Header["X-Groups"] = test.roles
		person, err := signIn.Identify(r)
		if roles := strings.Join(person.Roles, "|"); (roles == "a|b|c") != (test.want != "") {
			t.Errorf("%s: the roles %q", name, roles)
		}
		if person.Name != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: %q, %v", name, person, err)
		}
	}
	if _, err := TrustedHeader(" ", "", networks); err == nil {
		t.Error("no header is no error")
	}
	if _, err := TrustedHeader("X-User", "", nil); err == nil {
		t.Error("no network is no error")
	}
}

// Goal: Basic knows names and passwords, and tells nothing about which was wrong. Somebody who fails again and again waits, longer each
// time, for that name at that address only: others there get in, and so does the name from elsewhere. Method: a clock of the test's own.
func TestBasic(t *testing.T) {
	t.Parallel()
	signIn, err := Basic(map[string]string{"mlee": "right", "pking": "other"})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	signIn.(*basic).now = func() time.Time { return now }
	d := deskOn(clients.New[*applock.Client](nil, nil, lease.Hooks{}), Config{SignIn: signIn})
	ask := func(remote, name, password string) *httptest.ResponseRecorder {
		r := request(http.MethodGet, "/nonsense", "") // which is missing for those who get in
		r.RemoteAddr = remote
		if name != "" {
			r.SetBasicAuth(name, password)
		}
		return d.do(r)
	}
	gets := func(remote, name, password string, status int) *httptest.ResponseRecorder {
		t.Helper()
		w := ask(remote, name, password)
		if w.Code != status {
			t.Errorf("%s of %s at %s: status %d, want %d", password, name, remote, w.Code, status)
		}
		return w
	}
	const in, no, wait = http.StatusNotFound, http.StatusUnauthorized, http.StatusTooManyRequests
	first := gets("10.0.0.1:1", "", "", no)
	if !strings.HasPrefix(first.Header().Get("WWW-Authenticate"), "Basic ") {
		t.Errorf("nobody: %v", first.Header())
	}
	gets("10.0.0.1:1", "mlee", "right", in)
	for _, name := range []string{"mlee", "nobody"} { // nobody can find out by it who has a password
		for range failuresAllowed {
			if w := gets("10.0.0.1:1", name, "other", no); w.Body.String() != first.Body.String() {
				t.Errorf("%s: %s", name, w.Body)
			}
		}
		gets("10.0.0.1:1", name, "other", no)
		if w := gets("10.0.0.1:2", name, "right", wait); w.Header().Get("Retry-After") != "1" {
			t.Errorf("%s waits for %s", name, w.Header().Get("Retry-After"))
		}
	}
	gets("10.0.0.1:1", "pking", "other", in)
	gets("10.0.0.2:1", "mlee", "right", in)
	for seconds := 2; seconds < 3000; seconds *= 2 { // each failure doubles the wait, up to its limit
		now = now.Add(longestWait)
		gets("10.0.0.1:1", "mlee", "other", no)
		want := min(seconds, int(longestWait/time.Second))
		if w := gets("10.0.0.1:1", "mlee", "right", wait); w.Header().Get("Retry-After") != strconv.Itoa(want) {
			t.Errorf("waits for %s s, want %d", w.Header().Get("Retry-After"), want)
		}
	}
	now = now.Add(longestWait)
	gets("10.0.0.1:1", "mlee", "right", in)
	gets("10.0.0.1:1", "mlee", "other", no)
	gets("10.0.0.1:1", "mlee", "right", in) // what went well begins anew
	for range failuresAllowed + 1 {
		gets("[2001:db8::1]:1", "mlee", "other", no)
	}
	gets("[2001:db8::ffff:1]:1", "mlee", "right", wait) // one household has many addresses
	gets("[2001:db8:0:1::1]:1", "mlee", "right", in)
	gets("@", "mlee", "right", http.StatusForbidden)
	for _, bad := range []map[string]string{nil, {"": "x"}, {"a:b": "x"}, {"mlee": ""}, {" mlee": "x"}} {
		if _, err := Basic(bad); err == nil {
			t.Errorf("%v is no error", bad)
		}
	}
}

// Goal: a form of another site changes nothing. Method: the last form of a release, with what browsers add to it.
func TestOtherOrigins(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	grant := d.get(t, "customer:42", "JDOE", time.Hour)
	for name, headers := range map[string]map[string]string{
		"cross-site":  {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example.com"},
		"same-site":   {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost:9999"},
		"old":         {"Origin": "https://evil.example.com"},
		"sandbox":     {"Origin": "null"},                  // what browsers also send under the Referrer-Policy no-referrer
		"by its name": {"Origin": "http://localhost:8420"}, // plain HTTP by a name of the network has no Sec-Fetch-Site
	} {
		r := request(http.MethodPost, "/release", confirmedForm(grant, "because").Encode())
		r.Header.Del("Sec-Fetch-Site")
		for header, value := range headers {
			r.Header.Set(header, value)
		}
		w, want := d.do(r), http.StatusForbidden
		if name == "by its name" {
			want, grant = http.StatusSeeOther, d.get(t, "customer:42", "JDOE", time.Hour)
		} else {
			check(t, w.Body.String(), "Nothing has happened", "Open the console by its own address", "pass the header Host on", `<a href="./">`)
		}
		if w.Code != want {
			t.Errorf("%s: status %d", name, w.Code)
		}
	}
	// No form by its address.
	if w := d.do(request(http.MethodGet, "/release?name=customer%3A42&"+confirmedForm(grant, "because").Encode(), "")); w.Code != http.StatusOK {
		t.Errorf("status %d", w.Code)
	}
	if w := d.do(request(http.MethodPost, "/release?"+confirmedForm(grant, "because").Encode(), "")); w.Code != http.StatusBadRequest {
		t.Errorf("a form in the address has status %d", w.Code)
	}
	if lock := d.holder(t, "customer:42"); lock.Fence != grant.Fence {
		t.Errorf("%+v", lock)
	}
}

// Goal: every answer forbids what the console does not need. Method: the headers of pages, files, errors and refusals, and the
// pages for what the policy would not let run.
func TestHeaders(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	d.get(t, "customer:42", "JDOE", time.Hour)
	inline := regexp.MustCompile(`(?i)<style|\sstyle=|<script[^>]*>[^<]|\son[a-z]+=|javascript:`)
	for _, address := range []string{"/", "/object?name=customer:42", "/transfer?name=customer:42", "/statistics", "/nonsense", "/style.css"} {
		w := d.do(request(http.MethodGet, address, ""))
		for header, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'", "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
		} {
			if !strings.HasPrefix(w.Header().Get(header), want) {
				t.Errorf("%s: %s is %q", address, header, w.Header().Get(header))
			}
		}
		if policy := w.Header().Get("Content-Security-Policy"); strings.Contains(policy, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s: %s", address, policy)
		}
		if found := inline.FindString(w.Body.String()); found != "" && address != "/style.css" {
			t.Errorf("%s has %q", address, found)
		}
		if len(w.Result().Cookies()) > 0 {
			t.Errorf("%s sets a cookie", address)
		}
		if strings.Contains(w.Body.String(), "JDOE") && w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s may be kept by a cache", address)
		}
	}
	r := request(http.MethodGet, "/", "")
	r.RemoteAddr = "10.0.0.7:1"
	if w := d.do(r); w.Header().Get("Content-Security-Policy") == "" {
		t.Error("a refusal has no policy")
	}
}

// attack would be a script, an attribute, or an address, wherever it is not escaped.
const attack = `"><script>alert(1)</script>'"javascript:x`

// turned begins with what would have a browser write the rest from right to left.
const turned = "\u202eABC"

// attacked are the forms in which an attack would have come through.
func attacked(page string) bool {
	page = regexp.MustCompile(`<script src="(script|ticks|keys)\.js" defer></script>`).ReplaceAllString(page, "")
	return strings.Contains(page, "<script") || regexp.MustCompile(`(?i)(?:href|src|action)="?\s*javascript:`).MatchString(page)
}

// Goal: no text of a lock, a waiter or the history runs in a page, or turns the words around it: each is isolated, and what would turn them is
// an escape. Method: an attack and a turning character in each of them, and all pages that show it.
func TestTextsOfLocksDoNoHarm(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text, shown string
		harmed      func(page string) bool
	}{
		"an attack": {attack, "&lt;script&gt;", attacked},
		"turned": {turned, `\u202eABC</bdi>`, func(page string) bool {
			outside := besideValues(page)
			return strings.ContainsFunc(outside, func(r rune) bool { return unicode.Is(unicode.Cf, r) }) || strings.Contains(outside, `\u202e`)
		}},
	} {
		for address, page := range pagesWith(t, test.text) {
			if test.harmed(page) {
				t.Errorf("%s: %s is harmed by it:\n%s", name, address, page)
			}
			if !strings.Contains(page, test.shown) {
				t.Errorf("%s: %s does not show it", name, address)
			}
		}
	}
}

// pagesWith returns all pages that show a text of a lock, with that text in every place.
func pagesWith(t *testing.T, text string) map[string]string {
	t.Helper()
	d := newDesk(t, supervisor())
	object := applock.Object{Type: "type" + strings.ReplaceAll(text, ":", "") /* ends the type */, ID: text}
	owner := applock.Owner{Operator: text, Department: text}
	if _, err := d.client.Get(t.Context(), applock.GetRequest{Object: object, Owner: owner, TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if err := d.client.SetPolicy(t.Context(), applock.SetPolicyRequest{Policy: applock.Policy{Type: object.Type}, Actor: "MLEE"}); err != nil {
		t.Fatal(err)
	}
	d.wait(t, object.String(), text)
	grant, err := d.client.Take(t.Context(), applock.TakeRequest{Object: object, Owner: owner, Reason: text})
	if err != nil {
		t.Fatal(err)
	}
	d.note(t, grant, text+"\n"+text)
	name, operator := url.QueryEscape(object.String()), url.QueryEscape(text)
	pages := map[string]string{}
	for _, address := range []string{
		"/", "/locks", "/locks?sort=-waiters&q=type", "/history?operator=" + operator, "/policies", "/object?name=" + name, "/operator?name=" + operator, "/waiters", "/people", "/history?reason=" + operator + "&since=7d",
		"/statistics", "/transfer?name=" + name, "/take?name=" + name, "/release?name=" + name, "/extend?name=" + name, "/note?name=" + name,
	} {
		pages[address] = d.see(t, address, http.StatusOK)
	}
	for _, verb := range access.Changes() {
		form := formOf(pages["/"+verb+"?name="+name])
		form.Set("reason", text+" ")
		form.Set("lasts", "1h")
		form.Set("to", "ASMITH")
		if verb == "transfer" {
			pages["form of "+verb] = d.submit("/"+verb, form).Body.String()
		}
		form.Set("unknown", "ASMITH")
		pages["plan of "+verb] = d.sends(t, "/"+verb, form, http.StatusOK)
		confirmed := formOf(pages["plan of "+verb])
		if !strings.Contains(confirmed.Get("lock"), operator) || confirmed.Get("reason") != text {
			t.Errorf("%s: the form does not carry what it was given: %v", verb, confirmed)
		}
		confirmed.Set("lock", "1"+confirmed.Get("lock"))
		pages["answer of "+verb] = d.sends(t, "/"+verb, confirmed, http.StatusConflict)
	}
	for _, verb := range access.ChangesOfMany() {
		pages["plan of a desk of "+verb] = d.sends(t, "/"+verb, deskForm(text, "ASMITH"), http.StatusOK)
		form := deskForm(text, "ASMITH")
		form.Set("reason", "")
		form.Set("lasts", "")
		pages["form of a desk of "+verb] = d.submit("/"+verb, form).Body.String()
	}
	pages["answer on a desk"] = d.sends(t, "/transfer", formOf(pages["plan of a desk of transfer"]), http.StatusOK)
	return pages
}

// besideValues returns what a page says outside of its title, its pictures and what is isolated.
func besideValues(page string) string {
	for _, part := range []string{`(?s)<title>.*?</title>`, `(?s)<svg.*?</svg>`, `<bdi>[^<]*</bdi>`, `<bdi class="cut"[^>]*><span>[^<]*</span><span>[^<]*</span></bdi>`, `(?s)<textarea.*?</textarea>`, `(?s)<[^>]*>`} {
		page = regexp.MustCompile(part).ReplaceAllString(page, "")
	}
	return page
}

// Goal: no parameter of an address runs in a page. Method: an attack in each parameter of each page.
func TestParametersDoNotRun(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	d.get(t, "customer:42", "JDOE", time.Hour)
	parameters := []string{
		"type", "prefix", "operator", "department", "no-department", "waiting", "older", "within", "sort", "after", "name", "desk", "id", "token", "q", "skip", "since", "event", "actor", "object", "reason", "offset", "all", "lasts",
	}
	for _, page := range []string{"/", "/locks", "/history", "/history.csv", "/people", "/requests", "/policies", "/object", "/operator", "/waiters", "/statistics", "/health", "/transfer", "/release", "/note", "/take", "/answer", "/nonsense"} {
		for _, parameter := range parameters {
			for _, value := range []string{attack, "a:" + attack, "javascript:alert(1)"} {
				w := d.do(request(http.MethodGet, page+"?"+url.Values{parameter: {value}}.Encode(), ""))
				if attacked(w.Body.String()) {
					t.Errorf("%s runs %s:\n%s", page, parameter, w.Body)
				}
			}
		}
	}
}

// Goal: a token lets one browser in, which goes on without it in its address and is known from then on; the next browser needs the next
// token, which is told to whoever has started the console. Method: browsers with and without cookies, and addresses that are used again.
func TestOneTimeToken(t *testing.T) {
	t.Parallel()
	local := Local("MLEE")
	var told []string
	local.Told = func(token string) { told = append(told, token) }
	c := newConsole(clients.New[*applock.Client](nil, nil, lease.Hooks{}), Config{SignIn: local})
	d := desk{handler: c.guarded()}
	first := local.Token()
	ask := func(address string, cookie *http.Cookie) *httptest.ResponseRecorder {
		r := request(http.MethodGet, address, "")
		if cookie != nil {
			r.AddCookie(cookie)
		}
		return d.do(r)
	}
	refused := func(what, address string, cookie *http.Cookie, status int) {
		t.Helper()
		w := ask(address, cookie)
		if w.Code != status || len(w.Result().Cookies()) > 0 {
			t.Errorf("%s: status %d, cookies %v", what, w.Code, w.Result().Cookies())
		}
		check(t, w.Body.String(), "<h1>", "the address that this console printed when it started")
	}
	refused("no token", "/nonsense", nil, http.StatusUnauthorized)
	refused("a wrong token", "/nonsense?token=x", nil, http.StatusForbidden)
	refused("an empty token", "/nonsense?token=", nil, http.StatusForbidden)
	post := request(http.MethodPost, "/nonsense?token="+first, "")
	if w := d.do(post); w.Code != http.StatusForbidden || local.Token() != first {
		t.Errorf("a form with the token: status %d", w.Code)
	}
	elsewhere := request(http.MethodGet, "/nonsense?token="+first, "")
	elsewhere.Host = "evil.example.com"
	if w := d.do(elsewhere); w.Code != http.StatusForbidden || local.Token() != first {
		t.Errorf("the token by another name: status %d", w.Code)
	}

	w := ask("/nonsense?sort=left&token="+first, nil)
	if location := w.Header().Get("Location"); w.Code != http.StatusSeeOther || location != "./nonsense?sort=left" || len(w.Result().Cookies()) != 1 {
		t.Fatalf("the token: status %d, to %q, cookies %v", w.Code, location, w.Result().Cookies())
	}
	cookie := w.Result().Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || strings.Contains(w.Header().Get("Set-Cookie"), first) {
		t.Errorf("the cookie %s", cookie)
	}
	if w := ask("/nonsense", cookie); w.Code != http.StatusNotFound {
		t.Errorf("with the cookie: status %d", w.Code)
	}
	refused("the token again", "/nonsense?token="+first, nil, http.StatusForbidden)
	refused("another cookie", "/nonsense", &http.Cookie{Name: cookie.Name, Value: "x"}, http.StatusUnauthorized)
	next := local.Token()
	if next == first || len(told) != 1 || told[0] != next {
		t.Errorf("the next token is %q, told %q", next, told)
	}
	// Who is known uses up nothing, and is not refused for an address from his history.
	for _, token := range []string{first, next} {
		if w := ask("/nonsense?token="+token, cookie); w.Code != http.StatusSeeOther || local.Token() != next {
			t.Errorf("a browser that is known: status %d", w.Code)
		}
	}
}

// Goal: what is kept of failures has an end, and made-up names do not end somebody's wait. Method: a name that waits, and more of them
// than are kept.
func TestFailuresAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		address := netip.MustParseAddr("10.0.0.1")
		for range failuresAllowed + 5 {
			l.attempt(address, "mlee", false)
			time.Sleep(waitAfter(failuresAllowed + 4))
		}
		l.attempt(address, "mlee", false)
		for i := range 2 * failuresKept {
			l.attempt(address, strconv.Itoa(i), false)
		}
		if len(l.failures) > failuresKept || l.attempt(address, "mlee", true) == 0 {
			t.Errorf("%d are kept, or the wait is forgotten", len(l.failures))
		}
		time.Sleep(longestWait + forgottenAfter + 1)
		if l.attempt(address, "mlee", false); l.attempt(address, "mlee", true) != 0 {
			t.Error("nothing is ever forgotten")
		}
	})
}

// Goal: many passwords tried at once are no more than one after the other. Method: attempts at once, and how many count.
func TestAttemptsAtOnce(t *testing.T) {
	t.Parallel()
	l := newLimiter()
	now := time.Now()
	l.now = func() time.Time { return now }
	var all sync.WaitGroup
	var counted atomic.Int32
	for range 100 {
		all.Go(func() {
			if l.attempt(netip.MustParseAddr("10.0.0.1"), "mlee", false) == 0 {
				counted.Add(1)
			}
		})
	}
	all.Wait()
	if got := counted.Load(); got != failuresAllowed+1 {
		t.Errorf("%d of 100 attempts count", got)
	}
}
