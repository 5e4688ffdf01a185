package console

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/applock/applock/applock"
)

// deed is what somebody wants to be done with a lock: what a form carries.
type deed struct {
	object applock.Object
	// holder and fence are the grant that was on the page.
	holder string
	fence  applock.Fence
	to     applock.Owner
	// reason is for the history; of a note its text.
	reason string
	// by is who does it.
	by string
}

// verb is something that can be done with a lock. Another one is another entry in verbs.
type verb struct {
	name string
	// hands is true where the form asks to whom.
	hands bool
	// limit is how many characters the reason, or the note, may have.
	limit int
	// argument is what the reason is called in errors.
	argument string
	do       func(ctx context.Context, client *applock.Client, d deed) (applock.Outcome, applock.Holder, error)
}

func verbs() map[string]verb {
	return map[string]verb{
		"transfer": {name: "transfer", hands: true, limit: applock.MaxReasonLength, argument: "Reason", do: transfer},
		"take":     {name: "take", limit: applock.MaxReasonLength, argument: "Reason", do: take},
		"release":  {name: "release", limit: applock.MaxReasonLength, argument: "Reason", do: release},
		"note":     {name: "note", limit: applock.MaxNoteLength, argument: "Note", do: note},
	}
}

// verbNames returns the verbs in the order of the page.
func verbNames() []string { return []string{"transfer", "take", "release", "note"} }

// transfer hands a lock over. The procedure compares the holder; that it is still the same grant of that holder is looked
// up before.
func transfer(ctx context.Context, client *applock.Client, d deed) (applock.Outcome, applock.Holder, error) {
	lock, err := client.Inquire(ctx, d.object)
	if err != nil {
		return "", applock.Holder{}, err
	}
	if lock.Fence != d.fence {
		return "", applock.Holder{}, &applock.HeldError{Object: d.object, Holder: holderOf(lock)}
	}
	return handOver(ctx, client, d)
}

func handOver(ctx context.Context, client *applock.Client, d deed) (applock.Outcome, applock.Holder, error) {
	grant, err := client.Transfer(ctx, applock.TransferRequest{Object: d.object, From: d.holder, To: d.to, Actor: d.by, Reason: d.reason})
	return grant.Outcome, applock.Holder{Owner: grant.Owner, Fence: grant.Fence, ExpiresAt: grant.ExpiresAt, Left: grant.Left}, err
}

// take is for who does it: the procedure compares the fence.
func take(ctx context.Context, client *applock.Client, d deed) (applock.Outcome, applock.Holder, error) {
	taken, err := client.Take(ctx, applock.TakeRequest{
		Object: d.object, Owner: applock.Owner{Operator: d.by}, ExpectedFence: d.fence, Reason: d.reason,
	})
	return taken.Outcome, applock.Holder{Owner: taken.Owner, Fence: taken.Fence, ExpiresAt: taken.ExpiresAt, Left: taken.Left}, err
}

func release(ctx context.Context, client *applock.Client, d deed) (applock.Outcome, applock.Holder, error) {
	outcome, err := client.Release(ctx, applock.ReleaseRequest{Key: applock.Key{Object: d.object, Operator: d.holder, Fence: d.fence}, Actor: d.by, Reason: d.reason})
	return outcome, applock.Holder{}, err
}

func note(ctx context.Context, client *applock.Client, d deed) (applock.Outcome, applock.Holder, error) {
	err := client.Note(ctx, applock.Key{Object: d.object, Operator: d.holder, Fence: d.fence}, d.reason)
	return applock.OutcomeNoted, applock.Holder{Owner: applock.Owner{Operator: d.holder}, Fence: d.fence, Note: d.reason}, err
}

func holderOf(lock applock.Lock) applock.Holder {
	return applock.Holder{Owner: lock.Owner, Fence: lock.Fence, ExpiresAt: lock.ExpiresAt, Left: lock.Left, Note: lock.Note}
}

