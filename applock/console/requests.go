package console

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/applock/applock/applock"
)

// A person asks, answers and gets in its own name only: each of these is one step, without a plan.

// The names of the rights to ask and to answer, beside those of the verbs.
const (
	rightAsk    = "ask"
	rightAnswer = "answer"
)

// consoleClient is what the database calls the requests of a console. So a person asks for an object once, in however many pages.
const consoleClient = "console"

// beatEvery is how often a request is repeated, which the database keeps for a minute. The pages of who asks have it repeated.
const beatEvery = 15 * time.Second

// freedKept is how long a desk tells that what its operator asked for is free.
const freedKept = 10 * time.Minute

// beats knows who asks. Its methods are safe for concurrent use.
type beats struct {
	now func() time.Time

	mutex sync.Mutex
	of    map[string]*beat
}

// beat is that of a person.
type beat struct {
	next time.Time
	// freed are the objects that became free while the person asked, and until when that is told.
	freed map[applock.Object]time.Time
}

func newBeats() *beats { return &beats{now: time.Now, of: map[string]*beat{}} }

// begin has the requests of a person repeated.
func (b *beats) begin(person string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.of[person] == nil {
		b.of[person] = &beat{freed: map[applock.Object]time.Time{}}
	}
	if of := b.of[person]; of.next.IsZero() {
		of.next = b.now().Add(beatEvery)
	}
}

// due reports whether the requests of a person are to be repeated now, which is the caller's to do.
func (b *beats) due(person string) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	of := b.of[person]
	if of == nil || of.next.IsZero() || b.now().Before(of.next) {
		return false
	}
	of.next = b.now().Add(beatEvery)
	return true
}

// end is for a person who asks for nothing any more.
func (b *beats) end(person string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if of := b.of[person]; of != nil {
		of.next = time.Time{}
	}
}

// asks reports whether a person asks for something.
func (b *beats) asks(person string) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.of[person] != nil && !b.of[person].next.IsZero()
}

// free keeps that an object has become free, and got that it is not any more.
func (b *beats) free(person string, object applock.Object) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if of := b.of[person]; of != nil {
		of.freed[object] = b.now().Add(freedKept)
	}
}

func (b *beats) got(person string, object applock.Object) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if of := b.of[person]; of != nil {
		delete(of.freed, object)
	}
}

// freed returns what has become free, and forgets who has nothing more to be told.
func (b *beats) freed(person string) []applock.Object {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	of := b.of[person]
	if of == nil {
		return nil
	}
	var objects []applock.Object
	for object, until := range of.freed {
		if b.now().Before(until) {
			objects = append(objects, object)
		} else {
			delete(of.freed, object)
		}
	}
	if of.next.IsZero() && len(of.freed) == 0 {
		delete(b.of, person)
	}
	return objects
}

// beat repeats the requests of who looks at a page, if it is time.
func (c *console) beat(ctx context.Context) {
	who := askerOf(ctx)
	if who.person == "" || !who.database.beats.due(who.person) {
		return
	}
	if err := repeatRequests(ctx, who); err != nil {
		c.config.Logger.WarnContext(ctx, "console: repeat requests", slog.String("person", who.person), slog.Any("error", err))
	}
}

func repeatRequests(ctx context.Context, who asker) error {
	requests, err := requestsOf(ctx, who.person)
	if err != nil {
		return err
	}
	repeated := 0
	for _, r := range requests {
		if r.Client != consoleClient {
			continue
		}
		request := applock.AskRequest{Object: r.Object, Owner: r.Owner, Client: r.Client, Message: r.Message}
		if !r.Until.IsZero() { // by the database's clock
			if request.Wait = r.Until.Sub(r.Since.Add(r.Waited)).Truncate(time.Second); request.Wait <= 0 {
				continue
			}
		}
		_, err := who.database.client.Ask(ctx, request)
		switch {
		case errors.Is(err, applock.ErrNotHeld):
			who.database.beats.free(who.person, r.Object)
		case errors.Is(err, applock.ErrHeld): // the person has it by now
		case err != nil:
			return err
		default:
			repeated++
		}
	}
	if repeated == 0 {
		who.database.beats.end(who.person)
	}
	return nil
}

