package console

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/applock/applock/applock"
)

const (
	// rowsOfNow is how many of each kind the first page has; the pages behind its links have more.
	rowsOfNow = 8
	// namesOfQueue is how many of those who wait are named.
	namesOfQueue = 2
	// eventsMost bounds how much of the history one page reads to find what a department did.
	eventsMost = 20_000
	// sinceYesterday is what the first page looks back.
	sinceYesterday = "1d"
)

// queue is an object for which somebody waits.
type queue struct {
	Object applock.Object
	// Lock is nil where nobody holds the object.
	Lock *applock.Lock
	// Waiters are those who wait, the longest first, no more than are named; All is how many there are.
	Waiters []applock.Waiter
	All     int
	// Here is who asks for it and who looks at it.
	Here here
}

// Beyond is how many wait and are not named.
func (q queue) Beyond() int { return q.All - len(q.Waiters) }

// queues returns the objects of a type for which somebody waits, those first that were waited for longest. An empty type is any.
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
		named := waiters[:min(len(waiters), namesOfQueue)]
		queues = append(queues, queue{Object: object, Lock: s.lockOn(waiters[0]), Waiters: named, All: len(waiters)})
	}
	slices.SortFunc(queues, func(a, b queue) int {
		return cmp.Or(a.Waiters[0].Since.Compare(b.Waiters[0].Since), a.Object.Compare(b.Object))
	})
	return queues
}

// lockOn returns the lock that somebody waits for. Where the snapshot does not reach so far, it is what the waiter tells of it.
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

// share is how much one operator holds.
type share struct {
	Operator string
	Locks    int
	// Percent is the share of what the first one holds.
	Percent int
}

// shares returns those who hold most.
func (s *snapshot) shares() []share {
	held := map[string]int{}
	for _, row := range s.rows {
		held[row.Owner.Operator]++
	}
	all := make([]share, 0, len(held))
	for operator, locks := range held {
		all = append(all, share{Operator: operator, Locks: locks})
	}
	slices.SortFunc(all, func(a, b share) int { return cmp.Or(b.Locks-a.Locks, strings.Compare(a.Operator, b.Operator)) })
	all = all[:min(len(all), rowsOfNow)]
	for i := range all {
		all[i].Percent = max(1, all[i].Locks*100/all[0].Locks)
	}
	return all
}

// nowShown is the first page.
type nowShown struct {
	Queues []queue
	// Blocked is how many objects somebody waits for, Waiting how many wait, and Locks how many locks there are.
	Blocked, Waiting, Locks int
	Ending                  []row
	// Ends is how many locks end within the hour.
	Ends     int
	Happened []applock.Event
	// Department is the one whose events there are; empty for any.
	Department  string
	Departments []string
	Most        []share
	// Asked are those who ask for something, and AllAsked how many do.
	Asked    []applock.Asker
	AllAsked int
	// Asks is true where who looks may ask, too.
	Asks bool
	// Cut is true where there are more locks than were counted.
	Cut   bool
	Verbs []string
}

// nowPage is the page to begin with.
func (c *console) nowPage(r *http.Request) (view, error) {
	department := strings.TrimSpace(r.URL.Query().Get("department"))
	ctx := r.Context()
	database := askerOf(ctx).database
	all, err := database.readShared(ctx, c.config.Timeout)
	if err != nil {
		return view{}, err
	}
	queues := all.queues("")
	data := nowShown{
		Queues: queues[:min(len(queues), rowsOfNow)], Blocked: len(queues), Waiting: len(all.waiters),
		Locks: len(all.rows), Most: all.shares(), Cut: all.cut,
		Department: department, Verbs: c.allowedOf(ctx, []string{"transfer", "release", rightAsk}), Asks: c.allowed(ctx)[rightAsk],
	}
	soon := filter{Within: "1h", Sort: byLeft}
	ends, err := soon.request()
	if err != nil {
		return view{}, err
	}
	ending, err := c.listFrom(ctx, all, soon, ends)
	if err != nil {
		return view{}, err
	}
	data.Ending, data.Ends = ending.Rows[:min(len(ending.Rows), rowsOfNow)], max(ending.Total, len(ending.Rows))
	present, err := database.readPresent(ctx, c.config.Timeout)
	if err != nil {
		return view{}, err
	}
	present.attachTo(data.Queues)
	asked := present.asked()
	data.Asked, data.AllAsked = asked[:min(len(asked), rowsOfNow)], len(asked)
	_, data.Departments = kindsOf(database.readCounts(ctx, c.config.Timeout))
	request := applock.HistoryRequest{Since: 24 * time.Hour}
	data.Happened, _, err = c.readHappened(ctx, request, department, rowsOfNow)
	return view{template: "now", title: c.texts["title.now"], here: "./", data: data}, err
}

// readHappened returns the newest events of a department, no more than some, and the event to go on behind, zero for none. An event is of a
// department that has lost or got something by it.
func (c *console) readHappened(
	ctx context.Context, request applock.HistoryRequest, department string, rows int,
) (found []applock.Event, last int64, err error) {
	request.NewestFirst, request.PageSize = true, rows+1
	if department != "" {
		request.PageSize = applock.DefaultPageSize
	}
	read := 0
	for event, err := range clientOf(ctx).History(ctx, request) {
		if err != nil {
			return nil, 0, err
		}
		if read == eventsMost || len(found) == rows {
			return found, last, nil
		}
		read++
		if last = event.ID; department == "" || event.From.Department == department || event.To.Department == department {
			found = append(found, event)
		}
	}
	return found, 0, nil
}

// historyShown is the page of what has happened.
type historyShown struct {
	Events            []applock.Event
	Since, Department string
	Departments       []string
	Operator          string
	// Next is the address of what happened before, empty for nothing; After is true on such a page.
	Next  string
	After bool
}

// Address is that of the same page for another time.
func (h historyShown) Address(since string) string {
	h.Since = since
	return "history?" + h.query().Encode()
}

func (h historyShown) query() url.Values {
	query := url.Values{}
	for name, value := range map[string]string{"since": h.Since, "department": h.Department, "operator": h.Operator} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

func (c *console) historyPage(r *http.Request) (view, error) {
	query := r.URL.Query()
	get := func(name string) string { return strings.TrimSpace(query.Get(name)) }
	data := historyShown{Since: cmp.Or(get("since"), sinceYesterday), Department: get("department"), Operator: get("operator")}
	since, err := parseSpan("Since", data.Since)
	if err != nil {
		return view{}, err
	}
	request := applock.HistoryRequest{Since: since, Operator: data.Operator}
	if after := get("after"); after != "" {
		data.After = true
		if request.After, err = strconv.ParseInt(after, 10, 64); err != nil {
			return view{}, &applock.InvalidError{Argument: "After", Reason: "is not the number of an event"}
		}
	}
	var last int64
	if data.Events, last, err = c.readHappened(r.Context(), request, data.Department, rowsOfPage); err != nil {
		return view{}, err
	}
	if last > 0 {
		next := data.query()
		next.Set("after", strconv.FormatInt(last, 10))
		data.Next = "history?" + next.Encode()
	}
	_, data.Departments = kindsOf(askerOf(r.Context()).database.readCounts(r.Context(), c.config.Timeout))
	return view{template: "history", title: c.texts["title.history"], here: "history", data: data}, nil
}

// policiesPage shows the policies of the types.
func (c *console) policiesPage(r *http.Request) (view, error) {
	policies, err := clientOf(r.Context()).Policies(r.Context(), "")
	return view{template: "policies", title: c.texts["title.policies"], here: "policies", data: policies}, err
}
