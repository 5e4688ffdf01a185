package console

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/applock/applock/applock"
)

// rowsOfPage is how many locks, waiters or events a page has.
const rowsOfPage = 100

// The orders of the list.
const (
	byObject   = "object"
	byOperator = "operator"
	bySince    = "since"
	byLeft     = "left"
)

// filter is what the address of a list says, as it says it.
type filter struct {
	Type, Prefix, Operator, Department string
	NoDepartment, Waiting              bool
	Older, Within                      string
	Sort                               string
	// After is the last object of the page before, and Behind what that page is sorted by, of that object.
	After, Behind string
}

func filterOf(query url.Values) filter {
	f := filter{
		Type: query.Get("type"), Prefix: query.Get("prefix"), Operator: query.Get("operator"), Department: query.Get("department"),
		NoDepartment: query.Get("no-department") != "", Waiting: query.Get("waiting") != "",
		Older: query.Get("older"), Within: query.Get("within"), Sort: query.Get("sort"),
		After: query.Get("after"), Behind: query.Get("behind"),
	}
	if !slices.Contains([]string{byOperator, bySince, byLeft}, f.Sort) {
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
	for name, on := range map[string]bool{"no-department": f.NoDepartment, "waiting": f.Waiting} {
		if on {
			query.Set(name, "1")
		}
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

// Next is the address of the page behind a lock.
func (f filter) Next(last applock.Lock) string {
	query := f.query()
	query.Set("after", last.Object.String())
	switch f.Sort {
	case byOperator:
		query.Set("behind", last.Owner.Operator)
	case bySince:
		query.Set("behind", last.AcquiredAt.UTC().Format(time.RFC3339Nano))
	case byLeft:
		query.Set("behind", last.ExpiresAt.UTC().Format(time.RFC3339Nano))
	}
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
	r.PageSize = rowsOfPage + 1
	if f.Sort != byObject || f.Waiting || r.OlderThan > 0 || r.ExpiresWithin > 0 {
		r.PageSize = applock.MaxPageSize // the choice is made here, and few may pass
	}
	if f.After != "" && f.Sort == byObject {
		r.After, err = applock.ParseObject(f.After)
	}
	return r, err
}

// behind returns what a page begins behind: a lock with no more than the order compares. It is nil for the first page, and
// where the database begins there.
func (f filter) behind() (*applock.Lock, error) {
	if f.After == "" || f.Sort == byObject {
		return nil, nil
	}
	object, err := applock.ParseObject(f.After)
	if err != nil {
		return nil, err
	}
	last := &applock.Lock{Object: object, Owner: applock.Owner{Operator: f.Behind}}
	if f.Sort == byOperator {
		return last, nil
	}
	at, err := time.Parse(time.RFC3339Nano, f.Behind)
	if err != nil {
		return nil, &applock.InvalidError{Argument: "After", Reason: "is not what this page has written"}
	}
	last.AcquiredAt, last.ExpiresAt = at, at
	return last, nil
}

// comparing returns the order of locks by its name.
func comparing(order string) func(a, b applock.Lock) int {
	return func(a, b applock.Lock) int {
		first := 0
		switch order {
		case byOperator:
			first = strings.Compare(a.Owner.Operator, b.Owner.Operator)
		case bySince:
			first = a.AcquiredAt.Compare(b.AcquiredAt)
		case byLeft:
			first = a.ExpiresAt.Compare(b.ExpiresAt)
		}
		return cmp.Or(first, strings.Compare(a.Object.Type, b.Object.Type), strings.Compare(a.Object.ID, b.Object.ID))
	}
}

// row is a lock of the list. Waiters are counted where the list asks for them.
type row struct {
	applock.Lock
	Waiters int
}

// listed is a page of the list.
type listed struct {
	Filter filter
	Rows   []row
	// More is the address of the next page, empty where there is none.
	More string
}

func (c *console) listPage(r *http.Request) (view, error) {
	v := view{template: "list", title: c.texts["title.locks"], here: "./", live: topicLocks}
	f := filterOf(r.URL.Query())
	if f.First() == (filter{Within: "1h", Sort: byLeft}).First() {
		v.title, v.here = c.texts["title.expiring"], expiringSoon
	}
	if f.Waiting {
		v.live = topicLocks + " " + topicWaiters
	}
	page, err := c.readList(r.Context(), f)
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
	last, err := f.behind()
	if err != nil {
		return page, err
	}
	var waiting map[applock.Object]int
	if f.Waiting {
		if waiting, err = c.countWaiters(ctx, request); err != nil {
			return page, err
		}
	}
	best := bestOf{most: rowsOfPage + 1, compare: comparing(f.Sort)}
	for lock, err := range clientOf(ctx).List(ctx, request) {
		if err != nil {
			return page, err
		}
		if f.Waiting && waiting[lock.Object] == 0 || last != nil && best.compare(lock, *last) <= 0 {
			continue
		}
		best.add(lock)
		if f.Sort == byObject && best.full() {
			break
		}
	}
	for i, lock := range best.locks {
		if i == rowsOfPage {
			page.More = f.Next(best.locks[i-1])
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

// bestOf keeps the first locks in an order, however many there are.
type bestOf struct {
	most    int
	compare func(a, b applock.Lock) int
	locks   []applock.Lock
}

func (b *bestOf) full() bool { return len(b.locks) == b.most }

func (b *bestOf) add(lock applock.Lock) {
	at, _ := slices.BinarySearchFunc(b.locks, lock, b.compare)
	if at == b.most {
		return
	}
	if b.full() {
		b.locks = b.locks[:b.most-1]
	}
	b.locks = slices.Insert(b.locks, at, lock)
}
