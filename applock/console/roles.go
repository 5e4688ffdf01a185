package console

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/applock/applock/applock"
)

// Role is a role of people, with the client that the console uses for them.
type Role struct {
	// Name is what sign-ins and Config.RolesOf call it.
	Name string
	// Client is of a database user with the rights that these people have. The console does not close it.
	Client *applock.Client
}

// database is what those share who look at the locks by the same client.
type database struct {
	client *applock.Client
	rights *rights
	// parts are what live pages show.
	parts *shared[liveKey, livePart]
	// snapshots are all locks at a time, and counts how many there are.
	snapshots *shared[struct{}, *snapshot]
	counts    *shared[struct{}, []applock.Stats]
	// present is who asks for what, and who looks at it, and beats repeat the requests of people here.
	present *shared[struct{}, *present]
	beats   *beats
	// snapshotMost is locksOfSnapshot.
	snapshotMost int
}

func newDatabase(client *applock.Client, config Config) *database {
	return &database{
		client: client, rights: &rights{now: time.Now},
		parts:     &shared[liveKey, livePart]{age: config.Interval / 2, results: map[liveKey]*result[livePart]{}},
		snapshots: &shared[struct{}, *snapshot]{results: map[struct{}]*result[*snapshot]{}},
		present:   &shared[struct{}, *present]{age: config.Interval / 2, results: map[struct{}]*result[*present]{}}, beats: newBeats(),
		counts: &shared[struct{}, []applock.Stats]{age: countsKept, results: map[struct{}]*result[[]applock.Stats]{}}, snapshotMost: locksOfSnapshot,
	}
}

// asker is who asks for a page.
type asker struct {
	person string
	// role is the one that the person is here in; empty for those without one, who use the console's own client.
	role     string
	database *database
	// verbs, if not nil, are what may be done: those of all who share a live page, who have no name there.
	verbs map[string]bool
	// polls is true where a page that is open asks whether something has changed.
	polls bool
}

// askerKey is what an asker is kept by in a request's context.
type askerKey struct{}

func askerOf(ctx context.Context) asker {
	who, _ := ctx.Value(askerKey{}).(asker)
	return who
}

// clientOf is the client of who asks.
func clientOf(ctx context.Context) *applock.Client { return askerOf(ctx).database.client }

// asking returns who a person is here: the first of the console's roles that is one of the person's.
func (c *console) asking(person Person) asker {
	roles := slices.Clone(person.Roles)
	if person.Name != "" && c.config.RolesOf != nil {
		roles = append(roles, c.config.RolesOf(person.Name)...)
	}
	for i, role := range c.config.Roles {
		if slices.Contains(roles, role.Name) {
			return asker{person: person.Name, role: role.Name, database: c.databases[i]}
		}
	}
	return asker{person: person.Name, database: c.own}
}

// allowed returns what who asks may do, by the names of verbs: what the database allows, for those who may change anything.
func (c *console) allowed(ctx context.Context) map[string]bool {
	who := askerOf(ctx)
	if who.verbs != nil {
		return who.verbs
	}
	if who.person == "" || who.role == "" && !c.config.MayChange(who.person) {
		return nil
	}
	return who.database.rights.read(ctx, who.database.client)
}

// allowedOf returns those of some verbs that who asks may do.
func (c *console) allowedOf(ctx context.Context, verbs []string) []string {
	allowed := c.allowed(ctx)
	return slices.DeleteFunc(verbs, func(verb string) bool { return !allowed[verb] })
}

// rightsKept is how long the rights of a database user are not asked for again.
const rightsKept = time.Minute

// rights are what a client's database user may do. They are for what is offered and refused: the database decides.
type rights struct {
	now func() time.Time

	mutex   sync.Mutex
	allowed map[string]bool
	until   time.Time
}

// probes are calls that tell whether a user has a right, by its name.
func probes() map[string]func(ctx context.Context, client *applock.Client, d deed, lock applock.Lock) error {
	probes := map[string]func(context.Context, *applock.Client, deed, applock.Lock) error{
		rightAsk: func(ctx context.Context, client *applock.Client, d deed, lock applock.Lock) error {
			_, err := client.Ask(ctx, applock.AskRequest{Object: lock.Object, Owner: d.To, Client: consoleClient, Withdraw: true})
			return err
		},
		rightAnswer: func(ctx context.Context, client *applock.Client, d deed, lock applock.Lock) error {
			_, err := client.Answer(ctx, applock.AnswerRequest{Key: lock.Key(), Asker: d.To.Operator, Answer: applock.AnswerNo})
			return err
		},
	}
	for _, v := range verbs() {
		probes[v.Name] = func(ctx context.Context, client *applock.Client, d deed, lock applock.Lock) error {
			_, err := v.call(ctx, client, d, lock)
			return err
		}
	}
	return probes
}

// read returns the verbs that the client's user has the right to.
func (r *rights) read(ctx context.Context, client *applock.Client) map[string]bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.now().Before(r.until) {
		return r.allowed
	}
	allowed, sure := map[string]bool{}, true
	d, lock := nobodysDeed()
	for name, probe := range probes() {
		err := probe(ctx, client, d, lock)
		allowed[name] = !errors.Is(err, applock.ErrPrivilege)
		sure = sure && (err == nil || errors.Is(err, applock.ErrPrivilege) || errors.Is(err, applock.ErrNotHeld))
	}
	if sure {
		r.allowed, r.until = allowed, r.now().Add(rightsKept)
	}
	return allowed
}

// nobodysDeed is about an object and people that there are not. Every database tells by it who may call a procedure, without a
// look at its catalogue, and nothing changes.
func nobodysDeed() (deed, applock.Lock) {
	return deed{To: applock.Owner{Operator: rand.Text()}, Text: "may this user do it?", By: rand.Text()},
		applock.Lock{Object: applock.Object{Type: "applock-console", ID: rand.Text()}, Owner: applock.Owner{Operator: rand.Text()}, Fence: 1}
}
