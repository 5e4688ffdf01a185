// Package pages writes the pages of the console: their templates, their words, and how a value or an error is shown. It reads no database.
package pages

import (
	"bytes"
	"embed"
	"html/template"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"time"
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
	// Live is nil for a static page.
	Live *Live
	Data any
	// Main is the main part, for the frame around it.
	Main template.HTML
}

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
	var text strings.Builder
	if err := p.templates["results"].ExecuteTemplate(&text, "exactly", t); err != nil {
		return Value(t)
	}
	return template.HTML(text.String()) //nolint:gosec // escaped by a template
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
	var text bytes.Buffer
	err := p.templates[v.Template].ExecuteTemplate(&text, "main", data)
	return template.HTML(text.String()), err //nolint:gosec // escaped by a template
}

// WriteAround writes the frame around a finished main part.
func (p *Pages) WriteAround(w http.ResponseWriter, r *http.Request, v View, main template.HTML, data Frame) {
	data.Main = main
	// The whole page is rendered before any of it is sent, so that a failed template leaves no half page.
	var text bytes.Buffer
	if err := p.templates[v.Template].ExecuteTemplate(&text, "frame.html", data); err != nil {
		p.broken(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if v.Status != 0 {
		w.WriteHeader(v.Status)
	}
	_, _ = w.Write(text.Bytes()) // the browser may have closed the connection
}

// broken answers after a failed template.
func (p *Pages) broken(w http.ResponseWriter, r *http.Request, err error) {
	p.logger.ErrorContext(r.Context(), "console", slog.String("error", err.Error()))
	http.Error(w, p.texts["error.internal"], http.StatusInternalServerError)
}

// StaticFiles returns the files that are served without a sign-in.
func StaticFiles() []string { return []string{"style.css", "script.js", "keys.js", "icon.svg"} }

// ServeStatic serves the static file of that name.
func ServeStatic(w http.ResponseWriter, r *http.Request, name string) {
	w.Header().Set("Cache-Control", "private, max-age=60")
	http.ServeFileFS(w, r, files, path.Join("static", name))
}
