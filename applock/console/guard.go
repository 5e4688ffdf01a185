package console

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/applock/applock/applock/console/internal/pages"
)

// guarded requires a sign-in, and refuses forms of other sites.
func (c *console) guarded() http.Handler {
	return sameOrigin(http.HandlerFunc(c.serve), func(w http.ResponseWriter, r *http.Request) {
		c.refuse(w, r, forbidden(c.pages.Text("error.origin")))
	})
}

// sameOrigin passes on requests that no other site's page has sent. It also limits the time for the body to arrive.
func sameOrigin(next http.Handler, refuse http.HandlerFunc) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(refuse)
	inner := protection.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header())
		if r.ContentLength != 0 {
			// The limit also covers a body that the server drains after a refusal. The server clears it once the body is read, so it
			// neither limits the page's work nor the connection's next request.
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyLimit)) // some writers lack it
		}
		inner.ServeHTTP(w, r)
	})
}

// identify returns the person of a request, with a name that is valid as an actor.
func identify(signIn SignIn, r *http.Request) (Person, error) {
	person, err := signIn.Identify(r)
	if err == nil && person.Name != "" {
		person.Name, err = PersonName(person.Name)
	}
	return person, err
}

// serve serves static files to everybody, and all else to people whom the sign-in knows.
func (c *console) serve(w http.ResponseWriter, r *http.Request) {
	for _, name := range pages.StaticFiles() {
		if r.Method == http.MethodGet && r.URL.Path == "/"+name {
			pages.ServeStatic(w, r, name)
			return
		}
	}
	sessions, hasSessions := c.config.SignIn.(Sessions)
	if hasSessions && c.served(w, r, sessions) {
		return
	}
	if local, is := c.config.SignIn.(*LocalSignIn); is && local.exchange(w, r) {
		c.sendOn(w, r, pageOf(withoutToken(r.URL)), nil)
		return
	}
	person, err := identify(c.config.SignIn, r)
	switch {
	case err == nil:
		if hasSessions {
			sessions.Renew(w, r)
		}
		c.siteOf(person).serve(w, r, person.Name)
	case hasSessions:
		c.sendToSignIn(w, r, err)
	default:
		c.refuse(w, r, err)
	}
}

// ByItsName protects a handler whose sign-in believes a proxy on this host against DNS rebinding: a page of another site, whose name leads
// to this host, must not be able to send the proxy's header.
//
// On a connection to a loopback address the request's host must be localhost, a loopback address, or the host of address. address is the
// server's URL as browsers see it, empty for none. Ports do not matter. Other requests get 403 and the reason as plain text. The logger,
// nil for none, has a line for each. The handler is safe for concurrent use.
func ByItsName(address string, logger *slog.Logger, next http.Handler) http.Handler {
	logger = cmp.Or(logger, slog.New(slog.DiscardHandler))
	own := ""
	if parsed, err := url.Parse(address); err == nil {
		own = parsed.Hostname()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		if local == nil || !isLoopbackName(local.String()) || isLoopbackName(r.Host) || own != "" && strings.EqualFold(hostOf(r.Host), own) {
			next.ServeHTTP(w, r)
			return
		}
		const reason = "This server does not know the host name of the request. Start it with --address and the URL that browsers use, " +
			"or make the proxy send the host name localhost."
		logRefusal(logger, r, http.StatusForbidden, "", reason)
		http.Error(w, reason, http.StatusForbidden)
	})
}

// setHeaders forbids the browser to run, embed or send anything from or to other sites, and to cache pages. The Referrer-Policy cannot be
// no-referrer: forms would carry "Origin: null", which is refused over plain HTTP, where Sec-Fetch-Site is missing.
func setHeaders(header http.Header) {
	for name, value := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
			"form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
		"X-Frame-Options":              "DENY",
		"X-Content-Type-Options":       "nosniff",
		"Referrer-Policy":              "same-origin",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Permissions-Policy":           "camera=(), geolocation=(), microphone=()",
		"Cache-Control":                "no-store",
	} {
		header.Set(name, value)
	}
}

// served serves the pages for signing in and out, and reports whether the request was for one.
func (c *console) served(w http.ResponseWriter, r *http.Request, sessions Sessions) bool {
	ctx, cancel := context.WithTimeout(r.Context(), c.config.Timeout)
	defer cancel()
	r = r.WithContext(ctx)
	switch r.Method + " " + r.URL.Path {
	case "GET /sign-in":
		page := r.URL.Query().Get("page")
		if len(page) > longestPage {
			page = ""
		}
		location, err := sessions.Begin(w, r, page)
		c.sendOn(w, r, location, err)
	case "GET /signed-in":
		page, err := sessions.Finish(w, r)
		c.sendOn(w, r, pageOf(page), err)
	case "POST /sign-out":
		sessions.End(w, r)
		c.pages.Write(w, r, pages.View{Template: "signedout"}, pages.Frame{Title: c.pages.Text("title.signed-out")})
	default:
		return false
	}
	return true
}

// sendOn redirects the browser, or shows the error with a link to begin again.
func (c *console) sendOn(w http.ResponseWriter, r *http.Request, location string, err error) {
	if err != nil {
		c.showSignIn(w, r, err)
		return
	}
	w.Header().Set("Location", location)
	w.WriteHeader(http.StatusSeeOther)
}

