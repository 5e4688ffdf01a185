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
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/applock/applock/applock"
)

//go:embed templates static
var files embed.FS

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
	// the actor. The console offers only deeds that the database user has the right to; the database refuses the others. A person whose
	// database user may neither hand over nor take changes only that person's own locks.
	MayChange func(person string) bool
	// Roles are clients for people with roles: such a person sees and may do what that client's database user may, whatever MayChange says.
	// A person with several roles has the first one; a person without a role uses the client of the Handler.
	Roles []Role
	// RolesOf returns more roles of a person than the sign-in names; nil is none.
	RolesOf func(person string) []string
	// Checks are more lines of the page on health than every client can answer.
	Checks []Check
	// Timeout bounds the calls to the database of one page; zero is DefaultTimeout.
	Timeout time.Duration
	// Interval is how often a page asks whether it still shows the database's state; zero is DefaultInterval. Pages with the same address
	// and client share the reads: at most two in an interval, fewer if they take long. Without an open page there are none.
	Interval time.Duration
	// Logger gets errors of the database, which pages show only in general, and each change with its person; nil logs nothing.
	Logger *slog.Logger
}

// Check is a line of the page on health.
type Check struct {
	// Name says what is checked.
	Name string
	// Run returns the line's text, and an error if something is wrong: ErrNotChecked if it could not look, which is neither good nor bad.
	// Without a text the page shows the error in general words.
	Run func(ctx context.Context) (string, error)
}

// ErrNotChecked is what [Check.Run] returns if the product, or the rights of the database user, do not let it look.
var ErrNotChecked = errors.New("not checked")

// console is the mounted handler.
type console struct {
	config    Config
	templates map[string]*template.Template
	texts     texts
	answers   *answers
	// noting is a semaphore of one, held while a note is compared and changed.
	noting chan struct{}
	// own is for people without a role. databases are for those with one, in the order of the roles.
	own       *database
	databases []*database
	counters  *regexp.Regexp
}

// Handler returns the pages, for any path that ends in a slash:
//
//	mux.Handle("/locks/", http.StripPrefix("/locks", console.Handler(client, config)))
//
// It is safe for concurrent use, and does not close the client.
func Handler(client *applock.Client, config Config) http.Handler {
	c := newConsole(client, config)
	return c.guarded(c.routes())
}

func newConsole(client *applock.Client, config Config) *console {
	if config.SignIn == nil {
		config.SignIn = nobody{}
	}
	if config.MayChange == nil {
		config.MayChange = func(string) bool { return false }
	}
	if config.Timeout == 0 {
		config.Timeout = DefaultTimeout
	}
	if config.Interval == 0 {
		config.Interval = DefaultInterval
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	texts := english()
	c := &console{
		config: config, texts: texts, templates: parseTemplates(texts), answers: newAnswers(), noting: make(chan struct{}, 1),
		counters: regexp.MustCompile(countersPattern),
	}
	c.own = newDatabase(client, config)
	for _, role := range config.Roles {
		c.databases = append(c.databases, newDatabase(role.Client, config))
	}
	return c
}

// table returns all pages and actions by their patterns. Actions are those with POST.
func (c *console) table() map[string]http.HandlerFunc {
	table := map[string]http.HandlerFunc{
		"GET /{$}":        c.live(c.nowPage),
		"GET /locks":      c.live(c.listPage),
		"GET /object":     c.live(c.objectPage),
		"GET /desk":       c.liveOf(c.deskPage),
		"GET /ask":        c.page(c.askForm),
		"POST /ask":       c.page(c.askPage),
		"POST /withdraw":  c.page(c.withdrawPage),
		"POST /respond":   c.page(c.respondPage),
		"POST /get":       c.page(c.getPage),
		"GET /operator":   c.live(c.operatorPage),
		"GET /waiters":    c.live(c.waitersPage),
		"GET /history":    c.live(c.historyPage),
		"GET /policies":   c.live(c.policiesPage),
		"GET /statistics": c.page(c.statisticsPage),
		"GET /health":     c.page(c.healthPage),
		"GET /plan":       c.page(c.keptPage),
		"GET /answer":     c.page(c.keptPage),
	}
	for _, verb := range verbs() {
		table["GET /"+verb.Name] = c.page(c.formPage(verb))
		table["POST /"+verb.Name] = c.page(c.changePage(verb))
	}
	for _, name := range staticFiles() {
		table["GET /"+name] = static(name)
	}
	return table
}

func (c *console) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, handler := range c.table() {
		mux.HandleFunc(pattern, handler)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, found := mux.Handler(r); found != "" {
			mux.ServeHTTP(w, r)
			return
		}
		c.noPage(w, r, mux)
	})
}

