package console

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
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

// database is what all readers share who use the same client.
type database struct {
	client *applock.Client
	rights *rights
	// parts are the shared live pages.
	parts *shared[liveKey, livePart]
	// snapshots hold all locks, counts the statistics.
	snapshots *shared[struct{}, *snapshot]
	counts    *shared[struct{}, []applock.Stats]
	// present holds requests and viewers. beats renews the requests of people of this client.
	present *shared[struct{}, *present]
	beats   *beats
	// snapshotMost is locksOfSnapshot, except in tests.
	snapshotMost int
}

func newDatabase(client *applock.Client, config Config) *database {
	return &database{
		client: client, rights: &rights{now: time.Now},
		parts:     &shared[liveKey, livePart]{age: config.Interval / 2, results: map[liveKey]*result[livePart]{}},
		snapshots: &shared[struct{}, *snapshot]{age: config.Interval / 2, results: map[struct{}]*result[*snapshot]{}},
		present:   &shared[struct{}, *present]{age: config.Interval / 2, results: map[struct{}]*result[*present]{}}, beats: newBeats(),
		counts:       &shared[struct{}, []applock.Stats]{age: countsKept, results: map[struct{}]*result[[]applock.Stats]{}},
		snapshotMost: locksOfSnapshot,
	}
}

// asker is the reader of a page, with the client to use.
type asker struct {
	person string
	// role is the person's role here. It is empty for the console's own client.
	role     string
	database *database
	// verbs, if not nil, replace the person's: a shared live page has no person.
	verbs map[string]bool
	// polls is true if an open page checks for changes.
	polls bool
}

// askerKey is the context key of the asker.
type askerKey struct{}

func askerOf(ctx context.Context) asker {
	who, _ := ctx.Value(askerKey{}).(asker)
	return who
}

// clientOf returns the client for the request's person.
func clientOf(ctx context.Context) *applock.Client { return askerOf(ctx).database.client }

// asking returns the asker of a person. It uses the first of the console's roles that the person has.
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

// allowed returns the verbs that the request's person may use. The database user's rights limit them.
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

// allowedOn returns those of the verbs that the request's person may use on a lock of this holder.
func (c *console) allowedOn(ctx context.Context, holder string, verbs []string) []string {
	allowed := c.allowed(ctx)
	others := holder == "" || holder != askerOf(ctx).person
	return slices.DeleteFunc(slices.Clone(verbs), func(verb string) bool {
		return !allowed[verb] || others && !allowed[rightOthers] && verb != rightAsk
	})
}

// rightOthers is the right to change the locks of others: that of a database user who may hand over or take. A user of the role operator
// may release any lock, since there the program decides for which operator it speaks. The console speaks for the person.
const rightOthers = "others"

// refuseOthers refuses the locks and the desk of others, unless the request's person supervises. It asks the database, since cached rights
// may have ended.
func refuseOthers(ctx context.Context, d deed) error {
	var refused othersError
	for _, key := range d.Locks {
		if key.Operator != d.By {
			refused = append(refused, key.Object.String()+" ("+key.Operator+")")
		}
	}
	if d.Desk != "" && d.Desk != d.By && len(refused) == 0 {
		refused = othersError{d.Desk}
	}
	if len(refused) == 0 {
		return nil
	}
	nobody, lock := nobodysDeed()
	if err := probes()[rightOthers](ctx, clientOf(ctx), nobody, lock); !errors.Is(err, applock.ErrPrivilege) {
		if errors.Is(err, applock.ErrNotHeld) {
			return nil
		}
		return err
	}
	return refused
}

// othersError names the locks of others, or an operator's desk, that a person may not change. It is errMayNot.
type othersError []string

func (e othersError) Error() string {
	return "not allowed to change what others hold: " + strings.Join(e[:min(len(e), namesShown)], ", ")
}

func (othersError) Is(target error) bool { return target == errMayNot }

// rightsKept is how long the rights of a database user are cached.
const rightsKept = time.Minute

// rights caches the verbs that a client's database user may use. They decide what pages offer; the database itself enforces them.
type rights struct {
	now func() time.Time

	mutex   sync.Mutex
	allowed map[string]bool
	until   time.Time
}

// probes returns a call for each right. It fails with a lack of privilege if the user does not have the right.
func probes() map[string]func(ctx context.Context, client *applock.Client, d deed, lock applock.Lock) error {
	probes := map[string]func(context.Context, *applock.Client, deed, applock.Lock) error{
		rightAsk: func(ctx context.Context, client *applock.Client, d deed, lock applock.Lock) error {
			_, err := client.Ask(ctx, applock.AskRequest{Object: lock.Object, Owner: d.To, Client: consoleClient, Withdraw: true})
			return err
		},
		rightOthers: func(ctx context.Context, client *applock.Client, d deed, lock applock.Lock) error {
			_, err := transfer(ctx, client, d, lock)
			if errors.Is(err, applock.ErrPrivilege) {
				_, err = take(ctx, client, d, lock)
			}
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

// read returns the verbs that the client's user may use.
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

// nobodysDeed names an object and people that do not exist. The probes' calls therefore change nothing, and yet show on every product
// whether the user may call the procedure, without reading a catalogue.
func nobodysDeed() (deed, applock.Lock) {
	return deed{To: applock.Owner{Operator: rand.Text()}, Text: "may this user do it?", By: rand.Text()},
		applock.Lock{Object: applock.Object{Type: "applock-console", ID: rand.Text()}, Owner: applock.Owner{Operator: rand.Text()}, Fence: 1}
}
