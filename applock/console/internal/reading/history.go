package reading

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
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
	// eventsMost limits the events that one page reads to find those that pass a filter.
	eventsMost = 20_000
	// sinceYesterday is the period of the events on the first page.
	sinceYesterday = "1d"
)

// eventKinds are the kinds that a filter can name.
func eventKinds() []applock.EventKind {
	return []applock.EventKind{
		applock.EventTransferred, applock.EventTaken, applock.EventGiven, applock.EventYielded, applock.EventReleased, applock.EventOvertaken,
		applock.EventAcquired, applock.EventRenewed, applock.EventRefused, applock.EventPolicy, applock.EventPurged, applock.EventHistoryPurged,
	}
}

// eventFilter has the parameters of the history's address.
type eventFilter struct{ parameters }

func eventFilterOf(query url.Values) eventFilter {
	f := eventFilter{parametersOf(query, filters()["/history.csv"]...)}
	f.Set("since", cmp.Or(f.Get("since"), sinceYesterday))
	return f
}

// Chips returns the set parts of the filter, apart from the period.
func (f eventFilter) Chips() []chip { return f.chips("history", filters()["/history.csv"][1:]...) }

// request returns what the database selects. The rest is for passes.
func (f eventFilter) request() (request applock.HistoryRequest, err error) {
	request.Operator = f.Get("operator")
	if request.Since, err = pages.ParseSpan("Since", f.Get("since")); err != nil {
		return request, err
	}
	request.ObjectType, request.ObjectID, _ = strings.Cut(f.Get("object"), ":")
	if kind := f.Get("event"); kind != "" && !slices.Contains(eventKinds(), applock.EventKind(kind)) {
		err = &applock.InvalidError{Argument: "Event", Reason: fmt.Sprintf("is one of %v", eventKinds())}
	}
	return request, err
}

// passes returns whether an event passes the filter; nil if all do. An event belongs to the departments of both its old and its new owner.
func (f eventFilter) passes() func(applock.Event) bool {
	kind, actor, department, words := f.Get("event"), f.Get("actor"), f.Get("department"), strings.Fields(fold(f.Get("reason")))
	if kind+actor+department == "" && words == nil {
		return nil
	}
	return func(event applock.Event) bool {
		return (kind == "" || string(event.Kind) == kind) && (actor == "" || event.Actor == actor) &&
			(department == "" || event.From.Department == department || event.To.Department == department) &&
			!slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(fold(event.Reason), word) })
	}
}

// readHappened returns the newest events that pass, nil for any, limited in number, and the event to continue behind, zero for none.
func (r *Reader) readHappened(
	ctx context.Context, request applock.HistoryRequest, passes func(applock.Event) bool, rows int,
) (found []applock.Event, last int64, err error) {
	request.NewestFirst, request.PageSize = true, min(rows+1, applock.MaxPageSize)
	if passes != nil {
		request.PageSize = applock.DefaultPageSize
	}
	read := 0
	for event, err := range r.client.History(ctx, request) {
		if err != nil {
			return nil, 0, err
		}
		if read == eventsMost || len(found) == rows {
			return found, last, nil
		}
		read++
		if last = event.ID; passes == nil || passes(event) {
			found = append(found, event)
		}
	}
	return found, 0, nil
}

type historyShown struct {
	eventFilter

	Events              []applock.Event
	Kinds               []applock.EventKind
	Departments, People []string
	// Next is the address of the earlier events, empty if there are none. After is true on such a page.
	Next  string
	After bool
}

// HistoryPage is the history, newest first.
func (r *Reader) HistoryPage(ctx context.Context, _ access.Visitor, query url.Values) (pages.View, error) {
	data := historyShown{eventFilter: eventFilterOf(query), Kinds: eventKinds()}
	request, err := data.request()
	if err != nil {
		return pages.View{}, err
	}
	if after := query.Get("after"); after != "" {
		data.After = true
		if request.After, err = strconv.ParseInt(after, 10, 64); err != nil {
			return pages.View{}, &applock.InvalidError{Argument: "After", Reason: "is not the number of an event"}
		}
	}
	var last int64
	if data.Events, last, err = r.readHappened(ctx, request, data.passes(), RowsOfPage); err != nil {
		return pages.View{}, err
	}
	if last > 0 {
		data.Next = data.With("history", "after", strconv.FormatInt(last, 10))
	}
	_, data.Departments = kindsOf(r.readCounts(ctx))
	data.People = r.readNames(ctx)
	return pages.View{Template: "history", Title: r.pages.Text("title.history"), Here: "history", Data: data}, nil
}

// WriteHistory writes the events of a filter as comma-separated values, the newest first, with the names of the view's columns. It writes
// nothing if there are more events than one page reads.
func (r *Reader) WriteHistory(ctx context.Context, query url.Values, to io.Writer) error {
	f := eventFilterOf(query)
	request, err := f.request()
	if err != nil {
		return err
	}
	events, last, err := r.readHappened(ctx, request, f.passes(), eventsMost)
	if err != nil {
		return err
	}
	if last > 0 {
		return &applock.InvalidError{Argument: "Since", Reason: fmt.Sprintf("has more than %d events: choose a shorter time", eventsMost)}
	}
	out := csv.NewWriter(to)
	_ = out.Write([]string{
		"\ufeffevent_id", "event_ts", "event", "object_type", "object_id", "actor_id", // the mark is for Excel, which takes the file for Latin-1 otherwise
		"from_operator_id", "from_department_id", "to_operator_id", "to_department_id", "reason", "db_user", "program",
	})
	for _, event := range events {
		line := []string{
			strconv.FormatInt(event.ID, 10), event.At.UTC().Format(time.RFC3339Nano), string(event.Kind), event.Object.Type, event.Object.ID, event.Actor,
			event.From.Operator, event.From.Department, event.To.Operator, event.To.Department, event.Reason, event.User, event.Program,
		}
		for i, text := range line {
			if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
				line[i] = "'" + text // a spreadsheet would run it
			}
		}
		_ = out.Write(line)
	}
	out.Flush()
	return out.Error() //nolint:wrapcheck // the caller's own writer
}