// formShown is a form, and the page that asks whether it is meant.
type formShown struct {
	Verb   string
	Hands  bool
	Limit  int
	Object applock.Object
	Lock   *applock.Lock
	// Holder and Fence are what the form carries.
	Holder string
	Fence  applock.Fence
	To     applock.Owner
	Reason string
	// Problem is what was wrong with the form.
	Problem string
	Waiters []applock.Waiter
}

func (v verb) shown(d deed) formShown {
	return formShown{Verb: v.name, Hands: v.hands, Limit: v.limit, Object: d.object, Holder: d.holder, Fence: d.fence, To: d.to, Reason: d.reason}
}

// formPage asks for what a verb must know.
func (c *console) formPage(v verb) func(*http.Request) (view, error) {
	return func(r *http.Request) (view, error) {
		if !c.allowed(r.Context())[v.name] {
			return view{}, errMayNot
		}
		object, err := applock.ParseObject(r.URL.Query().Get("name"))
		if err != nil {
			return view{}, err
		}
		lock, err := c.inquire(r.Context(), object)
		if err != nil {
			return view{}, err
		}
		data := v.shown(deed{object: object})
		if lock != nil {
			data.Lock, data.Holder, data.Fence = lock, lock.Owner.Operator, lock.Fence
		}
		return c.formView(v, data, 0), nil
	}
}

func (c *console) formView(v verb, data formShown, status int) view {
	title := fmt.Sprintf(c.texts["title."+v.name], data.Object)
	return view{template: "form", status: status, title: title, data: data}
}

// maxForm is more than any form of the console has.
const maxForm = 16 << 10

// changePage takes a form: it asks whether it is meant, and then does it.
func (c *console) changePage(v verb) func(*http.Request) (view, error) {
	return func(r *http.Request) (view, error) {
		if !c.allowed(r.Context())[v.name] {
			return view{}, errMayNot
		}
		d, confirmed, err := deedOf(r)
		if err != nil {
			return view{}, err
		}
		if problem := c.problemOf(v.hands, d.to, d.reason, v.argument); problem != "" {
			lock, err := c.inquire(r.Context(), d.object)
			data := v.shown(d)
			data.Lock, data.Problem = lock, problem
			return c.formView(v, data, http.StatusBadRequest), err
		}
		if !confirmed {
			plan, err := c.plan(r, v, d)
			if err != nil {
				return view{}, err
			}
			return c.kept("plan", d.by, plan), nil
		}
		return c.kept("answer", d.by, c.do(r, v, d)), nil
	}
}

// kept has the browser fetch a page from an address of its own, so that neither back nor reload sends a form again.
func (c *console) kept(page, person string, v view) view {
	return view{location: page + "?id=" + url.QueryEscape(c.answers.keep(person, v))}
}

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
func deedOf(r *http.Request) (d deed, confirmed bool, err error) {
	if err := parseForm(r); err != nil {
		return d, false, err
	}
	form := func(name string) string { return strings.TrimSpace(r.PostForm.Get(name)) }
	// As it stands: blanks belong to names.
	if d.object, err = applock.ParseObject(r.PostForm.Get("name")); err != nil {
		return d, false, err
	}
	fence, err := strconv.ParseInt(form("fence"), 10, 64)
	if err != nil || fence < 1 {
		return d, false, &applock.InvalidError{Argument: "fence", Reason: "is missing: begin at the object's page"}
	}
	d.holder, d.fence, d.by = r.PostForm.Get("holder"), applock.Fence(fence), personOf(r)
	d.to = applock.Owner{Operator: form("to"), Department: form("department")}
	d.reason = form("reason")
	return d, form("confirmed") == "yes", nil
}

// problemOf returns what is missing in a form, in words.
func (c *console) problemOf(hands bool, to applock.Owner, reason, argument string) string {
	switch {
	case hands && to.Operator == "":
		return fmt.Sprintf(c.texts["error.missing"], c.argument("To.Operator"))
	case reason == "":
		return fmt.Sprintf(c.texts["error.missing"], c.argument(argument))
	default:
		return ""
	}
}

