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

// DefaultRecheck is after how long the issuer is asked again where nothing else is asked for.
const DefaultRecheck = 5 * time.Minute

const (
	// retryAfter is when an issuer that has not answered is asked again, and askLimit how long it has for its answer.
	retryAfter = 30 * time.Second
	askLimit   = 10 * time.Second
)

// session is somebody who has signed in.
type session struct {
	// subject is what the issuer calls the person. Names may be given to others.
	subject string

	// mutex is held while the issuer is asked: a refresh token may be good once, and all requests of a page come at once.
	mutex  sync.Mutex
	person console.Person
	// refresh asks the issuer again; empty where that cannot be.
	refresh string
	// said is when the issuer last said who this is, and tried when it was last asked.
	said, tried time.Time
	ended       bool
}

// current returns the person of a session that still holds. What the issuer has said is believed for s.recheck, and then asked for again.
// For as long again it is believed where the issuer does not answer, and where it can only be asked by the browser: a page leads there
// then, and a form, which cannot be sent on, is taken.
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

// askAgain has the issuer say who a session is of. It ends the session if that is nobody, or somebody else, and leaves it where the
// issuer does not answer. It goes on when the browser has gone: a refresh token may be used up.
func (s *SignIn) askAgain(ctx context.Context, of *session) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(context.WithoutCancel(ctx), s.client), askLimit)
	defer cancel()
	answer, err := s.oauth.TokenSource(ctx, &oauth2.Token{RefreshToken: of.refresh}).Token()
	var refusal *oauth2.RetrieveError
	if errors.As(err, &refusal) {
		of.ended = refusal.ErrorCode == "invalid_grant"
	}
	if err != nil {
		return
	}
	of.refresh = answer.RefreshToken
	raw, has := answer.Extra("id_token").(string)
	if !has {
		of.refresh = "" // it says nothing of the person
		return
	}
	person, token, err := s.verified(ctx, raw)
	if err != nil {
		return
	}
	of.person, of.said, of.ended = person, s.now(), token.Subject != of.subject
}
