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

// rowsOfPlan is the number of locks in one confirmation, which lists them all.
const rowsOfPlan = 500

// deed is a requested change of locks, as a form carries it.
type deed struct {
	// Locks are the grants that the page showed.
	Locks []applock.Key
	// Desk selects all locks of an operator, or those of Type. After is the last object of the plan before, and Next the last of this plan
	// if more follow.
	Desk, Type  string
	After, Next applock.Object
	To          applock.Owner
	// Unknown is a name that the database does not know, and that the person has confirmed.
	Unknown string
	// Text is the reason for the history, or the new text of a note. Old is the note that the page showed.
	Text, Old string
	// Carry copies the notes to the new grants.
	Carry bool
	// By is the person who asks for the change.
	By string
}

// ownerAfter returns the new owner of a lock. Without a department of the receiver, the lock keeps its own.
func (d deed) ownerAfter(lock applock.Lock) applock.Owner {
	return applock.Owner{Operator: d.To.Operator, Department: cmp.Or(d.To.Department, lock.Owner.Department)}
}

// verb is a kind of change. Each entry of verbs is one.
type verb struct {
	Name string
	// Hands is true if the form asks for a receiver, Gives if somebody gets a new grant.
	Hands, Gives bool
	// Many is true if the verb accepts several locks. Such a verb ends the grants, and with them their notes.
	Many bool
	// Limit is the maximum of characters in the reason or note.
	Limit int
	// argument is the reason's name in errors.
	argument string
	// call changes one grant in the database.
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

// transfer names the holder, which the database compares. It cannot name the grant; current has compared that just before.
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

// grantOf writes a grant as a form value, and keyOf parses it. A blank ends the number and the escaped operator.
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

// step is the step of a form: ask for what is missing, show the plan, then do it.
type step int

const (
	asking step = iota
	planning
	doing
)

// maxForm is the maximum size of a form, enough for a plan of rowsOfPlan locks.
const maxForm = 1 << 20

// parseForm reads a form of at most maxForm bytes.
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

func deedOf(r *http.Request) (d deed, at step, err error) {
	if err := parseForm(r); err != nil {
		return d, at, err
	}
	form := func(name string) string { return tidy(r.PostForm.Get(name)) }
	d = deed{
		Type: form("type"), To: applock.Owner{Operator: form("to"), Department: form("department")},
		Text: form("reason"), Old: form("old"), Carry: form("carry") != "", By: personOf(r),
		// Names keep their blanks.
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

// tidy trims a text and unifies its line ends, which differ between browsers.
func tidy(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) }

// formPage returns the form of a verb for the lock, or the desk, in the address.
func (c *console) formPage(v verb) func(*http.Request) (view, error) {
	return func(r *http.Request) (view, error) {
		query := r.URL.Query()
		d := deed{Desk: query.Get("desk"), Type: query.Get("type"), By: personOf(r)}
		switch {
		case !c.allowed(r.Context())[v.Name]:
			return view{}, errMayNot
		case d.Desk != "" && v.Many:
			return c.begin(r.Context(), v, d)
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
		return c.begin(r.Context(), v, d)
	}
}

// begin returns the form of a verb that an address asks for.
func (c *console) begin(ctx context.Context, v verb, d deed) (view, error) {
	if err := refuseOthers(ctx, d); err != nil {
		return view{}, err
	}
	return c.form(ctx, v, d, problem{})
}

// changePage takes a form. It asks for what is missing, shows the plan, or does it.
func (c *console) changePage(v verb) func(*http.Request) (view, error) {
	return func(r *http.Request) (view, error) {
		if !c.allowed(r.Context())[v.Name] {
			return view{}, errMayNot
		}
		d, at, err := deedOf(r)
		if err == nil {
			err = refuseOthers(r.Context(), d)
		}
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
		// Redirect to an address of its own, so that neither back nor reload sends the form again.
		return view{location: page + "?id=" + url.QueryEscape(c.answers.keep(d.By, shown))}, nil
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

// noteChangedError means that the note differs from the one on the page.
type noteChangedError struct{ note string }

func (*noteChangedError) Error() string { return "somebody has changed the note meanwhile" }

// check validates a form, and fills in the receiver's department.
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

// deedShown is the data of a form, a plan or an answer.
type deedShown struct {
	deed
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

	Plan plan
	// Receiver gets the locks of a plan. It has a department if all the locks get the same.
	Receiver applock.Owner
	Done     outcomes
}

// shown returns the data of a deed that form, plan and answer share.
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

// form returns the form of a verb, with the problem if it is shown again.
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
