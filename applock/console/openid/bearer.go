package openid

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/applock/applock/applock/console"
)

// Bearer knows programs by a token of the issuer in the header Authorization: a JWT that is made for the audience Config.ClientID and has
// the claim that names a person. It keeps nothing: each request is known by itself, until its token ends.
type Bearer struct {
	signIn *SignIn
	// challenge tells a program without a token where to learn how to get one.
	challenge string
}

var _ console.SignIn = (*Bearer)(nil)

// NewBearer is New for programs. Where metadata is not empty, it is the path below the host of Config.Address at which the caller serves the
// metadata of RFC 9728, which a refusal names. Config's ClientSecret, Scopes, Session and Recheck mean nothing here.
func NewBearer(ctx context.Context, config Config, metadata string) (*Bearer, error) {
	signIn, err := New(ctx, config)
	if err != nil {
		return nil, err
	}
	address, err := config.check()
	if err != nil {
		return nil, err
	}
	bearer := &Bearer{signIn: signIn, challenge: "Bearer"}
	if metadata != "" {
		bearer.challenge += fmt.Sprintf(" resource_metadata=%q", address.Scheme+"://"+address.Host+metadata)
	}
	return bearer, nil
}

// Identify returns who the token of a request is about.
func (b *Bearer) Identify(r *http.Request) (console.Person, error) {
	none := &console.RefusedError{Status: http.StatusUnauthorized, Challenge: b.challenge, Reason: "Send a bearer token of the issuer."}
	scheme, token, found := strings.Cut(r.Header.Get("Authorization"), " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return console.Person{}, none
	}
	person, _, err := b.signIn.verified(r.Context(), strings.TrimSpace(token))
	if err != nil {
		// What is wrong with a token may repeat what is in it.
		none.Reason = "The token is not one of the issuer for this audience, has ended, or does not name a person."
		return console.Person{}, none
	}
	return person, nil
}
