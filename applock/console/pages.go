package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/applock/applock/applock"
)

// readWaiters returns those who wait longest, at most a page of them.
func (c *console) readWaiters(ctx context.Context, request applock.WaitersRequest) (longest []applock.Waiter, err error) {
	request.PageSize = applock.MaxPageSize
	for waiter, err := range clientOf(ctx).Waiters(ctx, request) {
		if err != nil {
			return nil, err
		}
		at, _ := slices.BinarySearchFunc(longest, waiter, func(a, b applock.Waiter) int { return a.Since.Compare(b.Since) })
		longest = slices.Insert(longest, at, waiter)
		longest = longest[:min(len(longest), rowsOfPage)]
	}
	return longest, nil
}

// objectShown is the data of an object's page.
type objectShown struct {
	Object applock.Object
	// Lock is nil if the object is free.
	Lock    *applock.Lock
	Waiters []applock.Waiter
	Events  []applock.Event
	// Present are the others at the object.
	Present []presence
	// Verbs are the verbs that the reader may use.
	Verbs []string
}

func (c *console) objectPage(r *http.Request) (view, error) {
	object, err := applock.ParseObject(r.URL.Query().Get("name"))
	if err != nil {
		return view{}, err
	}
	data := objectShown{Object: object}
	if data.Lock, err = c.inquire(r.Context(), object); err != nil {
		return view{}, err
	}
	if data.Lock != nil {
		data.Verbs = c.allowedOn(r.Context(), data.Lock.Owner.Operator, append(verbNames(), rightAsk))
	}
	request := applock.WaitersRequest{ObjectType: object.Type, ObjectID: object.ID}
	if data.Waiters, err = c.readWaiters(r.Context(), request); err != nil {
		return view{}, err
	}
	present, err := readPresent(r.Context(), clientOf(r.Context()), object)
	if err != nil {
		return view{}, err
	}
	data.Present = present.presences(object)
	history := applock.HistoryRequest{ObjectType: object.Type, ObjectID: object.ID}
	data.Events, _, err = c.readHappened(r.Context(), history, "", rowsOfPage)
	return view{template: "object", title: object.String(), data: data}, err
}

// inquire returns the lock on an object, or nil if it is free.
func (c *console) inquire(ctx context.Context, object applock.Object) (*applock.Lock, error) {
	lock, err := clientOf(ctx).Inquire(ctx, object)
	if errors.Is(err, applock.ErrNotHeld) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &lock, nil
}

// deskShown is the data of an operator's page.
type deskShown struct {
	Operator string
	Rows     []row
	More     string
	Waits    []applock.Waiter
	// Inbox are the deeds of others on the operator's locks, Deeds the operator's own. Both are newest first, and limited to the newest
	// events.
	Inbox, Deeds []applock.Event
	Verbs        []string
	// Own is nil on the desk of somebody else.
	Own *ownDesk
}

// eventsOfDesk is the number of newest events of an operator that are read.
const eventsOfDesk = 500

func (c *console) operatorPage(r *http.Request) (view, error) {
	data, err := c.readDesk(r.Context(), r.URL.Query().Get("name"))
	title := fmt.Sprintf(c.texts["title.operator"], data.Operator)
	return view{template: "operator", title: title, data: data}, err
}

// readDesk reads the public part of a desk.
func (c *console) readDesk(ctx context.Context, operator string) (deskShown, error) {
	data := deskShown{Operator: operator, Verbs: c.allowedOn(ctx, operator, verbsOfMany())}
	if operator == "" {
		return data, &applock.InvalidError{Argument: "Operator", Reason: "must not be empty"}
	}
	held, err := c.readList(ctx, filter{Operator: operator, Sort: byObject})
	if err != nil {
		return data, err
	}
	if err := c.attach(ctx, held.Rows); err != nil {
		return data, err
	}
	data.Rows, data.More = held.Rows, held.More
	if data.Waits, err = c.readWaiters(ctx, applock.WaitersRequest{Operator: operator}); err != nil {
		return data, err
	}
	events, _, err := c.readHappened(ctx, applock.HistoryRequest{Operator: operator}, "", eventsOfDesk)
	for _, event := range events {
		// A lock given away appears in the former holder's inbox, even if that was the actor.
		given := (event.Kind == applock.EventGiven || event.Kind == applock.EventYielded) && event.From.Operator == operator
		if event.Actor == operator && !given {
			data.Deeds = append(data.Deeds, event)
		} else {
			data.Inbox = append(data.Inbox, event)
		}
	}
	data.Deeds, data.Inbox = data.Deeds[:min(len(data.Deeds), rowsOfPage)], data.Inbox[:min(len(data.Inbox), rowsOfPage)]
	return data, err
}

// queuesShown is the data of the page of waiters.
type queuesShown struct {
	Type   string
	Queues []queue
	// Blocked counts the objects with waiters, Waiting the waiters.
	Blocked, Waiting int
	// Offers is true if any row has verbs.
	Offers bool
}

