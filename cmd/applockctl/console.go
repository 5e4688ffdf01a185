package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console"
	"github.com/applock/applock/applock/console/openid"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/open"
	"github.com/applock/applock/applock/weblock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
	"github.com/applock/applock/cmd/internal/probes"
	"github.com/applock/applock/cmd/internal/roles"
	"github.com/applock/applock/cmd/internal/secret"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/inspect"
)

// consoleFlags set the console's address, its sign-in and the rights of its people.
type consoleFlags struct {
	roles.Flags
	listen string
	// by is the operator's name if nobody signs in.
	by        string
	mayChange []string
	// secretFile and scopes are for the issuer.
	secretFile string
	scopes     []string
	// departments are NAME=DEPARTMENT, of a person or a role.
	departments []string
	// keyFile has what replicas share.
	keyFile string
	// editLocks serves locks of web pages as well.
	editLocks bool
}

type consoleAnswer struct {
	Outcome applock.Outcome `json:"outcome"`
	// Address is for browsers, and Listen the host and port on which the console listens.
	Address string `json:"address"`
	Listen  string `json:"listen"`
}

func (c consoleAnswer) fields() []table.Field {
	return []table.Field{{Title: "OUTCOME", Value: c.Outcome}, {Title: "ADDRESS", Value: c.Address}, {Title: "LISTEN", Value: c.Listen, Wide: true}}
}

func (a *app) consoleCommand() *cobra.Command {
	var flags consoleFlags
	command := &cobra.Command{
		Use:   "console [--listen 127.0.0.1:8420] [--by O] [--may-change O]",
		Short: "Serve the web console for supervisors",
		Long: `Serves a web console with the live locks, waiters, history and statistics, and prints its address. It runs
until it is interrupted.

Only people whom --may-change names can change locks: they hand over, take, release and note, each time
with a reason and a confirmation. The history keeps their names, and stderr shows each change. Nobody can do
more than the database user may. With a user of the role operator people change only their own locks.

--role NAME=FILE gives the people of a role the rights of another database user. The first line of the file
is the DSN of that user; let nobody else read the file. --member, the header of --roles-header, or the claim
of --oidc-roles-claim says who has the role. A person with several roles has the first one; a person without
a role has the DSN of the command.

--department NAME=DEPARTMENT bounds a person, or the people of a role, to the locks of that department and to
their own; give it once for each department. Everybody may look at all locks.

Without a sign-in the printed address has a token that lets in one browser of this host, once, as the
person of --by; stderr then shows the next address. --listen must be a loopback address. There are three
kinds of sign-in:
  - a proxy signs people in and names them in the header of --user-header; only the networks of --proxy are
    believed. Behind a proxy on this host that passes the host name on, give --address
  - people sign in at an OpenID Connect issuer; the console then runs behind TLS, at --address, and the
    issuer must allow the redirect URI "signed-in" below that address
  - a file with a line NAME:PASSWORD for each person, for trials: passwords are sent unencrypted

Several replicas behind one address need the same --key-file: what browsers keep for one of them, the others
can read. Without it plans, answers and the issuer's sign-ins end with the process.`,
		Example: `  applockctl console
  applockctl console --by mlee --may-change mlee
  applockctl console --listen 10.1.0.5:8420 --user-header X-User --proxy 10.1.0.4/32 --may-change mlee
  applockctl console --listen :8420 --passwords people.txt
  applockctl console --listen 10.1.0.5:8420 --oidc-issuer https://id.example.com/ --oidc-client locks \
    --oidc-secret-file secret --address https://locks.example.com/ --may-change mlee
  applockctl console --listen :8420 --passwords people.txt --role seniors=dsn.txt --member mlee=seniors`,
		RunE: body(func(ctx context.Context, _ []string) error { return a.console(ctx, flags) }),
	}
	command.Flags().StringVar(&flags.listen, "listen", "127.0.0.1:8420", "the address to listen on; the port 0 is any free one")
	command.Flags().StringVar(&flags.by, "by", a.getenv(operatorVariable), "who you are without a sign-in; default $"+operatorVariable)
	command.Flags().StringVar(&flags.Header, "user-header", "", "the header in which a proxy names who has signed in")
	command.Flags().StringVar(&flags.RolesHeader, "roles-header", "", "the header in which that proxy names the roles, with commas in between")
	command.Flags().StringSliceVar(&flags.Proxies, "proxy", nil, "the networks of that proxy, such as 10.1.0.4/32")
	command.Flags().StringVar(&flags.Passwords, "passwords", "", "a file of names and passwords, which nobody else may read")
	command.Flags().StringSliceVar(&flags.mayChange, "may-change", nil, "who may hand over, take over, release and note; by default nobody")
	command.Flags().StringVar(&flags.Issuer, "oidc-issuer", "", "the address of an issuer of OpenID Connect, where people sign in")
	command.Flags().StringVar(&flags.ClientID, "oidc-client", "", "the client id of the console at that issuer")
	command.Flags().StringVar(&flags.secretFile, "oidc-secret-file", "", "a file with the client's secret, which nobody else may read")
	command.Flags().StringVar(&flags.Claim, "oidc-claim", openid.DefaultClaim, "the claim that names a person")
	command.Flags().StringVar(&flags.RolesClaim, "oidc-roles-claim", "", "the claim that names a person's roles, such as groups")
	command.Flags().StringSliceVar(&flags.scopes, "oidc-scope", nil, "more scopes to ask the issuer for, such as groups or offline_access")
	command.Flags().StringVar(&flags.keyFile, "key-file", "", "a file with a key of 32 or more characters for all replicas, which nobody else may read")
	command.Flags().StringArrayVar(&flags.Roles, "role", nil, "a role, and the file with the DSN of its database user: NAME=FILE")
	command.Flags().StringSliceVar(&flags.Members, "member", nil, "who has a role: PERSON=ROLE")
	command.Flags().StringArrayVar(&flags.departments, "department", nil, "whose locks a person or a role may change: NAME=DEPARTMENT; by default everybody's")
	command.Flags().StringVar(&flags.Address, "address", "",
		"the console's address as browsers see it: for --oidc-issuer, and for a proxy on this host")
	command.Flags().BoolVar(&flags.editLocks, "edit-locks", false,
		"serve edit locks for web pages below edit/ as well: for --user-header and --oidc-issuer")
	command.MarkFlagsMutuallyExclusive("user-header", "passwords", "oidc-issuer")
	command.MarkFlagsRequiredTogether("oidc-issuer", "oidc-client")
	command.MarkFlagsRequiredTogether("user-header", "proxy")
	for _, file := range []string{"passwords", "oidc-secret-file", "key-file"} {
		_ = command.RegisterFlagCompletionFunc(file, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault))
	}
	return command
}

