package main

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/inspect"
)

// figure is a number that stats tells besides those of a type and department, with its samples for Prometheus.
type figure struct {
	// what is the name of the number for people. name and help are Prometheus'.
	what, name, help string
	samples          []sample
}

// surplusOf counts what the request selects. The history and the rows to purge are no one's, so a selection leaves them out. What the account
// may not read, and what the database does not have, is no figure.
func (a *app) surplusOf(ctx context.Context, s session, request applock.StatsRequest) (found []figure, err error) {
	contract, err := s.Version(ctx)
	if err != nil && !errors.Is(err, applock.ErrSchema) {
		return nil, err
	}
	add := func(what, name, help string, samples []sample) {
		if samples != nil {
			found = append(found, figure{what, name, help, samples})
		}
	}
	asking := applock.AskingRequest{ObjectType: request.ObjectType, Department: request.Department, NoDepartment: request.NoDepartment}
	requests, err := countedBy(s.Asking(ctx, asking), func(of applock.Asker) (applock.Object, applock.Owner) { return of.Object, of.Owner })
	if err != nil {
		return nil, err
	}
	add("requests", "applock_requests", "Operators who ask a holder for a lock.", requests)
	viewing := applock.ViewersRequest{ObjectType: request.ObjectType, Department: request.Department, NoDepartment: request.NoDepartment}
	viewers, err := countedBy(s.Viewers(ctx, viewing), func(of applock.Viewer) (applock.Object, applock.Owner) { return of.Object, of.Owner })
	if err != nil {
		return nil, err
	}
	add("viewers", "applock_viewers", "Operators who look at an object.", viewers)
	if request == (applock.StatsRequest{}) {
		events, oldest, err := history(ctx, s)
		if err != nil {
			return nil, err
		}
		add("events", "applock_history_events", "Events in the history, by their kind.", events)
		add("oldest event", oldestEvent, "When the oldest event of the history happened, since 1970.", oldest)
		stale, err := known(inspect.LookForStale(ctx, clients.Driver(s.Client), defaultStale))
		if err != nil {
			return nil, err
		}
		if stale != nil {
			add("rows to purge", "applock_rows_to_purge", "Rows of objects that have been free for 60 days, among the first 10,000 rows.", []sample{{value: stale.Rows}})
		}
	}
	versions := []string{"version", programVersion(debug.ReadBuildInfo()).Version, "contract", strconv.Itoa(contract)}
	add("program", "applock_build_info", "Versions of applockctl and of the installed contract; the value is 1.", []sample{{versions, 1}})
	return found, nil
}

// oldestEvent is the one metric that is a moment.
const oldestEvent = "applock_history_oldest_timestamp_seconds"

// history counts the events by kind, and returns when the oldest happened. Both are nil if the account may not read them.
func history(ctx context.Context, s session) (events, oldest []sample, err error) {
	counts, err := known(inspect.CountEvents(ctx, clients.Driver(s.Client)))
	if err != nil || counts == nil {
		return nil, nil, err
	}
	events, oldest = []sample{}, []sample{}
	for _, each := range *counts {
		events = append(events, sample{[]string{"event", each.Kind}, each.Rows})
	}
	for event, err := range s.History(ctx, applock.HistoryRequest{PageSize: 1}) {
		return events, append(oldest, sample{value: event.At.Unix()}), err
	}
	return events, oldest, nil
}

// countedBy counts rows by type and department, in the order of their bytes. It returns nil if the account may not read them.
func countedBy[T any](rows iter.Seq2[T, error], of func(T) (applock.Object, applock.Owner)) ([]sample, error) {
	counts := map[[2]string]int64{}
	for row, err := range rows {
		if err != nil {
			_, err = known(row, err)
			return nil, err
		}
		object, owner := of(row)
		counts[[2]string{object.Type, owner.Department}]++
	}
	samples := []sample{}
	for key, rows := range counts {
		samples = append(samples, sample{[]string{"type", key[0], "department", key[1]}, rows})
	}
	slices.SortFunc(samples, func(a, b sample) int {
		return cmp.Or(cmp.Compare(a.labels[1], b.labels[1]), cmp.Compare(a.labels[3], b.labels[3]))
	})
	return samples, nil
}

// known returns nil for what this account may not read, or this database does not have.
func known[T any](found T, err error) (*T, error) {
	switch {
	case errors.Is(err, applock.ErrPrivilege), errors.Is(err, applock.ErrReadOnly), errors.Is(err, errors.ErrUnsupported):
		return nil, nil //nolint:nilnil // nothing is known
	case err != nil:
		return nil, err
	}
	return &found, nil
}

// figureLine is a sample of a figure.
type figureLine struct {
	Outcome applock.Outcome   `json:"outcome"`
	What    string            `json:"what"`
	Labels  map[string]string `json:"labels"`
	Value   int64             `json:"value"`

	// of and shown are the labels and the value for people.
	of, shown string
}

func (l figureLine) fields() []table.Field {
	return []table.Field{{Title: "WHAT", Value: l.What}, {Title: "OF", Value: l.of}, {Title: "VALUE", Value: l.shown}}
}

// printFigures prints a line for each sample. A table has none of zero.
func (a *app) printFigures(found []figure) error {
	var lines []figureLine
	for _, f := range found {
		for _, s := range f.samples {
			line := figureLine{Outcome: outcomeSummed, What: f.what, Labels: map[string]string{}, Value: s.value, shown: strconv.FormatInt(s.value, 10)}
			var of []string
			for i := 0; i+1 < len(s.labels); i += 2 {
				line.Labels[s.labels[i]] = s.labels[i+1]
				of = append(of, s.labels[i]+" "+table.Printable(s.labels[i+1]))
			}
			line.of = strings.Join(of, ", ")
			if f.name == oldestEvent {
				line.shown = a.style().Time(time.Unix(s.value, 0))
			}
			if s.value > 0 || a.output == formatJSON {
				lines = append(lines, line)
			}
		}
	}
	return printEach(a, figureLine{}, lines, func(line figureLine) record { return line })
}
