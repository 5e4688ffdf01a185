package reading

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
	"github.com/applock/applock/applock/console/internal/pages"
)

// presentMost limits the viewers, and the requests, of one read.
const presentMost = applock.MaxPageSize

// present are the requests and viewers of objects. It is immutable.
type present struct {
	askers  map[applock.Object][]applock.Asker
	viewers map[applock.Object][]applock.Viewer
}

// readPresent reads all of them, or those of one object. Without the right to it, and on a standby, there are none.
func readPresent(ctx context.Context, client *applock.Client, of applock.Object) (*present, error) {
	p := &present{askers: map[applock.Object][]applock.Asker{}, viewers: map[applock.Object][]applock.Viewer{}}
	asking := applock.AskingRequest{ObjectType: of.Type, ObjectID: of.ID, PageSize: presentMost}
	askers, notAsking := Collect(client.Asking(ctx, asking), presentMost)
	for _, a := range askers {
		p.askers[a.Object] = append(p.askers[a.Object], a)
	}
	viewing := applock.ViewersRequest{ObjectType: of.Type, ObjectID: of.ID, PageSize: presentMost}
	viewers, notViewing := Collect(client.Viewers(ctx, viewing), presentMost)
	for _, v := range viewers {
		p.viewers[v.Object] = append(p.viewers[v.Object], v)
	}
	for _, err := range []error{notAsking, notViewing} {
		if err != nil && !NotToBeSeen(err) {
			return nil, err
		}
	}
	return p, nil
}

// NotToBeSeen reports whether the account lacks the right, or the standby the data.
func NotToBeSeen(err error) bool {
	return errors.Is(err, applock.ErrPrivilege) || errors.Is(err, applock.ErrReadOnly)
}

// readPresent returns the requests and viewers. Concurrent requests share one read; a page that only checks for changes takes the last one.
func (r *Reader) readPresent(ctx context.Context, who access.Visitor) (*present, error) {
	return r.present.Get(ctx, struct{}{}, who.Polls, func(ctx context.Context) (*present, error) {
		return readPresent(ctx, r.client, applock.Object{})
	})
}

// here names the others at an object, who neither hold it nor wait for it, each once.
type here struct{ Askers, Editors, Viewers []string }

// on returns the others at an object that somebody holds.
func (p *present) on(object applock.Object, holder string) here {
	var h here
	add := func(names *[]string, name string) {
		if name != holder && !slices.Contains(*names, name) {
			*names = append(*names, name)
		}
	}
	for _, asker := range p.askers[object] {
		add(&h.Askers, asker.Owner.Operator)
	}
	for _, viewer := range p.viewers[object] {
		if viewer.State == applock.StateEditing {
			add(&h.Editors, viewer.Owner.Operator)
		}
	}
	for _, viewer := range p.viewers[object] {
		if !slices.Contains(h.Editors, viewer.Owner.Operator) {
			add(&h.Viewers, viewer.Owner.Operator)
		}
	}
	return h
}

// asked returns all requests, the oldest first.
func (p *present) asked() []applock.Asker {
	all := slices.Concat(slices.Collect(maps.Values(p.askers))...)
	slices.SortFunc(all, func(a, b applock.Asker) int {
		return cmp.Or(a.Since.Compare(b.Since), a.Object.Compare(b.Object))
	})
	return all
}

// AnswersTo returns a function for the holder's answer to a request, empty for none.
func (r *Reader) AnswersTo(ctx context.Context, who access.Visitor) (func(object applock.Object, operator, client string) applock.AskAnswer, error) {
	p, err := r.readPresent(ctx, who)
	return func(object applock.Object, operator, client string) applock.AskAnswer {
		for _, asker := range p.askers[object] {
			if asker.Owner.Operator == operator && asker.Client == client {
				return asker.Answer
			}
		}
		return ""
	}, err
}

// Requests returns all requests, the oldest first, as they were at most half an interval ago.
func (r *Reader) Requests(ctx context.Context) ([]applock.Asker, error) {
	p, err := r.readPresent(ctx, access.Visitor{Polls: true})
	if err != nil {
		return nil, err
	}
	return p.asked(), nil
}

// givenLasts is how long a given lock lasts unless it is taken up.
const givenLasts = time.Minute

// GivenTo returns the locks that a visitor was given and has not taken up.
func (r *Reader) GivenTo(ctx context.Context, who access.Visitor) ([]pages.GivenLock, error) {
	return r.given.Get(ctx, who.Person, who.Polls, func(ctx context.Context) (given []pages.GivenLock, err error) {
		for lock, err := range r.client.List(ctx, applock.ListRequest{Operator: who.Person, ExpiresWithin: givenLasts}) {
			if err != nil {
				return nil, err
			}
			// The first get replaces the short time by the one that was asked for.
			if lock.ExpiresAt.Sub(lock.LockedAt)+time.Second < lock.TTL {
				given = append(given, pages.GivenLock{Lock: lock, From: r.giverOf(ctx, lock)})
			}
		}
		return given, nil
	})
}

