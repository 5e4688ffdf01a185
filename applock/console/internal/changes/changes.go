// Package changes makes the pages of the console that change something: the form, the plan and the answer of a change; the requests for a lock;
// and the desk of a person, which has the requests of others.
package changes

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
	"github.com/applock/applock/applock/console/internal/pages"
	"github.com/applock/applock/applock/console/internal/reading"
	"github.com/applock/applock/applock/console/internal/seal"
)

// Page makes a page for a visitor. values are the address' parameters, or the form's.
type Page = func(ctx context.Context, who access.Visitor, values url.Values) (pages.View, error)

// Config is what the changers of all clients share.
type Config struct {
	Pages  *pages.Pages
	Logger *slog.Logger
	// Timeout bounds the calls to the database of one page.
	Timeout time.Duration
	// Seal closes plans and answers.
	Seal *seal.Seal
	// Noting is a semaphore of one, held while a note is compared and changed.
	Noting chan struct{}
}

// Changer changes locks by one client. It is safe for concurrent use.
type Changer struct {
	Config

	client *applock.Client
	rights *access.Rights
	reader *reading.Reader
	beats  *beats
	// inboxes has the position of each person's inbox.
	inboxes sync.Map
}

// New returns a changer.
func New(client *applock.Client, rights *access.Rights, reader *reading.Reader, config Config) *Changer {
	return &Changer{Config: config, client: client, rights: rights, reader: reader, beats: &beats{of: map[string]*beat{}}}
}

// Handlers returns the pages by their patterns. Actions are those with POST.
func (c *Changer) Handlers() map[string]Page {
	all := map[string]Page{
		"GET /ask":       limited(access.Ask, c.askForm),
		"POST /ask":      limited(access.Ask, c.askPage),
		"POST /withdraw": limited(access.Ask, c.withdrawPage),
		"POST /respond":  limited(access.Answer, c.respondPage),
		"POST /get":      limited(access.Ask, c.getPage),
		"GET /policy":    unbounded(c.policyForm),
		"POST /policy":   unbounded(c.policyPage),
		"GET /plan":      c.sealedPage("plan", pages.ErrNoPlan),
		"GET /answer":    c.sealedPage("answer", pages.ErrNoAnswer),
	}
	for _, verb := range verbs() {
		all["GET /"+verb.Name] = limited(verb.Name, c.formPage(verb))
		all["POST /"+verb.Name] = limited(verb.Name, c.changePage(verb))
	}
	return all
}

func limited(right string, page Page) Page {
	return func(ctx context.Context, who access.Visitor, values url.Values) (pages.View, error) {
		if !who.Rights[right] {
			return pages.View{}, pages.ErrMayNot
		}
		return page(ctx, who, values)
	}
}

// Asks reports whether a person has open requests.
func (c *Changer) Asks(person string) (asks bool) {
	c.beats.change(person, func(of *beat) { asks = !of.next.IsZero() })
	return asks
}

// rowsOfPlan is the number of locks in one confirmation, which lists them all.
const rowsOfPlan = 500

// change is a requested change of locks, as a form carries it.
type change struct {
	// Locks are the grants that the page showed.
	Locks []applock.Key
	// Desk selects all locks of an operator, or those of Type. Filter, the query of a list, selects all locks of the list. After is the last
	// object of the plan before, and Next the last of this plan if more follow.
	Desk, Type  string
	Filter      string
	After, Next applock.Object
	To          applock.Owner
	// Unknown is a name that the database does not know, and that the person has confirmed.
	Unknown string
	// Text is the reason for the history, or the new text of a note. Old is the note that the page showed.
	Text, Old string
	// Lasts is how long the locks last from now, as it is written, and TTL the same as a time. Empty keeps that of each lock.
	Lasts string
	TTL   time.Duration
	// Carry copies the notes to the new grants.
	Carry bool
	// By is the person who asks for the change.
	By string
}

// ownerAfter returns the new owner of a lock. Without a department of the receiver, the lock keeps its own.
func (d change) ownerAfter(lock applock.Lock) applock.Owner {
	return applock.Owner{Operator: d.To.Operator, Department: cmp.Or(d.To.Department, lock.Owner.Department)}
}

