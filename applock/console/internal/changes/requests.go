package changes

import (
	"context"
	"errors"
	"html/template"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
	"github.com/applock/applock/applock/console/internal/pages"
	"github.com/applock/applock/applock/console/internal/reading"
)

// A person asks, answers and accepts in that person's own name, so these are single steps without a plan.

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

func (c *Changer) askForm(ctx context.Context, who access.Visitor, query url.Values) (pages.View, error) {
	object, err := applock.ParseObject(query.Get("name"))
	if err != nil {
		return pages.View{}, err
	}
	return c.askAgain(ctx, who, askShown{Objects: []applock.Object{object}}, "")
}

// askAgain returns the form, or says that the object has no holder to ask.
func (c *Changer) askAgain(ctx context.Context, who access.Visitor, s askShown, problem template.HTML) (pages.View, error) {
	s.Problem, s.Limit, s.Back = problem, applock.MaxMessageLength, "locks"
	what := c.nameOf(s.Objects)
	if len(s.Objects) == 1 {
		object := s.Objects[0]
		s.Back = addressOf(object)
		lock, err := c.reader.Inquire(ctx, object)
		switch {
		case err != nil:
			return pages.View{}, err
		case lock == nil:
			return c.results(what, "title.ask", []result{c.isFree(object)}), nil
		case lock.Owner.Operator == who.Person:
			return c.results(what, "title.ask", []result{c.isOwn(object)}), nil
		}
		s.Holder = lock
	}
	s.Title = c.Pages.HTML("title.ask", what)
	v := pages.View{Template: "ask", Title: pages.Plain(s.Title), Data: s}
	if problem != "" {
		v.Status = http.StatusBadRequest
	}
	return v, nil
}

func (c *Changer) askPage(ctx context.Context, who access.Visitor, form url.Values) (pages.View, error) {
	objects, err := c.askedFor(ctx, form)
	if err != nil {
		return pages.View{}, err
	}
	s := askShown{Objects: objects, Message: pages.Tidy(form.Get("message")), Wait: pages.Tidy(form.Get("wait"))}
	if !form.Has("message") { // objects selected in the list, without a message yet
		return c.askAgain(ctx, who, s, "")
	}
	wait, err := pages.ParseSpan("Wait", s.Wait)
	length := utf8.RuneCountInString(s.Message)
	switch {
	case err != nil:
		_, text := c.Pages.Explain(err)
		return c.askAgain(ctx, who, s, template.HTML(text)) //nolint:gosec // a text of ours
	case length > applock.MaxMessageLength:
		return c.askAgain(ctx, who, s, c.Pages.HTML("error.long", c.Pages.Label("Message"), length, applock.MaxMessageLength))
	case strings.ContainsFunc(s.Message, unsayable):
		return c.askAgain(ctx, who, s, c.Pages.HTML("error.unseen", c.Pages.Label("Message"), s.Message))
	}
	owner, err := c.ownerOf(ctx, who.Person)
	if err != nil {
		return pages.View{}, err
	}
	var lines []result
	asked := true
	for _, object := range objects {
		line := c.ask(ctx, who.Person, applock.AskRequest{Object: object, Owner: owner, Client: access.Client, Message: s.Message, Wait: wait})
		lines, asked = append(lines, line), asked && line.Good
	}
	if asked {
		return pages.View{Location: "desk"}, nil
	}
	return c.sealed("answer", who.Person, c.results(c.nameOf(objects), "title.ask", lines))
}

func (c *Changer) nameOf(objects []applock.Object) template.HTML {
	if len(objects) == 1 {
		return pages.Value(objects[0])
	}
	return c.Pages.HTML("change.locks", len(objects))
}

// askedFor returns the objects of a form, or of the list whose filter the form has.
func (c *Changer) askedFor(ctx context.Context, form url.Values) (objects []applock.Object, err error) {
	if form.Get("all") == "" {
		return objectsOf(form)
	}
	locks, err := c.reader.Passing(ctx, form.Get("all"), applock.Object{}, rowsOfPlan+1)
	if len(locks) > rowsOfPlan {
		err = pages.ErrFormTooBig
	}
	for _, lock := range locks {
		objects = append(objects, lock.Object)
	}
	return objects, err
}