func (c *console) waitersPage(r *http.Request) (view, error) {
	data := queuesShown{Type: strings.TrimSpace(r.URL.Query().Get("type"))}
	all, err := askerOf(r.Context()).database.readShared(r.Context(), c.config.Timeout)
	if err != nil {
		return view{}, err
	}
	queues := all.queues(data.Type)
	data.Blocked, data.Queues = len(queues), queues[:min(len(queues), rowsOfPage)]
	data.Offers = c.offer(r.Context(), data.Queues)
	present, err := askerOf(r.Context()).database.readPresent(r.Context(), c.config.Timeout)
	if err != nil {
		return view{}, err
	}
	present.attachTo(data.Queues)
	for _, queue := range queues {
		data.Waiting += queue.All
	}
	return view{template: "waiters", title: c.texts["title.waiters"], here: "waiters", data: data}, nil
}

// statisticsShown is the data of the statistics page.
type statisticsShown struct {
	Stats []applock.Stats
	Plots []plot
}

func (c *console) statisticsPage(r *http.Request) (view, error) {
	stats, err := clientOf(r.Context()).Stats(r.Context(), applock.StatsRequest{})
	data := statisticsShown{Stats: stats, Plots: plotsOf(stats)}
	return view{template: "statistics", title: c.texts["title.statistics"], here: "statistics", data: data}, err
}

// plot is a bar chart over the types with the highest numbers.
type plot struct {
	Title string
	Bars  []bar
	// Height is the height of the picture.
	Height int
}

// bar is a bar of a plot, in the plot's units.
type bar struct {
	Label              string
	Value              int64
	Y, Width, TextY, X int
}

const (
	barsOfPlot  = 12
	barDistance = 26
	barBegins   = 150
	barLongest  = 370
)

// plotsOf returns the plots of locks and of waiters by type.
func plotsOf(stats []applock.Stats) []plot {
	live, waiters := map[string]int64{}, map[string]int64{}
	for _, of := range stats {
		live[of.ObjectType] += of.Live
		waiters[of.ObjectType] += of.Waiters
	}
	var plots []plot
	for _, of := range []struct {
		title  string
		values map[string]int64
	}{{"plot.live", live}, {"plot.waiters", waiters}} {
		if p := plotOf(of.title, of.values); len(p.Bars) > 0 {
			plots = append(plots, p)
		}
	}
	return plots
}

func plotOf(title string, values map[string]int64) plot {
	p := plot{Title: title}
	for label, value := range values {
		if value > 0 {
			p.Bars = append(p.Bars, bar{Label: label, Value: value})
		}
	}
	slices.SortFunc(p.Bars, func(a, b bar) int {
		if a.Value != b.Value {
			return int(min(1, max(-1, b.Value-a.Value)))
		}
		return strings.Compare(a.Label, b.Label)
	})
	p.Bars = p.Bars[:min(len(p.Bars), barsOfPlot)]
	for i := range p.Bars {
		b := &p.Bars[i]
		b.Y, b.TextY = i*barDistance+4, i*barDistance+18
		b.Width = max(2, int(b.Value*barLongest/p.Bars[0].Value))
		b.X = barBegins + b.Width + 6
	}
	p.Height = len(p.Bars)*barDistance + 6
	return p
}

// checked is the result of a check.
type checked struct {
	Name, Text string
	// State is the name of its text: well, bad or unchecked.
	State string
}

func (c *console) healthPage(r *http.Request) (view, error) {
	checks := append([]Check{
		{Name: c.texts["check.server"], Run: c.checkServer},
		{Name: c.texts["check.contract"], Run: c.checkContract},
	}, c.config.Checks...)
	v := view{template: "health", title: c.texts["title.health"], here: "health"}
	var lines []checked
	for _, check := range checks {
		line := c.checkedBy(r.Context(), check)
		if line.State == "health.bad" {
			v.status = http.StatusServiceUnavailable
		}
		lines = append(lines, line)
	}
	v.data = lines
	return v, nil
}

func (c *console) checkedBy(ctx context.Context, check Check) checked {
	text, err := check.Run(ctx)
	line := checked{Name: check.Name, Text: text, State: "health.well"}
	switch {
	case err == nil:
		return line
	case errors.Is(err, ErrNotChecked):
		line.State = "health.unchecked"
		return line
	}
	line.State = "health.bad"
	if text == "" {
		_, line.Text = c.explain(err)
	}
	return line
}

func (c *console) checkServer(ctx context.Context) (string, error) {
	server, err := clientOf(ctx).Ping(ctx)
	return strings.TrimSpace(server.Product + " " + server.Version), err
}

func (c *console) checkContract(ctx context.Context) (string, error) {
	installed, err := clientOf(ctx).Version(ctx)
	return fmt.Sprintf(c.texts["check.contract.said"], installed, applock.ContractVersion), err
}
