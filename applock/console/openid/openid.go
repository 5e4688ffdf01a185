// Package openid signs people in at the supervisors' console by OpenID Connect. Everybody whom the issuer knows gets in, named by a
// claim of the token. It is a separate package, so that other programs do not link its dependencies.
package openid

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console"
	"github.com/applock/applock/applock/console/internal/seal"
)

// DefaultClaim is the claim that names a person if [Config.Claim] is empty.
const DefaultClaim = "preferred_username"

// DefaultSession is the longest time of a session if [Config.Session] is zero.
const DefaultSession = 8 * time.Hour

const (
	// signingIn is the longest time for signing in at the issuer.
	signingIn = 10 * time.Minute
	// most is the maximum of sessions; one more ends the oldest.
	most = 10000
)

// Config describes the issuer, and the console's registration there.
type Config struct {
	// Issuer is the URL of the issuer, which has a discovery document.
	Issuer string
	// ClientID and ClientSecret are the console's credentials at the issuer. The secret may be empty, since each sign-in has a proof key
	// (PKCE).
	ClientID, ClientSecret string
	// Address is the console's URL as browsers see it, such as https://locks.example.com/. The issuer must allow its page signed-in as
	// a redirect URI. It begins with https, except for a loopback address.
	Address string
	// Claim is the claim of the ID token that names a person; empty is DefaultClaim. Choose one that people cannot change
	// themselves. An "email" counts only if the issuer marks it as verified.
	Claim string
	// RolesClaim is the claim of the ID token that names a person's roles, a list of texts or one text, such as groups; empty for none.
	RolesClaim string
	// Scopes are requested in addition to openid, profile and email. Some issuers require one for roles or for refresh tokens, such as
	// offline_access.
	Scopes []string
	// Session is the longest time of a session; zero is DefaultSession.
	Session time.Duration
	// Recheck is how long an answer of the issuer counts; zero is DefaultRecheck. Then the console asks again, with the refresh token, or
	// through the browser if there is none. A person whose account or role has ended loses it here after twice that time at the latest.
	Recheck time.Duration
	// Key is the same for all replicas of a console behind one address, so that each knows the sign-ins and sessions of the others, also after a
	// restart; zero is a random key of this SignIn.
	Key [32]byte
	// Client asks the issuer; nil is http.DefaultClient.
	Client *http.Client
}

// SignIn identifies people by a cookie that has their session, sealed with Config.Key. In memory are the sessions that it has seen, those that
// it has ended, and the sign-ins that it has finished: other replicas do not know that a session was ended, or a sign-in used.
type SignIn struct {
	issuer string
	client *http.Client
	// discovering guards the reading of the issuer's discovery document. Endpoint of oauth and verifier are set with it, once.
	discovering sync.Mutex
	oauth       oauth2.Config
	verifier    *oidc.IDTokenVerifier
	// failed is when the last reading failed, with unread.
	failed time.Time
	unread error

	claim string
	// rolesClaim is empty if roles are not used.
	rolesClaim string
	session    time.Duration
	recheck    time.Duration
	// cookie is the name of the session's cookie. pendingCookie is the beginning of the names while somebody signs in: each tab adds the
	// beginning of its state.
	cookie, pendingCookie string
	now                   func() time.Time

	sessions *kept[*session]
	seal     *seal.Seal
	// used has the states of sign-ins that have begun a session, and ended the names of sessions that were ended.
	used, ended *kept[struct{}]
	// programs is true if tokens are issued to the programs that send them, instead of to this client.
	programs bool
}

var _ console.Sessions = (*SignIn)(nil)

// New reads the issuer's discovery document. It returns *applock.InvalidError (ErrInvalid) for an invalid Config, and the cause if the
// document is not there, or not that issuer's. An issuer that does not answer, or answers with a status of 500 or more, is no error: until it
// answers people who sign in are told to try again, and [SignIn.Ready] returns the cause. ctx bounds that read only.
func New(ctx context.Context, config Config) (*SignIn, error) {
	address, err := config.check()
	if err != nil {
		return nil, err
	}
	config.Client = cmp.Or(config.Client, http.DefaultClient)
	sealed, err := seal.New(config.Key, "sign-in")
	if err != nil {
		return nil, fmt.Errorf("openid: %w", err)
	}
	returns := address.JoinPath("signed-in").String()
	// Cookies ignore ports and cannot rely on paths, so the name contains a digest of the console's address.
	sum := sha256.Sum256([]byte(returns))
	name := "__Host-applock-" + hex.EncodeToString(sum[:4])
	signIn := &SignIn{
		issuer: config.Issuer,
		oauth: oauth2.Config{
			ClientID: config.ClientID, ClientSecret: config.ClientSecret, RedirectURL: returns,
			Scopes: append([]string{oidc.ScopeOpenID, "profile", "email"}, config.Scopes...),
		},
		client: config.Client,
		claim:  cmp.Or(config.Claim, DefaultClaim), rolesClaim: config.RolesClaim,
		session: cmp.Or(config.Session, DefaultSession), recheck: cmp.Or(config.Recheck, DefaultRecheck),
		cookie: name, pendingCookie: name + "-signing-in-",
		now:      time.Now,
		sessions: newKept[*session](), seal: sealed, used: newKept[struct{}](), ended: newKept[struct{}](),
	}
	err = signIn.discover(ctx)
	if err != nil && (ctx.Err() != nil || !isDown(err)) {
		return nil, err
	}
	return signIn, nil
}