func objectsOf(form url.Values) (objects []applock.Object, err error) {
	for _, text := range form["lock"] {
		key, err := pages.ParseGrant(text)
		if err != nil {
			return nil, err
		}
		objects = append(objects, key.Object)
	}
	for _, text := range form["name"] {
		object, err := applock.ParseObject(text)
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	switch {
	case len(objects) == 0:
		return nil, pages.NoLock()
	case len(objects) > rowsOfPlan:
		return nil, pages.ErrFormTooBig
	}
	return objects, nil
}

// ownerOf returns the person as an owner, with the department if known.
func (c *Changer) ownerOf(ctx context.Context, person string) (applock.Owner, error) {
	known, err := c.reader.OperatorNamed(ctx, person)
	if known == nil || strings.ContainsFunc(known.Department, pages.Unseen) {
		return applock.Owner{Operator: person}, err
	}
	return *known, err
}

// result is the result of a request, an answer or a get.
type result struct {
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

func (c *Changer) isFree(object applock.Object) result {
	return result{Object: object, Word: string(applock.OutcomeFree), Text: c.Pages.HTML("result.free"), Gets: true, status: http.StatusConflict}
}

func (c *Changer) isOwn(object applock.Object) result {
	return result{Object: object, Word: "OWN", Text: c.Pages.HTML("result.own"), status: http.StatusConflict}
}

func (c *Changer) failed(object applock.Object, err error) result {
	var held *applock.HeldError
	switch {
	case errors.As(err, &held):
		return result{Object: object, Word: string(applock.OutcomeHeld), Text: c.Pages.HTML("result.held", held.Holder.Owner), status: http.StatusConflict}
	case errors.Is(err, applock.ErrNotHeld):
		return result{Object: object, Word: string(applock.OutcomeFree), Text: c.Pages.HTML("answer.FREE"), status: http.StatusConflict}
	}
	status, text := c.Pages.Explain(err)
	escaped := template.HTML(template.HTMLEscapeString(text)) //nolint:gosec // escaped
	return result{Object: object, Text: c.Pages.HTML("result.failed", escaped), status: status}
}

// ask makes one request, and starts its renewal.
func (c *Changer) ask(ctx context.Context, person string, request applock.AskRequest) result {
	asked, err := c.client.Ask(ctx, request)
	c.logRequest(ctx, person, "ask", request.Object, string(asked.Outcome), err)
	switch {
	case errors.Is(err, applock.ErrNotHeld):
		return c.isFree(request.Object)
	case errors.Is(err, applock.ErrHeld):
		return c.isOwn(request.Object)
	case err != nil:
		return c.failed(request.Object, err)
	}
	c.beats.begin(person)
	return result{Object: request.Object, Word: string(asked.Outcome), Text: c.Pages.HTML("result.asked", asked.Holder.Owner.Operator), Good: true}
}

func (c *Changer) withdrawPage(ctx context.Context, who access.Visitor, form url.Values) (pages.View, error) {
	objects, err := objectsOf(form)
	if err != nil {
		return pages.View{}, err
	}
	for _, object := range objects {
		asked, err := c.client.Ask(ctx, applock.AskRequest{
			Object: object, Owner: applock.Owner{Operator: who.Person}, Client: form.Get("client"), Withdraw: true,
		})
		c.logRequest(ctx, who.Person, "withdraw", object, string(asked.Outcome), err)
		if err != nil && !isRefusal(err) {
			return pages.View{}, err
		}
	}
	return pages.View{Location: "desk"}, nil
}

// respondPage answers a request for the grant that the page showed.
func (c *Changer) respondPage(ctx context.Context, who access.Visitor, form url.Values) (pages.View, error) {
	key, err := pages.ParseGrant(form.Get("lock"))
	reason := pages.Tidy(form.Get("reason"))
	switch {
	case err != nil:
		return pages.View{}, err
	case key.Operator != who.Person:
		return pages.View{}, pages.ErrMayNot // only the holder may answer
	case strings.ContainsFunc(reason, unsayable):
		return pages.View{}, &applock.InvalidError{Argument: "Reason", Reason: "must not contain a control character"}
	}
	request := applock.AnswerRequest{
		Key: key, Asker: form.Get("asker"), Client: form.Get("client"),
		Answer: applock.AskAnswer(form.Get("answer")), Reason: reason,
	}
	answered, err := c.client.Answer(ctx, request)
	c.logRequest(ctx, who.Person, "respond", key.Object, string(answered.Outcome), err)
	line := result{Object: key.Object, Word: string(answered.Outcome), Good: true}
	switch {
	case err == nil:
		line.Text = c.Pages.HTML("result."+string(request.Answer), request.Asker)
	case errors.Is(err, applock.ErrNotAsking):
		line = result{Object: key.Object, Word: "GONE", Text: c.Pages.HTML("result.gone", request.Asker), status: http.StatusConflict}
	case errors.Is(err, applock.ErrInvalid):
		return pages.View{}, err
	default:
		line = c.failed(key.Object, err)
	}
	return c.sealed("answer", who.Person, c.results(pages.Value(key.Object), "title.respond", []result{line}))
}

// getPage gets an object for the person: a given lock, or an object that has become free.
func (c *Changer) getPage(ctx context.Context, who access.Visitor, form url.Values) (pages.View, error) {
	objects, err := objectsOf(form)
	if err != nil {
		return pages.View{}, err
	}
	owner, err := c.ownerOf(ctx, who.Person)
	if err != nil {
		return pages.View{}, err
	}
	object := objects[0]
	grant, err := c.client.Get(ctx, applock.GetRequest{Object: object, Owner: owner})
	c.logRequest(ctx, who.Person, "get", object, string(grant.Outcome), err)
	line := result{Object: object, Word: string(grant.Outcome), Text: c.Pages.HTML("result.have", c.Pages.Time(grant.ExpiresAt)), Good: true}
	if err != nil {
		line = c.failed(object, err)
	}
	if !errors.Is(err, applock.ErrUnreachable) {
		c.beats.change(owner.Operator, func(of *beat) { delete(of.freed, object); delete(of.missed, object) })
	}
	return c.sealed("answer", who.Person, c.results(pages.Value(object), "title.get", []result{line}))
}

type resultsShown struct {
	Title template.HTML
	Rows  []result
	Good  bool
}

func (c *Changer) results(what template.HTML, title string, lines []result) pages.View {
	s := resultsShown{Title: c.Pages.HTML(title, what), Rows: lines, Good: true}
	v := pages.View{Template: "results", Title: pages.Plain(s.Title)}
	for _, line := range lines {
		s.Good, v.Status = s.Good && line.Good, max(v.Status, line.status)
	}
	v.Data = s
	return v
}

func (c *Changer) logRequest(ctx context.Context, person, what string, object applock.Object, outcome string, err error) {
	c.Logger.InfoContext(ctx, "console: "+what,
		slog.String("person", person), slog.String("object", object.String()), slog.String("outcome", outcome), failureOf(err))
}

// beatEvery is how often the asker's open pages renew a request, which the database keeps for a minute.
const beatEvery = 15 * time.Second

// toldKept is how long pages show that a wanted object has become free, or that a given one has ended.
const toldKept = 10 * time.Minute

// beats schedules the renewals of requests. It is safe for concurrent use.
type beats struct {
	mutex sync.Mutex
	of    map[string]*beat
}

// beat is the schedule of one person.
type beat struct {
	// next is the time of the next renewal, zero if the person has no requests.
	next time.Time
	// ends is when a person without requests is forgotten: a lock may have been given a moment ago.
	ends time.Time
	// given are the objects that the person has been given and has not taken up. freed are those that became free, and missed those that were
	// given and have ended, each with the time until which pages show it.
	given         map[applock.Object]bool
	freed, missed map[applock.Object]time.Time
}

// change calls what changes a person's schedule, if there is one.
func (b *beats) change(person string, change func(of *beat)) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if of := b.of[person]; of != nil {
		change(of)
	}
}

func (b *beats) begin(person string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.of[person] == nil {
		b.of[person] = &beat{given: map[applock.Object]bool{}, freed: map[applock.Object]time.Time{}, missed: map[applock.Object]time.Time{}}
	}
	if of := b.of[person]; of.next.IsZero() {
		of.next = time.Now().Add(beatEvery)
	}
}

func (b *beats) due(person string) (due bool) {
	b.change(person, func(of *beat) {
		if due = !of.next.IsZero() && !time.Now().Before(of.next); due {
			of.next = time.Now().Add(beatEvery)
		}
	})
	return due
}

// waits reports whether a person asks, or has asked a moment ago.
func (b *beats) waits(person string) (waits bool) {
	b.change(person, func(*beat) { waits = true })
	return waits
}

// open returns what a person may still have to be told: the objects that were given and are not any more, and, as true, those that became free.
func (b *beats) open(person string, given []pages.GivenLock) map[applock.Object]bool {
	open := map[applock.Object]bool{}
	b.change(person, func(of *beat) {
		for _, object := range slices.Concat(slices.Collect(maps.Keys(of.given)), lasting(of.missed)) {
			open[object] = false
		}
		for _, lock := range given {
			delete(open, lock.Object)
			delete(of.missed, lock.Object)
		}
		for _, object := range lasting(of.freed) {
			open[object] = true
		}
	})
	return open
}

// tell returns what waits for a person, and forgets a person for whom nothing does. What is over is not told any more.
func (b *beats) tell(person string, given []pages.GivenLock, missed, over []applock.Object) (told pages.Told) {
	told.Given = given
	b.change(person, func(of *beat) {
		of.given = map[applock.Object]bool{}
		for _, lock := range given {
			of.given[lock.Object] = true
		}
		for _, object := range missed {
			if of.missed[object].IsZero() {
				of.missed[object] = time.Now().Add(toldKept)
			}
		}
		for _, object := range over {
			delete(of.missed, object)
			delete(of.freed, object)
		}
		told.Freed, told.Missed = lasting(of.freed), lasting(of.missed)
		if of.next.IsZero() && len(of.given)+len(of.freed)+len(of.missed) == 0 && !time.Now().Before(of.ends) {
			delete(b.of, person)
		}
	})
	return told
}

// lasting returns the objects whose time is not over, and removes the others.
func lasting(until map[applock.Object]time.Time) []applock.Object {
	maps.DeleteFunc(until, func(_ applock.Object, until time.Time) bool { return !time.Now().Before(until) })
	return slices.SortedFunc(maps.Keys(until), applock.Object.Compare)
}

// Beat renews the requests of a page's reader when they are due.
func (c *Changer) Beat(ctx context.Context, person string) {
	if person == "" || !c.beats.due(person) {
		return
	}
	if err := c.repeatRequests(ctx, person); err != nil {
		c.Logger.WarnContext(ctx, "console: repeat requests", slog.String("person", person), failureOf(err))
	}
}

func (c *Changer) repeatRequests(ctx context.Context, person string) error {
	requests, err := c.requestsOf(ctx, person)
	if err != nil {
		return err
	}
	repeated := 0
	for _, r := range requests {
		if r.Client != access.Client {
			continue
		}
		request := applock.AskRequest{Object: r.Object, Owner: r.Owner, Client: r.Client, Message: r.Message}
		if !r.Until.IsZero() { // a time by the database's clock
			if request.Wait = r.Until.Sub(r.Since.Add(r.Waited)).Truncate(time.Second); request.Wait <= 0 {
				continue
			}
		}
		_, err := c.client.Ask(ctx, request)
		switch {
		case errors.Is(err, applock.ErrNotHeld):
			c.beats.change(person, func(of *beat) { of.freed[r.Object] = time.Now().Add(toldKept) })
		case errors.Is(err, applock.ErrHeld): // the person has got it meanwhile
		case err != nil:
			return err
		default:
			repeated++
		}
	}
	if repeated == 0 {
		c.beats.change(person, func(of *beat) { of.next, of.ends = time.Time{}, time.Now().Add(beatEvery) })
	}
	return nil
}

func (c *Changer) requestsOf(ctx context.Context, operator string) (requests []applock.Asker, err error) {
	requests, err = reading.Collect(c.client.Asking(ctx, applock.AskingRequest{Operator: operator}), reading.MostOfPerson)
	if err != nil && reading.NotToBeSeen(err) {
		return nil, nil
	}
	return requests, err
}
