package console

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/applock/applock/applock"
)

// rowsOfPage is how many locks, waiters or events a page has.
const rowsOfPage = 100

// The orders of the list. With a "-" before it an order is turned round.
const (
	byObject     = "object"
	byOperator   = "operator"
	byDepartment = "department"
	byWaiters    = "waiters"
	byAge        = "age"
	byLeft       = "left"
	byNote       = "note"
)

// comparisons are what the orders go by.
func comparisons() map[string]func(a, b row) int {
	return map[string]func(a, b row) int{
		byObject:     func(a, b row) int { return 0 }, // which the rows are in
		byOperator:   func(a, b row) int { return strings.Compare(a.Owner.Operator, b.Owner.Operator) },
		byDepartment: func(a, b row) int { return strings.Compare(a.Owner.Department, b.Owner.Department) },
		byWaiters: func(a, b row) int {
			return cmp.Or(cmp.Compare(a.Waiters, b.Waiters), cmp.Compare(a.Longest, b.Longest))
		},
		byAge:  func(a, b row) int { return a.AcquiredAt.Compare(b.AcquiredAt) },
		byLeft: func(a, b row) int { return a.ExpiresAt.Compare(b.ExpiresAt) },
		byNote: func(a, b row) int { return strings.Compare(a.Note, b.Note) },
	}
}

// filter is what the address of a list says, as it says it.
type filter struct {
	// Search is what somebody has typed into the box of every page.
	Search                             string
	Type, Prefix, Operator, Department string
	NoDepartment, Waiting              bool
	Older, Within                      string
	Sort                               string
	// After is the last object of the page before, in the order of objects; Skip how many locks come before this page in any other one.
	After string
	Skip  int
}

func filterOf(query url.Values) filter {
	get := func(name string) string { return strings.TrimSpace(query.Get(name)) }
	f := filter{
		Search: get("q"),
		Type:   get("type"), Prefix: get("prefix"), Operator: get("operator"), Department: get("department"),
		NoDepartment: get("no-department") != "", Waiting: get("waiting") != "",
		Older: get("older"), Within: get("within"), Sort: get("sort"),
		After: query.Get("after"),
	}
	if comparisons()[strings.TrimPrefix(f.Sort, "-")] == nil {
		f.Sort = byObject
	}
	if skip, err := strconv.Atoi(get("skip")); err == nil {
		f.Skip = max(0, skip)
	}
	return f
}

// fields are the parts of an address, by their names.
func (f filter) fields() map[string]string {
	fields := map[string]string{
		"q": f.Search, "type": f.Type, "prefix": f.Prefix, "operator": f.Operator, "department": f.Department,
		"older": f.Older, "within": f.Within,
	}
	for name, set := range map[string]bool{"no-department": f.NoDepartment, "waiting": f.Waiting} {
		if set {
			fields[name] = "1"
		}
	}
	return fields
}

// query is the address again, of the first page.
func (f filter) query() url.Values {
	query := url.Values{}
	for name, value := range f.fields() {
		if value != "" {
			query.Set(name, value)
		}
	}
	if f.Sort != byObject {
		query.Set("sort", f.Sort)
	}
	return query
}

func addressOf(query url.Values) string {
	if len(query) == 0 {
		return "locks"
	}
	return "locks?" + query.Encode()
}

// Sorted is the address of the same list in another order.
func (f filter) Sorted(order string) string {
	f.Sort = order
	return addressOf(f.query())
}

// First is the address of the first page.
func (f filter) First() string { return f.Sorted(f.Sort) }

// Next is the address of the page behind an object.
func (f filter) Next(last applock.Object) string {
	query := f.query()
	query.Set("after", last.String())
	return addressOf(query)
}

// Skipped is the address of the page behind so many locks.
func (f filter) Skipped(skip int) string {
	query := f.query()
	if skip > 0 {
		query.Set("skip", strconv.Itoa(skip))
	}
	return addressOf(query)
}

// Filtered is true where the filter leaves something out.
func (f filter) Filtered() bool {
	f.Sort = byObject
	return len(f.query()) > 0
}

// chip is a part of the filter, with the address of the list without it; or one that can be added, with the address of the list with
// it. The value
// is empty where the label says all.
type chip struct{ Label, Value, Address string }

// Chips are the parts of the filter that are set.
func (f filter) Chips() []chip {
	var chips []chip
	for _, of := range []struct{ name, label string }{
		{"q", "chip.search"}, {"prefix", "chip.prefix"}, {"type", "chip.type"}, {"operator", "chip.operator"}, {"department", "chip.department"},
		{"no-department", "chip.no-department"}, {"waiting", "chip.waiting"}, {"older", "chip.older"}, {"within", "chip.within"},
	} {
		value := f.fields()[of.name]
		if value == "" {
			continue
		}
		query := f.query()
		query.Del(of.name)
		if of.name == "no-department" || of.name == "waiting" {
			value = ""
		}
		chips = append(chips, chip{Label: of.label, Value: value, Address: addressOf(query)})
	}
	return chips
}