func (a *app) console(ctx context.Context, flags consoleFlags) error {
	const operation = "console"
	key, err := flags.key()
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	signIn, err := flags.signIn(ctx, key)
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	if _, local := signIn.(*console.LocalSignIn); local && a.quiet {
		return &applock.InvalidError{
			Argument: "--quiet", Reason: "hides the address that lets the first browser in: leave out --quiet, or set up a sign-in",
		}
	}
	named, err := flags.Named()
	departments, unread := flags.bounds()
	err = cmp.Or(err, unread)
	if err == nil && len(flags.scopes) > 0 && flags.Issuer == "" {
		err = &applock.InvalidError{Argument: "--oidc-scope", Reason: "is for --oidc-issuer"}
	}
	if err == nil && flags.editLocks && flags.Header == "" && flags.Issuer == "" {
		err = &applock.InvalidError{Argument: "--edit-locks", Reason: "is for --user-header and --oidc-issuer"}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	watch := probes.New(a.consoleLog())
	a.counted = watch.Calls()
	return a.call(ctx, operation, func(ctx context.Context, s session) error {
		if _, err := s.Version(ctx); err != nil && !passes(err) { // retrying mends no other error
			return err
		}
		others, err := named.Open(a.roleOpener(ctx), func(client *applock.Client) { closeClient(ctx, client) })
		if err != nil {
			return err
		}
		var consoleRoles []console.Role
		for i, client := range others {
			defer closeClient(ctx, client)
			consoleRoles = append(consoleRoles, console.Role{Name: named.Names[i], Client: client})
		}
		s.pause() // each page has a limit of its own
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", flags.listen)
		if err != nil {
			return fmt.Errorf("%s: %w", operation, err)
		}
		handler := console.Handler(s.Client, console.Config{
			SignIn:      signIn,
			MayChange:   func(person string) bool { return slices.Contains(flags.mayChange, person) },
			Roles:       consoleRoles,
			RolesOf:     named.Of,
			Departments: departments,
			Checks:      healthOf(s.Client),
			Timeout:     time.Duration(a.timeout),
			Key:         key,
			Logger:      a.consoleLog(),
		})
		if flags.editLocks {
			handler = a.withEditLocks(s.Client, signIn, flags.mayChange, handler)
		}
		if flags.Header != "" { // hostile pages must not send requests through the proxy that signs people in
			handler = console.ByItsName(flags.Address, a.consoleLog(), handler)
		}
		watch.Serves(s.Client, signIn)
		_ = watch.Check(ctx) // logs the cause
		answer := consoleAnswer{Outcome: outcomeListening, Address: cmp.Or(flags.Address, a.consoleAddress(listener, signIn)), Listen: listener.Addr().String()}
		err = a.answer(true, answer)
		if failed := roles.Serve(ctx, listener, watch.Handler(handler), a.consoleLog()); failed != nil {
			return errors.Join(err, fmt.Errorf("%s: %w", operation, failed))
		}
		return errors.Join(err, ctx.Err())
	})
}

// withEditLocks serves the locks of web pages below edit/, for the people of the sign-in. Those who may change things may take.
func (a *app) withEditLocks(client *applock.Client, signIn console.SignIn, mayTake []string, next http.Handler) http.Handler {
	owner := func(r *http.Request) (applock.Owner, error) {
		person, err := signIn.Identify(r)
		if err != nil {
			return applock.Owner{}, err
		}
		name, err := console.PersonName(person.Name)
		return applock.Owner{Operator: name}, err
	}
	may := func(r *http.Request, _ applock.Object, verb weblock.Verb) error {
		if person, err := owner(r); err != nil || verb == weblock.VerbTake && !slices.Contains(mayTake, person.Operator) {
			return errors.New("only people whom --may-change names may take")
		}
		return nil
	}
	locks := http.StripPrefix("/edit", weblock.New(client, weblock.Config{Owner: owner, May: may, Logger: a.consoleLog()}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/edit/") {
			locks.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// consoleAddress is the address of the first page. Without a sign-in it contains a token. Once that is used, the address with the next
// token is printed.
func (a *app) consoleAddress(listener net.Listener, signIn console.SignIn) string {
	address := "http://" + listener.Addr().String() + "/"
	local, is := signIn.(*console.LocalSignIn)
	if !is {
		return address
	}
	address += "?token="
	local.Told = func(token string) {
		a.note("console: a browser is signed in; the address for the next browser is %s", address+token)
	}
	return address + local.Token()
}

// roleOpener opens the client of a role. It fails at once where retrying mends nothing.
func (a *app) roleOpener(ctx context.Context) func(dsn string) (*applock.Client, error) {
	return func(dsn string) (*applock.Client, error) {
		client, err := open.ByDSN(ctx, dsn, open.Config{Schema: a.schema, ConnectTimeout: time.Duration(a.timeout), Logger: a.counted})
		if err != nil {
			return nil, err
		}
		if _, err := client.Version(ctx); err != nil && !passes(err) {
			closeClient(ctx, client)
			return nil, err
		}
		return client, nil
	}
}

// consoleLog logs to stderr each change with the person who made it, and the errors whose details the pages hide.
func (a *app) consoleLog() *slog.Logger {
	level := slog.LevelInfo
	if a.quiet {
		level = slog.LevelError
	}
	return secret.Logger(a.stderr, level)
}

// stepsOf checks that all steps are applied.
func stepsOf(client *applock.Client) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		status, err := migrate.Status(ctx, client)
		switch {
		case errors.Is(err, applock.ErrPrivilege):
			return "this account may not read which steps are applied: run as the account that installs: applockctl migrate status",
				console.ErrNotChecked
		case err != nil:
			return "", err
		}
		pending := 0
		for _, step := range status.Steps {
			if step.AppliedAt.IsZero() {
				pending++
			}
		}
		said := fmt.Sprintf("%d steps, %d of them pending, %d findings of applockctl migrate status",
			len(status.Steps), pending, len(status.Findings))
		if pending > 0 || slices.ContainsFunc(status.Findings, damages) || status.Newer != nil {
			return said, errNo
		}
		return said, nil
	}
}

// healthOf returns those checks of verify that a page can repeat at any time.
func healthOf(client *applock.Client) []console.Check {
	driver := clients.Driver(client)
	around := func(ctx context.Context) (inspect.Surroundings, error) { return inspect.LookAround(ctx, driver) }
	stale := func(ctx context.Context) (inspect.StaleLocks, error) {
		return inspect.LookForStale(ctx, driver, defaultStale)
	}
	held := func(ctx context.Context) (inspect.HeldRows, error) { return inspect.LookForHolders(ctx, driver) }
	return []console.Check{
		{Name: "The steps of the schema", Run: stepsOf(client)},
		{Name: "The server takes changes", Run: checked(around, "", func(found inspect.Surroundings) (string, error) {
			if found.ReadOnly != "" {
				return found.ReadOnly, errNo
			}
			if found.RoundTrip == 0 {
				return "the file can be written", nil
			}
			return "it is a primary", nil
		})},
		{Name: "In between", Run: checked(around, "", func(found inspect.Surroundings) (string, error) {
			if found.RoundTrip == 0 {
				return "nothing: the database is a file", nil
			}
			return cmp.Or(found.Between, "neither a pooler nor a cluster"), nil
		})},
		{Name: "The clocks", Run: checked(around, "", func(found inspect.Surroundings) (string, error) {
			if found.RoundTrip == 0 {
				return "the file uses this host's clock", nil
			}
			return clockWords(found.Ahead, found.RoundTrip), nil
		})},
		{Name: "The purge", Run: checked(stale,
			"this account may not read the table appl_lock: run as the account that installs: applockctl verify",
			func(found inspect.StaleLocks) (string, error) { return staleWords(found, defaultStale) })},
		{Name: "Held snapshots", Run: checked(held, mayNotSeeSessions, horizonWords)},
	}
}

// notTold is a page's text where the product cannot answer a check.
const notTold = "applock cannot check this on this database"

// checked returns a check which says what look has found. hidden is the text for an account that may not look.
func checked[T any](
	look func(context.Context) (T, error), hidden string, say func(T) (string, error),
) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		found, err := look(ctx)
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			return notTold, console.ErrNotChecked
		case hidden != "" && errors.Is(err, applock.ErrPrivilege):
			return hidden, console.ErrNotChecked
		case err != nil:
			return "", err
		}
		return say(found)
	}
}