// longestPage is the longest address that a sign-in remembers in its cookie.
const longestPage = 500

// withoutToken returns an address that is safe to store or share.
func withoutToken(address *url.URL) string {
	query := address.Query()
	query.Del(tokenParameter)
	page := url.URL{Path: address.Path, RawQuery: query.Encode()}
	return page.String()
}

// pageOf makes any parameter an address of this console, relative to its mount point.
func pageOf(page string) string {
	parsed, err := url.Parse(page)
	if err != nil {
		return "./"
	}
	name := strings.Trim(parsed.Path, "/\\")
	if strings.ContainsAny(name, "/\\:") || name == ".." {
		return "./"
	}
	relative := url.URL{Path: "./" + name, RawQuery: parsed.Query().Encode()}
	return relative.String()
}

// sendToSignIn redirects a page's reader to the sign-in. It shows the refusal to a known person who may not enter. A form or a script's
// request is refused, since it cannot be repeated after the sign-in.
func (c *console) sendToSignIn(w http.ResponseWriter, r *http.Request, err error) {
	mode := r.Header.Get("Sec-Fetch-Mode")
	var refused *RefusedError
	unknown := errors.As(err, &refused) && refused.Status == http.StatusUnauthorized
	switch {
	case strings.Count(r.URL.Path, "/") > 1:
		c.showSignIn(w, r, &RefusedError{Status: http.StatusNotFound, Reason: c.pages.Text("error.no-page")})
	case !unknown || r.Method != http.MethodGet || mode != "" && mode != "navigate":
		c.showSignIn(w, r, err)
	default:
		c.sendOn(w, r, "sign-in?page="+url.QueryEscape(r.URL.RequestURI()), nil)
	}
}

func (c *console) showSignIn(w http.ResponseWriter, r *http.Request, err error) {
	c.showRefusal(w, r, err, "signedout", "title.sign-in")
}

func (c *console) refuse(w http.ResponseWriter, r *http.Request, err error) {
	c.showRefusal(w, r, err, "error", "error.title")
}

func (c *console) showRefusal(w http.ResponseWriter, r *http.Request, err error, template, title string) {
	refused := refusal(w, r, err, c.config.Logger, c.pages.Text("error.sign-in"))
	c.pages.Write(w, r, pages.View{Template: template, Status: refused.Status}, pages.Frame{Title: c.pages.Text(title), Data: refused.Reason})
}

// refusal returns the answer to a failed sign-in and logs the failure. An error that is no *RefusedError gets the text broken.
func refusal(w http.ResponseWriter, r *http.Request, err error, logger *slog.Logger, broken string) *RefusedError {
	var refused *RefusedError
	if !errors.As(err, &refused) {
		logger.ErrorContext(r.Context(), "console: sign in", slog.String("error", err.Error()))
		refused = &RefusedError{Status: http.StatusInternalServerError, Reason: broken}
	} else if refused.Status != http.StatusUnauthorized || r.Header.Get("Authorization") != "" { // a browser tries without a password first
		logRefusal(logger, r, refused.Status, refused.Person, refused.Reason)
	}
	if refused.RetryAfter > 0 {
		seconds := (refused.RetryAfter + time.Second - 1) / time.Second
		w.Header().Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
	if refused.Challenge != "" {
		w.Header().Set("WWW-Authenticate", refused.Challenge)
	}
	return refused
}

// logRefusal logs a refused request. It omits the address' parameters and the form, since either may contain a secret.
func logRefusal(logger *slog.Logger, r *http.Request, status int, person, reason string) {
	logger.WarnContext(r.Context(), "console: refused",
		slog.Int("status", status),
		slog.String("reason", reason),
		slog.String("person", person),
		slog.String("address", hostOf(r.RemoteAddr)),
		slog.String("method", r.Method),
		slog.String("page", r.URL.Path[:min(len(r.URL.Path), longestPage)]))
}

type personKey struct{}

// Protect puts the console's sign-in before a handler for programs. next gets the requests of people whom the sign-in knows, and [PersonOf]
// returns the person.
//
// All other requests get the status of the refusal and its reason as plain text, with a header WWW-Authenticate if the sign-in has a
// challenge. A request that a page of another site has sent gets 403. The logger, nil for none, has a line for each refusal, without a
// secret. A SignIn that sends browsers elsewhere (Sessions) lets no new person in here. The handler is safe for concurrent use.
func Protect(signIn SignIn, logger *slog.Logger, next http.Handler) http.Handler {
	signIn = cmp.Or[SignIn](signIn, nobody{})
	logger = cmp.Or(logger, slog.New(slog.DiscardHandler))
	refuse := func(w http.ResponseWriter, r *http.Request, err error) {
		refused := refusal(w, r, err, logger, "The sign-in has failed. The reason is in this program's log.")
		http.Error(w, refused.Reason, refused.Status)
	}
	return sameOrigin(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		person, err := identify(signIn, r)
		if err != nil {
			refuse(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), personKey{}, person)))
	}), func(w http.ResponseWriter, r *http.Request) {
		refuse(w, r, forbidden("Nothing has happened: a page of another site has sent this request."))
	})
}

// PersonOf returns who asks, in a handler behind [Protect].
func PersonOf(ctx context.Context) (Person, bool) {
	person, known := ctx.Value(personKey{}).(Person)
	return person, known
}