// Ready returns nil once the issuer's discovery document has been read, and until then tries to read it, at most every two seconds.
func (s *SignIn) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	return s.discover(ctx)
}

// Sessions returns the number of sessions.
func (s *SignIn) Sessions() int { return s.sessions.count(s.now()) }

// discoverAgain is the pause after an issuer that did not answer.
const discoverAgain = 2 * time.Second

func (s *SignIn) discover(ctx context.Context) error {
	s.discovering.Lock()
	defer s.discovering.Unlock()
	if s.verifier != nil {
		return nil
	}
	if s.unread != nil && s.now().Sub(s.failed) < discoverAgain {
		return s.unread
	}
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, s.client), s.issuer)
	if err != nil {
		s.failed, s.unread = s.now(), fmt.Errorf("openid: the issuer: %w", err)
		return s.unread
	}
	s.oauth.Endpoint, s.verifier = provider.Endpoint(), provider.Verifier(&oidc.Config{ClientID: s.oauth.ClientID})
	return nil
}

// isDown reports whether an issuer may answer later: it could not be reached, or has failed. go-oidc begins that error with the status.
func isDown(err error) bool {
	_, unreachable := errors.AsType[*url.Error](err)
	return unreachable || strings.HasPrefix(errors.Unwrap(err).Error(), "5")
}

// awake refuses a sign-in while the issuer does not answer.
func (s *SignIn) awake(ctx context.Context) error {
	if s.Ready(context.WithoutCancel(ctx)) == nil { // it is for everybody, and this browser may go
		return nil
	}
	return &console.RefusedError{
		Status: http.StatusServiceUnavailable, RetryAfter: discoverAgain, Reason: "The issuer, where people sign in, does not answer. Try again in a few seconds.",
	}
}

// check validates the configuration and returns the console's address.
func (c Config) check() (*url.URL, error) {
	if c.Issuer == "" || c.ClientID == "" {
		return nil, &applock.InvalidError{Argument: "issuer", Reason: "and client must not be empty"}
	}
	if c.Session < 0 {
		return nil, &applock.InvalidError{Argument: "session", Reason: "must not be negative"}
	}
	if c.Recheck < 0 {
		return nil, &applock.InvalidError{Argument: "recheck", Reason: "must not be negative"}
	}
	for argument, text := range map[string]string{"issuer": c.Issuer, "address": c.Address} {
		parsed, err := url.Parse(text)
		if err != nil || parsed.Host == "" || parsed.RawQuery != "" || parsed.Fragment != "" || parsed.User != nil ||
			parsed.Scheme != "https" && (parsed.Scheme != "http" || !isLoopback(parsed.Hostname())) {
			return nil, &applock.InvalidError{Argument: argument, Reason: "is written as https://locks.example.com/; http is for a loopback address"}
		}
	}
	return url.Parse(c.Address)
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && address.IsLoopback()
}

// Identify returns the person whose session the request has.
func (s *SignIn) Identify(r *http.Request) (console.Person, error) {
	if of, _ := s.sessionOf(r); of != nil {
		if person, holds := s.current(r, of); holds {
			return person, nil
		}
	}
	const reason = "You are not signed in, or your session has ended."
	return console.Person{}, &console.RefusedError{Status: http.StatusUnauthorized, Reason: reason}
}

// errEmpty refuses to sign anybody in by a SignIn that nobody has made.
var errEmpty = errors.New("the sign-in is empty: make it with New")

