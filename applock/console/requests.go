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

// A person asks, answers and accepts in that person's own name, so these are single steps without a plan.

// The rights to ask and to answer, in addition to those of the verbs.
const (
	rightAsk    = "ask"
	rightAnswer = "answer"
)

// consoleClient is the client of all the console's requests, so that a person's request counts once, however many pages are open.
const consoleClient = "console"

// beatEvery is how often the asker's open pages renew a request, which the database keeps for a minute.
const beatEvery = 15 * time.Second

// freedKept is how long a desk shows that a wanted object has become free.
const freedKept = 10 * time.Minute

// beats schedules the renewals of requests. Its methods are safe for concurrent use.
type beats struct {
	now func() time.Time

	mutex sync.Mutex
	of    map[string]*beat
}

// beat is the schedule of one person.
type beat struct {
	next time.Time
	// freed are the objects that became free, each with the time until which the desk shows it.
	freed map[applock.Object]time.Time
}

func newBeats() *beats { return &beats{now: time.Now, of: map[string]*beat{}} }

// begin starts the renewal of a person's requests.
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

// due reports whether the caller must renew a person's requests now.
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

// end stops the renewal when a person has no more requests.
func (b *beats) end(person string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if of := b.of[person]; of != nil {
		of.next = time.Time{}
	}
}

// asks reports whether a person has open requests.
func (b *beats) asks(person string) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.of[person] != nil && !b.of[person].next.IsZero()
}

// free records that a wanted object has become free. got removes that.
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

// freed returns the objects that have become free, and forgets a person without any and without requests.
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

// beat renews the requests of the page's reader when they are due.
func (c *console) beat(ctx context.Context) {
	who := askerOf(ctx)
	if who.person == "" || !who.database.beats.due(who.person) {
		return
	}
	if err := repeatRequests(ctx, who); err != nil {
		c.config.Logger.WarnContext(ctx, "console: repeat requests", slog.String("person", who.person), failureOf(err))
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
		if !r.Until.IsZero() { // a time by the database's clock
			if request.Wait = r.Until.Sub(r.Since.Add(r.Waited)).Truncate(time.Second); request.Wait <= 0 {
				continue
			}
		}
		_, err := who.database.client.Ask(ctx, request)
		switch {
		case errors.Is(err, applock.ErrNotHeld):
			who.database.beats.free(who.person, r.Object)
		case errors.Is(err, applock.ErrHeld): // the person has got it meanwhile
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

// requestsOf returns the requests of an operator.
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

// unsayable reports whether a character changes the direction of text, or does not belong in a line of text.
func unsayable(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// askShown is the data of the form that asks.
type askShown struct {
	Objects       []applock.Object
	Message, Wait string
	// Holder is the lock, if the form is about a single object.
	Holder *applock.Lock
	Limit  int
	Title  template.HTML
	// Back is the address where the person began.
	Back    string
	Problem template.HTML
}

// mayOf refuses a person without the right.
func (c *console) mayOf(ctx context.Context, right string) error {
	if !c.allowed(ctx)[right] {
		return errMayNot
	}
	return nil
}

// askForm returns the form for a message to the holder.
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

// askAgain returns the form, or says that the object has no holder to ask.
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

// askPage asks for objects in the person's name.
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
	if !r.PostForm.Has("message") { // objects selected in the list, without a message yet
		return c.askAgain(ctx, s, "")
	}
	wait, err := parseSpan("Wait", s.Wait)
	length := utf8.RuneCountInString(s.Message)
	switch {
	case err != nil:
		_, text := c.explain(err)
		return c.askAgain(ctx, s, template.HTML(text)) //nolint:gosec // a text of ours
	case length > applock.MaxMessageLength:
		argument := template.HTML(c.argument("Message")) //nolint:gosec // a text of ours
		return c.askAgain(ctx, s, c.texts.html("error.long", argument, length, applock.MaxMessageLength))
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

// objectsOf returns the objects in a form.
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

// ownerOf returns the person as an owner, with the department if known.
func ownerOf(ctx context.Context) (applock.Owner, error) {
	person := askerOf(ctx).person
	known, err := operatorNamed(ctx, person)
	if known == nil || strings.ContainsFunc(known.Department, unseen) {
		return applock.Owner{Operator: person}, err
	}
	return *known, err
}

// told is the result of a request, an answer or a get.
type told struct {
	Object applock.Object
	// Word is the procedure's outcome, Text its explanation.
	Word string
	Text template.HTML
	Good bool
	// Gets is true if the person can get the object now.
	Gets bool
	// status is the HTTP status of a failure.
	status int
}

func (c *console) toldFree(object applock.Object) told {
	return told{Object: object, Word: string(applock.OutcomeFree), Text: c.texts.html("told.free"), Gets: true, status: http.StatusConflict}
}

func (c *console) toldOwn(object applock.Object) told {
	return told{Object: object, Word: "OWN", Text: c.texts.html("told.own"), status: http.StatusConflict}
}

// toldFailed is the result of a failed call.
func (c *console) toldFailed(object applock.Object, err error) told {
	status, text := c.explain(err)
	escaped := template.HTML(template.HTMLEscapeString(text)) //nolint:gosec // escaped
	return told{Object: object, Text: c.texts.html("told.failed", escaped), status: status}
}

// ask makes one request, and starts its renewal.
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

// withdrawPage withdraws a request.
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

// respondPage answers a request for the grant that the page showed.
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
		return view{}, errMayNot // only the holder may answer
	case strings.ContainsFunc(reason, unsayable):
		return view{}, &applock.InvalidError{Argument: "Reason", Reason: "must not contain a control character"}
	}
	request := applock.AnswerRequest{
		Key: key, Asker: r.PostForm.Get("asker"), Client: r.PostForm.Get("client"),
		Answer: applock.AskAnswer(r.PostForm.Get("answer")), Reason: reason,
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

// getPage gets an object for the person: a given lock, or an object that has become free.
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
		text := c.texts.html("told.held", held.Holder.Owner)
		line = told{Object: object, Word: string(applock.OutcomeHeld), Text: text, status: http.StatusConflict}
	default:
		line = c.toldFailed(object, err)
	}
	if !errors.Is(err, applock.ErrUnreachable) {
		askerOf(ctx).database.beats.got(owner.Operator, object)
	}
	return c.keepTold(ctx, value(object), "title.get", []told{line}), nil
}

// timeHTML formats a time as templates do.
func (c *console) timeHTML(t time.Time) template.HTML {
	var text strings.Builder
	if err := c.templates["told"].ExecuteTemplate(&text, "exactly", t); err != nil {
		return value(t)
	}
	return template.HTML(text.String()) //nolint:gosec // escaped by a template
}

// toldShown is the data of the page with the results.
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

// keepTold redirects to a page with the results, so that neither back nor reload sends the form again.
func (c *console) keepTold(ctx context.Context, what template.HTML, title string, lines []told) view {
	id := c.answers.keep(askerOf(ctx).person, c.told(what, title, lines))
	return view{location: "answer?id=" + url.QueryEscape(id)}
}

func (c *console) logRequest(ctx context.Context, what string, object applock.Object, outcome string, err error) {
	c.config.Logger.InfoContext(ctx, fmt.Sprintf("console: %s", what),
		slog.String("person", askerOf(ctx).person), slog.String("object", object.String()), slog.String("outcome", outcome),
		failureOf(err))
}
