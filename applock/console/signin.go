package console

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/pages"
)

// Person is who asks.
type Person struct {
	// Name is what the history will have: 1 to applock.MaxOperatorLength characters, empty for somebody who may only look.
	Name string
	// Roles are the person's, as the sign-in calls them, in any order. Those that Config.Roles does not name mean nothing.
	Roles []string
}

// SignIn identifies people.
type SignIn interface {
	// Identify returns the person of a request. It returns a *RefusedError for a person who may not even look. It must be safe for
	// concurrent use.
	Identify(r *http.Request) (Person, error)
}

// Sessions is a SignIn that sends browsers elsewhere to sign in, and knows them by a cookie from then on, such as that of
// applock/console/openid. Its methods must be safe for concurrent use.
type Sessions interface {
	SignIn
	// Begin returns the address where the browser is to sign in, to come back to the console's page signed-in. The page is where it
	// wants to go.
	Begin(w http.ResponseWriter, r *http.Request, page string) (location string, err error)
	// Finish begins a session when the browser has come back, and returns the page that Begin was given. The browser shows a *RefusedError
	// with a way to begin again.
	Finish(w http.ResponseWriter, r *http.Request) (page string, err error)
	// Renew is called for each request of a known person, before the answer is written: it may set the session's cookie anew.
	Renew(w http.ResponseWriter, r *http.Request)
	// End ends the session.
	End(w http.ResponseWriter, r *http.Request)
}

// RefusedError says that somebody does not get in. Its text is shown.
type RefusedError struct {
	// Status is that of the answer.
	Status int
	// Challenge is the header WWW-Authenticate; empty for none.
	Challenge string
	// RetryAfter is when to try again; zero for no such advice.
	RetryAfter time.Duration
	// Person is who was refused, for the log: somebody that the sign-in knows, and no text that a form or a header has for a name,
	// which may be a password. Empty for nobody that is known.
	Person string
	Reason string
}

// Error returns the reason.
func (e *RefusedError) Error() string { return e.Reason }

func forbidden(reason string) error {
	return &RefusedError{Status: http.StatusForbidden, Reason: reason}
}

func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}

func remoteAddress(r *http.Request) (netip.Addr, error) {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return from.Addr().Unmap().WithZone(""), err
}

// TrustedHeader takes the person's name from a header that a proxy sets after it has signed the person in, such as X-Forwarded-User. A
// second header, which roles names, has the person's roles separated by commas, such as X-Forwarded-Groups; empty for none.
//
// Only requests from the networks of the proxy are let in. The proxy must remove both headers from what it gets itself. If the proxy is on
// this host, put [ByItsName] before the handler. It returns *applock.InvalidError (ErrInvalid) without a header or a network.
func TrustedHeader(header, roles string, networks []netip.Prefix) (SignIn, error) {
	if strings.TrimSpace(header) == "" {
		return nil, &applock.InvalidError{Argument: "header", Reason: "must not be empty"}
	}
	if len(networks) == 0 {
		return nil, &applock.InvalidError{Argument: "networks", Reason: "must name the networks of the proxy"}
	}
	return trustedHeader{header: http.CanonicalHeaderKey(header), roles: http.CanonicalHeaderKey(roles), networks: slices.Clone(networks)}, nil
}

type trustedHeader struct {
	header, roles string
	networks      []netip.Prefix
}

func (t trustedHeader) Identify(r *http.Request) (Person, error) {
	address, err := remoteAddress(r)
	trusted := func(network netip.Prefix) bool { return network.Contains(address) }
	if err != nil || !slices.ContainsFunc(t.networks, trusted) {
		return Person{}, forbidden("This console is reached only through the proxy that signs people in.")
	}
	values := r.Header.Values(t.header)
	if len(values) == 0 {
		return Person{}, forbidden("The proxy has not named the person: the header " + t.header + " is missing. " +
			"Ask the person who runs the proxy to set it.")
	}
	if err := t.once(r); err != nil {
		return Person{}, err
	}
	name, err := PersonName(values[0])
	if err != nil {
		return Person{}, err
	}
	person := Person{Name: name}
	if t.roles != "" {
		for role := range strings.SplitSeq(r.Header.Get(t.roles), ",") {
			person.Roles = append(person.Roles, strings.TrimSpace(role))
		}
	}
	return person, nil
}

