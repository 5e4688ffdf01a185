package console

import (
	"crypto/rand"
	"crypto/subtle"
	"net/http"
	"net/netip"
	"strings"
	"sync"
)

// LocalSignIn is a SignIn for the person who has started the console: see [Local].
type LocalSignIn struct {
	// Told gets each token that replaces a used one, before the browser has its answer. The person who may open the next browser needs it.
	// Nil shows it to nobody. Set it before the console serves. It must be safe for concurrent use.
	Told func(token string)

	person string
	// session is the value of the browser's cookie, and cookie its name. Cookies are shared between the ports of a host, so each console
	// has a name of its own.
	cookie, session string

	mutex sync.Mutex
	token string
}

// Local lets in the browsers of this host that open the console's address with ?token= and the one-time [LocalSignIn.Token], all by one
// name; empty for those who may only look. Print that address where only the person reads it. A browser stays in until it is closed, or
// the console ends.
//
// It refuses what came from another host or through a proxy that says so, and what was asked by another name than localhost or a
// loopback address, as a hostile page does by DNS rebinding.
func Local(person string) *LocalSignIn {
	return &LocalSignIn{person: person, cookie: "applock-" + rand.Text()[:8], session: rand.Text(), token: rand.Text()}
}

// Token returns what lets the next browser in, once. It is safe for concurrent use.
func (l *LocalSignIn) Token() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.token
}

const howToGetIn = " Open the address that this console printed when it started: it ends in ?token= and works once. " +
	"After each use the next address is printed at the same place."

// Identify returns the person for a browser that has used a token.
func (l *LocalSignIn) Identify(r *http.Request) (Person, error) {
	if err := fromHere(r); err != nil {
		return Person{}, err
	}
	switch {
	case l.knows(r):
		return Person{Name: l.person}, nil
	case r.URL.Query().Has(tokenParameter):
		return Person{}, forbidden("This address was used before, or belongs to a console that has ended." + howToGetIn)
	}
	return Person{}, &RefusedError{Status: http.StatusUnauthorized, Reason: "This browser is not known here." + howToGetIn}
}

func (l *LocalSignIn) knows(r *http.Request) bool {
	cookie, err := r.Cookie(l.cookie)
	return err == nil && same(cookie.Value, l.session)
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

const tokenParameter = "token"

// exchange replaces the address' token by a cookie, and reports whether to redirect to the address without the token. A browser that has
// the cookie already does not use up the token: it may have opened the address twice.
func (l *LocalSignIn) exchange(w http.ResponseWriter, r *http.Request) bool {
	query := r.URL.Query()
	if r.Method != http.MethodGet || !query.Has(tokenParameter) || fromHere(r) != nil {
		return false
	}
	if l.knows(r) {
		return true
	}
	next, used := l.use(query.Get(tokenParameter))
	if !used {
		return false
	}
	if l.Told != nil {
		l.Told(next)
	}
	// Lax, so that links from other pages work. Not Secure: the connection stays within the host, without encryption.
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // see above
		Name: l.cookie, Value: l.session, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
	return true
}

func (l *LocalSignIn) use(token string) (next string, used bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if !same(token, l.token) {
		return "", false
	}
	l.token = rand.Text()
	return l.token, true
}

// fromHere refuses requests from other hosts, and those that name this one by a foreign name.
func fromHere(r *http.Request) error {
	address, err := remoteAddress(r)
	if err != nil || !address.IsLoopback() {
		return forbidden("Without a sign-in only browsers of this host get in. The person who runs the console can start it with a sign-in.")
	}
	for _, header := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"} {
		if r.Header.Get(header) != "" {
			return forbidden("Without a sign-in nobody gets in through a proxy. The person who runs the console can start it with a sign-in.")
		}
	}
	if !isLoopbackName(r.Host) {
		return forbidden("Without a sign-in this console has no other name than localhost. Open the address that it printed when it started.")
	}
	return nil
}

// isLoopbackName reports whether a host, with or without a port, is localhost or a loopback address.
func isLoopbackName(host string) bool {
	host = hostOf(host)
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && address.IsLoopback()
}

// nobody is the sign-in of a Config without one.
type nobody struct{}

func (nobody) Identify(*http.Request) (Person, error) {
	return Person{}, forbidden("Nobody gets in: this console has no sign-in. The program that serves it must set console.Config.SignIn.")
}
