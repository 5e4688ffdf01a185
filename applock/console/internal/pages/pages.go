// Package pages writes the pages of the console: their templates, their words, and how a value or an error is shown. It reads no database.
package pages

import (
	"bytes"
	"compress/gzip"
	"context"
	"embed"
	"errors"
	"fmt"
	"html"
	"html/template"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/visible"
)

//go:embed templates static
var files embed.FS

// View is the content of a page.
type View struct {
	// Template is the template's file name without its extension.
	Template string
	// Status is the HTTP status, zero for 200.
	Status int
	// Title is the page's title without the console's name.
	Title string
	// Here is the address of the page's menu entry.
	Here string
	Data any
	// Search is the text in the search box.
	Search string
	// Location redirects the browser. It is relative to this page.
	Location string
}

// Frame is what a template shows: the data of a view, and the person for whom it is.
type Frame struct {
	Title, Here, Person, Role, Search string
	MayChange                         bool
	// HasSession is true if the person can sign out.
	HasSession bool
	// Asks is true if the person has open requests, which the page then keeps alive.
	Asks bool
	// Told is what waits for the person.
	Told Told
	// Live is nil for a static page.
	Live *Live
	Data any
	// Main is the main part, for the frame around it.
	Main template.HTML
}

// Told is what waits for a person, whichever page is open.
type Told struct {
	// Asked are requests for the person's locks that have no answer.
	Asked []applock.Asker
	// Given are locks that end within a minute unless the person takes them up. Freed are objects that the person has asked for and that are free
	// now, Missed those that were given and are not the person's any more.
	Given         []GivenLock
	Freed, Missed []applock.Object
}

// GivenLock is a lock that a person has not taken up yet.
type GivenLock struct {
	applock.Lock
	// From is the former holder, if known.
	From string
}

// Count returns how many there are.
func (t Told) Count() int { return len(t.Asked) + len(t.Given) + len(t.Freed) + len(t.Missed) }

// Live tells the script how to keep the page up to date. The times are in milliseconds.
type Live struct {
	// Version is empty on an error's page.
	Version  string
	Age      int64
	Interval int64
}

// Pages writes pages. It is safe for concurrent use.
type Pages struct {
	texts     texts
	templates map[string]*template.Template
	logger    *slog.Logger
}

// New returns the pages in English. The logger gets errors of templates and of the database.
func New(logger *slog.Logger) *Pages {
	texts := english()
	return &Pages{texts: texts, templates: parseTemplates(texts), logger: logger}
}

// Text returns the text of that name.
func (p *Pages) Text(name string) string { return p.texts[name] }

// HTML formats a text with isolated values.
func (p *Pages) HTML(name string, args ...any) template.HTML { return p.texts.html(name, args...) }

// Time formats a time as templates do.
func (p *Pages) Time(t time.Time) template.HTML {
	text, err := p.part("results", "exactly", t)
	if err != nil {
		return Value(t)
	}
	return text
}

// part returns a part of a page.
func (p *Pages) part(page, name string, data any) (template.HTML, error) {
	var text bytes.Buffer
	err := p.templates[page].ExecuteTemplate(&text, name, data)
	return template.HTML(text.String()), err //nolint:gosec // escaped by a template
}

// Write writes a page.
func (p *Pages) Write(w http.ResponseWriter, r *http.Request, v View, data Frame) {
	main, err := p.Main(v, data)
	if err != nil {
		p.broken(w, r, err)
		return
	}
	p.WriteAround(w, r, v, main, data)
}

// Main returns the main part of a page.
func (p *Pages) Main(v View, data Frame) (template.HTML, error) {
	return p.part(v.Template, "main", data)
}

// Banner returns what a page tells its reader above the main part.
func (p *Pages) Banner(data Frame) (template.HTML, error) { return p.part("results", "banner", data) }

