package openid

import (
	"context"
	"errors"
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

type session struct {
	// subject is the issuer's identifier of the person. Names may be reused.
	subject string

	// mutex is held while the issuer is asked: a refresh token may be valid only once, and a page sends its requests concurrently.
	mutex  sync.Mutex
	person console.Person
	// refresh is the refresh token, empty without one.
	refresh string
	// said is the time of the issuer's last answer, tried that of the last question.
	said, tried time.Time
	ended       bool
}

// current returns the person of a session, and whether it is still valid. An answer of the issuer counts for s.recheck; then the issuer is
// asked again. It counts for twice that time if the issuer does not answer, or if only the browser can ask: pages then redirect to the
// issuer, but forms, which cannot be redirected, are still accepted.
func (s *SignIn) current(r *http.Request, of *session) (person console.Person, holds bool) {
	of.mutex.Lock()
	defer of.mutex.Unlock()
	now := s.now()
	if of.refresh != "" && now.Sub(of.said) >= s.recheck && now.Sub(of.tried) >= retryAfter {
		of.tried = now
		s.askAgain(r.Context(), of)
	}
	age := now.Sub(of.said)
	switch {
	case of.ended || age >= 2*s.recheck:
		return console.Person{}, false
	case of.refresh == "" && age >= s.recheck && r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate":
		return console.Person{}, false
	}
	return of.person, true
}

// askAgain asks the issuer who the session's person is. A different person or none ends the session; no answer leaves it as it is. It
// ignores the request's cancellation, since the refresh token may be used up.
func (s *SignIn) askAgain(ctx context.Context, of *session) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(context.WithoutCancel(ctx), s.client), askLimit)
	defer cancel()
	answer, err := s.oauth.TokenSource(ctx, &oauth2.Token{RefreshToken: of.refresh}).Token()
	if refusal, is := errors.AsType[*oauth2.RetrieveError](err); is {
		of.ended = refusal.ErrorCode == "invalid_grant"
	}
	if err != nil {
		return
	}
	of.refresh = answer.RefreshToken
	raw, has := answer.Extra("id_token").(string)
	if !has {
		of.refresh = "" // the answer has no identity token
		return
	}
	person, token, err := s.verified(ctx, raw)
	if err != nil {
		return
	}
	of.person, of.said, of.ended = person, s.now(), token.Subject != of.subject
}
