package reading

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
	"github.com/applock/applock/applock/console/internal/pages"
)

// queued are the waiters of an object or of an operator.
type queued struct {
	// Longest are those who wait longest, at most a page of them. All is the number of all.
	Longest []applock.Waiter
	All     int
	// OfObject is true for those of an object.
	OfObject bool
}

func (r *Reader) readWaiters(ctx context.Context, request applock.WaitersRequest) (queued, error) {
	found := queued{OfObject: request.ObjectID != ""}
	request.PageSize = applock.MaxPageSize
	for waiter, err := range r.client.Waiters(ctx, request) {
		if err != nil {
			return queued{}, err
		}
		at, _ := slices.BinarySearchFunc(found.Longest, waiter, func(a, b applock.Waiter) int { return a.Since.Compare(b.Since) })
		found.Longest = slices.Insert(found.Longest, at, waiter)
		found.Longest = found.Longest[:min(len(found.Longest), RowsOfPage)]
		found.All++
	}
	return found, nil
}

type objectShown struct {
	Object applock.Object
	// Lock is nil if the object is free.
	Lock    *applock.Lock
	Waiters queued
	Events  []applock.Event
	// MoreEvents is true if the history has more.
	MoreEvents bool
	Present    []presence
	Verbs      []string
	// Gets is true if the reader can get the object.
	Gets bool
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
	if data.Gets = data.Lock == nil && who.Rights[access.Ask]; data.Lock != nil {
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
	events, last, err := r.readHappened(ctx, history, nil, RowsOfPage)
	data.Events, data.MoreEvents = events, last > 0
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
	Waits    queued
	// Inbox are the actions of others on the operator's locks, Actions the operator's own. Both are newest first, and limited to the newest
	// events.
	Inbox, Actions []applock.Event
	Verbs          []string
	// Own is the private part of a person's own desk, nil on the desk of somebody else.
	Own any
}

// Shown returns the desk as far as a page shows it.
func (d Desk) Shown() Desk {
	if len(d.Rows) > RowsOfPage {
		d.Rows, d.More = d.Rows[:RowsOfPage], parameters{}.With("locks", "operator", d.Operator)
	}
	d.Inbox, d.Actions = d.Inbox[:min(len(d.Inbox), RowsOfPage)], d.Actions[:min(len(d.Actions), RowsOfPage)]
	return d
}

// All is the query of all locks of the desk.
func (d Desk) All() string { return url.Values{"operator": {d.Operator}}.Encode() }

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
	held, err := r.readList(ctx, who, filter{parameters: parameters{url.Values{"operator": {operator}}}, Sort: byObject, most: MostOfPerson})
	if err != nil {
		return data, err
	}
	if err := r.attach(ctx, who, held.Rows); err != nil {
		return data, err
	}
	data.Rows, data.More = held.Rows, held.More
	for i, row := range held.Rows {
		verbs := who.May(row.Owner, access.ChangesOfMany())
		if data.Rows[i].Selects = len(verbs) > 0; len(verbs) > len(data.Verbs) {
			data.Verbs = verbs
		}
	}
	if data.Waits, err = r.readWaiters(ctx, applock.WaitersRequest{Operator: operator}); err != nil {
		return data, err
	}
	events, _, err := r.readHappened(ctx, applock.HistoryRequest{Operator: operator}, nil, eventsOfDesk)
	for _, event := range events {
		// A lock given away appears in the former holder's inbox, even if that was the actor.
		given := event.Kind == applock.EventGiven && event.From.Operator == operator
		if event.Actor == operator && !given {
			data.Actions = append(data.Actions, event)
		} else {
			data.Inbox = append(data.Inbox, event)
		}
	}
	return data, err
}

type queuesShown struct {
	part

	Type   string
	Types  []string
	Queues []queue
	// Blocked counts the objects with waiters, Waiting the waiters.
	Blocked, Waiting int
	Offers           bool
}

// WaitersPage is the list of objects with waiters.
func (r *Reader) WaitersPage(ctx context.Context, who access.Visitor, query url.Values) (pages.View, error) {
	data := queuesShown{Type: strings.TrimSpace(query.Get("type"))}
	skip, notNumber := skipOf(query)
	all, notRead := r.readShared(ctx, who)
	present, notPresent := r.readPresent(ctx, who)
	if err := cmp.Or(notNumber, notRead, notPresent); err != nil {
		return pages.View{}, err
	}
	queues := all.queues(data.Type)
	data.part = partOf(len(queues), skip, parametersOf(query, "type"), "waiters")
	data.Blocked, data.Queues = len(queues), queues[data.From-1:data.To]
	data.Types, _ = kindsOf(r.readCounts(ctx))
	data.Offers = offer(who, data.Queues)
	present.attachTo(data.Queues)
	for _, queue := range queues {
		data.Waiting += queue.All
	}
	return pages.View{Template: "waiters", Title: r.pages.Text("title.waiters"), Here: "waiters", Data: data}, nil
}

// statisticsShown are the statistics, and what they come to.
type statisticsShown struct {
	// Stats are sorted by the number of locks.
	Stats                  []counted
	Live, Waiters, Expired int64
	// Oldest is the age of the oldest lock, Longest the longest wait.
	Oldest, Longest time.Duration
}

// counted are the numbers of a type and department.
type counted struct {
	applock.Stats

	// Percent is relative to the one with the most locks.
	Percent int64
}

// StatisticsPage is the statistics.
func (r *Reader) StatisticsPage(ctx context.Context, who access.Visitor, _ url.Values) (pages.View, error) {
	stats, err := r.readStats(ctx, who.Polls)
	data := statisticsShown{}
	for _, of := range stats {
		data.Stats = append(data.Stats, counted{Stats: of})
		data.Live, data.Waiters, data.Expired = data.Live+of.Live, data.Waiters+of.Waiters, data.Expired+of.Expired
		data.Oldest, data.Longest = max(data.Oldest, of.Oldest), max(data.Longest, of.LongestWait)
	}
	slices.SortStableFunc(data.Stats, func(a, b counted) int { return cmp.Compare(b.Live, a.Live) })
	for i, of := range data.Stats {
		data.Stats[i].Percent = of.Live * 100 / max(1, data.Stats[0].Live)
	}
	return pages.View{Template: "statistics", Title: r.pages.Text("title.statistics"), Here: "statistics", Data: data}, err
}