// once refuses a header that occurs twice. Behind a proxy that appends its own header, people could choose their name.
func (t trustedHeader) once(r *http.Request) error {
	for _, header := range []string{t.header, t.roles} {
		if times := len(r.Header[header]); times > 1 {
			return forbidden(fmt.Sprintf("The header %s came %d times, so the console cannot tell which one is the proxy's. "+
				"Ask the person who runs the proxy to replace this header in each request.", header, times))
		}
	}
	return nil
}

// PersonName returns the name without blanks around it. It returns a *RefusedError that says why for a name that is empty, longer than
// applock.MaxOperatorLength, not UTF-8, or has a character that is not seen, by which two names would look alike. All pages check the names
// of a SignIn by it; a SignIn that has sessions begins none for such a name.
func PersonName(name string) (string, error) {
	name = strings.TrimSpace(name)
	why := ""
	length, odd := utf8.RuneCountInString(name), strings.IndexFunc(name, lookalike)
	switch {
	case name == "":
		why = "is empty"
	case length > applock.MaxOperatorLength:
		why = fmt.Sprintf("has %d characters", length)
	case !utf8.ValidString(name):
		why = "is not written in UTF-8"
	case odd >= 0:
		r, _ := utf8.DecodeRuneInString(name[odd:])
		why = fmt.Sprintf("has the character %U, which is not seen", r)
	default:
		return name, nil
	}
	const reason = "The name %s. A name has 1 to %d characters that can be printed. Ask the person who runs the sign-in to change it."
	return "", forbidden(fmt.Sprintf(reason, why, applock.MaxOperatorLength))
}

// lookalike reports whether a name with this character could look like another: one that is not seen, or a blank of another kind.
func lookalike(r rune) bool { return pages.Unseen(r) || !unicode.IsPrint(r) || r == '\u2800' }

// Basic asks the browser for a name and a password. It is for trials: the password is readable on an unencrypted
// connection. After five failures a name waits at that address, a second first, then twice as long after each failure, up to
// 15 minutes; other names there do not wait, and neither does the name elsewhere. It returns
// *applock.InvalidError (ErrInvalid) without users, for names that cannot be actors, and for empty passwords.
func Basic(passwords map[string]string) (SignIn, error) {
	if len(passwords) == 0 {
		return nil, &applock.InvalidError{Argument: "passwords", Reason: "must name somebody"}
	}
	b := &basic{sums: map[string][sha256.Size]byte{}, limiter: newLimiter()}
	for name, password := range passwords {
		if checked, err := PersonName(name); err != nil || checked != name || strings.Contains(name, ":") || password == "" {
			const reason = "has an empty password, or a name that is empty, too long or not printable"
			return nil, &applock.InvalidError{Argument: "passwords", Reason: reason}
		}
		b.sums[name] = sha256.Sum256([]byte(password))
	}
	return b, nil
}

type basic struct {
	*limiter
	sums map[string][sha256.Size]byte
}

func (b *basic) Identify(r *http.Request) (Person, error) {
	address, err := remoteAddress(r)
	if err != nil {
		return Person{}, forbidden("The address of this request is unknown.")
	}
	refused := &RefusedError{
		Status: http.StatusUnauthorized, Challenge: `Basic realm="applock", charset="UTF-8"`,
		Reason: "Type your name and password. If you have none, ask the person who runs this console.",
	}
	name, password, given := r.BasicAuth()
	if !given { // a browser tries without a password first
		return Person{}, refused
	}
	right := b.knows(name, password)
	wait := b.attempt(address, name, right)
	if right && wait == 0 {
		return Person{Name: name}, nil
	}
	if wait > 0 {
		refused = &RefusedError{
			Status: http.StatusTooManyRequests, RetryAfter: wait,
			Reason: fmt.Sprintf("This name was tried with wrong passwords here too often: try again in %s.", pages.Lasting(wait+time.Second-1)),
		}
	}
	if _, known := b.sums[name]; known {
		refused.Person = name
	}
	return Person{}, refused
}

// knows takes equally long for an unknown name and for a wrong password.
func (b *basic) knows(name, password string) bool {
	want, known := b.sums[name]
	got := sha256.Sum256([]byte(password))
	same := subtle.ConstantTimeCompare(want[:], got[:]) == 1
	return same && known
}