// checkAddress refuses --address where no flag uses it, and a sign-in that lacks it.
func (f consoleFlags) checkAddress() error {
	address, err := url.Parse(f.Address)
	switch {
	case f.Address == "" && f.Issuer != "":
		return &applock.InvalidError{Argument: "--address", Reason: "is missing: the issuer has to send browsers back to the console"}
	case f.Address == "":
		return nil
	case f.Issuer == "" && f.Header == "":
		return &applock.InvalidError{Argument: "--address", Reason: "is for --user-header and --oidc-issuer"}
	case err != nil || address.Hostname() == "":
		return &applock.InvalidError{Argument: "--address", Reason: "is written as https://locks.example.com/"}
	}
	return nil
}

// signIn returns the sign-in that the flags choose. Without one, the console serves this host only.
func (f consoleFlags) signIn(ctx context.Context, key [32]byte) (console.SignIn, error) {
	if err := f.checkAddress(); err != nil {
		return nil, err
	}
	if f.Issuer != "" {
		return f.openID(ctx, key)
	}
	if signIn, err := f.SignIn(); signIn != nil || err != nil {
		return signIn, err
	}
	if _, err := console.PersonName(f.by); f.by != "" && err != nil {
		return nil, &applock.InvalidError{Argument: "--by", Reason: "cannot be used: " + err.Error()}
	}
	host, _, err := net.SplitHostPort(f.listen)
	address, notLiteral := netip.ParseAddr(host)
	if err != nil || host != "localhost" && (notLiteral != nil || !address.IsLoopback()) {
		return nil, &applock.InvalidError{Argument: "--listen", Reason: "has to be a loopback address, such as 127.0.0.1:8420: for others " +
			"people have to sign in, by --user-header, --oidc-issuer or --passwords"}
	}
	return console.Local(f.by), nil
}

