package console

import (
	"context"
	"log/slog"
	"net/http"
)

// personKey is the context key of the person.
type personKey struct{}

// Protect puts the console's sign-in before a handler for programs. next gets the requests of people whom the sign-in knows, and [PersonOf]
// returns the person.
//
// All other requests get the status of the refusal and its reason as plain text, with a header WWW-Authenticate if the sign-in has a
// challenge. A request that a page of another site has sent gets 403. The logger, nil for none, has a line for each refusal, without a
// secret. A SignIn that sends browsers elsewhere (Sessions) lets no new person in here. The handler is safe for concurrent use.
func Protect(signIn SignIn, logger *slog.Logger, next http.Handler) http.Handler {
	if signIn == nil {
		signIn = nobody{}
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
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
