package console

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/clients"
)

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
