package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"github.com/spf13/pflag"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console"
	"github.com/applock/applock/applock/console/openid"
	"github.com/applock/applock/cmd/internal/roles"
)

// webFlags set the HTTP address and the sign-in.
type webFlags struct {
	roles.Flags
	listen string
}

func (f *webFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.listen, "listen", "", "serve HTTP there, such as 127.0.0.1:8430, instead of stdio")
	set.StringVar(&f.Header, "user-header", "", "the header in which a proxy names who has signed in")
	set.StringVar(&f.RolesHeader, "roles-header", "", "the header in which that proxy names the roles, with commas in between")
	set.StringSliceVar(&f.Proxies, "proxy", nil, "the networks of that proxy, such as 10.1.0.4/32")
	set.StringVar(&f.Passwords, "passwords", "", "a file of names and passwords, which nobody else may read; for trials")
	set.StringVar(&f.Issuer, "oidc-issuer", "", "the address of an issuer of OpenID Connect, whose tokens are accepted")
	set.StringVar(&f.ClientID, "oidc-client", "", "the audience that those tokens must have")
	set.StringVar(&f.Claim, "oidc-claim", openid.DefaultClaim, "the claim that names a person")
	set.StringVar(&f.RolesClaim, "oidc-roles-claim", "", "the claim that names a person's roles, such as groups")
	set.StringArrayVar(&f.Roles, "role", nil, "a role, and the file with the DSN of its database user: NAME=FILE")
	set.StringSliceVar(&f.Members, "member", nil, "who has a role: PERSON=ROLE")
	set.StringVar(&f.Address, "address", "",
		"the server's address as agents see it: for --oidc-issuer, and for a proxy that passes the host name on")
}

func (f webFlags) signsIn() bool { return f.Header != "" || f.Passwords != "" || f.Issuer != "" }

// signIn returns the sign-in that the flags choose, as for the console. Here one is mandatory.
func (f webFlags) signIn(ctx context.Context) (console.SignIn, error) {
	if f.Issuer != "" {
		signIn, err := openid.NewBearer(ctx, f.OpenID(), metadataPath)
		if err != nil {
			return nil, err // an interface with a nil pointer in it would not be nil
		}
		return signIn, nil
	}
	signIn, err := f.SignIn()
	if signIn == nil && err == nil {
		err = &applock.InvalidError{Argument: "--listen", Reason: "needs a sign-in: --user-header, --oidc-issuer or --passwords"}
	}
	return signIn, err
}

// metadataPath is where clients find the issuer of their tokens: RFC 9728.
const metadataPath = "/.well-known/oauth-protected-resource"

func (f webFlags) handler(signIn console.SignIn, l locks) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/mcp", console.ByItsName(f.Address, l.logger, console.Protect(signIn, l.logger, http.HandlerFunc(l.serveMCP))))
	if f.Issuer != "" {
		mux.Handle(metadataPath, auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
			Resource: f.Address, AuthorizationServers: []string{f.Issuer}, BearerMethodsSupported: []string{"header"}, ResourceName: "applock",
		}))
	}
	return mux
}

// serveMCP answers one request in the person's name. Its server serves this request only, and keeps no state.
func (l locks) serveMCP(w http.ResponseWriter, r *http.Request) {
	person, known := console.PersonOf(r.Context())
	if !known || person.Name == "" {
		http.Error(w, "a person without a name cannot hold locks: sign in with a name", http.StatusForbidden)
		return
	}
	l.owner.Operator = person.Name
	if i, known := l.roles.First(person.Name, person.Roles); known {
		l.client = l.ofRoles[i]
	}
	server, err := newServer(l)
	if err != nil {
		l.logger.ErrorContext(r.Context(), "applock-mcp", slog.String("error", err.Error()))
		http.Error(w, "the server has failed; its log says why", http.StatusInternalServerError)
		return
	}
	mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: 1 << 20,
		DisableLocalhostProtection: true, // console.ByItsName does that, and knows --address
	}).ServeHTTP(w, r)
}

// serveWeb serves until ctx ends, then waits for open requests.
func serveWeb(ctx context.Context, f webFlags, l locks) error {
	signIn, err := f.signIn(ctx)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return err
	}
	l.logger.InfoContext(ctx, "applock-mcp listens", slog.String("address", "http://"+listener.Addr().String()+"/mcp"))
	l.watch.Serves(l.client, signIn)
	_ = l.watch.Check(ctx) // logs the cause
	if err := roles.Serve(ctx, listener, l.watch.Handler(f.handler(signIn, l)), l.logger); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	return nil
}
