package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/applock/applock/applock"
)

// rowsOfPlan is how many locks one confirmation is about: each of them is on the page.
const rowsOfPlan = 500

// deed is what somebody wants to be done with locks: what a form carries.
type deed struct {
	// Locks are the grants that were on the page.
	Locks []applock.Key
	// Desk is the operator all of whose locks are meant, or those of Type. After is the last object of the plan before, and Next that of
	// this plan, where there are more.
	Desk, Type  string
	After, Next applock.Object
	To          applock.Owner
	// Unknown is a name that nobody is known by, and that is meant all the same.
	Unknown string
	// Text is the reason, for the history; of a note its text. Old is what the note said on the page.
	Text, Old string
	// Carry is true where notes go over to the new grants.
	Carry bool
	// By is who does it.
	By string
}

// ownerAfter is who gets a lock. Without a department of the new holder's the lock stays in its own.
func (d deed) ownerAfter(lock applock.Lock) applock.Owner {
	return applock.Owner{Operator: d.To.Operator, Department: cmp.Or(d.To.Department, lock.Owner.Department)}
}

// verb is something that can be done with locks. Another one is another entry in verbs.
type verb struct {
	Name string
	// Hands is true where the form asks to whom, and Gives where somebody gets a new grant.
	Hands, Gives bool
	// Many is true where it can be done with several locks at once. The grants end, and their notes with them.
	Many bool
	// Limit is how many characters the reason, or the note, may have.
	Limit int
	// argument is what the reason is called in errors.
	argument string
	// call is one call to the database, on a grant.
	call func(ctx context.Context, client *applock.Client, d deed, lock applock.Lock) (applock.Grant, error)
}

// verbs returns the verbs in the order of the page.
func verbs() []verb {
	return []verb{
		{Name: "transfer", Hands: true, Gives: true, Many: true, Limit: applock.MaxReasonLength, argument: "Reason", call: transfer},
		{Name: "take", Gives: true, Many: true, Limit: applock.MaxReasonLength, argument: "Reason", call: take},
		{Name: "release", Many: true, Limit: applock.MaxReasonLength, argument: "Reason", call: release},
		{Name: verbNote, Limit: applock.MaxNoteLength, argument: "Note", call: note},
	}
}

const verbNote = "note"

// verbNames returns the names of the verbs, and verbsOfMany those for several locks.
func verbNames() []string { return namesOf(verbs()) }

func verbsOfMany() []string {
	return namesOf(slices.DeleteFunc(verbs(), func(v verb) bool { return !v.Many }))
}

func namesOf(verbs []verb) []string {
	names := make([]string, len(verbs))
	for i, v := range verbs {
		names[i] = v.Name
	}
	return names
}

// transfer has the database compare the holder. That it is the same grant was looked up right before.
func transfer(ctx context.Context, client *applock.Client, d deed, lock applock.Lock) (applock.Grant, error) {
	return client.Transfer(ctx, applock.TransferRequest{
		Object: lock.Object, From: lock.Owner.Operator, To: d.ownerAfter(lock), Actor: d.By, Reason: d.Text,
	})
}

func take(ctx context.Context, client *applock.Client, d deed, lock applock.Lock) (applock.Grant, error) {
	return client.Take(ctx, applock.TakeRequest{Object: lock.Object, Owner: d.ownerAfter(lock), ExpectedFence: lock.Fence, Reason: d.Text})
}

func release(ctx context.Context, client *applock.Client, d deed, lock applock.Lock) (applock.Grant, error) {
	outcome, err := client.Release(ctx, applock.ReleaseRequest{Key: lock.Key(), Actor: d.By, Reason: d.Text})
	return applock.Grant{Outcome: outcome}, err
}

func note(ctx context.Context, client *applock.Client, d deed, lock applock.Lock) (applock.Grant, error) {
	err := client.Note(ctx, lock.Key(), d.Text)
	return applock.Grant{Outcome: applock.OutcomeNoted, Owner: lock.Owner, Fence: lock.Fence, ExpiresAt: lock.ExpiresAt}, err
}

// grantOf names a grant in a form, in few bytes, and keyOf reads that. Neither a number nor what is escaped has a blank.
func grantOf(key applock.Key) string {
	return fmt.Sprintf("%d %s %s", key.Fence, url.QueryEscape(key.Operator), key.Object)
}

func keyOf(text string) (applock.Key, error) {
	number, rest, _ := strings.Cut(text, " ")
	escaped, name, _ := strings.Cut(rest, " ")
	fence, err := strconv.ParseInt(number, 10, 64)
	holder, unescaped := url.QueryUnescape(escaped)
	if err != nil || unescaped != nil || fence < 1 {
		return applock.Key{}, errNoLock
	}
	object, err := applock.ParseObject(name)
	return applock.Key{Object: object, Operator: holder, Fence: applock.Fence(fence)}, err
}

