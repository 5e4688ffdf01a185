package console

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

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
	for name, test := range map[string]struct {
		remote string
		names  []string
		want   string
	}{
		"the proxy":  {"10.1.2.3:9", []string{"mlee"}, "mlee"},
		"as IPv6":    {"[::ffff:10.1.2.3]:9", []string{" mlee "}, "mlee"},
		"no proxy":   {"10.2.2.3:9", []string{"mlee"}, ""},
		"loopback":   {"127.0.0.1:9", []string{"mlee"}, ""},
		"no header":  {"10.1.2.3:9", nil, ""},
		"two":        {"10.1.2.3:9", []string{"eve", "mlee"}, ""},
		"empty":      {"10.1.2.3:9", []string{""}, ""},
		"long":       {"10.1.2.3:9", []string{strings.Repeat("x", 65)}, ""},
		"a control":  {"10.1.2.3:9", []string{"m\x1blee"}, ""},
		"unseen":     {"10.1.2.3:9", []string{"m\u200blee"}, ""},
		"turned":     {"10.1.2.3:9", []string{"\u202eeelm"}, ""},
		"a hard one": {"10.1.2.3:9", []string{"m\u00a0lee"}, ""},
		"a blank":    {"10.1.2.3:9", []string{"m\u2800lee"}, ""},
		"a name":     {"10.1.2.3:9", []string{"Zoë O’Neill-王 محمد"}, "Zoë O’Neill-王 محمد"},
		"not UTF-8":  {"10.1.2.3:9", []string{"m\xfflee"}, ""},
		"no address": {"@", []string{"mlee"}, ""},
	} {
		r := request(http.MethodGet, "/", "")
		r.RemoteAddr = test.remote
		r.Header["X-Forwarded-User"] = test.names
		r.Header["X-Groups"] = []string{"a, b,c"}
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
		"cross-site": {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example.com"},
		"same-site":  {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost:9999"},
		"old":        {"Origin": "https://evil.example.com"},
		"sandbox":    {"Origin": "null"},
	} {
		r := request(http.MethodPost, "/release", confirmedForm(grant, "because").Encode())
		r.Header.Del("Sec-Fetch-Site")
		for header, value := range headers {
			r.Header.Set(header, value)
		}
		if w := d.do(r); w.Code != http.StatusForbidden {
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

// attacked are the forms in which an attack would have come through.
func attacked(page string) bool {
	page = regexp.MustCompile(`<script src="(script|keys)\.js" defer></script>`).ReplaceAllString(page, "")
	return strings.Contains(page, "<script") || regexp.MustCompile(`(?i)(?:href|src|action)="?\s*javascript:`).MatchString(page)
}

// Goal: no text of a lock, a waiter or the history runs in a page. Method: an attack in each of them, and all pages that
// show it.
func TestTextsOfLocksDoNotRun(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Config{SignIn: Local(attack), MayChange: func(string) bool { return true }})
	object := applock.Object{Type: strings.ReplaceAll(attack, ":", "") /* ends the type */, ID: attack}
	grant, err := d.client.Get(t.Context(), applock.GetRequest{Object: object, Owner: applock.Owner{Operator: attack, Department: attack}})
	if err != nil {
		t.Fatal(err)
	}
	d.wait(t, object.String(), attack)
	if grant, err = d.client.Transfer(t.Context(), applock.TransferRequest{
		Object: object, From: attack, To: grant.Owner, Actor: attack, Reason: attack,
	}); err != nil {
		t.Fatal(err)
	}
	d.note(t, grant, attack)
	name := url.QueryEscape(object.String())
	pages := map[string]string{}
	for _, address := range []string{
		"/", "/locks", "/locks?sort=waiters", "/locks?q=script", "/history", "/object?name=" + name, "/operator?name=" + url.QueryEscape(attack), "/waiters", "/statistics",
		"/transfer?name=" + name, "/take?name=" + name, "/release?name=" + name, "/note?name=" + name,
	} {
		pages[address] = d.see(t, address, http.StatusOK)
	}
	for _, verb := range access.Changes() {
		form := formOf(pages["/"+verb+"?name="+name])
		form.Set("reason", attack)
		form.Set("to", attack)
		form.Set("department", attack)
		_, plan := d.follow(t, d.submit("/"+verb, form))
		pages["plan of "+verb] = plan
		if confirmed := formOf(plan); !strings.Contains(confirmed.Get("lock"), url.QueryEscape(attack)) || confirmed.Get("reason") != attack {
			t.Errorf("%s: the form does not carry what it was given: %v", verb, confirmed)
		}
	}
	for _, verb := range access.ChangesOfMany() {
		form := deskForm(attack, attack)
		form.Set("reason", attack)
		form.Set("department", attack)
		_, pages["plan on a desk of "+verb] = d.follow(t, d.submit("/"+verb, form))
		form.Set("reason", "")
		pages["form on a desk of "+verb] = d.submit("/"+verb, form).Body.String()
	}
	_, pages["answer on a desk"] = d.follow(t, d.submit("/transfer", formOf(pages["plan on a desk of transfer"])))
	_, pages["answer"] = d.follow(t, d.submit("/transfer", formOf(pages["plan of transfer"])))
	for address, page := range pages {
		if attacked(page) {
			t.Errorf("%s runs it:\n%s", address, page)
		}
		if !strings.Contains(page, "&lt;script&gt;") {
			t.Errorf("%s does not show it", address)
		}
	}
}

// Goal: no parameter of an address runs in a page. Method: an attack in each parameter of each page.
func TestParametersDoNotRun(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	d.get(t, "customer:42", "JDOE", time.Hour)
	parameters := []string{
		"type", "prefix", "operator", "department", "no-department", "waiting", "older", "within", "sort", "after", "name", "desk", "id", "token", "q", "skip", "since",
	}
	for _, page := range []string{"/", "/locks", "/history", "/policies", "/object", "/operator", "/waiters", "/statistics", "/health", "/transfer", "/release", "/note", "/take", "/answer", "/nonsense"} {
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

// Goal: what the database's client says stays in the log. Method: a database that cannot be reached, whose DSN has a password.
func TestErrorsTellNoSecret(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	d := newDesk(t, Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	_ = clients.Driver(d.client).Close()
	w := d.do(request(http.MethodGet, "/", ""))
	if w.Code < http.StatusInternalServerError || strings.Contains(w.Body.String(), "applock.db") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("the log has %q", log.String())
	}
}
