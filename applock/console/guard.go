package console

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"
)

// personKey is what the name of who asks is kept by in a request's context.
type personKey struct{}

func personOf(r *http.Request) string {
	person, _ := r.Context().Value(personKey{}).(string)
	return person
}

// guarded lets nobody in whom the sign-in does not know, and no form of another site.
func (c *console) guarded(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	signedIn := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		person, err := c.config.SignIn.Identify(r)
		if err != nil {
			c.refuse(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), personKey{}, person)))
	})
	inner := protection.Handler(signedIn)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header())
		inner.ServeHTTP(w, r)
	})
}

// setHeaders has the browser run, show and send nothing that is not the console's own, and keep nothing.
func setHeaders(header http.Header) {
	for name, value := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
			"form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
		"X-Frame-Options":              "DENY",
		"X-Content-Type-Options":       "nosniff",
		"Referrer-Policy":              "no-referrer",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Permissions-Policy":           "camera=(), geolocation=(), microphone=()",
		"Cache-Control":                "no-store",
	} {
		header.Set(name, value)
	}
}

func (c *console) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var refused *RefusedError
	if !errors.As(err, &refused) {
		c.config.Logger.ErrorContext(r.Context(), "console: sign in", slog.String("error", err.Error()))
		refused = &RefusedError{Status: http.StatusInternalServerError, Reason: c.texts["error.sign-in"]}
	}
	if refused.Challenge != "" {
		w.Header().Set("WWW-Authenticate", refused.Challenge)
	}
	if refused.RetryAfter > 0 {
		seconds := (refused.RetryAfter + time.Second - 1) / time.Second
		w.Header().Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
	http.Error(w, refused.Reason, refused.Status)
}
