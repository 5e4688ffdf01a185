package reading

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
	"github.com/applock/applock/applock/console/internal/pages"
)

const (
	// RowsOfPage is the number of rows of a list on a page.
	RowsOfPage = 20
	// MostOfPerson is the number of a person's locks, requests or events that are read to find one.
	MostOfPerson = 100
)

// The orders of the list. A leading "-" reverses one.
const (
	byObject     = "object"
	byOperator   = "operator"
	byDepartment = "department"
	byWaiters    = "waiters"
	byAge        = "age"
	byLeft       = "left"
	byNote       = "note"
)

func comparisons() map[string]func(a, b row) int {
	return map[string]func(a, b row) int{
		byObject:     func(a, b row) int { return 0 }, // the rows are sorted so already
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

// filter holds the parameters of a list's address.
type filter struct {
	parameters

	Sort string
	// After is the last object of the previous page, if sorted by object. Skip is the number of locks before this page in other orders.
	After string
	Skip  int
	// most is the number of rows to read, zero for those of a page.
	most int
}

// today is the value of within for what ends before midnight. offset is then the reader's zone, in minutes east of UTC.
const today = "today"

func filterOf(query url.Values) (f filter, err error) {
	f.parameters = parametersOf(query, "sort", "q", "type", "prefix", "operator", "department", "no-department", "waiting", "older", "within", "offset")
	f.Sort, f.After = cmp.Or(f.Get("sort"), byObject), query.Get("after")
	if comparisons()[strings.TrimPrefix(f.Sort, "-")] == nil {
		return f, &applock.InvalidError{Argument: "sort", Reason: "is the name of no column"}
	}
	if f.Sort == byObject {
		f.Del("sort")
	}
	f.Skip, err = skipOf(query)
	return f, err
}

// First returns the address of the first page.
func (f filter) First() string { return f.With("locks") }

// Chips returns the set parts of the filter.
func (f filter) Chips() []chip {
	return f.chips("locks", "q", "prefix", "type", "operator", "department", "no-department", "waiting", "older", "within")
}

// Offers returns the common filters that are not set.
func (f filter) Offers() []chip {
	var offers []chip
	for _, of := range []struct{ name, value, label, sort string }{
		{"waiting", "1", "chip.waiting", f.Get("sort")}, {"within", "1h", "offer.within", byLeft}, {"within", today, "chip.today", byLeft},
		{"older", "7d", "offer.older", f.Get("sort")},
	} {
		if f.Get(of.name) == "" {
			offers = append(offers, chip{Label: of.label, Address: f.With("locks", of.name, of.value, "sort", of.sort)})
		}
	}
	return offers
}

// column is a column's head. Its link sorts by the column, or reverses the order.
type column struct{ Label, Address, Sorted string }

// Columns returns the heads of the list.
func (f filter) Columns() []column {
	var columns []column
	for _, of := range []struct{ order, label string }{
		{byObject, "label.object"}, {byOperator, "label.operator"}, {byDepartment, "label.department"}, {"-" + byWaiters, "label.waiting"},
		{byAge, "label.since"}, {byLeft, "label.ends"}, {byNote, "label.note"},
	} {
		c := column{Label: of.label}
		order, name := of.order, strings.TrimPrefix(of.order, "-")
		switch f.Sort {
		case name:
			c.Sorted, order = "ascending", "-"+name
		case "-" + name:
			c.Sorted, order = "descending", name
		}
		if order == byObject {
			order = ""
		}
		c.Address = f.With("locks", "sort", order)
		columns = append(columns, c)
	}
	return columns
}

// byKey reports whether the database can read a page by its key, with any filter.
func (f filter) byKey() bool {
	return f.Sort == byObject && f.Get("q")+f.Get("waiting") == "" && f.Skip == 0
}

// inSQL returns the database's order for the list, and whether it has one.
func (f filter) inSQL() (applock.ListOrder, bool) {
	order, known := map[string]applock.ListOrder{
		byObject: applock.ByObject, byLeft: applock.ByTimeLeft, byAge: applock.ByAge, "-" + byWaiters: applock.ByWaiters,
	}[f.Sort]
	selects := f.Get("q") == "" && f.Skip == 0 && (f.Get("prefix") == "" || order == applock.ByObject) && (f.Get("waiting") == "" || order == applock.ByWaiters)
	return order, known && selects
}

func (f filter) request() (applock.ListRequest, error) {
	r := applock.ListRequest{
		ObjectType: f.Get("type"), Prefix: f.Get("prefix"), Operator: f.Get("operator"), Department: f.Get("department"),
		NoDepartment: f.Get("no-department") != "",
	}
	var err error
	if r.OlderThan, err = pages.ParseSpan("OlderThan", f.Get("older")); err != nil {
		return r, err
	}
	if within := f.Get("within"); within == today {
		r.ExpiresWithin, err = untilMidnight(time.Now(), f.Get("offset"))
	} else {
		r.ExpiresWithin, err = pages.ParseSpan("ExpiresWithin", within)
	}
	if err != nil {
		return r, err
	}
	r.PageSize = f.rows() + 1
	r.Order, _ = f.inSQL()
	if f.After != "" && r.Order == applock.ByObject {
		r.After, err = applock.ParseObject(f.After)
	}
	return r, err
}

// rows returns how many rows to read.
func (f filter) rows() int { return cmp.Or(f.most, RowsOfPage) }

// untilMidnight returns the time left of the day in a zone, which is written in minutes east of UTC; empty is UTC.
func untilMidnight(now time.Time, offset string) (time.Duration, error) {
	minutes, err := strconv.Atoi(cmp.Or(offset, "0"))
	if err != nil || minutes < -24*60 || minutes > 24*60 {
		return 0, &applock.InvalidError{Argument: "offset", Reason: "is written in minutes east of UTC"}
	}
	const day = 24 * time.Hour
	passed := now.UTC().Add(time.Duration(minutes)*time.Minute).Sub(now.UTC().Truncate(day)) % day
	if passed < 0 {
		passed += day
	}
	return max(time.Second, (day - passed).Truncate(time.Second)), nil
}

type listed struct {
	part

	Filter filter
	Rows   []row
	// Total is the number of locks that pass the filter, zero if unknown. About marks a number that may be a minute old.
	Total int
	About bool
	// Cut is true if more locks exist without a next page, TooMany if there are too many to search or sort.
	Cut, TooMany bool
	// Types, Departments and People are the existing ones, for the filter's boxes.
	Types, Departments, People []string
	// Verbs are the person's verbs that accept several locks, and that at least one of the rows permits.
	Verbs []string
	// Named is an object whose name was searched for, and that no row shows.
	Named *applock.Object
}

// ListPage is the list of locks.
func (r *Reader) ListPage(ctx context.Context, who access.Visitor, query url.Values) (pages.View, error) {
	f, err := filterOf(query)
	if err != nil {
		return pages.View{}, err
	}
	v := pages.View{Template: "list", Title: r.pages.Text("title.locks"), Here: "locks", Search: f.Get("q")}
	if f.First() == "locks?sort=left&within=1h" {
		v.Title = r.pages.Text("title.expiring")
	}
	page, err := r.readList(ctx, who, f)
	if err != nil {
		return v, err
	}
	if err := r.attach(ctx, who, page.Rows); err != nil {
		return v, err
	}
	stats := r.readCounts(ctx)
	page.Types, page.Departments = kindsOf(stats)
	page.People = r.readNames(ctx)
	if page.Total == 0 {
		page.Total = totalOf(stats, f)
		page.About = page.Total > 0
	}
	for i, row := range page.Rows {
		verbs := who.May(row.Owner, append(access.ChangesOfMany(), access.Ask))
		page.Rows[i].Selects = len(verbs) > 0
		if len(verbs) > len(page.Verbs) {
			page.Verbs = verbs
		}
	}
	v.Data = page
	return v, nil
}

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

// totalOf returns the number of locks that pass the filter, or zero if the statistics cannot tell.
func totalOf(stats []applock.Stats, f filter) int {
	objectType, department, none := f.Get("type"), f.Get("department"), f.Get("no-department") != ""
	if f.With("locks", "type", "", "department", "", "no-department", "", "sort", "") != "locks" {
		return 0
	}
	total := 0
	for _, of := range stats {
		ofDepartment := (department == "" || department == of.Department) && (!none || of.Department == "")
		if ofDepartment && (objectType == "" || objectType == of.ObjectType) {
			total += int(of.Live)
		}
	}
	return total
}

// readList reads one page. Sorted by object, it is read by its key. Other lists come from the shared snapshot, or from the database if
// there are more locks than a snapshot holds.
func (r *Reader) readList(ctx context.Context, who access.Visitor, f filter) (listed, error) {
	request, err := f.request()
	if err != nil {
		return listed{Filter: f}, err
	}
	if f.byKey() {
		return r.readPage(ctx, f, request)
	}
	all, err := r.readShared(ctx, who)
	if err != nil {
		return listed{Filter: f}, err
	}
	return r.listFrom(ctx, all, f, request)
}

// listFrom makes a page from a snapshot. If the snapshot is incomplete, the database sorts, as far as it can.
func (r *Reader) listFrom(ctx context.Context, all *snapshot, f filter, request applock.ListRequest) (listed, error) {
	if !all.cut {
		return all.page(f, request), nil
	}
	if _, can := f.inSQL(); can {
		return r.readPage(ctx, f, request)
	}
	return listed{Filter: f, TooMany: true}, nil
}

func (r *Reader) readPage(ctx context.Context, f filter, request applock.ListRequest) (listed, error) {
	page := listed{Filter: f}
	waiting, err := r.countWaiters(ctx, request)
	if err != nil {
		return page, err
	}
	for lock, err := range r.client.List(ctx, request) {
		if err != nil {
			return page, err
		}
		if len(page.Rows) == f.rows() {
			page.Cut = f.Sort != byObject
			if !page.Cut {
				page.More = f.With("locks", "after", page.Rows[f.rows()-1].Object.String())
			}
			break
		}
		page.Rows = append(page.Rows, row{Lock: lock, Waiters: waiting[lock.Object]})
	}
	if f.After == "" {
		page.From, page.To = 1, len(page.Rows)
		if page.More == "" && !page.Cut {
			page.Total = len(page.Rows)
		}
	}
	return page, nil
}

// All is the query of the whole list, which is never empty.
func (l listed) All() string { return strings.TrimPrefix(l.Filter.With("", "sort", byObject), "?") }

// Passing returns the locks of a list by its query, in the order of their objects behind one, at most that many.
func (r *Reader) Passing(ctx context.Context, query string, after applock.Object, most int) (locks []applock.Lock, err error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, pages.ErrNoPage
	}
	f, err := filterOf(values)
	if err != nil {
		return nil, err
	}
	f.Sort, f.After, f.Skip = byObject, "", 0
	request, err := f.request()
	if request.After, request.PageSize = after, most; err != nil {
		return nil, err
	}
	if f.byKey() {
		return Collect(r.client.List(ctx, request), most)
	}
	all, err := r.readShared(ctx, access.Visitor{})
	if err != nil {
		return nil, err
	}
	for _, row := range all.passing(f, request) {
		if row.Object.Compare(after) > 0 && len(locks) < most {
			locks = append(locks, row.Lock)
		}
	}
	if all.cut {
		err = pages.ErrFormTooBig
	}
	return locks, err
}

// passing returns the rows that pass a filter.
func (s *snapshot) passing(f filter, request applock.ListRequest) []row {
	words, waiting, passed := strings.Fields(fold(f.Get("q"))), f.Get("waiting") != "", []row{}
	for i, row := range s.rows {
		if passes(row, request) && (!waiting || row.Waiters > 0) && s.search(i, words) {
			passed = append(passed, row)
		}
	}
	return passed
}

func (s *snapshot) page(f filter, request applock.ListRequest) listed {
	passed := s.passing(f, request)
	named, parsed := applock.ParseObject(f.Get("q"))
	isObject := parsed == nil && !slices.ContainsFunc(passed, func(r row) bool { return r.Object == named })
	compare := comparisons()[strings.TrimPrefix(f.Sort, "-")]
	switch {
	case f.Sort == "-"+byObject:
		slices.Reverse(passed)
	case strings.HasPrefix(f.Sort, "-"):
		slices.SortStableFunc(passed, func(a, b row) int { return compare(b, a) })
	default:
		slices.SortStableFunc(passed, compare)
	}
	page := listed{Filter: f, Total: len(passed), part: partOf(len(passed), f.Skip, f.parameters, "locks")}
	page.Rows = passed[page.From-1 : page.To]
	if isObject {
		page.Named = &named
	}
	return page
}

// passes reports whether a lock is among those that are asked for.
func passes(r row, request applock.ListRequest) bool {
	switch {
	case request.ObjectType != "" && r.Object.Type != request.ObjectType,
		request.Operator != "" && r.Owner.Operator != request.Operator,
		request.Department != "" && r.Owner.Department != request.Department,
		request.NoDepartment && r.Owner.Department != "",
		request.Prefix != "" && !strings.HasPrefix(r.Object.String(), request.Prefix),
		request.OlderThan > 0 && r.ExpiresAt.Add(-r.Left).Sub(r.AcquiredAt) < request.OlderThan, // now by the database's clock
		request.ExpiresWithin > 0 && r.Left > request.ExpiresWithin:
		return false
	}
	return true
}

func (r *Reader) countWaiters(ctx context.Context, list applock.ListRequest) (map[applock.Object]int, error) {
	waiting := map[applock.Object]int{}
	request := applock.WaitersRequest{ObjectType: list.ObjectType, Prefix: list.Prefix, PageSize: applock.MaxPageSize}
	for waiter, err := range r.client.Waiters(ctx, request) {
		if err != nil {
			return nil, err
		}
		waiting[waiter.Object]++
	}
	return waiting, nil
}
