package openid

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/applock/applock/applock/console"
)

// DefaultRecheck is how long an answer of the issuer counts if [Config.Recheck] is zero.
const DefaultRecheck = 5 * time.Minute

const (
	// retryAfter is the pause after an issuer that did not answer. askLimit bounds each question.
	retryAfter = 30 * time.Second
	askLimit   = 10 * time.Second
)

// longestCookie is the longest text of a session that browsers keep, with the cookie's name and attributes.
const longestCookie = 3900

// ticket is what the cookie has of a session.
type ticket struct {
	// ID names the session. Subject is the issuer's identifier of the person: names may be reused.
	ID, Subject string
	Person      console.Person
	// Refresh is the refresh token, empty without one.
	Refresh string
	// Said is the time of the issuer's last answer, Until the end of the session.
	Said, Until time.Time
}

// session is what this process knows of one.
type session struct {
	// mutex is held while the issuer is asked: a refresh token may be valid only once, and a page sends its requests concurrently.
	mutex sync.Mutex
	ticket

	// tried is the time of the last question to the issuer.
	tried time.Time
	ended bool
}

// sessionOf returns the session of a request's cookie, or nil. Another replica may have begun it, or have asked the issuer since.
func (s *SignIn) sessionOf(r *http.Request) (*session, ticket) {
	var t ticket
	cookie, err := r.Cookie(s.cookie)
	if err != nil || !s.seal.Open(cookie.Value, s.cookie, &t) || !s.now().Before(t.Until) || s.ended.has(t.ID, t.Until) {
		return nil, t
	}
	of := s.sessions.adopt(t.ID, &session{ticket: t}, t.Until, s.now())
	of.mutex.Lock()
	defer of.mutex.Unlock()
	if t.Said.After(of.Said) {
		of.ticket, of.ended = t, false
	}
	return of, t
}

// Renew sets the cookie of a session anew if the issuer was asked since it was set.
func (s *SignIn) Renew(w http.ResponseWriter, r *http.Request) {
	of, t := s.sessionOf(r)
	if of == nil {
		return
	}
	of.mutex.Lock()
	defer of.mutex.Unlock()
	if of.Said.After(t.Said) && !of.ended {
		_ = s.setSession(w, of.ticket) // the old cookie lasts as long as before
	}
}

// setSession sets the cookie of a session. What is too long for one stays with this process: other replicas have the browser ask the issuer, or do
// not know the session.
func (s *SignIn) setSession(w http.ResponseWriter, t ticket) error {
	short := t
	short.Refresh = ""
	for _, t := range []ticket{t, short, {ID: t.ID, Said: t.Said, Until: t.Until}} {
		text, err := s.seal.Close(t, s.cookie)
		if err != nil {
			return fmt.Errorf("openid: %w", err)
		}
		if len(text) <= longestCookie {
			s.setCookie(w, s.cookie, text, t.Until.Sub(s.now()))
			break
		}
	}
	return nil
}

// end ends the session of a request.
func (s *SignIn) end(r *http.Request) {
	if of, t := s.sessionOf(r); of != nil {
		s.sessions.remove(t.ID)
		s.ended.first(t.ID, t.Until, s.now())
	}
}

// current returns the person of a session, and whether it is still valid. An answer of the issuer counts for s.recheck; then the issuer is
// asked again. It counts for twice that time if the issuer does not answer, or if only the browser can ask: pages then redirect to the
// issuer, but forms, which cannot be redirected, are still accepted.
func (s *SignIn) current(r *http.Request, of *session) (person console.Person, holds bool) {
	of.mutex.Lock()
	defer of.mutex.Unlock()
	now := s.now()
	if of.Refresh != "" && now.Sub(of.Said) >= s.recheck && now.Sub(of.tried) >= retryAfter {
		of.tried = now
		s.askAgain(r.Context(), of)
	}
	age := now.Sub(of.Said)
	switch {
	case of.ended || of.Subject == "" || age >= 2*s.recheck:
		return console.Person{}, false
	case of.Refresh == "" && age >= s.recheck && r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate":
		return console.Person{}, false
	}
	return of.Person, true
}

// askAgain asks the issuer who the session's person is. A different person or none ends the session; no answer leaves it as it is. It
// ignores the request's cancellation, since the refresh token may be used up.
func (s *SignIn) askAgain(ctx context.Context, of *session) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(context.WithoutCancel(ctx), s.client), askLimit)
	defer cancel()
	answer, err := s.oauth.TokenSource(ctx, &oauth2.Token{RefreshToken: of.Refresh}).Token()
	if refusal, is := errors.AsType[*oauth2.RetrieveError](err); is {
		of.ended = refusal.ErrorCode == "invalid_grant"
	}
	if err != nil {
		return
	}
	of.Refresh = answer.RefreshToken
	raw, has := answer.Extra("id_token").(string)
	if !has {
		of.Refresh = "" // the answer has no identity token
		return
	}
	person, token, err := s.verified(ctx, raw)
	if err != nil {
		return
	}
	of.Person, of.Said, of.ended = person, s.now(), token.Subject != of.Subject
}