// verb is a kind of change. Each entry of verbs is one.
type verb struct {
	Name string
	// Hands is true if the form asks for a receiver, Gives if somebody gets a new grant.
	Hands, Gives bool
	// Many is true if the verb accepts several locks, Ends if it ends the grants, and with them their notes, for a reason. Timed is true if the
	// form asks for a time.
	Many, Ends, Timed bool
	// Limit is the maximum of characters in the reason or note.
	Limit int
	// argument is the name of the reason or note in errors, empty without one.
	argument string
	// event is what the history has of it.
	event applock.EventKind
	call  func(ctx context.Context, client *applock.Client, d change, lock applock.Lock) (applock.Grant, error)
}

// verbs returns the verbs in the order of the page.
func verbs() []verb {
	return []verb{
		{
			Name: access.Transfer, Hands: true, Gives: true, Many: true, Ends: true, Timed: true,
			Limit: applock.MaxReasonLength, argument: "Reason", event: applock.EventTransferred, call: transfer,
		},
		{
			Name: access.Take, Gives: true, Many: true, Ends: true, Timed: true,
			Limit: applock.MaxReasonLength, argument: "Reason", event: applock.EventTaken, call: take,
		},
		{Name: access.Release, Many: true, Ends: true, Limit: applock.MaxReasonLength, argument: "Reason", event: applock.EventReleased, call: release},
		{Name: access.Extend, Many: true, Timed: true, call: extend},
		{Name: access.Note, Limit: applock.MaxNoteLength, argument: "Note", call: note},
	}
}

// transfer names the holder, which the database compares. It cannot name the grant; current has compared that just before.
func transfer(ctx context.Context, client *applock.Client, d change, lock applock.Lock) (applock.Grant, error) {
	return client.Transfer(ctx, applock.TransferRequest{
		Object: lock.Object, From: lock.Owner.Operator, To: d.ownerAfter(lock), TTL: d.TTL, Actor: d.By, Reason: d.Text,
	})
}

func take(ctx context.Context, client *applock.Client, d change, lock applock.Lock) (applock.Grant, error) {
	return client.Take(ctx, applock.TakeRequest{
		Object: lock.Object, Owner: d.ownerAfter(lock), TTL: d.TTL, ExpectedFence: lock.Fence, Reason: d.Text,
	})
}

func release(ctx context.Context, client *applock.Client, d change, lock applock.Lock) (applock.Grant, error) {
	outcome, err := client.Release(ctx, applock.ReleaseRequest{Key: lock.Key(), Actor: d.By, Reason: d.Text})
	return applock.Grant{Outcome: outcome}, err
}

// extend renews one lock; a plan renews all by one call.
func extend(ctx context.Context, client *applock.Client, d change, lock applock.Lock) (applock.Grant, error) {
	return client.Renew(ctx, lock.Key(), d.TTL)
}

func note(ctx context.Context, client *applock.Client, d change, lock applock.Lock) (applock.Grant, error) {
	err := client.Note(ctx, lock.Key(), d.Text)
	return applock.Grant{Outcome: applock.OutcomeNoted, Owner: lock.Owner, Fence: lock.Fence, ExpiresAt: lock.ExpiresAt}, err
}

// step is the step of a form: ask for what is missing, show the plan, then do it.
type step int

const (
	asking step = iota
	planning
	doing
)

