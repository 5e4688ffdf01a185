package reading

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
	"github.com/applock/applock/applock/console/internal/pages"
)

const (
	// rowsOfNow is the number of rows of each kind on the first page. Links lead to the rest.
	rowsOfNow = 8
)

// queue is an object with waiters.
type queue struct {
	Object applock.Object
	// Lock is nil if the object is free.
	Lock *applock.Lock
	// Waiters are the named ones, the longest wait first. All is the number of all.
	Waiters []applock.Waiter
	All     int
	Here    here
	Verbs   []string
	// Gets is true if nobody holds the object, and the reader can get it.
	Gets bool
}

// Beyond is the number of waiters that are not named.
func (q queue) Beyond() int { return q.All - len(q.Waiters) }

// queues returns the objects of a type with waiters, the longest wait first. An empty type means all.
func (s *snapshot) queues(objectType string) []queue {
	of := map[applock.Object][]applock.Waiter{}
	for _, waiter := range s.waiters {
		if objectType == "" || waiter.Object.Type == objectType {
			of[waiter.Object] = append(of[waiter.Object], waiter)
		}
	}
	var queues []queue
	for object, waiters := range of {
		slices.SortFunc(waiters, func(a, b applock.Waiter) int {
			return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.Owner.Operator, b.Owner.Operator))
		})
		named := waiters[:min(len(waiters), pages.NamesOfQueue)]
		queues = append(queues, queue{Object: object, Lock: s.lockOn(waiters[0]), Waiters: named, All: len(waiters)})
	}
	slices.SortFunc(queues, func(a, b queue) int {
		return cmp.Or(a.Waiters[0].Since.Compare(b.Waiters[0].Since), a.Object.Compare(b.Object))
	})
	return queues
}

// offer fills in the verbs of each queue, and reports whether there are any.
func offer(who access.Visitor, queues []queue) (offers bool) {
	for i, q := range queues {
		if queues[i].Gets = q.Lock == nil && who.Rights[access.Ask]; q.Lock != nil {
			queues[i].Verbs = who.May(q.Lock.Owner, []string{access.Transfer, access.Release, access.Extend, access.Ask})
		}
		offers = offers || queues[i].Gets || len(queues[i].Verbs) > 0
	}
	return offers
}

// lockOn returns the lock that a waiter waits for. If an incomplete snapshot lacks it, the waiter's data replaces it.
func (s *snapshot) lockOn(waiter applock.Waiter) *applock.Lock {
	at, found := slices.BinarySearchFunc(s.rows, waiter.Object, func(r row, object applock.Object) int {
		return r.Object.Compare(object)
	})
	switch {
	case found:
		return &s.rows[at].Lock
	case s.cut && waiter.Holder.Owner.Operator != "":
		return &applock.Lock{Object: waiter.Object, Owner: waiter.Holder.Owner, Left: waiter.Holder.Left}
	default:
		return nil
	}
}

type nowShown struct {
	Queues []queue
	// Blocked counts the objects with waiters, Waiting the waiters, Locks the locks.
	Blocked, Waiting, Locks int
	Ending                  []row
	// Ends counts the locks that end within the hour.
	Ends     int
	Happened []applock.Event
	// Department restricts the events; empty for all.
	Department  string
	Departments []string
	Most        []worker
	// People is the number of operators.
	People int
	// Asked are the oldest requests, AllAsked the number of all.
	Asked    []applock.Asker
	AllAsked int
	// Acts is true if the reader may extend or ask.
	Acts bool
	// Cut is true if there are more locks than the numbers include.
	Cut    bool
	Offers bool
}

// NowPage is the first page.
func (r *Reader) NowPage(ctx context.Context, who access.Visitor, query url.Values) (pages.View, error) {
	department := strings.TrimSpace(query.Get("department"))
	all, err := r.readShared(ctx, who)
	if err != nil {
		return pages.View{}, err
	}
	queues := all.queues("")
	data := nowShown{
		Queues: queues[:min(len(queues), rowsOfNow)], Blocked: len(queues), Waiting: len(all.waiters),
		Locks: len(all.rows), Cut: all.cut,
		Department: department, Acts: who.Rights[access.Ask] || who.Rights[access.Extend],
	}
	data.Offers = offer(who, data.Queues)
	soon := filter{parameters: parameters{url.Values{"within": {"1h"}}}, Sort: byLeft}
	ends, err := soon.request()
	if err != nil {
		return pages.View{}, err
	}
	listed, err := r.listFrom(ctx, all, soon, ends)
	if err != nil {
		return pages.View{}, err
	}
	data.Ends = max(listed.Total, len(listed.Rows))
	for _, row := range listed.Rows[:min(len(listed.Rows), rowsOfNow)] {
		row.Verbs = who.May(row.Owner, []string{access.Extend, access.Ask})
		data.Ending = append(data.Ending, row)
	}
	present, err := r.readPresent(ctx, who)
	if err != nil {
		return pages.View{}, err
	}
	present.attachTo(data.Queues)
	workers := all.workers(present)
	idle := slices.IndexFunc(workers, func(one worker) bool { return one.Locks == 0 })
	if data.People = len(workers); idle < 0 {
		idle = data.People
	}
	data.Most = workers[:min(idle, rowsOfNow)]
	asked := present.asked()
	data.Asked, data.AllAsked = asked[:min(len(asked), rowsOfNow)], len(asked)
	_, data.Departments = kindsOf(r.readCounts(ctx))
	request := applock.HistoryRequest{Since: 24 * time.Hour}
	data.Happened, _, err = r.readHappened(ctx, request, eventFilterOf(query).passes(), rowsOfNow)
	return pages.View{Template: "now", Title: r.pages.Text("title.now"), Here: "./", Data: data}, err
}

type policiesShown struct {
	Policies []applock.Policy
	// Sets is true if the visitor may set policies.
	Sets bool
}

// PoliciesPage is the list of policies.
func (r *Reader) PoliciesPage(ctx context.Context, who access.Visitor, _ url.Values) (pages.View, error) {
	policies, err := r.client.Policies(ctx, "")
	data := policiesShown{Policies: policies, Sets: who.Rights[access.Policy] && who.Departments == nil}
	return pages.View{Template: "policies", Title: r.pages.Text("title.policies"), Here: "policies", Data: data}, err
}
