package openid

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock/console"
)

// Goal: a program is known by a token of the issuer for this audience, and by nothing else. Method: tokens that differ from a good one in
// one thing each.
func TestBearer(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	bearer, err := NewBearer(t.Context(), Config{
		Issuer: i.URL, ClientID: "applock", Address: "https://locks.example.com/mcp", Client: i.Client(),
	}, "/.well-known/x")
	if err != nil {
		t.Fatal(err)
	}
	good := func(change func(claims map[string]any)) string {
		claims := map[string]any{
			"iss": i.URL, "aud": "applock", "sub": "4711", "preferred_username": "agent-1", "exp": time.Now().Add(time.Hour).Unix(),
		}
		change(claims)
		return "Bearer " + sign(claims, i.key)
	}
	same := func(map[string]any) {}
	for name, header := range map[string]string{
		"no token":         "",
		"another scheme":   "Basic eDp5",
		"no JWT":           "Bearer x",
		"another audience": good(func(claims map[string]any) { claims["aud"] = "others" }),
		"another issuer":   good(func(claims map[string]any) { claims["iss"] = "https://elsewhere.example.com" }),
		"ended":            good(func(claims map[string]any) { claims["exp"] = time.Now().Add(-time.Hour).Unix() }),
		"nameless":         good(func(claims map[string]any) { delete(claims, "preferred_username") }),
		"a name unseen":    good(func(claims map[string]any) { claims["preferred_username"] = "agent\u200b-1" }),
		"another key":      "Bearer " + sign(map[string]any{"iss": i.URL, "aud": "applock", "preferred_username": "agent-1"}, newKey(t)),
		"bent":             strings.Replace(good(same), ".", ".e", 1),
	} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.Header.Set("Authorization", header)
		_, err := bearer.Identify(r)
		var refused *console.RefusedError
		if !errors.As(err, &refused) || refused.Status != http.StatusUnauthorized ||
			refused.Challenge != `Bearer resource_metadata="https://locks.example.com/.well-known/x"` {
			t.Errorf("%s: %v, want 401 with the challenge", name, err)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	r.Header.Set("Authorization", good(func(claims map[string]any) { claims["aud"], claims["azp"] = []string{"applock", "x"}, "the agent" }))
	person, err := bearer.Identify(r)
	if err != nil || person.Name != "agent-1" {
		t.Errorf("a good token is %q, %v", person.Name, err)
	}
}