// Begin stores the wanted page in a sealed cookie, and returns the issuer's address.
func (s *SignIn) Begin(w http.ResponseWriter, r *http.Request, page string) (location string, err error) {
	if s.now == nil {
		return "", errEmpty
	}
	if err := s.awake(r.Context()); err != nil {
		return "", err
	}
	a := attempt{State: rand.Text(), Nonce: rand.Text(), Proof: oauth2.GenerateVerifier(), Page: page, Until: s.now().Add(signingIn)}
	s.makeRoom(w, r)
	name := s.pendingCookie + tabOf(a.State)
	sealed, err := s.seal.Close(a, name)
	if err != nil {
		return "", fmt.Errorf("openid: %w", err)
	}
	s.setCookie(w, name, sealed, signingIn)
	return s.oauth.AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Proof)), nil
}

// tabsMost is the maximum of tabs in which one browser signs in. Each request carries all their cookies, of up to 1 KB each, and proxies
// accept no more than 8 KB.
const tabsMost = 5

// tabOf is the part of a state in its cookie's name. The address contains it as well, so it reveals nothing.
func tabOf(state string) string { return state[:min(len(state), 8)] }

// makeRoom drops the oldest surplus sign-ins of a browser, which lists its cookies in the order of their creation.
func (s *SignIn) makeRoom(w http.ResponseWriter, r *http.Request) {
	var begun []*http.Cookie
	for _, cookie := range r.Cookies() {
		if strings.HasPrefix(cookie.Name, s.pendingCookie) {
			begun = append(begun, cookie)
		}
	}
	for len(begun) >= tabsMost {
		s.setCookie(w, begun[0].Name, "", 0)
		begun = begun[1:]
	}
}

// Finish verifies the issuer's answer, begins a session, and returns the page that the browser wanted.
func (s *SignIn) Finish(w http.ResponseWriter, r *http.Request) (page string, err error) {
	state := r.URL.Query().Get("state")
	cookie, err := r.Cookie(s.pendingCookie + tabOf(state))
	if err != nil {
		return "", notBegun("This browser has not begun a sign-in within the last ten minutes. Sign in again.")
	}
	var a attempt
	found := s.seal.Open(cookie.Value, cookie.Name, &a) && s.now().Before(a.Until)
	s.setCookie(w, cookie.Name, "", 0)
	if !found || subtle.ConstantTimeCompare([]byte(state), []byte(a.State)) != 1 {
		return "", notBegun("The answer belongs to another sign-in than the one that this browser has begun. Sign in again.")
	}
	if said := r.URL.Query().Get("error"); said != "" {
		return "", refused("The issuer has refused to sign you in. Try again, or ask the person who runs the issuer.")
	}
	begun, err := s.begin(oidc.ClientContext(r.Context(), s.client), r.URL.Query().Get("code"), a)
	if err != nil {
		return "", err
	}
	if !s.used.first(a.State, a.Until, s.now()) {
		return "", notBegun("This sign-in was used before. Sign in again.")
	}
	s.end(r)
	s.sessions.adopt(begun.ID, begun, begun.Until, s.now())
	return a.Page, s.setSession(w, begun.ticket)
}

// begin exchanges the code for a token, verifies it, and returns a session of its person.
func (s *SignIn) begin(ctx context.Context, code string, a attempt) (*session, error) {
	if err := s.awake(ctx); err != nil {
		return nil, err
	}
	answer, err := s.oauth.Exchange(ctx, code, oauth2.VerifierOption(a.Proof))
	if _, is := errors.AsType[*oauth2.RetrieveError](err); is {
		return nil, refused("The issuer has not accepted this sign-in. Sign in again.")
	}
	if err != nil {
		return nil, fmt.Errorf("openid: the issuer: %w", withoutAddress(err))
	}
	raw, _ := answer.Extra("id_token").(string)
	person, token, err := s.verified(ctx, raw)
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(a.Nonce)) != 1 {
		return nil, refused("The answer belongs to another sign-in than the one that this browser has begun. Sign in again.")
	}
	return &session{ticket: ticket{
		ID: rand.Text(), Subject: token.Subject, Person: person, Refresh: answer.RefreshToken, Said: s.now(), Until: s.now().Add(s.session),
	}}, nil
}

// verified verifies that the issuer made the token for this console, and returns its person.
func (s *SignIn) verified(ctx context.Context, raw string) (person console.Person, token *oidc.IDToken, err error) {
	token, err = s.verifier.Verify(ctx, raw)
	if err != nil {
		return person, nil, fmt.Errorf("openid: the token: %w", err)
	}
	var claims map[string]any
	if err := token.Claims(&claims); err != nil {
		return person, nil, fmt.Errorf("openid: the token: %w", err)
	}
	// OpenID Connect Core, 3.1.3.7: the party that an ID token was issued to.
	if party, named := claims["azp"]; !s.programs && (named && party != s.oauth.ClientID || !named && len(token.Audience) > 1) {
		return person, nil, refused("The issuer has signed you in for another program than this console: the claim azp is not the console's client id. " +
			"Ask the person who runs the issuer.")
	}
	claimed, _ := claims[s.claim].(string)
	if verified, _ := claims["email_verified"].(bool); claimed == "" || s.claim == "email" && !verified {
		return person, nil, refused("The issuer has not said who you are: the claim " + s.claim + " is missing, or not verified.")
	}
	if person.Name, err = console.PersonName(claimed); err != nil {
		return person, nil, err
	}
	if person.Name != claimed {
		return person, nil, refused("The name begins or ends with a blank. Ask the person who runs the sign-in to change it.")
	}
	person.Roles = textsOf(claims[s.rolesClaim])
	return person, token, nil
}

