package openid

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/applock/console"
)

// Goal: an issuer that is down when the console starts keeps nobody out once it answers, and a wrong issuer is refused at once. Method: an issuer that
// cuts connections off, fails, does not know the page, or is another one.
func TestIssuerIsDownAtStart(t *testing.T) {
	t.Parallel()
	var mutex sync.Mutex
	var does any
	set := func(how any) {
		mutex.Lock()
		defer mutex.Unlock()
		does = how
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mutex.Lock()
		how := does
		mutex.Unlock()
		switch how {
		case "cut off":
			panic(http.ErrAbortHandler)
		case http.StatusBadGateway, http.StatusNotFound:
			w.WriteHeader(how.(int))
		default:
			_, _ = fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":"https://id.example.com/auth"}`, how)
		}
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(server.Close)
	config := Config{Issuer: server.URL, ClientID: "applock", Address: "https://locks.example.com/", Client: server.Client()}
	for _, down := range []any{"cut off", http.StatusBadGateway} {
		set(down)
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
		set(server.URL)
		late = time.Minute
		if location, err := begin(); err != nil || !strings.HasPrefix(location, "https://id.example.com/auth?") || signIn.Ready(t.Context()) != nil {
			t.Errorf("%v, then up: %s, %v", down, location, err)
		}
	}
	for _, wrong := range []any{http.StatusNotFound, "https://other.example.com"} {
		set(wrong)
		if _, err := New(t.Context(), config); err == nil {
			t.Errorf("%v is accepted", wrong)
		}
	}
}