// noPage answers requests for an unknown address, or with a method that the address does not have.
func (c *console) noPage(w http.ResponseWriter, r *http.Request, mux *http.ServeMux) {
	err := errNoPage
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, found := mux.Handler(other); found != "" {
			allowed, err = append(allowed, method), errNoForm
		}
	}
	if len(allowed) > 0 {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
	}
	c.page(func(*http.Request) (view, error) { return view{}, err })(w, r)
}

// staticFiles returns the files that are served without a sign-in.
func staticFiles() []string { return []string{"style.css", "script.js", "keys.js", "icon.svg"} }

// static serves the file of that name.
func static(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "private, max-age=60")
		http.ServeFileFS(w, r, files, path.Join("static", name))
	}
}

// view is the content of a page.
type view struct {
	// template is the template's file name without its extension.
	template string
	// status is the HTTP status, zero for 200.
	status int
	// title is the page's title without the console's name.
	title string
	// here is the address of the page's menu entry.
	here string
	data any
	// search is the text in the search box.
	search string
	// location redirects the browser. It is relative to this page.
	location string
}

// shown is the data of a template.
type shown struct {
	Title, Here, Person, Role, Search string
	MayChange                         bool
	// HasSession is true if the person can sign out.
	HasSession bool
	// Asks is true if the person has open requests, which the page then keeps alive.
	Asks bool
	// Live is nil for a static page.
	Live *liveness
	Data any
	// Main is the main part, for the frame.
	Main template.HTML
}

// shownTo returns a template's data for the person of the request.
func (c *console) shownTo(ctx context.Context, v view, state *liveness) shown {
	who := askerOf(ctx)
	_, hasSession := c.config.SignIn.(Sessions)
	return shown{
		Title: v.title, Here: v.here, Person: who.person, Role: who.role, MayChange: len(trueOf(c.allowed(ctx))) > 0,
		HasSession: hasSession, Asks: who.person != "" && who.database.beats.asks(who.person), Live: state, Search: v.search, Data: v.data,
	}
}

// page serves a view, or the page of its error.
func (c *console) page(look func(*http.Request) (view, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), c.config.Timeout)
		defer cancel()
		c.beat(ctx)
		v, err := look(r.WithContext(ctx))
		if err != nil {
			c.logFailure(ctx, r.URL.Path, err)
			v = c.errorView(r, err)
		}
		if v.location != "" {
			// http.Redirect would make the address absolute without the path where the handler is mounted.
			w.Header().Set("Location", v.location)
			w.WriteHeader(http.StatusSeeOther)
			return
		}
		c.render(w, r, v, c.shownTo(ctx, v, nil))
	}
}

// render writes a page.
func (c *console) render(w http.ResponseWriter, r *http.Request, v view, data shown) {
	main, err := c.body(v, data)
	if err != nil {
		c.broken(w, r, err)
		return
	}
	c.frame(w, r, v, main, data)
}