var errNoLock = &applock.InvalidError{Argument: "lock", Reason: "is missing: select one"}

// step is how far somebody is: what is missing is asked for, then the plan is shown, then it is done.
type step int

const (
	asking step = iota
	planning
	doing
)

// maxForm is more than a plan of rowsOfPlan locks needs.
const maxForm = 1 << 20

// parseForm reads no more than a form of the console has.
func parseForm(r *http.Request) error {
	r.Body = http.MaxBytesReader(nil, r.Body, maxForm)
	err := r.ParseForm()
	var tooBig *http.MaxBytesError
	switch {
	case errors.As(err, &tooBig):
		return errFormTooBig
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errFormLate
	case err != nil:
		return &applock.InvalidError{Argument: "form", Reason: "cannot be read"}
	}
	return nil
}

// deedOf reads a form.
func deedOf(r *http.Request) (d deed, at step, err error) {
	if err := parseForm(r); err != nil {
		return d, at, err
	}
	form := func(name string) string { return tidy(r.PostForm.Get(name)) }
	d = deed{
		Type: form("type"), To: applock.Owner{Operator: form("to"), Department: form("department")},
		Text: form("reason"), Old: form("old"), Carry: form("carry") != "", By: personOf(r),
		// As they stand: blanks belong to names.
		Desk: r.PostForm.Get("desk"), Unknown: r.PostForm.Get("unknown"),
	}
	for _, text := range r.PostForm["lock"] {
		key, err := keyOf(text)
		if err != nil {
			return d, at, err
		}
		d.Locks = append(d.Locks, key)
	}
	for name, object := range map[string]*applock.Object{"after": &d.After, "next": &d.Next} {
		if text := r.PostForm.Get(name); text != "" {
			if *object, err = applock.ParseObject(text); err != nil {
				return d, at, err
			}
		}
	}
	switch {
	case len(d.Locks) > rowsOfPlan:
		return d, at, errFormTooBig
	case len(d.Locks) == 0 && d.Desk == "":
		return d, at, errNoLock
	case !r.PostForm.Has("reason"):
		return d, asking, nil
	case form("confirmed") == "" || len(d.Locks) == 0:
		return d, planning, nil
	}
	return d, doing, nil
}

// tidy returns a text as forms keep it. Browsers end lines in their own way.
func tidy(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) }

// formPage asks for what a verb must know about the lock, or the desk, of the address.
func (c *console) formPage(v verb) func(*http.Request) (view, error) {
	return func(r *http.Request) (view, error) {
		query := r.URL.Query()
		d := deed{Desk: query.Get("desk"), Type: query.Get("type"), By: personOf(r)}
		switch {
		case !c.allowed(r.Context())[v.Name]:
			return view{}, errMayNot
		case d.Desk != "" && v.Many:
			return c.form(r.Context(), v, d, problem{})
		}
		object, err := applock.ParseObject(query.Get("name"))
		if err != nil {
			return view{}, err
		}
		lock, err := c.inquire(r.Context(), object)
		if err != nil {
			return view{}, err
		}
		if lock == nil {
			d.Locks = []applock.Key{{Object: object}}
			return c.answer(r.Context(), v, d, []outcome{{Key: d.Locks[0], err: applock.ErrNotHeld}}, nil), nil
		}
		d.Locks = []applock.Key{lock.Key()}
		if v.Name == verbNote {
			d.Text, d.Old = lock.Note, lock.Note
		}
		return c.form(r.Context(), v, d, problem{})
	}
}

// changePage takes a form: it asks for what is missing, shows the plan, or does it.
func (c *console) changePage(v verb) func(*http.Request) (view, error) {
	return func(r *http.Request) (view, error) {
		if !c.allowed(r.Context())[v.Name] {
			return view{}, errMayNot
		}
		d, at, err := deedOf(r)
		var wrong problem
		switch {
		case err != nil:
			return view{}, err
		case !v.Many && len(d.Locks) != 1:
			return view{}, errNoLock
		case at != asking:
			if wrong, err = c.check(r.Context(), v, &d); err != nil {
				return view{}, err
			}
		}
		if at == asking || wrong.status != 0 {
			return c.form(r.Context(), v, d, wrong)
		}
		page, next := "plan", c.plan
		if at == doing {
			page, next = "answer", c.do
		}
		shown, err := next(r.Context(), v, d)
		var changed *noteChangedError
		switch {
		case errors.As(err, &changed):
			d.Old = changed.note
			return c.form(r.Context(), v, d, problem{status: http.StatusConflict, text: c.texts.html("error.note"), changed: changed})
		case err != nil:
			return view{}, err
		}
		// An address of its own: neither back nor reload sends a form again.
		return view{location: page + "?id=" + url.QueryEscape(c.answers.keep(d.By, shown))}, nil
	}
}

