package console_test

import (
	"io"
	"log/slog"
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
	if strings.Contains(log.String(), "hush") || !strings.Contains(log.String(), "status=401") {
		t.Errorf("the log is %s", &log)
	}
}

// Goal: without a sign-in nobody gets in. Method: the zero value.
func TestProtectWithoutSignIn(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	console.Protect(nil, nil, http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/mcp", nil))
	if w.Code != http.StatusForbidden {
		t.Errorf("the status is %d", w.Code)
	}
}
