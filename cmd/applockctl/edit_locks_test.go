package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
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