// problem is why a form is shown again. Its zero value is none.
type problem struct {
	status int
	text   template.HTML
	// nobody is the name that nobody is known by.
	nobody string
	// changed is what has become of a note.
	changed *noteChangedError
}

// noteChangedError says that a note is another one than on the page.
type noteChangedError struct{ note string }

func (*noteChangedError) Error() string { return "somebody has changed the note meanwhile" }

// check says what is wrong with a form, and fills in the department of whom it names.
func (c *console) check(ctx context.Context, v verb, d *deed) (problem, error) {
	wrong := func(name, argument string, args ...any) (problem, error) {
		args = append([]any{template.HTML(c.argument(argument))}, args...) //nolint:gosec // a text of ours
		return problem{status: http.StatusBadRequest, text: c.texts.html(name, args...)}, nil
	}
	if !v.Hands {
		d.To.Operator = d.By
	}
	switch length := utf8.RuneCountInString(d.Text); {
	case v.Hands && d.To.Operator == "":
		return wrong("error.missing", "To.Operator")
	case v.Hands && strings.ContainsFunc(d.To.Operator, unseen):
		return wrong("error.unseen", "To.Operator", d.To.Operator)
	case strings.ContainsFunc(d.To.Department, unseen):
		return wrong("error.unseen", "To.Department", d.To.Department)
	case d.Text == "" && (v.Many || d.Old == ""):
		return wrong("error.missing", v.argument)
	case length > v.Limit:
		return wrong("error.long", v.argument, length, v.Limit)
	case !v.Gives:
		return problem{}, nil
	}
	known, err := operatorNamed(ctx, d.To.Operator)
	if err == nil && known == nil && v.Hands && d.Unknown != d.To.Operator {
		return problem{status: http.StatusBadRequest, text: c.texts.html("error.nobody", d.To.Operator), nobody: d.To.Operator}, nil
	}
	if known != nil && !strings.ContainsFunc(known.Department, unseen) {
		d.To.Department = cmp.Or(d.To.Department, known.Department)
	}
	return problem{}, err
}

// deedShown is a form, a plan or an answer.
type deedShown struct {
	deed
	verb
	// Title says what is to be done, as the button does. What are the locks, and Whose is who holds them.
	Title, What, Whose template.HTML
	// Back is the address that it began at.
	Back string

	// Problem is what is wrong with the form, Nobody the name that nobody is known by, Changed a note that has changed, with its text now.
	Problem template.HTML
	Nobody  string
	Changed bool
	// People are those whom the form proposes.
	People []applock.Owner

	Plan plan
	// Receiver is who gets the locks of a plan, with the department of all that have the same.
	Receiver applock.Owner
	Done     outcomes
}

// shown says what a deed is about.
func (c *console) shown(v verb, d deed, title string) deedShown {
	s := deedShown{deed: d, verb: v}
	holders := map[string]bool{d.Desk: true}
	for _, key := range d.Locks {
		holders[key.Operator] = true
	}
	delete(holders, "")
	s.Whose = c.texts.html("deed.holders", len(holders))
	for holder := range holders {
		if len(holders) == 1 {
			s.Whose = value(holder)
		}
	}
	var of template.HTML
	switch {
	case len(d.Locks) == 0:
		s.What, of = c.texts.html("deed.all"), c.texts.html("deed.desk", s.Whose)
	case len(d.Locks) == 1:
		s.What, s.Back = value(d.Locks[0].Object), "object?name="+url.QueryEscape(d.Locks[0].Object.String())
		of = s.What
	default:
		s.What, s.Back = c.texts.html("deed.locks", len(d.Locks)), "./"
		of = c.texts.html("deed.locks-of", len(d.Locks), s.Whose)
	}
	if d.Desk != "" {
		s.Back = "operator?name=" + url.QueryEscape(d.Desk)
	}
	s.Title = c.texts.html(title, of, d.To)
	return s
}

// form asks for what a verb must know, again where something is wrong.
func (c *console) form(ctx context.Context, v verb, d deed, wrong problem) (view, error) {
	var err error
	s := c.shown(v, d, "title."+v.Name)
	s.Problem, s.Nobody, s.Changed = wrong.text, wrong.nobody, wrong.changed != nil
	if v.Hands {
		s.People, err = people(ctx)
	} else if v.Gives && d.To.Department == "" {
		var me *applock.Owner
		if me, err = operatorNamed(ctx, d.By); me != nil {
			s.To.Department = me.Department
		}
	}
	return view{template: "form", status: wrong.status, title: plain(s.Title), data: s}, err
}