// frame writes the frame around a finished main part.
func (c *console) frame(w http.ResponseWriter, r *http.Request, v view, main template.HTML, data shown) {
	data.Main = main
	text, err := execute(c.templates[v.template], data)
	if err != nil {
		c.broken(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if v.status != 0 {
		w.WriteHeader(v.status)
	}
	_, _ = w.Write(text) // the browser may have closed the connection
}

// broken answers after a failed template.
func (c *console) broken(w http.ResponseWriter, r *http.Request, err error) {
	c.config.Logger.ErrorContext(r.Context(), "console", slog.String("error", err.Error()))
	http.Error(w, c.texts["error.internal"], http.StatusInternalServerError)
}

var (
	errNoPage     = errors.New("there is no such page")
	errNoForm     = errors.New("the page does not take that")
	errMayNot     = errors.New("not allowed to do that")
	errNoAnswer   = errors.New("the answer is not kept any more")
	errFormTooBig = errors.New("the form is too big")
	errFormLate   = errors.New("the form has not arrived in time")
)

// errorView returns the page of an error, and logs a refusal.
func (c *console) errorView(r *http.Request, err error) view {
	status, text := c.explain(err)
	if status == http.StatusForbidden {
		c.logRefusal(r, status, personOf(r), err.Error())
	}
	v := view{template: "error", status: status, title: c.texts["error.title"], data: text}
	var others othersError
	if errors.As(err, &others) {
		v.data = c.texts.html("error.others", c.texts.names(others))
	}
	return v
}

// explain returns the status and the text for an error.
func (c *console) explain(err error) (status int, text string) {
	var invalid *applock.InvalidError
	if errors.As(err, &invalid) {
		return http.StatusBadRequest, fmt.Sprintf(c.texts["error.invalid"], c.argument(invalid.Argument), invalid.Reason)
	}
	for _, known := range []struct {
		err    error
		status int
		text   string
	}{
		{errNoPage, http.StatusNotFound, c.texts["error.no-page"]},
		{errNoForm, http.StatusMethodNotAllowed, c.texts["error.no-form"]},
		{errNoAnswer, http.StatusNotFound, c.texts["error.no-answer"]},
		{errMayNot, http.StatusForbidden, c.texts["error.may-not"]},
		{errFormLate, http.StatusRequestTimeout, c.texts["error.form-late"]},
		{errFormTooBig, http.StatusRequestEntityTooLarge, c.texts["error.too-big"]},
		{applock.ErrInvalid, http.StatusBadRequest, applock.ErrInvalid.Error()},
		{applock.ErrReadOnly, http.StatusServiceUnavailable, c.texts["error.read-only"]},
		{applock.ErrPrivilege, http.StatusForbidden, applock.ErrPrivilege.Error()},
		{applock.ErrOutcomeUnknown, http.StatusGatewayTimeout, applock.ErrOutcomeUnknown.Error()},
		{applock.ErrSchema, http.StatusServiceUnavailable, c.texts["error.schema"]},
		{applock.ErrUnreachable, http.StatusServiceUnavailable, c.texts["error.unreachable"]},
		{applock.ErrBusy, http.StatusServiceUnavailable, applock.ErrBusy.Error()},
		{applock.ErrContention, http.StatusServiceUnavailable, applock.ErrContention.Error()},
		{context.DeadlineExceeded, http.StatusGatewayTimeout, c.texts["error.late"]},
	} {
		if errors.Is(err, known.err) {
			return known.status, known.text
		}
	}
	return http.StatusInternalServerError, c.texts["error.internal"]
}

// argument returns the label of a request's field.
func (c *console) argument(name string) string {
	label := map[string]string{
		"Object": "label.object", "Object.Type": "label.type", "Object.ID": "label.object", "ObjectType": "label.type",
		"Prefix": "label.prefix", "Operator": "label.operator", "Department": "label.department",
		"NoDepartment": "label.no-department", "OlderThan": "label.older", "ExpiresWithin": "label.within",
		"After": "label.after", "Since": "label.back",
		"To.Operator": "label.to", "To.Department": "label.to-department", "Reason": "label.reason", "Note": "label.note",
		"Message": "label.message", "Wait": "label.wait",
	}[name]
	if label == "" {
		return name
	}
	return "“" + c.texts[label] + "”"
}
