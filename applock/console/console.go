// Package console is a web page on the locks, for supervisors: who holds what, until when, who waits and since when, and
// what to do about it. An application mounts its Handler, and "applockctl console" serves it.
//
// It needs nothing but the standard library: no script has to run in the browser, and nothing is fetched from elsewhere.
// Each list is an address that can be sent to a colleague. Each change is a form with a reason, a page that says what will
// happen, and the answer of the database.
//
// Nobody gets in whom [Config.SignIn] does not know, and nobody changes anything but those whom [Config.MayChange]
// names, and those with one of [Config.Roles]. For everybody the rights of the client's database user are the limit. Where that user may
// neither hand over nor take, a person changes only what that person holds.
package console

import (
	"cmp"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
	"github.com/applock/applock/applock/console/internal/changes"
	"github.com/applock/applock/applock/console/internal/pages"
	"github.com/applock/applock/applock/console/internal/reading"
	"github.com/applock/applock/applock/console/internal/seal"
)

// DefaultTimeout bounds the calls to the database of one page where nothing else is asked for.
const DefaultTimeout = 10 * time.Second

// bodyLimit is the longest time for sending a form.
const bodyLimit = 20 * time.Second

// DefaultInterval is how often a page that is open asks whether anything has changed.
const DefaultInterval = 2 * time.Second

// Config says who may do what. With its zero value nobody gets in.
type Config struct {
	// SignIn identifies the person of a request. Nil lets nobody in. [Local] is for the browsers of this host.
	SignIn SignIn
	// MayChange says whether a person without a role may hand over, take, release and note. Nil is nobody. The history keeps the name as
	// the actor. The console offers only actions that the database user has the right to; the database refuses the others. A person whose
	// database user may neither hand over nor take changes only that person's own locks.
	MayChange func(person string) bool
	// Roles are clients for people with roles: such a person sees and may do what that client's database user may, whatever MayChange says.
	// A person with several roles has the first one; a person without a role uses the client of the Handler.
	Roles []Role
	// RolesOf returns more roles of a person than the sign-in names; nil is none.
	RolesOf func(person string) []string
	// Departments returns the departments whose locks a person with this role may change, beside that person's own; nil is all of them. The
	// role is empty for a person without one.
	Departments func(person, role string) []string
	// Checks are more lines of the page on health than every client can answer.
	Checks []Check
	// Timeout bounds the calls to the database of one page; zero is DefaultTimeout.
	Timeout time.Duration
	// Interval is how often a page asks whether it still shows the database's state; zero is DefaultInterval. Pages with the same address
	// and client share the reads: at most two in an interval, fewer if they take long. Without an open page there are none.
	Interval time.Duration
	// Key is the same for all replicas of a console behind one address, so that each shows the plans and answers of the others; zero is a
	// random key of this handler.
	Key [32]byte
	// Logger gets errors of the database, which pages show only in general, and each change with its person; nil logs nothing.
	Logger *slog.Logger
}

// Role is a role of people, with the client that the console uses for them.
type Role struct {
	// Name is what sign-ins and Config.RolesOf call it.
	Name string
	// Client is of a database user with the rights that these people have. The console does not close it.
	Client *applock.Client
}

type console struct {
	config Config
	pages  *pages.Pages
	// shared is what the changes of all sites share.
	shared changes.Config
	// own is for people without a role. sites are for those with one, in the order of the roles.
	own   *site
	sites []*site
}

// Handler returns the pages, for any path that ends in a slash:
//
//	mux.Handle("/locks/", http.StripPrefix("/locks", console.Handler(client, config)))
//
// It is safe for concurrent use, and does not close the client.
func Handler(client *applock.Client, config Config) http.Handler {
	return newConsole(client, config).guarded()
}

func newConsole(client *applock.Client, config Config) *console {
	config.SignIn = cmp.Or[SignIn](config.SignIn, nobody{})
	if config.MayChange == nil {
		config.MayChange = func(string) bool { return false }
	}
	config.Timeout = cmp.Or(config.Timeout, DefaultTimeout)
	config.Interval = cmp.Or(config.Interval, DefaultInterval)
	config.Logger = cmp.Or(config.Logger, slog.New(slog.DiscardHandler))
	c := &console{config: config, pages: pages.New(config.Logger)}
	sealed, err := seal.New(config.Key, "pages")
	if err != nil {
		panic(err) // the key has the length of one
	}
	c.shared = changes.Config{
		Pages: c.pages, Logger: config.Logger, Timeout: config.Timeout, Seal: sealed, Noting: make(chan struct{}, 1),
	}
	c.own = c.newSite(client, "")
	for _, role := range config.Roles {
		c.sites = append(c.sites, c.newSite(role.Client, role.Name))
	}
	return c
}

// newSite returns the site of a role; an empty role means the console's own client.
func (c *console) newSite(client *applock.Client, role string) *site {
	rights := access.NewRights(changes.Probes(client))
	reader := reading.New(client, c.pages, reading.Config{Timeout: c.config.Timeout, Interval: c.config.Interval})
	s := &site{
		config: c.config, pages: c.pages, client: client, role: role, rights: rights.Read,
		reader: reader, changer: changes.New(client, rights, reader, c.shared),
		parts: reading.NewShared[liveKey, livePart](c.config.Interval/2, c.config.Timeout),
	}
	s.route()
	return s
}

// siteOf returns the site of a person: that of the first of the console's roles that the person has.
func (c *console) siteOf(person Person) *site {
	roles := slices.Clone(person.Roles)
	if person.Name != "" && c.config.RolesOf != nil {
		roles = append(roles, c.config.RolesOf(person.Name)...)
	}
	for i, role := range c.config.Roles {
		if slices.Contains(roles, role.Name) {
			return c.sites[i]
		}
	}
	return c.own
}