// requestsOf returns what an operator asks for.
func requestsOf(ctx context.Context, operator string) (requests []applock.Asker, err error) {
	_, err = first(clientOf(ctx).Asking(ctx, applock.AskingRequest{Operator: operator}), rowsOfPage, func(a applock.Asker) bool {
		requests = append(requests, a)
		return false
	})
	if err != nil && notToBeSeen(err) {
		return nil, nil
	}
	return requests, err
}

// unsayable reports whether a character turns the words around it, or is none that people write in a line.
func unsayable(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// askShown is the form that asks.
type askShown struct {
	Objects       []applock.Object
	Message, Wait string
	// Holder is who holds the object, where it is one.
	Holder *applock.Lock
	Limit  int
	Title  template.HTML
	// Back is the address that it began at.
	Back    string
	Problem template.HTML
}

// mayOf refuses who has no right.
func (c *console) mayOf(ctx context.Context, right string) error {
	if !c.allowed(ctx)[right] {
		return errMayNot
	}
	return nil
}

// askForm asks what to tell the holder of an object.
func (c *console) askForm(r *http.Request) (view, error) {
	if err := c.mayOf(r.Context(), rightAsk); err != nil {
		return view{}, err
	}
	object, err := applock.ParseObject(r.URL.Query().Get("name"))
	if err != nil {
		return view{}, err
	}
	return c.askAgain(r.Context(), askShown{Objects: []applock.Object{object}}, "")
}

// askAgain shows the form, or says that there is nobody to ask.
func (c *console) askAgain(ctx context.Context, s askShown, problem template.HTML) (view, error) {
	s.Problem, s.Limit, s.Back = problem, applock.MaxMessageLength, "locks"
	what := c.texts.html("deed.locks", len(s.Objects))
	if len(s.Objects) == 1 {
		object := s.Objects[0]
		what, s.Back = value(object), "object?name="+url.QueryEscape(object.String())
		lock, err := c.inquire(ctx, object)
		switch {
		case err != nil:
			return view{}, err
		case lock == nil:
			return c.told(what, "title.ask", []told{c.toldFree(object)}), nil
		case lock.Owner.Operator == askerOf(ctx).person:
			return c.told(what, "title.ask", []told{c.toldOwn(object)}), nil
		}
		s.Holder = lock
	}
	s.Title = c.texts.html("title.ask", what)
	v := view{template: "ask", title: plain(s.Title), data: s}
	if problem != "" {
		v.status = http.StatusBadRequest
	}
	return v, nil
}

// askPage asks the holders of objects for them, in the name of the person.
func (c *console) askPage(r *http.Request) (view, error) {
	ctx := r.Context()
	if err := c.mayOf(ctx, rightAsk); err != nil {
		return view{}, err
	}
	objects, err := objectsOf(r)
	if err != nil {
		return view{}, err
	}
	s := askShown{Objects: objects, Message: tidy(r.PostForm.Get("message")), Wait: tidy(r.PostForm.Get("wait"))}
	if !r.PostForm.Has("message") { // some that were selected in the list
		return c.askAgain(ctx, s, "")
	}
	wait, err := parseSpan("Wait", s.Wait)
	length := utf8.RuneCountInString(s.Message)
	switch {
	case err != nil:
		_, text := c.explain(err)
		return c.askAgain(ctx, s, template.HTML(text)) //nolint:gosec // words of ours
	case length > applock.MaxMessageLength:
		return c.askAgain(ctx, s, c.texts.html("error.long", template.HTML(c.argument("Message")), length, applock.MaxMessageLength)) //nolint:gosec // a text of ours
	case strings.ContainsFunc(s.Message, unsayable):
		return c.askAgain(ctx, s, c.texts.html("error.unseen", template.HTML(c.argument("Message")), s.Message)) //nolint:gosec // a text of ours
	}
	owner, err := ownerOf(ctx)
	if err != nil {
		return view{}, err
	}
	var lines []told
	asked := true
	for _, object := range objects {
		line := c.ask(ctx, applock.AskRequest{Object: object, Owner: owner, Client: consoleClient, Message: s.Message, Wait: wait})
		lines, asked = append(lines, line), asked && line.Good
	}
	if asked {
		return view{location: "desk"}, nil
	}
	what := c.texts.html("deed.locks", len(objects))
	if len(objects) == 1 {
		what = value(objects[0])
	}
	return c.keepTold(ctx, what, "title.ask", lines), nil
}

// objectsOf reads which objects a form is about.
func objectsOf(r *http.Request) (objects []applock.Object, err error) {
	if err := parseForm(r); err != nil {
		return nil, err
	}
	for _, text := range r.PostForm["lock"] {
		key, err := keyOf(text)
		if err != nil {
			return nil, err
		}
		objects = append(objects, key.Object)
	}
	for _, text := range r.PostForm["name"] {
		object, err := applock.ParseObject(text)
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	switch {
	case len(objects) == 0:
		return nil, errNoLock
	case len(objects) > rowsOfPlan:
		return nil, errFormTooBig
	}
	return objects, nil
}

// ownerOf is the person, with the department that it is known by.
func ownerOf(ctx context.Context) (applock.Owner, error) {
	person := askerOf(ctx).person
	known, err := operatorNamed(ctx, person)
	if known == nil || strings.ContainsFunc(known.Department, unseen) {
		return applock.Owner{Operator: person}, err
	}
	return *known, err
}

// told is what a request, an answer or a get came to.
type told struct {
	Object applock.Object
	// Word is the procedure's, and Text what it means here.
	Word string
	Text template.HTML
	Good bool
	// Gets is true where the person can get the object now.
	Gets bool
	// status is that of a failure.
	status int
}

func (c *console) toldFree(object applock.Object) told {
	return told{Object: object, Word: string(applock.OutcomeFree), Text: c.texts.html("told.free"), Gets: true, status: http.StatusConflict}
}

func (c *console) toldOwn(object applock.Object) told {
	return told{Object: object, Word: "OWN", Text: c.texts.html("told.own"), status: http.StatusConflict}
}

// toldFailed says why there is no answer.
func (c *console) toldFailed(object applock.Object, err error) told {
	status, text := c.explain(err)
	return told{Object: object, Text: c.texts.html("told.failed", template.HTML(template.HTMLEscapeString(text))), status: status} //nolint:gosec // it is escaped
}

// ask makes one request, and has it repeated.
func (c *console) ask(ctx context.Context, request applock.AskRequest) told {
	who := askerOf(ctx)
	asked, err := who.database.client.Ask(ctx, request)
	c.logRequest(ctx, "ask", request.Object, string(asked.Outcome), err)
	switch {
	case errors.Is(err, applock.ErrNotHeld):
		return c.toldFree(request.Object)
	case errors.Is(err, applock.ErrHeld):
		return c.toldOwn(request.Object)
	case err != nil:
		return c.toldFailed(request.Object, err)
	}
	who.database.beats.begin(who.person)
	return told{Object: request.Object, Word: string(asked.Outcome), Text: c.texts.html("told.asked", asked.Holder.Owner.Operator), Good: true}
}

// withdrawPage takes a request back.
func (c *console) withdrawPage(r *http.Request) (view, error) {
	ctx := r.Context()
	if err := c.mayOf(ctx, rightAsk); err != nil {
		return view{}, err
	}
	objects, err := objectsOf(r)
	if err != nil {
		return view{}, err
	}
	for _, object := range objects {
		asked, err := clientOf(ctx).Ask(ctx, applock.AskRequest{
			Object: object, Owner: applock.Owner{Operator: personOf(r)}, Client: r.PostForm.Get("client"), Withdraw: true,
		})
		c.logRequest(ctx, "withdraw", object, string(asked.Outcome), err)
		if err != nil && !isRefusal(err) {
			return view{}, err
		}
	}
	return view{location: "desk"}, nil
}

// respondPage answers who asks for the grant that the page showed.
func (c *console) respondPage(r *http.Request) (view, error) {
	ctx := r.Context()
	if err := c.mayOf(ctx, rightAnswer); err != nil {
		return view{}, err
	}
	if err := parseForm(r); err != nil {
		return view{}, err
	}
	key, err := keyOf(r.PostForm.Get("lock"))
	reason := tidy(r.PostForm.Get("reason"))
	switch {
	case err != nil:
		return view{}, err
	case key.Operator != personOf(r):
		return view{}, errMayNot // an answer is the holder's own
	case strings.ContainsFunc(reason, unsayable):
		return view{}, &applock.InvalidError{Argument: "Reason", Reason: "must not contain a control character"}
	}
	request := applock.AnswerRequest{
		Key: key, Asker: r.PostForm.Get("asker"), Client: r.PostForm.Get("client"), Answer: applock.AskAnswer(r.PostForm.Get("answer")), Reason: reason,
	}
	answered, err := clientOf(ctx).Answer(ctx, request)
	c.logRequest(ctx, "respond", key.Object, string(answered.Outcome), err)
	line := told{Object: key.Object, Word: string(answered.Outcome), status: http.StatusConflict}
	var held *applock.HeldError
	switch {
	case err == nil:
		line.Good, line.status = true, 0
		line.Text = c.texts.html("told."+string(request.Answer), request.Asker)
	case errors.As(err, &held):
		line.Word, line.Text = string(applock.OutcomeHeld), c.texts.html("told.held", held.Holder.Owner)
	case errors.Is(err, applock.ErrNotHeld):
		line.Word, line.Text = string(applock.OutcomeFree), c.texts.html("answer.FREE")
	case errors.Is(err, applock.ErrNotAsking):
		line.Word, line.Text = "GONE", c.texts.html("told.gone", request.Asker)
	case errors.Is(err, applock.ErrInvalid):
		return view{}, err
	default:
		line = c.toldFailed(key.Object, err)
	}
	return c.keepTold(ctx, value(key.Object), "title.respond", []told{line}), nil
}

// getPage has the person get an object: one that it was given, or one that has become free.
func (c *console) getPage(r *http.Request) (view, error) {
	ctx := r.Context()
	if err := c.mayOf(ctx, rightAsk); err != nil {
		return view{}, err
	}
	objects, err := objectsOf(r)
	if err != nil {
		return view{}, err
	}
	owner, err := ownerOf(ctx)
	if err != nil {
		return view{}, err
	}
	object := objects[0]
	grant, err := clientOf(ctx).Get(ctx, applock.GetRequest{Object: object, Owner: owner})
	c.logRequest(ctx, "get", object, string(grant.Outcome), err)
	line := told{Object: object, Word: string(grant.Outcome), Good: true}
	var held *applock.HeldError
	switch {
	case err == nil:
		line.Text = c.texts.html("told.have", c.timeHTML(grant.ExpiresAt))
	case errors.As(err, &held):
		line = told{Object: object, Word: string(applock.OutcomeHeld), Text: c.texts.html("told.held", held.Holder.Owner), status: http.StatusConflict}
	default:
		line = c.toldFailed(object, err)
	}
	if !errors.Is(err, applock.ErrUnreachable) {
		askerOf(ctx).database.beats.got(owner.Operator, object)
	}
	return c.keepTold(ctx, value(object), "title.get", []told{line}), nil
}

// timeHTML shows a time, as templates do.
func (c *console) timeHTML(t time.Time) template.HTML {
	var text strings.Builder
	if err := c.templates["told"].ExecuteTemplate(&text, "exactly", t); err != nil {
		return value(t)
	}
	return template.HTML(text.String()) //nolint:gosec // a template has escaped it
}

// toldShown is the page of what it came to.
type toldShown struct {
	Title template.HTML
	Rows  []told
	Good  bool
}

func (c *console) told(what template.HTML, title string, lines []told) view {
	s := toldShown{Title: c.texts.html(title, what), Rows: lines, Good: true}
	v := view{template: "told", title: plain(s.Title)}
	for _, line := range lines {
		s.Good, v.status = s.Good && line.Good, max(v.status, line.status)
	}
	v.data = s
	return v
}

// keepTold is told at an address of its own: neither back nor reload sends a form again.
func (c *console) keepTold(ctx context.Context, what template.HTML, title string, lines []told) view {
	id := c.answers.keep(askerOf(ctx).person, c.told(what, title, lines))
	return view{location: "answer?id=" + url.QueryEscape(id)}
}

func (c *console) logRequest(ctx context.Context, what string, object applock.Object, outcome string, err error) {
	c.config.Logger.InfoContext(ctx, fmt.Sprintf("console: %s", what),
		slog.String("person", askerOf(ctx).person), slog.String("object", object.String()), slog.String("outcome", outcome), slog.Any("error", err))
}