// Offers are filters that are asked for most, and not set.
func (f filter) Offers() []chip {
	var offers []chip
	for _, of := range []struct{ name, value, label string }{
		{"waiting", "1", "chip.waiting"}, {"within", "1h", "offer.within"}, {"older", "7d", "offer.older"},
	} {
		if f.fields()[of.name] != "" {
			continue
		}
		query := f.query()
		query.Set(of.name, of.value)
		if of.name == "within" {
			query.Set("sort", byLeft)
		}
		offers = append(offers, chip{Label: of.label, Address: addressOf(query)})
	}
	return offers
}

// column is the head of a column: its link sorts by it, and turns the order round when it is sorted by it.
type column struct{ Label, Address, Sorted string }

// Columns are the heads of the list.
func (f filter) Columns() []column {
	var columns []column
	for _, of := range []struct{ order, label string }{
		{byObject, "label.object"}, {byOperator, "label.operator"}, {byDepartment, "label.department"}, {"-" + byWaiters, "label.waiting"},
		{byAge, "label.since"}, {byLeft, "label.ends"}, {byNote, "label.note"},
	} {
		c := column{Label: of.label, Address: f.Sorted(of.order)}
		name := strings.TrimPrefix(of.order, "-")
		switch f.Sort {
		case name:
			c.Sorted, c.Address = "ascending", f.Sorted("-"+name)
		case "-" + name:
			c.Sorted, c.Address = "descending", f.Sorted(name)
		}
		columns = append(columns, c)
	}
	return columns
}

// byKey is true where the database reads a page by its key, whatever there is beside it.
func (f filter) byKey() bool {
	return f.Sort == byObject && f.Search == "" && !f.Waiting && f.Skip == 0
}

// inSQL returns the façade's order for a list that the database can sort, and whether it can.
func (f filter) inSQL() (applock.ListOrder, bool) {
	order, known := map[string]applock.ListOrder{
		byObject: applock.ByObject, byLeft: applock.ByTimeLeft, byAge: applock.ByAge, "-" + byWaiters: applock.ByWaiters,
	}[f.Sort]
	selects := f.Search == "" && f.Skip == 0 && (f.Prefix == "" || order == applock.ByObject) && (!f.Waiting || order == applock.ByWaiters)
	return order, known && selects
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
	r.Order, _ = f.inSQL()
	if f.After != "" && r.Order == applock.ByObject {
		r.After, err = applock.ParseObject(f.After)
	}
	return r, err
}

// listed is a page of the list.
type listed struct {
	Filter filter
	Rows   []row
	// Total is how many locks there are of this filter; zero where nobody knows. About is true for that of the last minute.
	Total int
	About bool
	// From is the number of the first row, zero where nobody knows it.
	From int
	// Back and More are the addresses of the pages before and behind, empty where there are none.
	Back, More string
	// Cut is true where there are more locks and no next page, and TooMany where they cannot be searched or sorted so.
	Cut, TooMany bool
	// Types and Departments are those that there are, for the filter.
	Types, Departments []string
	// Verbs are those that who asks may do with several locks.
	Verbs []string
	// Named is an object that the search may mean, and that is none of the rows.
	Named *applock.Object
}

// To is the number of the last row.
func (l listed) To() int { return l.From + len(l.Rows) - 1 }

func (c *console) listPage(r *http.Request) (view, error) {
	f := filterOf(r.URL.Query())
	v := view{template: "list", title: c.texts["title.locks"], here: "locks", search: f.Search}
	if f.First() == (filter{Within: "1h", Sort: byLeft}).First() {
		v.title = c.texts["title.expiring"]
	}
	page, err := c.readList(r.Context(), f)
	if err != nil {
		return v, err
	}
	if err := c.attach(r.Context(), page.Rows); err != nil {
		return v, err
	}
	stats := askerOf(r.Context()).database.readCounts(r.Context(), c.config.Timeout)
	page.Types, page.Departments = kindsOf(stats)
	if page.Total == 0 {
		page.Total = totalOf(stats, f)
		page.About = page.Total > 0
	}
	page.Verbs = c.allowedOf(r.Context(), append(verbsOfMany(), rightAsk))
	for i := range page.Rows {
		page.Rows[i].Selects = len(page.Verbs) > 0
	}
	v.data = page
	return v, nil
}

