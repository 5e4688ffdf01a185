package console

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
	"github.com/applock/applock/applock/console/internal/changes"
	"github.com/applock/applock/applock/console/internal/pages"
	"github.com/applock/applock/applock/console/internal/reading"
)

// site is the console of the people who share a client.
type site struct {
	config Config
	pages  *pages.Pages
	client *applock.Client
	// role is empty for the console's own client.
	role string
	// rights returns what the client's database user may do.
	rights  func(context.Context) map[string]bool
	reader  *reading.Reader
	changer *changes.Changer
	// parts are the live pages that visitors share.
	parts *reading.Shared[liveKey, livePart]
	// handlers are the handlers by pattern. The mux only finds the pattern of a request.
	handlers map[string]handler
	mux      *http.ServeMux
}

// handler serves a request of a person, whose name is empty for somebody who may only look.
type handler func(w http.ResponseWriter, r *http.Request, person string)

// route sets the handlers of all pages and actions by their patterns. Actions are those with POST.
func (s *site) route() {
	s.handlers = map[string]handler{
		"GET /{$}":         s.live(s.reader.NowPage, false),
		"GET /locks":       s.live(s.reader.ListPage, false),
		"GET /object":      s.live(s.reader.ObjectPage, false),
		"GET /desk":        s.live(s.changer.DeskPage, true),
		"GET /operator":    s.live(s.reader.OperatorPage, false),
		"GET /waiters":     s.live(s.reader.WaitersPage, false),
		"GET /history":     s.live(s.reader.HistoryPage, false),
		"GET /policies":    s.live(s.reader.PoliciesPage, false),
		"GET /statistics":  s.live(s.reader.StatisticsPage, false),
		"GET /people":      s.live(s.reader.PeoplePage, false),
		"GET /requests":    s.live(s.reader.RequestsPage, false),
		"GET /history.csv": s.historyFile,
		"GET /health":      s.page(s.healthPage),
	}
	for pattern, page := range s.changer.Handlers() {
		s.handlers[pattern] = s.page(page)
	}
	for _, name := range pages.StaticFiles() {
		s.handlers["GET /"+name] = func(w http.ResponseWriter, r *http.Request, _ string) { pages.ServeStatic(w, r, name) }
	}
	s.mux = http.NewServeMux()
	for pattern := range s.handlers {
		s.mux.Handle(pattern, http.NotFoundHandler())
	}
}

func (s *site) serve(w http.ResponseWriter, r *http.Request, person string) {
	err := reading.CheckFilters(r.URL)
	if _, pattern := s.mux.Handler(r); pattern != "" && err == nil {
		s.handlers[pattern](w, r, person)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.config.Timeout)
	defer cancel()
	if err == nil {
		err = s.noPage(w, r)
	}
	s.answer(w, r, s.visitor(ctx, person), pages.View{}, err)
}

