// Package changes makes the pages of the console that change something: the form, the plan and the answer of a change; the requests for a lock;
// and the desk of a person, which has the requests of others.
package changes

import (
	"context"
	"log/slog"
	"net/url"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
	"github.com/applock/applock/applock/console/internal/pages"
	"github.com/applock/applock/applock/console/internal/reading"
)

// Page makes a page for a visitor. values are the address' parameters, or the form's.
type Page = func(ctx context.Context, who access.Visitor, values url.Values) (pages.View, error)

// Config is what the changers of all clients share.
type Config struct {
	Pages  *pages.Pages
	Logger *slog.Logger
	// Timeout bounds the calls to the database of one page.
	Timeout time.Duration
	Answers *Answers
	// Noting is a semaphore of one, held while a note is compared and changed.
	Noting chan struct{}
}

// Changer changes locks by one client. It is safe for concurrent use.
type Changer struct {
	client  *applock.Client
	rights  *access.Rights
	reader  *reading.Reader
	pages   *pages.Pages
	logger  *slog.Logger
	timeout time.Duration
	answers *Answers
	noting  chan struct{}
	beats   *beats
}

// New returns a changer.
func New(client *applock.Client, rights *access.Rights, reader *reading.Reader, config Config) *Changer {
	return &Changer{
		client: client, rights: rights, reader: reader, pages: config.Pages, logger: config.Logger, timeout: config.Timeout,
		answers: config.Answers, noting: config.Noting, beats: &beats{of: map[string]*beat{}},
	}
}

// Pages returns the pages by their patterns. Actions are those with POST.
func (c *Changer) Pages() map[string]Page {
	all := map[string]Page{
		"GET /ask":       limited(access.Ask, c.askForm),
		"POST /ask":      limited(access.Ask, c.askPage),
		"POST /withdraw": limited(access.Ask, c.withdrawPage),
		"POST /respond":  limited(access.Answer, c.respondPage),
		"POST /get":      limited(access.Ask, c.getPage),
		"GET /plan":      c.keptPage,
		"GET /answer":    c.keptPage,
	}
	for _, verb := range verbs() {
		all["GET /"+verb.Name] = limited(verb.Name, c.formPage(verb))
		all["POST /"+verb.Name] = limited(verb.Name, c.changePage(verb))
	}
	return all
}

// limited refuses a visitor without the right.
func limited(right string, page Page) Page {
	return func(ctx context.Context, who access.Visitor, values url.Values) (pages.View, error) {
		if !who.Rights[right] {
			return pages.View{}, pages.ErrMayNot
		}
		return page(ctx, who, values)
	}
}

// Asks reports whether a person has open requests.
func (c *Changer) Asks(person string) (asks bool) {
	c.beats.change(person, func(of *beat) { asks = !of.next.IsZero() })
	return asks
}
