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
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/applock/applock/applock"
)

// SignIn tells who asks.
type SignIn interface {
	// Identify returns the name of who asks, which the history will have: 1 to applock.MaxOperatorLength characters, empty for
	// somebody who may only look. It returns a *RefusedError for who may not even do that. It must be safe for
	// concurrent use.
	Identify(r *http.Request) (person string, err error)
}

// RefusedError says that somebody does not get in. Its text is shown.
type RefusedError struct {
	// Status is that of the answer.
	Status int
	// Challenge is the header WWW-Authenticate; empty for none.
	Challenge string
	// RetryAfter is when to try again; zero for no such advice.
	RetryAfter time.Duration
	Reason     string
}

// Error returns the reason.
func (e *RefusedError) Error() string { return e.Reason }

func forbidden(reason string) error {
	return &RefusedError{Status: http.StatusForbidden, Reason: reason}
}

// Local lets the browsers of this host in, all by one name; empty for those who may only look. It refuses what came through
// a proxy, which would make everybody local, and what was asked by another name than localhost or a loopback address, as a
// page of somebody else does that has its name lead here.
func Local(person string) SignIn { return local(person) }

type local string

func (l local) Identify(r *http.Request) (string, error) {
	address, err := remoteAddress(r)
	if err != nil || !address.IsLoopback() {
		return "", forbidden("Without a sign-in only this host gets in.")
	}
	for _, header := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"} {
		if r.Header.Get(header) != "" {
			return "", forbidden("Without a sign-in nobody gets in through a proxy.")
		}
	}
	if !isLoopbackName(r.Host) {
		return "", forbidden("Without a sign-in this is localhost, and has no other name.")
	}
	return string(l), nil
}

// isLoopbackName reports whether a host, with or without a port, is this one by its name.
func isLoopbackName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && address.IsLoopback()
}

func remoteAddress(r *http.Request) (netip.Addr, error) {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return from.Addr().Unmap().WithZone(""), err
}

// TrustedHeader takes the name of who asks from a header that a proxy sets, such as X-Forwarded-User, after it has
// signed the person in. Only requests from the networks of the proxy are let in. The proxy must remove the header
// from what it gets itself. It returns *applock.InvalidError (ErrInvalid) without a header or a network.
func TrustedHeader(header string, networks []netip.Prefix) (SignIn, error) {
	if strings.TrimSpace(header) == "" {
		return nil, &applock.InvalidError{Argument: "header", Reason: "must not be empty"}
	}
	if len(networks) == 0 {
		return nil, &applock.InvalidError{Argument: "networks", Reason: "must name those of the proxy"}
	}
	return trustedHeader{header: http.CanonicalHeaderKey(header), networks: slices.Clone(networks)}, nil
}

type trustedHeader struct {
	header   string
	networks []netip.Prefix
}

func (t trustedHeader) Identify(r *http.Request) (string, error) {
	address, err := remoteAddress(r)
	trusted := func(network netip.Prefix) bool { return network.Contains(address) }
	if err != nil || !slices.ContainsFunc(t.networks, trusted) {
		return "", forbidden("This is reached through the proxy that signs people in.")
	}
	values := r.Header.Values(t.header)
	if len(values) != 1 {
		return "", forbidden("The proxy has not said who asks.")
	}
	return checkedPerson(values[0])
}

// checkedPerson returns a name that can be an actor of the history.
func checkedPerson(name string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" || !utf8.ValidString(name) || utf8.RuneCountInString(name) > applock.MaxOperatorLength ||
		strings.ContainsFunc(name, unicode.IsControl) {
		return "", forbidden(fmt.Sprintf("A name has 1 to %d characters that can be printed.", applock.MaxOperatorLength))
	}
	return name, nil
}

// Basic asks the browser for a name and a password. It is for trials: whoever can read the connection reads the password,
// where nothing encrypts it. After ten failures an address is refused for a minute. It returns
// *applock.InvalidError (ErrInvalid) without users, for names that cannot be actors, and for empty passwords.
func Basic(passwords map[string]string) (SignIn, error) {
	if len(passwords) == 0 {
		return nil, &applock.InvalidError{Argument: "passwords", Reason: "must name somebody"}
	}
	b := &basic{sums: map[string][sha256.Size]byte{}, failures: map[netip.Addr]failures{}, now: time.Now}
	for name, password := range passwords {
		if checked, err := checkedPerson(name); err != nil || checked != name || strings.Contains(name, ":") || password == "" {
			return nil, &applock.InvalidError{Argument: "passwords", Reason: "has an empty password, or a name that cannot be one"}
		}
		b.sums[name] = sha256.Sum256([]byte(password))
	}
	return b, nil
}

const (
	failuresAllowed = 10
	failuresKept    = time.Minute
	addressesKept   = 10000
)

// basic knows people by passwords.
type basic struct {
	sums map[string][sha256.Size]byte
	now  func() time.Time

	mutex    sync.Mutex
	failures map[netip.Addr]failures
}

// failures are those of one address.
type failures struct {
	count int
	since time.Time
}

func (b *basic) Identify(r *http.Request) (string, error) {
	address, err := remoteAddress(r)
	if err != nil {
		return "", forbidden("Nobody knows where this comes from.")
	}
	if wait := b.wait(address); wait > 0 {
		return "", &RefusedError{Status: http.StatusTooManyRequests, RetryAfter: wait, Reason: "Too many wrong passwords: wait a minute."}
	}
	name, password, given := r.BasicAuth()
	if given && b.knows(name, password) {
		return name, nil
	}
	if given { // a browser asks without a password first
		b.failed(address)
	}
	return "", &RefusedError{
		Status: http.StatusUnauthorized, Challenge: `Basic realm="applock", charset="UTF-8"`, Reason: "Name and password, please.",
	}
}

// knows takes the same time for an unknown name as for a wrong password.
func (b *basic) knows(name, password string) bool {
	want, known := b.sums[name]
	got := sha256.Sum256([]byte(password))
	same := subtle.ConstantTimeCompare(want[:], got[:]) == 1
	return same && known
}

// wait returns how long an address is refused from now on.
func (b *basic) wait(address netip.Addr) time.Duration {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	known := b.failures[address]
	left := failuresKept - b.now().Sub(known.since)
	if left <= 0 {
		delete(b.failures, address)
		return 0
	}
	if known.count < failuresAllowed {
		return 0
	}
	return left
}

func (b *basic) failed(address netip.Addr) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	known, found := b.failures[address]
	if !found {
		known.since = b.now()
	}
	if !found && len(b.failures) >= addressesKept {
		clear(b.failures)
	}
	known.count++
	b.failures[address] = known
}
