package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"github.com/spf13/pflag"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console"
	"github.com/applock/applock/applock/console/openid"
	"github.com/applock/applock/cmd/internal/roles"
	"github.com/applock/applock/cmd/internal/secret"
)

// webFlags set the HTTP address and the sign-in.
type webFlags struct {
	listen                           string
	header, rolesHeader              string
	proxies                          []string
	passwords                        string
	issuer, clientID, claim, address string
	rolesClaim                       string
	// roles are NAME=FILE, with a DSN in the file, and members PERSON=ROLE.
	roles, members []string
}

func (f *webFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.listen, "listen", "", "serve HTTP there, such as 127.0.0.1:8430, instead of stdio")
	set.StringVar(&f.header, "user-header", "", "the header in which a proxy names who has signed in")
	set.StringVar(&f.rolesHeader, "roles-header", "", "the header in which that proxy names the roles, with commas in between")
	set.StringSliceVar(&f.proxies, "proxy", nil, "the networks of that proxy, such as 10.1.0.4/32")
	set.StringVar(&f.passwords, "passwords", "", "a file of names and passwords, which nobody else may read; for trials")
	set.StringVar(&f.issuer, "oidc-issuer", "", "the address of an issuer of OpenID Connect, whose tokens are accepted")
	set.StringVar(&f.clientID, "oidc-client", "", "the audience that those tokens must have")
	set.StringVar(&f.claim, "oidc-claim", openid.DefaultClaim, "the claim that names a person")
	set.StringVar(&f.rolesClaim, "oidc-roles-claim", "", "the claim that names a person's roles, such as groups")
	set.StringArrayVar(&f.roles, "role", nil, "a role, and the file with the DSN of its database user: NAME=FILE")
	set.StringSliceVar(&f.members, "member", nil, "who has a role: PERSON=ROLE")
	set.StringVar(&f.address, "address", "",
		"the server's address as agents see it: for --oidc-issuer, and for a proxy that passes the host name on")
}

func (f webFlags) signsIn() bool { return f.header != "" || f.passwords != "" || f.issuer != "" }

// namedRoles returns the roles of --role, with the members of --member.
func (f webFlags) namedRoles() (roles.Roles, error) {
	named, err := roles.Parse(f.roles, f.members)
	if err != nil {
		return roles.Roles{}, err
	}
	by := roles.SignIn{UserHeader: f.header, RolesHeader: f.rolesHeader, Issuer: f.issuer, RolesClaim: f.rolesClaim}
	if err := named.Check(by); err != nil {
		return roles.Roles{}, err
	}
	return named, nil
}

// issuerLimit bounds one request to the issuer.
const issuerLimit = 20 * time.Second

// signIn returns the sign-in that the flags choose, as for the console. Here one is mandatory.
func (f webFlags) signIn(ctx context.Context) (console.SignIn, error) {
	switch {
	case f.header != "":
		networks := make([]netip.Prefix, len(f.proxies))
		for i, text := range f.proxies {
			network, err := netip.ParsePrefix(text)
			if err != nil {
				return nil, &applock.InvalidError{Argument: "--proxy", Reason: "is written as 10.1.0.4/32 or fd00::/8"}
			}
			networks[i] = network
		}
		return console.TrustedHeader(f.header, f.rolesHeader, networks)
	case f.passwords != "":
		people, err := secret.Passwords(f.passwords)
		if err != nil {
			return nil, &applock.InvalidError{Argument: "--passwords", Reason: err.Error()}
		}
		return console.Basic(people)
	case f.issuer != "":
		signIn, err := openid.NewBearer(ctx, openid.Config{
			Issuer: f.issuer, ClientID: f.clientID, Address: f.address, Claim: f.claim, RolesClaim: f.rolesClaim,
			Client: &http.Client{Timeout: issuerLimit},
		}, metadataPath)
		if err != nil {
			return nil, err // an interface with a nil pointer in it would not be nil
		}
		return signIn, nil
	}
	return nil, &applock.InvalidError{Argument: "--listen", Reason: "needs a sign-in: --user-header, --oidc-issuer or --passwords"}
}

// metadataPath is where clients find the issuer of their tokens: RFC 9728.
const metadataPath = "/.well-known/oauth-protected-resource"

// handler serves all requests.
func (f webFlags) handler(signIn console.SignIn, l locks) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/mcp", console.ByItsName(f.address, l.logger, console.Protect(signIn, l.logger, http.HandlerFunc(l.serveMCP))))
	if f.issuer != "" {
		mux.Handle(metadataPath, auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
			Resource: f.address, AuthorizationServers: []string{f.issuer}, BearerMethodsSupported: []string{"header"}, ResourceName: "applock",
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

// closingLimit is how long open requests may take after the end of ctx.
const closingLimit = 5 * time.Second

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
	server := &http.Server{
		Handler: f.handler(signIn, l), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(l.logger.Handler(), slog.LevelWarn),
	}
	l.logger.InfoContext(ctx, "applock-mcp listens", slog.String("address", "http://"+listener.Addr().String()+"/mcp"))
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("listen: %w", err)
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closingLimit)
	defer cancel()
	if err := server.Shutdown(closing); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}