// historyFile serves the history for spreadsheets.
func (s *site) historyFile(w http.ResponseWriter, r *http.Request, person string) {
	ctx, cancel := context.WithTimeout(r.Context(), s.config.Timeout)
	defer cancel()
	var text bytes.Buffer // so that an error leaves no half file
	if err := s.reader.WriteHistory(ctx, r.URL.Query(), &text); err != nil {
		s.answer(w, r, s.visitor(ctx, person), pages.View{}, err)
		return
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="applock-history.csv"`)
	_, _ = w.Write(text.Bytes()) // the browser may have left
}

// noPage returns the error for an unknown address, or for a method that the address does not have.
func (s *site) noPage(w http.ResponseWriter, r *http.Request) error {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, found := s.mux.Handler(other); found != "" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		return pages.ErrNoPage
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	return pages.ErrNoForm
}

func (s *site) visitor(ctx context.Context, person string) access.Visitor {
	who := access.Visitor{Person: person, Role: s.role}
	if person != "" && (s.role != "" || s.config.MayChange(person)) {
		who.Rights = s.rights(ctx)
		if s.config.Departments != nil {
			who.Departments = s.config.Departments(person, s.role)
		}
	}
	return who
}

// page serves a page from the address' parameters, or from the form.
func (s *site) page(page changes.Page) handler {
	return func(w http.ResponseWriter, r *http.Request, person string) {
		values, err := r.URL.Query(), error(nil)
		if r.Method == http.MethodPost {
			values, err = pages.ReadForm(r)
		}
		ctx, cancel := context.WithTimeout(r.Context(), s.config.Timeout)
		defer cancel()
		who := s.visitor(ctx, person)
		s.changer.Beat(ctx, person)
		var v pages.View
		if err == nil {
			v, err = page(ctx, who, values)
		}
		s.answer(w, r, who, v, err)
	}
}

func (s *site) answer(w http.ResponseWriter, r *http.Request, who access.Visitor, v pages.View, err error) {
	if err != nil {
		s.pages.Log(r.Context(), r.URL.Path, err)
		v = s.failure(r, who.Person, err)
	}
	if v.Location != "" {
		// http.Redirect would make the address absolute without the path where the handler is mounted.
		w.Header().Set("Location", v.Location)
		w.WriteHeader(http.StatusSeeOther)
		return
	}
	s.pages.Write(w, r, v, s.frame(who, v, s.changer.Told(r.Context(), who), nil))
}

// failure returns the page of an error, and logs a refusal.
func (s *site) failure(r *http.Request, person string, err error) pages.View {
	v := s.pages.Failure(err)
	if v.Status == http.StatusForbidden {
		logRefusal(s.config.Logger, r, v.Status, person, err.Error())
	}
	return v
}

func (s *site) frame(who access.Visitor, v pages.View, told pages.Told, live *pages.Live) pages.Frame {
	_, hasSession := s.config.SignIn.(Sessions)
	return pages.Frame{
		Title: v.Title, Here: v.Here, Person: who.Person, Role: who.Role, MayChange: len(who.Granted()) > 0,
		HasSession: hasSession, Asks: s.changer.Asks(who.Person), Told: told, Live: live, Search: v.Search, Data: v.Data,
	}
}

type liveKey struct {
	// path and query are the page's address.
	path, query string
	// rights are what the page may offer.
	rights string
	// person is empty for a page that people share.
	person string
}

// livePart is the part of a live page that all its readers share.
type livePart struct {
	view pages.View
	main template.HTML
	// version changes with the content, except for the seconds of counters.
	version string
	read    time.Time
}

// live serves a page that the script keeps up to date. In each interval the script asks again, naming the version that it shows. A request
// without a version, such as a reload, gets a read that began after the request.
//
// All readers of a page share one read, so page gets a visitor with rights, but without a person. Pages that are somebody's own are not
// shared.
func (s *site) live(page changes.Page, own bool) handler {
	return func(w http.ResponseWriter, r *http.Request, person string) {
		ctx, cancel := context.WithTimeout(r.Context(), s.config.Timeout)
		defer cancel()
		known := r.Header.Get("If-None-Match")
		who := s.visitor(ctx, person)
		who.Polls = known != ""
		all := access.Visitor{Rights: who.Rights, Departments: who.Departments, Polls: who.Polls}
		rights := strings.Join(all.Granted(), " ")
		if own || all.Departments != nil || rights != "" && !all.Rights[access.Others] { // what such a person is offered depends on who holds a lock
			all.Person = person
		}
		key := liveKey{path: r.URL.Path, query: r.URL.Query().Encode(), rights: rights, person: all.Person}
		s.changer.Beat(ctx, person)
		part, err := s.parts.Get(ctx, key, who.Polls, func(ctx context.Context) (livePart, error) { return s.readPart(ctx, r.URL, all, page) })
		told := s.changer.Told(ctx, who)
		version := s.versionFor(r, part, told)
		state := &pages.Live{Version: version, Age: time.Since(part.read).Milliseconds(), Interval: s.config.Interval.Milliseconds()}
		switch {
		case err != nil:
			v := s.failure(r, person, err)
			if v.Status < http.StatusInternalServerError {
				state = nil // a retry would not help
			}
			s.pages.Write(w, r, v, s.frame(who, v, told, state))
		case known == version:
			w.WriteHeader(http.StatusNotModified)
		default:
			w.Header().Set("ETag", version)
			s.pages.WriteAround(w, r, part.view, part.main, s.frame(who, part.view, told, state))
		}
	}
}

// versionFor returns the version of a page for somebody who is told something.
func (s *site) versionFor(r *http.Request, part livePart, told pages.Told) string {
	if told.Count() == 0 || part.version == "" {
		return part.version
	}
	banner, err := s.pages.Banner(pages.Frame{Here: part.view.Here, Told: told})
	if err != nil {
		s.pages.Log(r.Context(), r.URL.Path, err)
	}
	return versionOf(template.HTML(part.version) + banner + template.HTML(strconv.Itoa(told.Count()))) //nolint:gosec // it is only compared
}

// readPart reads a live page for all its readers.
func (s *site) readPart(ctx context.Context, address *url.URL, all access.Visitor, page changes.Page) (livePart, error) {
	part := livePart{read: time.Now()}
	var err error
	if part.view, err = page(ctx, all, address.Query()); err == nil {
		part.main, err = s.pages.Main(part.view, pages.Frame{Title: part.view.Title, Data: part.view.Data})
	}
	if err != nil {
		s.pages.Log(ctx, address.Path, err)
		return part, err
	}
	part.version = versionOf(part.main)
	return part, nil
}

// counters match a counter of parts.html: its seconds and its text.
var counters = regexp.MustCompile(`data-seconds="[0-9]+">[^<]*<`)

// versionOf returns an ETag that is equal for parts which differ only in their counters.
func versionOf(main template.HTML) string {
	sum := sha256.Sum256(counters.ReplaceAllLiteral([]byte(main), nil))
	return `"` + hex.EncodeToString(sum[:16]) + `"`
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

type checked struct {
	Name, Text string
	// State is the name of its text: well, bad or unchecked.
	State string
}

func (s *site) healthPage(ctx context.Context, _ access.Visitor, _ url.Values) (pages.View, error) {
	checks := append([]Check{
		{Name: s.pages.Text("check.server"), Run: func(ctx context.Context) (string, error) {
			server, err := s.client.Ping(ctx)
			return strings.TrimSpace(server.Product + " " + server.Version), err
		}},
		{Name: s.pages.Text("check.contract"), Run: func(ctx context.Context) (string, error) {
			installed, err := s.client.Version(ctx)
			return fmt.Sprintf(s.pages.Text("check.contract.said"), installed, applock.ContractVersion), err
		}},
	}, s.config.Checks...)
	v := pages.View{Template: "health", Title: s.pages.Text("title.health"), Here: "health"}
	var lines []checked
	for _, check := range checks {
		line := s.checkedBy(ctx, check)
		if line.State == "health.bad" {
			v.Status = http.StatusServiceUnavailable
		}
		lines = append(lines, line)
	}
	v.Data = lines
	return v, nil
}

func (s *site) checkedBy(ctx context.Context, check Check) checked {
	text, err := check.Run(ctx)
	line := checked{Name: check.Name, Text: text, State: "health.well"}
	switch {
	case err == nil:
	case errors.Is(err, ErrNotChecked):
		line.State = "health.unchecked"
	default:
		line.State = "health.bad"
		if text == "" {
			_, line.Text = s.pages.Explain(err)
		}
	}
	return line
}