// WriteAround writes the frame around a finished main part.
func (p *Pages) WriteAround(w http.ResponseWriter, r *http.Request, v View, main template.HTML, data Frame) {
	data.Main = main
	// The whole page is rendered before any of it is sent, so that a failed template leaves no half page.
	text, err := p.part(v.Template, "frame.html", data)
	if err != nil {
		p.broken(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Vary", "Accept-Encoding, Sec-Fetch-Site")
	body := []byte(text)
	if compresses(r) {
		w.Header().Set("Content-Encoding", "gzip")
		var memory bytes.Buffer
		packed := gzip.NewWriter(&memory)
		_, _ = packed.Write(body)
		_ = packed.Close()
		body = memory.Bytes()
	}
	if v.Status != 0 {
		w.WriteHeader(v.Status)
	}
	_, _ = w.Write(body) // the browser may have closed the connection
}

// compresses reports whether the browser knows gzip, and the console itself or the person has asked: the size of a compressed page would
// tell another site what is in it.
func compresses(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && (site == "same-origin" || site == "none")
}

func (p *Pages) broken(w http.ResponseWriter, r *http.Request, err error) {
	p.logger.ErrorContext(r.Context(), "console", slog.String("error", err.Error()))
	http.Error(w, p.texts["error.internal"], http.StatusInternalServerError)
}

// StaticFiles returns the files that are served without a sign-in.
func StaticFiles() []string {
	return []string{"style.css", "script.js", "ticks.js", "keys.js", "icon.svg"}
}

// ServeStatic serves the static file of that name.
func ServeStatic(w http.ResponseWriter, r *http.Request, name string) {
	w.Header().Set("Cache-Control", "private, max-age=60")
	http.ServeFileFS(w, r, files, path.Join("static", name))
}

// The errors that only pages have.
var (
	ErrNoPage     = errors.New("there is no such page")
	ErrNoForm     = errors.New("the page does not take that")
	ErrMayNot     = errors.New("not allowed to do that")
	ErrNoPlan     = errors.New("the plan cannot be read any more")
	ErrNoAnswer   = errors.New("the answer cannot be read any more")
	ErrFormTooBig = errors.New("the form is too big")
	ErrFormLate   = errors.New("the form has not arrived in time")
)

// OthersError names the locks of others, or an operator's desk, that a person may not change. It is ErrMayNot.
type OthersError []string

// Error names the first of them.
func (e OthersError) Error() string {
	return "not allowed to change what others hold: " + strings.Join(e[:min(len(e), namesShown)], ", ")
}

// Is reports whether the target is ErrMayNot.
func (OthersError) Is(target error) bool { return target == ErrMayNot }

// Failure returns the page of an error.
func (p *Pages) Failure(err error) View {
	status, text := p.Explain(err)
	v := View{Template: "error", Status: status, Title: p.texts["error.title"], Data: text}
	if others, is := errors.AsType[OthersError](err); is {
		v.Data = p.texts.html("error.others", p.texts.names(others))
	}
	return v
}

// Log logs server errors. Pages do not show their text, which may name hosts and users.
func (p *Pages) Log(ctx context.Context, page string, err error) {
	if status, _ := p.Explain(err); status >= http.StatusInternalServerError {
		p.logger.ErrorContext(ctx, "console", slog.String("page", page), slog.String("error", err.Error()))
	}
}

// Explain returns the status and the text for an error.
func (p *Pages) Explain(err error) (status int, text string) {
	if invalid, is := errors.AsType[*applock.InvalidError](err); is {
		return http.StatusBadRequest, fmt.Sprintf(p.texts["error.invalid"], p.Label(invalid.Argument), invalid.Reason)
	}
	for _, known := range []struct {
		err    error
		status int
		text   string
	}{
		{ErrNoPage, http.StatusNotFound, p.texts["error.no-page"]},
		{ErrNoForm, http.StatusMethodNotAllowed, p.texts["error.no-form"]},
		{ErrNoPlan, http.StatusNotFound, p.texts["error.no-plan"]},
		{ErrNoAnswer, http.StatusNotFound, p.texts["error.no-answer"]},
		{ErrMayNot, http.StatusForbidden, p.texts["error.may-not"]},
		{ErrFormLate, http.StatusRequestTimeout, p.texts["error.form-late"]},
		{ErrFormTooBig, http.StatusRequestEntityTooLarge, p.texts["error.too-big"]},
		{applock.ErrInvalid, http.StatusBadRequest, applock.ErrInvalid.Error()},
		{applock.ErrReadOnly, http.StatusServiceUnavailable, p.texts["error.read-only"]},
		{applock.ErrPrivilege, http.StatusForbidden, applock.ErrPrivilege.Error()},
		{applock.ErrOutcomeUnknown, http.StatusGatewayTimeout, applock.ErrOutcomeUnknown.Error()},
		{applock.ErrSchema, http.StatusServiceUnavailable, p.texts["error.schema"]},
		{applock.ErrUnreachable, http.StatusServiceUnavailable, p.texts["error.unreachable"]},
		{applock.ErrBusy, http.StatusServiceUnavailable, applock.ErrBusy.Error()},
		{applock.ErrContention, http.StatusServiceUnavailable, applock.ErrContention.Error()},
		{context.DeadlineExceeded, http.StatusGatewayTimeout, p.texts["error.late"]},
	} {
		if errors.Is(err, known.err) {
			return known.status, known.text
		}
	}
	return http.StatusInternalServerError, p.texts["error.internal"]
}

// Label returns the label of a request's field.
func (p *Pages) Label(name string) template.HTML {
	label := map[string]string{
		"Object": "label.object", "Object.Type": "label.type", "Object.ID": "label.object", "ObjectType": "label.type",
		"Prefix": "label.prefix", "Operator": "label.operator", "Department": "label.department",
		"NoDepartment": "label.no-department", "OlderThan": "label.older", "ExpiresWithin": "label.within",
		"After": "label.after", "Since": "label.back", "Event": "label.event",
		"To.Operator": "label.to", "To.Department": "label.to-department", "Reason": "label.reason", "Note": "label.note",
		"Type": "label.type", "DefaultTTL": "label.ttl", "LongestTTL": "label.longest-ttl", "YieldAfter": "label.yield",
		"Message": "label.message", "Wait": "label.wait", "TTL": "label.lasts",
	}[name]
	if label == "" {
		return template.HTML(html.EscapeString(visible.Text(name))) //nolint:gosec // escaped
	}
	return template.HTML("“" + p.texts[label] + "”") //nolint:gosec // a text of ours
}
