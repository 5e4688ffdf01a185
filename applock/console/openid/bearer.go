package openid

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/applock/applock/applock/console"
)

// Bearer identifies programs by the issuer's token in the header Authorization: a JWT for the audience Config.ClientID, with the claim that
// names a person. It keeps no state: each request is verified on its own.
type Bearer struct {
	signIn *SignIn
	// challenge is the header that tells a program where to get a token.
	challenge string
}

var _ console.SignIn = (*Bearer)(nil)

// NewBearer is New for programs. metadata is the path on the host of Config.Address where the caller serves the metadata of RFC 9728;
// refusals name it. Empty means that there is none. Config's ClientSecret, Scopes, Session and Recheck have no effect.
func NewBearer(ctx context.Context, config Config, metadata string) (*Bearer, error) {
	signIn, err := New(ctx, config)
	if err != nil {
		return nil, err
	}
	signIn.programs = true
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

// Ready is [SignIn.Ready].
func (b *Bearer) Ready(ctx context.Context) error { return b.signIn.Ready(ctx) }

// Identify returns the person of a request's token.
func (b *Bearer) Identify(r *http.Request) (console.Person, error) {
	none := &console.RefusedError{Status: http.StatusUnauthorized, Challenge: b.challenge, Reason: "Send a bearer token of the issuer."}
	scheme, token, found := strings.Cut(r.Header.Get("Authorization"), " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return console.Person{}, none
	}
	if err := b.signIn.awake(r.Context()); err != nil {
		return console.Person{}, err
	}
	person, _, err := b.signIn.verified(r.Context(), strings.TrimSpace(token))
	if err != nil {
		// The error's text may repeat parts of the token, so it is dropped.
		none.Reason = "The bearer token is not accepted. Get a new one: it must come from the issuer, be for this audience and name a person."
		return console.Person{}, none
	}
	return person, nil
}
