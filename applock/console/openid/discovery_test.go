package openid

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/applock/applock/applock/console"
)

// Goal: an issuer that is down when the console starts keeps nobody out once it answers, and a wrong issuer is refused at once. Method: an issuer that
// cuts connections off, fails, does not know the page, or is another one.
func TestIssuerIsDownAtStart(t *testing.T) {
	t.Parallel()
	var does atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch how := does.Load().(string); how {
		case "cut off":
			panic(http.ErrAbortHandler)
		case "fails":
			w.WriteHeader(http.StatusBadGateway)
		case "does not know the page":
			w.WriteHeader(http.StatusNotFound)
		default:
			_, _ = fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":"https://id.example.com/auth"}`, how)
		}
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(server.Close)
	config := Config{Issuer: server.URL, ClientID: "applock", Address: "https://locks.example.com/", Client: server.Client()}
	for _, down := range []string{"cut off", "fails"} {
		does.Store(down)
		signIn, err := New(t.Context(), config)
		if err != nil {
			t.Fatalf("%v: %v", down, err)
		}
		late := time.Duration(0)
		signIn.now = func() time.Time { return time.Now().Add(late) }
		begin := func() (string, error) {
			return signIn.Begin(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/sign-in", nil), "")
		}
		var refused *console.RefusedError
		if _, err := begin(); !errors.As(err, &refused) || refused.Status != http.StatusServiceUnavailable || refused.RetryAfter <= 0 || signIn.Ready(t.Context()) == nil {
			t.Errorf("%v: %v", down, err)
		}
		does.Store(server.URL)
		late = time.Minute
		if location, err := begin(); err != nil || !strings.HasPrefix(location, "https://id.example.com/auth?") || signIn.Ready(t.Context()) != nil {
			t.Errorf("%v, then up: %s, %v", down, location, err)
		}
	}
	for _, wrong := range []string{"does not know the page", "https://other.example.com"} {
		does.Store(wrong)
		if _, err := New(t.Context(), config); err == nil {
			t.Errorf("%v is accepted", wrong)
		}
	}
}
