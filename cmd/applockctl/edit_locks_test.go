package main

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
)

// opened sends what a page sends when it opens customer:42, or takes it from JDOE.
func (s servedConsole) opened(t *testing.T, route string, headers ...string) (status int, text string) {
	t.Helper()
	body := `{"object_type": "customer", "object_id": "42", "client_id": "a", "holder_id": "JDOE", "reason": "ill"}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.address+"edit/"+route, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Add(headers[i], headers[i+1])
	}
	answer, err := s.browser.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	told, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(told)
}

// Goal: behind a proxy pages have edit locks in the name of the person who has signed in there, and nobody else: neither by a header from outside of
// the proxy's networks nor by one too many, nor by a page of another site. Method: such requests, and who has the lock.
func TestConsoleServesEditLocks(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	proxied := []string{"--user-header", "X-User", "--may-change", "MLEE", "--edit-locks", "--proxy"}
	outside, s := serveConsole(t, u, append(proxied, "10.9.9.9/32")...), serveConsole(t, u, append(proxied, "127.0.0.0/8")...)
	refused := func(of servedConsole, want int, headers ...string) {
		t.Helper()
		if status, text := of.opened(t, "open", headers...); status != want || !strings.Contains(text, `"status":`) {
			t.Errorf("with %v: %d %s", headers, status, text)
		}
	}
	refused(outside, http.StatusUnauthorized, "X-User", "JDOE")
	refused(s, http.StatusUnauthorized)
	refused(s, http.StatusUnauthorized, "X-User", "BROWN", "X-User", "JDOE")
	refused(s, http.StatusUnauthorized, "X-User", "JD\u200bOE")
	refused(s, http.StatusForbidden, "X-User", "JDOE", "Sec-Fetch-Site", "cross-site")
	u.run(t, "inquire", "customer:42").check(t, exitNo)

	if status, text := s.opened(t, "open", "X-User", "JDOE"); status != http.StatusOK || !strings.Contains(text, `"holder_id":"JDOE"`) {
		t.Errorf("JDOE: %d %s", status, text)
	}
	if status, text := s.opened(t, "open", "X-User", "MLEE"); status != http.StatusConflict || !strings.Contains(text, `"take_fl":"Y"`) {
		t.Errorf("MLEE: %d %s", status, text)
	}
	refused(s, http.StatusConflict, "X-User", "BROWN")
	if status, text := s.opened(t, "take", "X-User", "BROWN"); status != http.StatusForbidden || !strings.Contains(text, "--may-change") {
		t.Errorf("BROWN takes: %d %s", status, text)
	}
	if status, text := s.fetch(t, "edit/applock.js", func(*http.Request) {}); status != http.StatusOK || !strings.Contains(text, "export") {
		t.Errorf("the script: %d %s", status, text)
	}
	u.run(t, "console", "--edit-locks").check(t, exitUsage, "--edit-locks is for --user-header and --oidc-issuer")
}

// Goal: people who have signed in at an issuer of OpenID Connect have edit locks in their name, and nobody else has. Method: an issuer of the test's
// own signs JDOE in; requests with and without the session's cookie, or the name that a proxy would give, and who has the lock.
func TestEditLocksOfAnIssuersPeople(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	var nonce string // of the sign-in that has begun
	issuer := newIssuer(t, func() string { return nonce })
	s := serveConsole(t, u, "--oidc-issuer", issuer, "--oidc-client", "locks", "--address", "https://locks.example.com/", "--edit-locks")
	s.browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	visit := func(page string, cookie *http.Cookie) (*url.URL, *http.Cookie) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.address+page, nil)
		if err != nil {
			t.Fatal(err)
		}
		if cookie != nil {
			request.AddCookie(cookie)
		}
		answer, err := s.browser.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		location, err := answer.Location()
		if err != nil || len(answer.Cookies()) == 0 {
			t.Fatalf("/%s: %v %v, %v", page, answer.Status, answer.Cookies(), err)
		}
		return location, answer.Cookies()[len(answer.Cookies())-1]
	}
	refused := func(headers ...string) {
		t.Helper()
		if status, text := s.opened(t, "open", headers...); status != http.StatusUnauthorized || !strings.Contains(text, `"status":401`) {
			t.Errorf("with %v: %d %s", headers, status, text)
		}
	}
	refused()
	refused("X-User", "JDOE")
	asked, begun := visit("sign-in", nil)
	nonce = asked.Query().Get("nonce")
	_, session := visit("signed-in?code=x&state="+asked.Query().Get("state"), begun)
	refused("Cookie", session.Name+"=x")
	u.run(t, "inquire", "customer:42").check(t, exitNo)
	if status, text := s.opened(t, "open", "Cookie", session.Name+"="+session.Value); status != http.StatusOK || !strings.Contains(text, `"holder_id":"JDOE"`) {
		t.Errorf("JDOE: %d %s", status, text)
	}
	u.run(t, "inquire", "customer:42").check(t, exitYes)
}

// newIssuer returns the address of an issuer that signs everybody in as JDOE, for the sign-in of a nonce.
func newIssuer(t *testing.T, nonce func() string) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	issuer := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "1", Algorithm: oidc.RS256}}}
	mux := http.NewServeMux()
	mux.Handle("/", issuer)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	issuer.SetIssuer(server.URL)
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, _ *http.Request) {
		claims := fmt.Sprintf(`{"iss": %q, "aud": "locks", "sub": "4711", "preferred_username": "JDOE", "nonce": %q, "exp": %d}`,
			server.URL, nonce(), time.Now().Add(time.Hour).Unix())
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"access_token": "x", "token_type": "Bearer", "id_token": oidctest.SignIDToken(key, "1", oidc.RS256, claims)})
	})
	return server.URL
}
