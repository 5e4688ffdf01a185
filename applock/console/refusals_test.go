package console

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"
)

// logged is a console with a log, for people whom a proxy on this host names.
func logged(t *testing.T) (d desk, log *bytes.Buffer) {
	t.Helper()
	signIn, err := TrustedHeader("X-User", "X-Groups", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	if err != nil {
		t.Fatal(err)
	}
	log = &bytes.Buffer{}
	return newDesk(t, Config{
		SignIn: signIn, MayChange: func(person string) bool { return person == "MLEE" }, Logger: slog.New(slog.NewTextHandler(log, nil)),
	}), log
}

// byName is a form that a browser sends by plain HTTP and by a name of the network: there is no Sec-Fetch-Site, and the Origin is what
// the page's Referrer-Policy allows.
func byName(address string, form url.Values) *http.Request {
	r := request(http.MethodPost, address, form.Encode())
	r.Host = "locks.intern:8420"
	r.Header.Del("Sec-Fetch-Site")
	r.Header.Set("Origin", "http://locks.intern:8420")
	r.Header.Set("X-User", "MLEE")
	return r
}

// Goal: forms work over plain HTTP by a name of the network, and a form that is refused is answered by a page that says what to do.
// Method: the headers that chromium sends by such a name; tools/browser has it in a browser.
func TestFormsByANameOfTheNetwork(t *testing.T) {
	t.Parallel()
	d, _ := logged(t)
	grant := d.get(t, "customer:42", "JDOE", time.Hour)
	form := confirmedForm(grant, "JDOE is ill")
	form.Del("confirmed")
	r := byName("/release", form)
	w := d.do(r)
	if policy := w.Header().Get("Referrer-Policy"); w.Code != http.StatusSeeOther || policy != "same-origin" {
		t.Errorf("status %d, and the policy %q has browsers send Origin: null", w.Code, policy)
	}
	r = byName("/release", form)
	r.Header.Set("Origin", "null")
	w = d.do(r)
	if w.Code != http.StatusForbidden || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
		t.Errorf("Origin: null has status %d, %s", w.Code, w.Header().Get("Content-Type"))
	}
	check(t, w.Body.String(), "<h1>", "Nothing has happened", "Open the console by its own address", "pass the header Host on", `<a href="./">`)
}

// Goal: two user headers, or two roles headers, are refused, with a page that names the header and what the proxy has to do. Method: a
// proxy that appends its header to that of the browser.
func TestDoubledHeaders(t *testing.T) {
	t.Parallel()
	d, _ := logged(t)
	for header, users := range map[string][]string{"X-Groups": {"MLEE"}, "X-User": {"EVE", "MLEE"}} {
		r := request(http.MethodGet, "/", "")
		r.Header["X-User"] = users
		r.Header["X-Groups"] = []string{"supervisors", "staff"}
		w := d.do(r)
		if w.Code != http.StatusForbidden {
			t.Errorf("two of %s: status %d", header, w.Code)
		}
		check(t, w.Body.String(), "<h1>", "The header "+header+" came 2 times", "replace this header")
	}
	r := request(http.MethodGet, "/", "")
	r.Header.Set("X-User", "MLEE")
	if w := d.do(r); w.Code != http.StatusOK {
		t.Errorf("somebody without roles: status %d", w.Code)
	}
}

// Goal: each refusal leaves a line in the log, which names the person if one is known, the address and the page, and has no secret.
// Method: forms of somebody who may only look, of another origin, and without a name; and wrong passwords.
func TestRefusalsAreLogged(t *testing.T) {
	t.Parallel()
	d, log := logged(t)
	grant := d.get(t, "customer:42", "JDOE", time.Hour)
	form := confirmedForm(grant, "secret").Encode()
	says := func(want ...string) {
		t.Helper()
		if strings.Count(log.String(), "\n") != 1 {
			t.Errorf("not one line:\n%s", log)
		}
		for _, text := range append(want, "level=WARN", "console: refused", "address=127.0.0.1", "page=/release") {
			if !strings.Contains(log.String(), text) {
				t.Errorf("lacks %s:\n%s", text, log)
			}
		}
		if strings.Contains(log.String(), "secret") {
			t.Errorf("it has a secret:\n%s", log)
		}
		log.Reset()
	}
	r := request(http.MethodPost, "/release?token=secret", form)
	r.Header.Set("X-User", "PKING")
	d.do(r)
	says("person=PKING", "status=403", "method=POST")
	r = request(http.MethodPost, "/release", form)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	d.do(r)
	says("status=403", "another site")
	d.do(request(http.MethodGet, "/release", ""))
	says("status=403", "method=GET")

	signIn, err := Basic(map[string]string{"mlee": "right"})
	if err != nil {
		t.Fatal(err)
	}
	d = newDesk(t, Config{SignIn: signIn, Logger: slog.New(slog.NewTextHandler(log, nil))})
	d.do(request(http.MethodGet, "/release", ""))
	if log.Len() > 0 {
		t.Errorf("a browser that asks for the sign-in is logged: %s", log)
	}
	for name, want := range map[string]string{"mlee": "person=mlee", "secret as a name": "status=401"} {
		r := request(http.MethodGet, "/release", "")
		r.SetBasicAuth(name, "secret")
		d.do(r)
		says(want, "status=401")
	}
}

// Goal: the log names whom a lock was given to. Method: a transfer of a lock, and of a desk.
func TestTransfersAreLoggedWithTheirTarget(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	config := supervisor()
	config.Logger = slog.New(slog.NewTextHandler(&log, nil))
	d := newDesk(t, config)
	form := confirmedForm(d.get(t, "customer:42", "JDOE", time.Hour), "JDOE is ill")
	form.Set("to", "ASMITH")
	d.submit("/transfer", form)
	d.get(t, "order:7", "JDOE", time.Hour)
	_, plan := d.follow(t, d.submit("/transfer", deskForm("JDOE", "PKING")))
	d.submit("/transfer", formOf(plan))
	for _, want := range []string{"to=ASMITH", "to=PKING"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("lacks %s:\n%s", want, log.String())
		}
	}
}

// Goal: a form for a page that takes none is refused with what is allowed, and not as a page that is missing. Method: methods and pages.
func TestMethods(t *testing.T) {
	t.Parallel()
	d := newDesk(t, supervisor())
	for _, test := range []struct {
		method, page, allow string
		status              int
	}{
		{http.MethodPost, "/", "GET, HEAD", http.StatusMethodNotAllowed},
		{http.MethodPut, "/waiters", "GET, HEAD", http.StatusMethodNotAllowed},
		{http.MethodDelete, "/release", "GET, HEAD, POST", http.StatusMethodNotAllowed},
		{http.MethodPost, "/nonsense", "", http.StatusNotFound},
		{http.MethodGet, "/nonsense", "", http.StatusNotFound},
		{http.MethodHead, "/", "", http.StatusOK},
	} {
		r := request(test.method, test.page, "")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		w := d.do(r)
		if w.Code != test.status || w.Header().Get("Allow") != test.allow || !strings.Contains(w.Body.String(), "<h1") {
			t.Errorf("%s %s: status %d, Allow %q", test.method, test.page, w.Code, w.Header().Get("Allow"))
		}
	}
}