// bounds returns the departments of --department by person and role.
func (f consoleFlags) bounds() (func(person, role string) []string, error) {
	of := map[string][]string{}
	for _, text := range f.departments {
		name, department, _ := strings.Cut(text, "=")
		if name == "" || department == "" {
			return nil, &applock.InvalidError{Argument: "--department", Reason: "is written as NAME=DEPARTMENT, with the name of a person or a --role"}
		}
		of[name] = append(of[name], department)
	}
	return func(person, role string) []string { return append(slices.Clone(of[person]), of[role]...) }, nil
}

// key returns the key of --key-file, or zero.
func (f consoleFlags) key() (key [32]byte, err error) {
	if f.keyFile == "" {
		return key, nil
	}
	text, err := secret.Read(f.keyFile)
	text = strings.TrimSpace(text)
	if err == nil && len(text) < len(key) {
		err = fmt.Errorf("has %d characters, and a key has at least %d: openssl rand -hex 32 makes one", len(text), len(key))
	}
	if err != nil {
		return key, &applock.InvalidError{Argument: "--key-file", Reason: err.Error()}
	}
	return sha256.Sum256([]byte(text)), nil
}

func (f consoleFlags) openID(ctx context.Context, key [32]byte) (console.SignIn, error) {
	config := f.OpenID()
	config.Scopes, config.Key = f.scopes, key
	if f.secretFile != "" {
		text, err := secret.Read(f.secretFile)
		if err != nil {
			return nil, &applock.InvalidError{Argument: "--oidc-secret-file", Reason: err.Error()}
		}
		config.ClientSecret = strings.TrimSpace(text)
	}
	signIn, err := openid.New(ctx, config)
	if err != nil {
		return nil, err // an interface with a nil pointer in it would not be nil
	}
	return signIn, nil
}