func changeOf(person string, posted url.Values) (d change, at step, err error) {
	form := func(name string) string { return pages.Tidy(posted.Get(name)) }
	d = change{
		Type: form("type"), To: applock.Owner{Operator: form("to"), Department: form("department")},
		Text: form("reason"), Old: form("old"), Lasts: form("lasts"), Filter: form("all"), Carry: form("carry") != "", By: person,
		// Names keep their blanks.
		Desk: posted.Get("desk"), Unknown: posted.Get("unknown"),
	}
	for _, text := range posted["lock"] {
		if d.Filter != "" && form("confirmed") == "" {
			break // all are selected, not only those
		}
		key, err := pages.ParseGrant(text)
		if err != nil {
			return d, at, err
		}
		d.Locks = append(d.Locks, key)
	}
	for name, object := range map[string]*applock.Object{"after": &d.After, "next": &d.Next} {
		if text := posted.Get(name); text != "" {
			if *object, err = applock.ParseObject(text); err != nil {
				return d, at, err
			}
		}
	}
	switch {
	case len(d.Locks) > rowsOfPlan:
		return d, at, pages.ErrFormTooBig
	case len(d.Locks) == 0 && d.Desk == "" && d.Filter == "":
		return d, at, pages.NoLock()
	case !posted.Has("reason") && !posted.Has("lasts"):
		return d, asking, nil
	case form("confirmed") == "" || len(d.Locks) == 0:
		return d, planning, nil
	}
	return d, doing, nil
}

// formPage returns the form of a verb for the lock, or the desk, in the address.
func (c *Changer) formPage(v verb) Page {
	return func(ctx context.Context, who access.Visitor, query url.Values) (pages.View, error) {
		d := change{Desk: query.Get("desk"), Type: query.Get("type"), By: who.Person}
		if d.Desk != "" && v.Many {
			return c.begin(ctx, who, v, d)
		}
		object, err := applock.ParseObject(query.Get("name"))
		if err != nil {
			return pages.View{}, err
		}
		lock, err := c.reader.Inquire(ctx, object)
		if err != nil {
			return pages.View{}, err
		}
		if lock == nil {
			d.Locks = []applock.Key{{Object: object}}
			return c.answer(who, v, d, []outcome{{Key: d.Locks[0], err: applock.ErrNotHeld}}, nil), nil
		}
		d.Locks = []applock.Key{lock.Key()}
		switch v.Name {
		case access.Note:
			d.Text, d.Old = lock.Note, lock.Note
		case access.Extend:
			d.Lasts = pages.FormatSpan(lock.ExpiresAt.Sub(lock.LockedAt)) // an inquiry has no ttl
		}
		return c.begin(ctx, who, v, d)
	}
}

// begin returns the form of a verb that an address asks for.
func (c *Changer) begin(ctx context.Context, who access.Visitor, v verb, d change) (pages.View, error) {
	if err := c.refuseOthers(ctx, who, d); err != nil {
		return pages.View{}, err
	}
	return c.form(ctx, v, d, problem{})
}

// changePage takes a form. It asks for what is missing, shows the plan, or does it.
func (c *Changer) changePage(v verb) Page {
	return func(ctx context.Context, who access.Visitor, form url.Values) (pages.View, error) {
		d, at, err := changeOf(who.Person, form)
		if err == nil {
			err = c.refuseOthers(ctx, who, d)
		}
		var wrong problem
		switch {
		case err != nil:
			return pages.View{}, err
		case !v.Many && len(d.Locks) != 1:
			return pages.View{}, pages.NoLock()
		case at != asking:
			if wrong, err = c.check(ctx, v, &d); err != nil {
				return pages.View{}, err
			}
		}
		if at == asking || wrong.status != 0 {
			return c.form(ctx, v, d, wrong)
		}
		page, next := "plan", c.plan
		if at == doing {
			page, next = "answer", c.do
		}
		shown, err := next(ctx, who, v, d)
		var changed *noteChangedError
		switch {
		case errors.As(err, &changed):
			d.Old = changed.note
			return c.form(ctx, v, d, problem{status: http.StatusConflict, text: c.Pages.HTML("error.note"), changed: changed})
		case err != nil:
			return pages.View{}, err
		}
		return c.sealed(page, d.By, shown)
	}
}

// problem is the reason why a form is shown again. The zero value means none.
type problem struct {
	status int
	text   template.HTML
	// nobody is a name unknown to the database.
	nobody string
	// changed has the text that a note has got meanwhile.
	changed *noteChangedError
}

type noteChangedError struct{ note string }

func (*noteChangedError) Error() string { return "somebody has changed the note meanwhile" }

// isOf reports whether an operator holds one of the locks.
func (d change) isOf(operator string) bool {
	return d.Desk == operator || slices.ContainsFunc(d.Locks, func(key applock.Key) bool { return key.Operator == operator })
}

