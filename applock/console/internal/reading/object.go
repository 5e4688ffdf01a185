package reading

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
	"github.com/applock/applock/applock/console/internal/pages"
)

// readWaiters returns those who wait longest, at most a page of them.
func (r *Reader) readWaiters(ctx context.Context, request applock.WaitersRequest) (longest []applock.Waiter, err error) {
	request.PageSize = applock.MaxPageSize
	for waiter, err := range r.client.Waiters(ctx, request) {
		if err != nil {
			return nil, err
		}
		at, _ := slices.BinarySearchFunc(longest, waiter, func(a, b applock.Waiter) int { return a.Since.Compare(b.Since) })
		longest = slices.Insert(longest, at, waiter)
		longest = longest[:min(len(longest), RowsOfPage)]
	}
	return longest, nil
}

type objectShown struct {
	Object applock.Object
	// Lock is nil if the object is free.
	Lock    *applock.Lock
	Waiters []applock.Waiter
	Events  []applock.Event
	Present []presence
	Verbs   []string
}

// ObjectPage is the page of an object.
func (r *Reader) ObjectPage(ctx context.Context, who access.Visitor, query url.Values) (pages.View, error) {
	object, err := applock.ParseObject(query.Get("name"))
	if err != nil {
		return pages.View{}, err
	}
	data := objectShown{Object: object}
	if data.Lock, err = r.Inquire(ctx, object); err != nil {
		return pages.View{}, err
	}
	if data.Lock != nil {
		data.Verbs = who.May(data.Lock.Owner, append(access.Changes(), access.Ask))
	}
	request := applock.WaitersRequest{ObjectType: object.Type, ObjectID: object.ID}
	if data.Waiters, err = r.readWaiters(ctx, request); err != nil {
		return pages.View{}, err
	}
	present, err := readPresent(ctx, r.client, object)
	if err != nil {
		return pages.View{}, err
	}
	data.Present = present.presences(object)
	history := applock.HistoryRequest{ObjectType: object.Type, ObjectID: object.ID}
	data.Events, _, err = r.readHappened(ctx, history, "", RowsOfPage)
	return pages.View{Template: "object", Title: object.String(), Data: data}, err
}

// Inquire returns the lock on an object, or nil if it is free.
func (r *Reader) Inquire(ctx context.Context, object applock.Object) (*applock.Lock, error) {
	lock, err := r.client.Inquire(ctx, object)
	if errors.Is(err, applock.ErrNotHeld) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &lock, nil
}

// Desk is the data of an operator's page.
type Desk struct {
	Operator string
	Rows     []row
	More     string
	Waits    []applock.Waiter
	// Inbox are the actions of others on the operator's locks, Actions the operator's own. Both are newest first, and limited to the newest
	// events.
	Inbox, Actions []applock.Event
	Verbs          []string
	// Own is the private part of a person's own desk, nil on the desk of somebody else.
	Own any
}

// eventsOfDesk is the number of newest events of an operator that are read.
const eventsOfDesk = 500

// OperatorPage is the page of an operator.
func (r *Reader) OperatorPage(ctx context.Context, who access.Visitor, query url.Values) (pages.View, error) {
	data, err := r.ReadDesk(ctx, who, query.Get("name"))
	title := fmt.Sprintf(r.pages.Text("title.operator"), data.Operator)
	return pages.View{Template: "operator", Title: title, Data: data}, err
}

// ReadDesk reads the public part of a desk.
func (r *Reader) ReadDesk(ctx context.Context, who access.Visitor, operator string) (Desk, error) {
	data := Desk{Operator: operator}
	if operator == "" {
		return data, &applock.InvalidError{Argument: "Operator", Reason: "must not be empty"}
	}
	held, err := r.readList(ctx, who, filter{Operator: operator, Sort: byObject})
	if err != nil {
		return data, err
	}
	if err := r.attach(ctx, who, held.Rows); err != nil {
		return data, err
	}
	data.Rows, data.More = held.Rows, held.More
	for _, row := range held.Rows {
		if verbs := who.May(row.Owner, access.ChangesOfMany()); len(verbs) > len(data.Verbs) {
			data.Verbs = verbs
		}
	}
	if data.Waits, err = r.readWaiters(ctx, applock.WaitersRequest{Operator: operator}); err != nil {
		return data, err
	}
	events, _, err := r.readHappened(ctx, applock.HistoryRequest{Operator: operator}, "", eventsOfDesk)
	for _, event := range events {
		// A lock given away appears in the former holder's inbox, even if that was the actor.
		given := event.Kind == applock.EventGiven && event.From.Operator == operator
		if event.Actor == operator && !given {
			data.Actions = append(data.Actions, event)
		} else {
			data.Inbox = append(data.Inbox, event)
		}
	}
	data.Actions, data.Inbox = data.Actions[:min(len(data.Actions), RowsOfPage)], data.Inbox[:min(len(data.Inbox), RowsOfPage)]
	return data, err
}

type queuesShown struct {
	Type   string
	Queues []queue
	// Blocked counts the objects with waiters, Waiting the waiters.
	Blocked, Waiting int
	Offers           bool
}

// WaitersPage is the list of objects with waiters.
func (r *Reader) WaitersPage(ctx context.Context, who access.Visitor, query url.Values) (pages.View, error) {
	data := queuesShown{Type: strings.TrimSpace(query.Get("type"))}
	all, err := r.readShared(ctx, who)
	if err != nil {
		return pages.View{}, err
	}
	queues := all.queues(data.Type)
	data.Blocked, data.Queues = len(queues), queues[:min(len(queues), RowsOfPage)]
	data.Offers = offer(who, data.Queues)
	present, err := r.readPresent(ctx, who)
	if err != nil {
		return pages.View{}, err
	}
	present.attachTo(data.Queues)
	for _, queue := range queues {
		data.Waiting += queue.All
	}
	return pages.View{Template: "waiters", Title: r.pages.Text("title.waiters"), Here: "waiters", Data: data}, nil
}

type statisticsShown struct {
	Stats []applock.Stats
	Plots []plot
}

// StatisticsPage is the statistics.
func (r *Reader) StatisticsPage(ctx context.Context, _ access.Visitor, _ url.Values) (pages.View, error) {
	stats, err := r.client.Stats(ctx, applock.StatsRequest{})
	data := statisticsShown{Stats: stats, Plots: plotsOf(stats)}
	return pages.View{Template: "statistics", Title: r.pages.Text("title.statistics"), Here: "statistics", Data: data}, err
}

// plot is a bar chart over the types with the highest numbers.
type plot struct {
	Title  string
	Bars   []bar
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
		return cmp.Or(cmp.Compare(b.Value, a.Value), strings.Compare(a.Label, b.Label))
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