// plan says what will happen, and to whom. If the object has changed hands meanwhile, it says that instead.
func (c *console) plan(r *http.Request, v verb, d deed) (view, error) {
	lock, err := c.inquire(r.Context(), d.object)
	if err != nil {
		return view{}, err
	}
	switch {
	case lock == nil:
		return c.answered(d, "", applock.Holder{}, applock.ErrNotHeld), nil
	case lock.Fence != d.fence:
		return c.answered(d, "", applock.Holder{}, &applock.HeldError{Object: d.object, Holder: holderOf(*lock)}), nil
	}
	data := v.shown(d)
	data.Lock = lock
	request := applock.WaitersRequest{ObjectType: d.object.Type, ObjectID: d.object.ID}
	data.Waiters, _, err = c.readWaiters(r.Context(), request)
	return view{template: "plan", title: fmt.Sprintf(c.texts["title.plan"], d.object), data: data}, err
}

// do does it.
func (c *console) do(r *http.Request, v verb, d deed) view {
	// It goes on when the browser has gone: half a change would be an unknown one.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), c.config.Timeout)
	defer cancel()
	outcome, holder, err := v.do(ctx, clientOf(ctx), d)
	c.config.Logger.InfoContext(ctx, "console: "+v.name,
		slog.String("person", d.by),
		slog.String("object", d.object.String()),
		slog.Int64("fence", int64(d.fence)),
		slog.String("to", d.to.Operator),
		slog.String("outcome", string(outcome)),
		slog.Any("error", err))
	return c.answered(d, outcome, holder, err)
}

// answerShown is what the database has answered.
type answerShown struct {
	// Outcome is the procedure's word, and Text what it means here.
	Outcome, Text string
	Object        applock.Object
	// Holder has the object now; nil where nobody has, or nobody said so.
	Holder *applock.Holder
	// Failure is why there is no answer.
	Failure string
	Done    bool
}

// answered returns the page of an answer. Refusals are answers, too.
func (c *console) answered(d deed, outcome applock.Outcome, holder applock.Holder, err error) view {
	data := answerShown{Object: d.object, Outcome: string(outcome), Done: err == nil}
	status := 0
	var held *applock.HeldError
	switch {
	case err == nil && holder.Owner.Operator != "":
		data.Holder = &holder
	case err == nil:
	case errors.As(err, &held):
		data.Outcome, data.Holder, status = string(applock.OutcomeHeld), &held.Holder, http.StatusConflict
	case errors.Is(err, applock.ErrNotHeld):
		data.Outcome, status = string(applock.OutcomeFree), http.StatusConflict
	default:
		status, data.Failure = c.explain(err)
	}
	if data.Text = c.texts["answer."+data.Outcome]; data.Text == "" {
		data.Text = c.texts["answer.other"]
	}
	return view{template: "answer", status: status, title: fmt.Sprintf(c.texts["title.answer"], d.object), data: data}
}

// keptPage shows a plan or an answer, as often as somebody looks.
func (c *console) keptPage(r *http.Request) (view, error) {
	kept, found := c.answers.find(r.URL.Query().Get("id"), personOf(r))
	if !found {
		return view{}, errNoAnswer
	}
	return kept, nil
}

// answersKept is how many plans and answers can be looked at again.
const answersKept = 1000

// answers keeps the last plans and answers, each for whoever has asked.
type answers struct {
	mutex sync.Mutex
	kept  map[string]keptAnswer
	order []string
}

type keptAnswer struct {
	person string
	view   view
}

func newAnswers() *answers { return &answers{kept: map[string]keptAnswer{}} }

func (a *answers) keep(person string, v view) (id string) {
	id = rand.Text()
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if len(a.order) == answersKept {
		delete(a.kept, a.order[0])
		a.order = a.order[1:]
	}
	a.kept[id] = keptAnswer{person: person, view: v}
	a.order = append(a.order, id)
	return id
}

func (a *answers) find(id, person string) (view, bool) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	kept, found := a.kept[id]
	return kept.view, found && kept.person == person
}
