package console_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/applock/applock/applock/console"
)

// Goal: behind Protect are only those whom the sign-in knows, and nothing that another site's page has sent. Method: requests with and
// without a password, and with an Origin.
func TestProtect(t *testing.T) {
	t.Parallel()
	signIn, err := console.Basic(map[string]string{"agent-1": "hush"})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	handler := console.Protect(signIn, slog.New(slog.NewTextHandler(&log, nil)), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		person, known := console.PersonOf(r.Context())
		if !known {
			t.Error("nobody is known behind Protect")
		}
		_, _ = io.WriteString(w, person.Name)
	}))
	for _, c := range []struct {
		name, password, origin string
		status                 int
		body                   string
	}{
		{"agent-1", "hush", "", http.StatusOK, "agent-1"},
		{"agent-1", "wrong-hush", "", http.StatusUnauthorized, ""},
		{"", "", "", http.StatusUnauthorized, ""},
		{"agent-1", "hush", "https://evil.example.com", http.StatusForbidden, ""},
	} {
		r := httptest.NewRequest(http.MethodPost, "http://locks.example.com/mcp", strings.NewReader("{}"))
		if c.name != "" {
			r.SetBasicAuth(c.name, c.password)
		}
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != c.status || c.body != "" && w.Body.String() != c.body {
			t.Errorf("%+v: %d %q", c, w.Code, w.Body)
		}
		if challenge := w.Header().Get("WWW-Authenticate"); (challenge != "") != (c.status == http.StatusUnauthorized) {
			t.Errorf("%+v: the challenge is %q", c, challenge)
		}
	}
	for _, closed := range []http.Handler{console.Protect(nil, nil, handler), console.Handler(nil, console.Config{})} { // without a sign-in
		w := httptest.NewRecorder()
		if closed.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil)); w.Code != http.StatusForbidden {
			t.Errorf("without a sign-in the status is %d", w.Code)
		}
	}
	if strings.Contains(log.String(), "hush") || !strings.Contains(log.String(), "status=401") {
		t.Errorf("the log is %s", &log)
	}
}

// Goal: a page whose name leads to this host cannot send what a proxy of this host sends, and the refusal is in the log. Method: requests by
// several names to a loopback address, with and without a name of the server's own.
func TestByItsName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		address, host string
		status        int
	}{
		{"", "localhost:8420", http.StatusOK},
		{"", "[::1]:8420", http.StatusOK},
		{"", "evil.example.com", http.StatusForbidden},
		{"", "127.0.0.1.evil.example.com:8420", http.StatusForbidden},
		{"", "", http.StatusOK}, // the client's own, which is 127.0.0.1
		{"https://locks.example.com/", "LOCKS.example.com", http.StatusOK},
		{"https://locks.example.com/", "locks.example.com:443", http.StatusOK},
		{"https://locks.example.com/", "127.0.0.1", http.StatusOK},
		{"https://locks.example.com/", "evil.example.com", http.StatusForbidden},
	} {
		var log strings.Builder
		server := httptest.NewServer(console.ByItsName(c.address, slog.New(slog.NewTextHandler(&log, nil)), http.HandlerFunc(
			func(http.ResponseWriter, *http.Request) {})))
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = c.host
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		server.Close()
		if logged := strings.Contains(log.String(), "status=403"); answer.StatusCode != c.status || logged != (c.status == http.StatusForbidden) {
			t.Errorf("%+v: %d; the log is %s", c, answer.StatusCode, &log)
		}
	}
}

// Goal: a connection to an address of the network is not judged by its name. Method: a request that has come to one.
func TestByItsNameOfTheNetwork(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodGet, "http://locks.intern/", nil)
	w := httptest.NewRecorder()
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(10, 1, 0, 5), Port: 8420}))
	console.ByItsName("", nil, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Errorf("the status is %d", w.Code)
	}
}
