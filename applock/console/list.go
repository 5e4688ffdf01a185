package console

import (
	"context"
	"net/http"
	"net/url"

	"github.com/applock/applock/applock"
)

// rowsOfPage is how many locks, waiters or events a page has.
const rowsOfPage = 100

// The orders of the list.
const (
	byObject  = "object"
	byLeft    = "left"
	byAge     = "age"
	byWaiters = "waiters"
)

// ordered returns the façade's word for an order.
func ordered(order string) applock.ListOrder {
	switch order {
	case byLeft:
		return applock.ByTimeLeft
	case byAge:
		return applock.ByAge
	case byWaiters:
		return applock.ByWaiters
	default:
		return applock.ByObject
	}
}

// filter is what the address of a list says, as it says it.
type filter struct {
	Type, Prefix, Operator, Department string
	NoDepartment                       bool
	Older, Within                      string
	Sort                               string
	// After is the last object of the page before.
	After string
}

func filterOf(query url.Values) filter {
	f := filter{
		Type: query.Get("type"), Prefix: query.Get("prefix"), Operator: query.Get("operator"), Department: query.Get("department"),
		NoDepartment: query.Get("no-department") != "",
		Older:        query.Get("older"), Within: query.Get("within"), Sort: query.Get("sort"),
		After: query.Get("after"),
	}
	if ordered(f.Sort) == applock.ByObject || f.Prefix != "" { // what begins alike is sorted by object
		f.Sort = byObject
	}
	return f
}

// query is the address again, of the first page.
func (f filter) query() url.Values {
	query := url.Values{}
	for name, value := range map[string]string{
		"type": f.Type, "prefix": f.Prefix, "operator": f.Operator, "department": f.Department, "older": f.Older, "within": f.Within,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if f.NoDepartment {
		query.Set("no-department", "1")
	}
	if f.Sort != byObject {
		query.Set("sort", f.Sort)
	}
	return query
}

// Sorted is the address of the same list in another order.
func (f filter) Sorted(order string) string {
	f.Sort = order
	return "./?" + f.query().Encode()
}

// First is the address of the first page.
func (f filter) First() string { return f.Sorted(f.Sort) }

// Next is the address of the page behind an object.
func (f filter) Next(last applock.Object) string {
	query := f.query()
	query.Set("after", last.String())
	return "./?" + query.Encode()
}

// Filtered is true where the filter leaves something out.
func (f filter) Filtered() bool {
	f.Sort = byObject
	return len(f.query()) > 0
}

// request is what to read for it.
func (f filter) request() (applock.ListRequest, error) {
	r := applock.ListRequest{
		ObjectType: f.Type, Prefix: f.Prefix, Operator: f.Operator, Department: f.Department, NoDepartment: f.NoDepartment,
	}
	var err error
	if r.OlderThan, err = parseSpan("OlderThan", f.Older); err != nil {
		return r, err
	}
	if r.ExpiresWithin, err = parseSpan("ExpiresWithin", f.Within); err != nil {
		return r, err
	}
	r.PageSize, r.Order = rowsOfPage+1, ordered(f.Sort)
	if f.After != "" && f.Sort == byObject {
		r.After, err = applock.ParseObject(f.After)
	}
	return r, err
}

// row is a lock of the list. Waiters are counted where the list asks for them.
type row struct {
	applock.Lock
	Waiters int
	// Selects is true where the row can be selected.
	Selects bool
}

// listed is a page of the list.
type listed struct {
	Filter filter
	Rows   []row
	// More is the address of the next page, empty where there is none.
	More string
	// Verbs are those that who asks may do with several locks.
	Verbs []string
	// Cut is true where there are more locks and no next page.
	Cut bool
}

func (c *console) listPage(r *http.Request) (view, error) {
	v := view{template: "list", title: c.texts["title.locks"], here: "./", live: topicLocks}
	f := filterOf(r.URL.Query())
	if f.First() == (filter{Within: "1h", Sort: byLeft}).First() {
		v.title, v.here = c.texts["title.expiring"], expiringSoon
	}
	if f.Sort == byWaiters {
		v.live = topicLocks + " " + topicWaiters
	}
	page, err := c.readList(r.Context(), f)
	page.Verbs = c.allowedOf(r.Context(), verbsOfMany())
	for i := range page.Rows {
		page.Rows[i].Selects = len(page.Verbs) > 0
	}
	v.data = page
	return v, err
}

// readList reads one page, by one query, and by another one who waits, where that matters.
func (c *console) readList(ctx context.Context, f filter) (listed, error) {
	page := listed{Filter: f}
	request, err := f.request()
	if err != nil {
		return page, err
	}
	var waiting map[applock.Object]int
	if f.Sort == byWaiters {
		if waiting, err = c.countWaiters(ctx, request); err != nil {
			return page, err
		}
	}
	for lock, err := range clientOf(ctx).List(ctx, request) {
		if err != nil {
			return page, err
		}
		if len(page.Rows) == rowsOfPage {
			page.Cut = f.Sort != byObject
			if !page.Cut {
				page.More = f.Next(page.Rows[rowsOfPage-1].Object)
			}
			break
		}
		page.Rows = append(page.Rows, row{Lock: lock, Waiters: waiting[lock.Object]})
	}
	return page, nil
}

// countWaiters returns how many wait for each object of a list, whoever holds it.
func (c *console) countWaiters(ctx context.Context, list applock.ListRequest) (map[applock.Object]int, error) {
	waiting := map[applock.Object]int{}
	request := applock.WaitersRequest{ObjectType: list.ObjectType, Prefix: list.Prefix, PageSize: applock.MaxPageSize}
	for waiter, err := range clientOf(ctx).Waiters(ctx, request) {
		if err != nil {
			return nil, err
		}
		waiting[waiter.Object]++
	}
	return waiting, nil
}
