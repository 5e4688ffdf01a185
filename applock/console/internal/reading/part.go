package reading

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/applock/applock/applock"
)

// part is a page of a list.
type part struct {
	// From and To are the numbers of the first and the last row; From is zero if unknown.
	From, To int
	// Back and More are the addresses of the previous and next page, empty if there is none.
	Back, More string
}

// skipOf returns the number of rows before the page that an address asks for.
func skipOf(query url.Values) (int, error) {
	text := query.Get("skip")
	if text == "" {
		return 0, nil
	}
	skip, err := strconv.Atoi(text)
	if err != nil || skip < 0 {
		return 0, &applock.InvalidError{Argument: "skip", Reason: "is not a number of rows"}
	}
	return skip, nil
}

// partOf returns the page behind so many rows of a list in memory. The query has the filter of the list.
func partOf(rows, skip int, query url.Values, path string) part {
	address := func(skip int) string {
		query.Del("skip")
		if skip > 0 {
			query.Set("skip", strconv.Itoa(skip))
		}
		return strings.TrimSuffix(path+"?"+query.Encode(), "?")
	}
	p := part{From: min(skip, rows) + 1}
	if p.To = min(p.From-1+RowsOfPage, rows); p.To < rows {
		p.More = address(p.To)
	}
	if skip > 0 {
		p.Back = address(max(0, skip-RowsOfPage))
	}
	return p
}

// filters are the parameters of the addresses that lead to lists.
func filters() map[string][]string {
	history := []string{"since", "department", "operator", "event", "actor", "object", "reason"}
	return map[string][]string{
		"/": {"department"}, "/waiters": {"type", "skip"}, "/requests": {"type", "skip"}, "/people": {"q", "skip"},
		"/history": append(history, "after"), "/history.csv": history,
		"/locks": {
			"q", "type", "prefix", "operator", "department", "no-department", "waiting", "older", "within", "offset", "sort", "after", "skip",
		},
	}
}

// CheckFilters refuses a parameter of a list's address that the list does not have: it would show more than its reader believes.
func CheckFilters(address *url.URL) error {
	known, isList := filters()[address.Path]
	for name := range address.Query() {
		if isList && !slices.Contains(known, name) {
			return &applock.InvalidError{Argument: name, Reason: "is no filter of this list, which has " + strings.Join(known, ", ")}
		}
	}
	return nil
}