// check validates a form, and fills in the receiver's department.
func (c *Changer) check(ctx context.Context, v verb, d *change) (problem, error) {
	wrong := func(name, argument string, args ...any) (problem, error) {
		args = append([]any{c.Pages.Label(argument)}, args...)
		return problem{status: http.StatusBadRequest, text: c.Pages.HTML(name, args...)}, nil
	}
	var err error
	if d.TTL, err = pages.ParseSpan("TTL", d.Lasts); err != nil {
		_, text := c.Pages.Explain(err)
		return problem{status: http.StatusBadRequest, text: template.HTML(text)}, nil //nolint:gosec // a text of ours
	}
	if !v.Hands {
		d.To.Operator = d.By
	}
	switch length := utf8.RuneCountInString(d.Text); {
	case v.Hands && d.To.Operator == "":
		return wrong("error.missing", "To.Operator")
	case v.Hands && strings.ContainsFunc(d.To.Operator, pages.Unseen):
		return wrong("error.unseen", "To.Operator", d.To.Operator)
	case v.Hands && d.isOf(d.To.Operator):
		return wrong("error.holder", "To.Operator", d.To.Operator)
	case strings.ContainsFunc(d.To.Department, pages.Unseen):
		return wrong("error.unseen", "To.Department", d.To.Department)
	case v.Timed && !v.Gives && d.TTL == 0:
		return wrong("error.missing", "TTL")
	case v.argument == "":
		return problem{}, nil
	case d.Text == "" && (v.Ends || d.Old == ""):
		return wrong("error.missing", v.argument)
	case length > v.Limit:
		return wrong("error.long", v.argument, length, v.Limit)
	case !v.Gives:
		return problem{}, nil
	}
	known, err := c.reader.OperatorNamed(ctx, d.To.Operator)
	if err == nil && known == nil && v.Hands && d.Unknown != d.To.Operator {
		return problem{status: http.StatusBadRequest, text: c.Pages.HTML("error.nobody", d.To.Operator), nobody: d.To.Operator}, nil
	}
	if known != nil && !strings.ContainsFunc(known.Department, pages.Unseen) {
		d.To.Department = cmp.Or(d.To.Department, known.Department)
	}
	return problem{}, err
}

// changeShown is the data of a form, a plan or an answer.
type changeShown struct {
	change
	verb
	// Title is the heading and the button, What are the locks, Whose are their holders.
	Title, What, Whose template.HTML
	// Back is the address where the person began.
	Back string

	// Problem is the mistake in the form, Nobody an unknown name in it, Changed the present text of a note that has changed.
	Problem template.HTML
	Nobody  string
	Changed bool
	// People are the operators that the form suggests.
	People []applock.Owner

	// Departments bound the desk of a plan.
	Departments []string
	Plan        plan
	// Receiver gets the locks of a plan. It has a department if all the locks get the same.
	Receiver applock.Owner
	Done     outcomes
}

// shown returns the data of a change that form, plan and answer share.
func (c *Changer) shown(v verb, d change, title string) changeShown {
	s := changeShown{change: d, verb: v}
	holders := map[string]bool{d.Desk: true}
	for _, key := range d.Locks {
		holders[key.Operator] = true
	}
	delete(holders, "")
	s.Whose = c.Pages.HTML("change.holders", len(holders))
	for holder := range holders {
		if len(holders) == 1 {
			s.Whose = pages.Value(holder)
		}
	}
	var of template.HTML
	switch {
	case len(d.Locks) == 0 && d.Filter != "":
		s.What, s.Whose = c.Pages.HTML("change.filter"), c.Pages.HTML("change.each")
		of = s.What
	case len(d.Locks) == 0:
		s.What, of = c.Pages.HTML("change.all"), c.Pages.HTML("change.desk", s.Whose)
	case len(d.Locks) == 1:
		s.What, s.Back = pages.Value(d.Locks[0].Object), addressOf(d.Locks[0].Object)
		of = s.What
	default:
		s.What, s.Back = c.Pages.HTML("change.locks", len(d.Locks)), "locks"
		of = c.Pages.HTML("change.locks-of", len(d.Locks), s.Whose)
	}
	if d.Desk != "" {
		s.Back = "operator?name=" + url.QueryEscape(d.Desk)
	}
	if query, err := url.ParseQuery(d.Filter); err == nil && len(query) > 0 {
		s.Back = "locks?" + query.Encode()
	}
	s.Title = c.Pages.HTML(title, of, d.To)
	return s
}

