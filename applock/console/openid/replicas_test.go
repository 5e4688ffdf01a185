package openid

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock/console"
)

// Goal: a sign-in that one replica has begun ends at the other, both know the session, and what one hears of the issuer the other takes from the
// cookie. A session that was ended is so where that was asked. Method: two replicas with one key, and roles that change.
func TestReplicas(t *testing.T) {
	t.Parallel()
	p := newPlace(t, func(c *Config) { c.RolesClaim, c.Key = "groups", [32]byte{1} })
	two := p.replica()
	p.issuer.says(group("supervisors"))
	pending, asked := p.begin("waiters")
	answer := p.answer(asked)
	request := func(cookies ...*http.Cookie) *http.Request {
		r := httptest.NewRequest(http.MethodGet, "/signed-in?"+answer.Encode(), nil)
		for _, cookie := range cookies {
			r.AddCookie(cookie)
		}
		return r
	}
	w := httptest.NewRecorder()
	if page, err := two.Finish(w, request(pending)); err != nil || page != "waiters" {
		t.Fatalf("the other replica: %q, %v", page, err)
	}
	if _, _, err := p.finish(answer, pending); err == nil {
		t.Error("the issuer has accepted a code twice")
	}
	cookies := w.Result().Cookies()
	first := cookies[len(cookies)-1]
	is := func(s *SignIn, cookie *http.Cookie, roles string) {
		t.Helper()
		person, err := s.Identify(request(cookie))
		if got := strings.Join(person.Roles, " "); got != roles || (err == nil) != (roles != "") {
			t.Errorf("%s has the roles %q, want %q: %v", person.Name, got, roles, err)
		}
	}
	is(p.signIn, first, "supervisors")
	is(two, first, "supervisors")
	p.issuer.says(group("staff"))
	p.wait(DefaultRecheck)
	is(two, first, "staff")
	w = httptest.NewRecorder()
	two.Renew(w, request(first))
	if len(w.Result().Cookies()) != 1 {
		t.Fatalf("the cookies are %v", w.Result().Cookies())
	}
	renewed := w.Result().Cookies()[0]
	is(p.signIn, renewed, "staff") // whose old refresh token would be refused
	is(p.signIn, first, "staff")
	two.End(httptest.NewRecorder(), request(renewed))
	is(two, renewed, "")
	is(two, first, "")

	browser := p.browser()
	p.open(browser, "")
	before := p.session(browser)
	p.wait(DefaultRecheck)
	p.open(browser, "waiters")
	if after := p.session(browser); after.Value == before.Value {
		t.Error("a page does not tell the browser what the issuer has said")
	} else {
		is(two, after, "staff")
	}
}

// Goal: a session that does not fit into a cookie is as it was, here, and needs the issuer or a new sign-in elsewhere. Method: long refresh tokens and
// many roles.
func TestSessionsTooLongForACookie(t *testing.T) {
	t.Parallel()
	p := newPlace(t, func(c *Config) { c.Key = [32]byte{1} })
	other := p.replica()
	random := make([]byte, 4000)
	_, _ = rand.Read(random)
	long := hex.EncodeToString(random)
	for name, test := range map[string]struct {
		refresh, role            string
		elsewhere, refreshesThen bool
	}{
		"short":        {"short", "", true, true},
		"long refresh": {long, "", true, false},
		"long roles":   {"short", long, false, false},
	} {
		person := console.Person{Name: "mlee", Roles: []string{test.role}}
		begun := &session{ticket: ticket{ID: rand.Text(), Subject: "4711", Person: person, Refresh: test.refresh, Said: time.Now(), Until: time.Now().Add(time.Hour)}}
		p.signIn.sessions.adopt(begun.ID, begun, begun.Until, time.Now())
		w := httptest.NewRecorder()
		if err := p.signIn.setSession(w, begun.ticket); err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.AddCookie(w.Result().Cookies()[0])
		if person, err := p.signIn.Identify(r); err != nil || person.Roles[0] != test.role {
			t.Errorf("%s: here: %v", name, err)
		}
		if _, err := other.Identify(r); (err == nil) != test.elsewhere {
			t.Errorf("%s: elsewhere: %v", name, err)
		}
		if of, _ := other.sessionOf(r); (of.Refresh != "") != test.refreshesThen {
			t.Errorf("%s: elsewhere the refresh token is %q", name, of.Refresh)
		}
	}
}