// textsOf returns the texts of a claim, which is a text or a list.
func textsOf(claim any) []string {
	if text, one := claim.(string); one {
		return []string{text}
	}
	list, _ := claim.([]any)
	var texts []string
	for _, each := range list {
		if text, is := each.(string); is {
			texts = append(texts, text)
		}
	}
	return texts
}

// withoutAddress drops the address from a client's error: it may contain a code.
func withoutAddress(err error) error {
	if of, is := errors.AsType[*url.Error](err); is {
		return of.Err
	}
	if timeout, is := errors.AsType[net.Error](err); is && timeout.Timeout() {
		return context.DeadlineExceeded
	}
	return err
}

// End ends the session of a request.
func (s *SignIn) End(w http.ResponseWriter, r *http.Request) {
	s.end(r)
	s.setCookie(w, s.cookie, "", 0)
}

// setCookie sets a cookie that scripts cannot read, over encrypted connections, for this host only. It is Lax, because Strict would
// withhold it when the browser returns from the issuer.
func (s *SignIn) setCookie(w http.ResponseWriter, name, value string, lasting time.Duration) {
	seconds := int(lasting / time.Second)
	if value == "" {
		seconds = -1 // deletes the cookie
	}
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: seconds, HttpOnly: true, Secure: true, SameSite: http.SameSiteLaxMode,
	})
}

// notBegun means that the answer belongs to no sign-in of this browser, which is not the person's fault.
func notBegun(reason string) error {
	return &console.RefusedError{Status: http.StatusBadRequest, Reason: reason}
}

func refused(reason string) error {
	return &console.RefusedError{Status: http.StatusForbidden, Reason: reason}
}

// kept stores values under random words until they expire. The words of a kept[struct{}] are those that do not count any more.
type kept[T any] struct {
	mutex sync.Mutex
	of    map[string]keptValue[T]
	// order lists the words from old to new, including some expired ones.
	order []string
	// floor is the latest end of the removed values.
	floor time.Time
}

type keptValue[T any] struct {
	value T
	until time.Time
}

func newKept[T any]() *kept[T] { return &kept[T]{of: map[string]keptValue[T]{}} }

// adopt returns the value that is stored under a word, and stores this one if there is none. It removes expired values, and if necessary the oldest.
func (k *kept[T]) adopt(word string, value T, until, now time.Time) T {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if known, found := k.of[word]; found {
		return known.value
	}
	k.add(word, value, until, now)
	return value
}

// has reports whether a word is stored, or may have been: it ends no later than a removed one.
func (k *kept[T]) has(word string, until time.Time) bool {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	_, known := k.of[word]
	return known || !until.After(k.floor)
}

// first stores a word, and reports whether that is the first time.
func (k *kept[T]) first(word string, until, now time.Time) bool {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if _, known := k.of[word]; known || !until.After(k.floor) {
		return false
	}
	var none T
	k.add(word, none, until, now)
	return true
}

// count returns the number of values that have not expired.
func (k *kept[T]) count(now time.Time) (count int) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	for _, each := range k.of {
		if now.Before(each.until) {
			count++
		}
	}
	return count
}

func (k *kept[T]) add(word string, value T, until, now time.Time) {
	for len(k.order) > 0 {
		oldest, found := k.of[k.order[0]]
		if found && len(k.order) < most && now.Before(oldest.until) {
			break
		}
		if oldest.until.After(k.floor) {
			k.floor = oldest.until
		}
		delete(k.of, k.order[0])
		k.order = k.order[1:]
	}
	k.of[word] = keptValue[T]{value: value, until: until}
	k.order = append(k.order, word)
}

func (k *kept[T]) remove(word string) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	delete(k.of, word)
}

// attempt is a sign-in that has begun. Only the browser stores it, so a flood of attempts cannot displace others.
type attempt struct {
	// State returns from the issuer in the address, Nonce in the token. Proof is sent with the code.
	State, Nonce, Proof string
	Page                string
	Until               time.Time
}