func addressOf(object applock.Object) string {
	return "object?name=" + url.QueryEscape(object.String())
}

func (c *Changer) form(ctx context.Context, v verb, d change, wrong problem) (pages.View, error) {
	var err error
	s := c.shown(v, d, "title."+v.Name)
	s.Problem, s.Nobody, s.Changed = wrong.text, wrong.nobody, wrong.changed != nil
	if v.Hands {
		s.People, err = c.reader.People(ctx)
	} else if v.Gives && d.To.Department == "" {
		var me *applock.Owner
		if me, err = c.reader.OperatorNamed(ctx, d.By); me != nil {
			s.To.Department = me.Department
		}
	}
	return pages.View{Template: "form", Status: wrong.status, Title: pages.Plain(s.Title), Data: s}, err
}

// refuseOthers refuses the locks and the desk of others, unless the database user supervises; and locks of departments that are not the person's.
func (c *Changer) refuseOthers(ctx context.Context, who access.Visitor, d change) error {
	var refused pages.OthersError
	for _, key := range d.Locks {
		if key.Operator != d.By {
			refused = append(refused, key.Object.String()+" ("+key.Operator+")")
		}
	}
	if d.Desk != "" && d.Desk != d.By && len(refused) == 0 {
		refused = pages.OthersError{d.Desk}
	}
	if len(refused) == 0 {
		return nil
	}
	supervises, err := c.rights.Supervises(ctx)
	if err == nil && !supervises {
		return refused
	}
	if err != nil || who.Departments == nil {
		return err
	}
	refused = nil
	for _, key := range d.Locks {
		lock, err := c.reader.Inquire(ctx, key.Object)
		switch {
		case err != nil:
			return err
		case lock != nil && lock.Key() == key && !who.Reaches(lock.Owner): // any other grant is left as it is
			refused = append(refused, key.Object.String()+" ("+lock.Owner.String()+")")
		}
	}
	if len(refused) > 0 {
		return refused
	}
	return nil
}

// Probes returns a call for each right. The calls name an object and people that do not exist. They therefore change nothing, and yet show on
// every product whether the user may call the procedure, without reading a catalogue.
func Probes(client *applock.Client) map[string]access.Probe {
	d := change{To: applock.Owner{Operator: rand.Text()}, TTL: time.Second, Text: "may this user do it?", By: rand.Text()}
	lock := applock.Lock{Object: applock.Object{Type: "applock-console", ID: rand.Text()}, Owner: applock.Owner{Operator: rand.Text()}, Fence: 1}
	probes := map[string]access.Probe{
		access.Ask: func(ctx context.Context) error {
			_, err := client.Ask(ctx, applock.AskRequest{Object: lock.Object, Owner: d.To, Client: access.Client, Withdraw: true})
			return err
		},
		access.Answer: func(ctx context.Context) error {
			_, err := client.Answer(ctx, applock.AnswerRequest{Key: lock.Key(), Asker: d.To.Operator, Answer: applock.AnswerNo})
			return err
		},
		access.Policy: func(ctx context.Context) error {
			err := client.DropPolicy(ctx, applock.DropPolicyRequest{Type: lock.Object.ID, Actor: d.By})
			if errors.Is(err, applock.ErrNoPolicy) {
				return nil
			}
			return err
		},
		access.Others: func(ctx context.Context) error {
			_, err := transfer(ctx, client, d, lock)
			if errors.Is(err, applock.ErrPrivilege) {
				_, err = take(ctx, client, d, lock)
			}
			return err
		},
	}
	for _, v := range verbs() {
		probes[v.Name] = func(ctx context.Context) error {
			_, err := v.call(ctx, client, d, lock)
			return err
		}
	}
	return probes
}
