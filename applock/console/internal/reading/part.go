package reading

import (
	"maps"
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

// partOf returns the page behind so many rows of a list in memory.
func partOf(rows, skip int, of parameters, path string) part {
	p := part{From: min(skip, rows) + 1}
	if p.To = min(p.From-1+RowsOfPage, rows); p.To < rows {
		p.More = of.With(path, "skip", strconv.Itoa(p.To))
	}
	switch {
	case skip > RowsOfPage:
		p.Back = of.With(path, "skip", strconv.Itoa(skip-RowsOfPage))
	case skip > 0:
		p.Back = of.With(path)
	}
	return p
}

// parameters are those of a list's address that choose its rows, without empty ones.
type parameters struct{ url.Values }

func parametersOf(query url.Values, names ...string) parameters {
	p := parameters{url.Values{}}
	for _, name := range names {
		if value := strings.TrimSpace(query.Get(name)); value != "" {
			p.Set(name, value)
		}
	}
	return p
}

// With returns the address of a page with other values of some parameters: name, value, name, value. An empty one is none.
func (p parameters) With(page string, changed ...string) string {
	query := url.Values{}
	maps.Copy(query, p.Values)
	for pair := range slices.Chunk(changed, 2) {
		if query.Set(pair[0], pair[1]); pair[1] == "" {
			query.Del(pair[0])
		}
	}
	return strings.TrimSuffix(page+"?"+query.Encode(), "?")
}

// chip is a set part of a filter, with the address of the list without it; or an offered part, with the address of the list with it.
// Value is empty if the label says it all.
type chip struct{ Label, Value, Address string }

// chips returns those of the parameters that are set.
func (p parameters) chips(page string, names ...string) []chip {
	var chips []chip
	for _, name := range names {
		c := chip{Label: "chip." + name, Value: p.Get(name), Address: p.With(page, name, "")}
		switch {
		case c.Value == "":
			continue
		case name == "no-department" || name == "waiting":
			c.Value = ""
		case name == "within" && c.Value == today:
			c = chip{Label: "chip.today", Address: p.With(page, name, "", "offset", "")}
		}
		chips = append(chips, c)
	}
	return chips
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
