package roles

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console"
	"github.com/applock/applock/applock/console/openid"
	"github.com/applock/applock/cmd/internal/secret"
)

// Flags choose the sign-in of a program that listens, and the roles of those who have signed in.
type Flags struct {
	// Header and Proxies are for a proxy that signs people in. It names their roles in RolesHeader.
	Header, RolesHeader string
	Proxies             []string
	// Passwords is a file of names and passwords.
	Passwords string
	// Issuer is the OpenID Connect issuer. The others are the program's registration there; Address is also for the proxy.
	Issuer, ClientID, Address, Claim, RolesClaim string
	// Roles are NAME=FILE, where FILE has the DSN; Members are PERSON=ROLE.
	Roles, Members []string
}

// Named returns the roles, with their members. It returns applock.ErrInvalid, with the flag, where a sign-in names roles that are not there,
// or cannot name any.
func (f Flags) Named() (Roles, error) {
	named, err := Parse(f.Roles, f.Members)
	switch {
	case err != nil:
		return Roles{}, err
	case len(named.Names) == 0 && (f.RolesHeader != "" || f.RolesClaim != ""):
		return Roles{}, &applock.InvalidError{
			Argument: "--role", Reason: "is missing: write --role NAME=FILE for each role, with its DSN in the file",
		}
	case f.RolesHeader != "" && f.Header == "" || f.RolesClaim != "" && f.Issuer == "":
		return Roles{}, &applock.InvalidError{Argument: "--roles-header", Reason: "is for --user-header, and --oidc-roles-claim for --oidc-issuer"}
	}
	return named, nil
}

// SignIn returns the sign-in by a proxy or by passwords, or nil if the flags choose neither.
func (f Flags) SignIn() (console.SignIn, error) {
	switch {
	case f.Header != "":
		networks := make([]netip.Prefix, len(f.Proxies))
		for i, text := range f.Proxies {
			network, err := netip.ParsePrefix(text)
			if err != nil {
				return nil, &applock.InvalidError{Argument: "--proxy", Reason: "is written as 10.1.0.4/32 or fd00::/8"}
			}
			networks[i] = network
		}
		return console.TrustedHeader(f.Header, f.RolesHeader, networks)
	case f.Passwords != "":
		people, err := secret.Passwords(f.Passwords)
		if err != nil {
			return nil, &applock.InvalidError{Argument: "--passwords", Reason: err.Error()}
		}
		return console.Basic(people)
	}
	return nil, nil
}

// issuerLimit bounds one request to the issuer.
const issuerLimit = 20 * time.Second

// OpenID returns the registration at the issuer.
func (f Flags) OpenID() openid.Config {
	return openid.Config{
		Issuer: f.Issuer, ClientID: f.ClientID, Address: f.Address, Claim: f.Claim, RolesClaim: f.RolesClaim,
		Client: &http.Client{Timeout: issuerLimit},
	}
}

// closingLimit is how long open requests may take after the end of ctx.
const closingLimit = 5 * time.Second

// Serve serves until ctx ends, then waits for open requests. An error means that it could not go on.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, logger *slog.Logger) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closingLimit)
	defer cancel()
	_ = server.Shutdown(closing) // requests still open then are cut off when the process ends
	return nil
}