// giverOf returns the former holder of a lock, if the history can be read.
func (r *Reader) giverOf(ctx context.Context, lock applock.Lock) string {
	request := applock.HistoryRequest{ObjectType: lock.Object.Type, ObjectID: lock.Object.ID, NewestFirst: true, PageSize: RowsOfPage}
	events, _ := Collect(r.client.History(ctx, request), RowsOfPage)
	for _, event := range events {
		if event.ToFence == lock.Fence {
			return event.From.Operator
		}
	}
	return ""
}

func (r *Reader) attach(ctx context.Context, who access.Visitor, rows []row) error {
	p, err := r.readPresent(ctx, who)
	if err != nil {
		return err
	}
	for i := range rows {
		rows[i].Here = p.on(rows[i].Object, rows[i].Owner.Operator)
	}
	return nil
}

func (p *present) attachTo(queues []queue) {
	for i, q := range queues {
		holder := ""
		if q.Lock != nil {
			holder = q.Lock.Owner.Operator
		}
		queues[i].Here = p.on(q.Object, holder)
	}
}

// presence is a line of an object's page: a request or a viewer.
type presence struct {
	Owner applock.Owner
	// Does is the name of the text that describes it.
	Does    string
	Since   time.Time
	Message string
}

// presences returns the lines of an object's page, each operator once for each kind.
func (p *present) presences(object applock.Object) []presence {
	var lines []presence
	add := func(line presence) {
		same := func(l presence) bool {
			return l.Owner == line.Owner && l.Does == line.Does && l.Message == line.Message
		}
		if !slices.ContainsFunc(lines, same) {
			lines = append(lines, line)
		}
	}
	for _, asker := range p.askers[object] {
		add(presence{Owner: asker.Owner, Does: "does.asks", Since: asker.Since, Message: asker.Message})
	}
	for _, viewer := range p.viewers[object] {
		does := map[applock.PresenceState]string{applock.StateEditing: "does.edits", applock.StateIdle: "does.idles"}[viewer.State]
		add(presence{Owner: viewer.Owner, Does: cmp.Or(does, "does.looks"), Since: viewer.Since})
	}
	return lines
}

// A form suggests namesSuggested names, from the first peopleRead locks, waiters and events.
const (
	peopleRead     = 1000
	namesSuggested = 500
)

// sightings are the sources of operators' names: locks, waiters and the history.
type sightings struct {
	locks   applock.ListRequest
	waiters applock.WaitersRequest
	events  applock.HistoryRequest
}

// each calls enough with each operator, holders first, possibly several times. It stops when enough returns true.
func (s sightings) each(ctx context.Context, client *applock.Client, enough func(applock.Owner) bool) error {
	done, err := first(client.List(ctx, s.locks), s.locks.PageSize, func(l applock.Lock) bool { return enough(l.Owner) })
	if !done {
		done, err = first(client.Waiters(ctx, s.waiters), s.waiters.PageSize, func(w applock.Waiter) bool { return enough(w.Owner) })
	}
	if !done {
		_, err = first(client.History(ctx, s.events), s.events.PageSize, func(e applock.Event) bool {
			return enough(e.To) || enough(e.From) || enough(applock.Owner{Operator: e.Actor})
		})
	}
	return err
}

// first calls enough with at most most items of a list. It is done when enough returns true, or after an error.
func first[T any](list iter.Seq2[T, error], most int, enough func(T) bool) (done bool, err error) {
	for one, err := range list {
		if err != nil || enough(one) {
			return true, err
		}
		if most--; most == 0 {
			break
		}
	}
	return false, nil
}

// Collect returns at most so many items of a list.
func Collect[T any](list iter.Seq2[T, error], most int) (all []T, err error) {
	_, err = first(list, most, func(one T) bool {
		all = append(all, one)
		return false
	})
	return all, err
}

// OperatorNamed returns the operator with this name, with a department if known, or nil if the name is unknown.
func (r *Reader) OperatorNamed(ctx context.Context, name string) (*applock.Owner, error) {
	var found *applock.Owner
	err := sightings{
		locks:   applock.ListRequest{Operator: name, PageSize: 1},
		waiters: applock.WaitersRequest{Operator: name, PageSize: 1},
		events:  applock.HistoryRequest{Operator: name, NewestFirst: true, PageSize: MostOfPerson},
	}.each(ctx, r.client, func(owner applock.Owner) bool {
		if owner.Operator == name && (found == nil || found.Department == "") {
			found = &owner
		}
		return found != nil && found.Department != ""
	})
	return found, err
}

// People returns the operators that a form suggests, sorted by name.
func (r *Reader) People(ctx context.Context) ([]applock.Owner, error) {
	known := map[string]applock.Owner{}
	err := sightings{
		locks:   applock.ListRequest{PageSize: applock.MaxPageSize},
		waiters: applock.WaitersRequest{PageSize: peopleRead},
		events:  applock.HistoryRequest{NewestFirst: true, PageSize: peopleRead},
	}.each(ctx, r.client, func(owner applock.Owner) bool {
		if owner.Operator != "" && known[owner.Operator].Department == "" {
			known[owner.Operator] = owner
		}
		return false
	})
	owners := slices.SortedFunc(maps.Values(known), func(a, b applock.Owner) int { return cmp.Compare(a.Operator, b.Operator) })
	return owners[:min(len(owners), namesSuggested)], err
}