// kindsOf returns the types and the departments that there are.
func kindsOf(stats []applock.Stats) (types, departments []string) {
	for _, of := range stats {
		types, departments = append(types, of.ObjectType), append(departments, of.Department)
	}
	for _, names := range []*[]string{&types, &departments} {
		slices.Sort(*names)
		*names = slices.DeleteFunc(slices.Compact(*names), func(name string) bool { return name == "" })
	}
	return types, departments
}

// totalOf returns how many locks a filter lets pass that the statistics can tell of, zero for another one.
func totalOf(stats []applock.Stats, f filter) int {
	known := filter{Type: f.Type, Department: f.Department, NoDepartment: f.NoDepartment, Sort: f.Sort, After: f.After, Skip: f.Skip}
	if f != known {
		return 0
	}
	total := 0
	for _, of := range stats {
		ofDepartment := (f.Department == "" || f.Department == of.Department) && (!f.NoDepartment || of.Department == "")
		if ofDepartment && (f.Type == "" || f.Type == of.ObjectType) {
			total += int(of.Live)
		}
	}
	return total
}

// readList reads one page. In the order of objects it is read by its key; anything else is made from the snapshot that all share, or,
// where there are
// more locks than a snapshot has, by the database as far as that can.
func (c *console) readList(ctx context.Context, f filter) (listed, error) {
	request, err := f.request()
	if err != nil {
		return listed{Filter: f}, err
	}
	if f.byKey() {
		return c.readPage(ctx, f, request)
	}
	all, err := askerOf(ctx).database.readShared(ctx, c.config.Timeout)
	if err != nil {
		return listed{Filter: f}, err
	}
	return c.listFrom(ctx, all, f, request)
}

// listFrom makes one page from a snapshot, or has the database read it where the snapshot does not reach so far.
func (c *console) listFrom(ctx context.Context, all *snapshot, f filter, request applock.ListRequest) (listed, error) {
	if !all.cut {
		return all.page(f, request), nil
	}
	if _, can := f.inSQL(); can {
		return c.readPage(ctx, f, request)
	}
	return listed{Filter: f, TooMany: true}, nil
}

// readPage reads one page of locks, and who waits.
func (c *console) readPage(ctx context.Context, f filter, request applock.ListRequest) (listed, error) {
	page := listed{Filter: f}
	waiting, err := c.countWaiters(ctx, request)
	if err != nil {
		return page, err
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
	if f.After == "" {
		page.From = 1
		if page.More == "" && !page.Cut {
			page.Total = len(page.Rows)
		}
	}
	return page, nil
}

// page returns a page of a snapshot.
func (s *snapshot) page(f filter, request applock.ListRequest) listed {
	words := strings.Fields(fold(f.Search))
	passed := []row{}
	named, parsed := applock.ParseObject(f.Search)
	isObject := parsed == nil
	for i, row := range s.rows {
		if f.passes(row, request) && s.search(i, words) {
			passed = append(passed, row)
			isObject = isObject && row.Object != named
		}
	}
	compare := comparisons()[strings.TrimPrefix(f.Sort, "-")]
	switch {
	case f.Sort == "-"+byObject:
		slices.Reverse(passed)
	case strings.HasPrefix(f.Sort, "-"):
		slices.SortStableFunc(passed, func(a, b row) int { return compare(b, a) })
	default:
		slices.SortStableFunc(passed, compare)
	}
	page := listed{Filter: f, Total: len(passed), From: min(f.Skip, len(passed)) + 1}
	page.Rows = passed[page.From-1 : min(page.From-1+rowsOfPage, len(passed))]
	if page.To() < len(passed) {
		page.More = f.Skipped(page.To())
	}
	if f.Skip > 0 {
		page.Back = f.Skipped(max(0, f.Skip-rowsOfPage))
	}
	if isObject {
		page.Named = &named
	}
	return page
}

// passes reports whether the filter lets a lock pass, all but the search.
func (f filter) passes(r row, request applock.ListRequest) bool {
	switch {
	case f.Type != "" && r.Object.Type != f.Type,
		f.Operator != "" && r.Owner.Operator != f.Operator,
		f.Department != "" && r.Owner.Department != f.Department,
		f.NoDepartment && r.Owner.Department != "",
		f.Waiting && r.Waiters == 0,
		f.Prefix != "" && !strings.HasPrefix(r.Object.String(), f.Prefix),
		request.OlderThan > 0 && r.ExpiresAt.Add(-r.Left).Sub(r.AcquiredAt) < request.OlderThan, // by the database's clock
		request.ExpiresWithin > 0 && r.Left > request.ExpiresWithin:
		return false
	}
	return true
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
