package console

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/applock/applock/applock"
)

// presentMost bounds how many viewers, and how many requests, one look at the database returns.
const presentMost = applock.MaxPageSize

// present is who asks for objects and who looks at them. Nobody changes it.
type present struct {
	askers  map[applock.Object][]applock.Asker
	viewers map[applock.Object][]applock.Viewer
}

// readPresent reads all of it, or that of one object. An account without the right to it, and a standby, have none.
func readPresent(ctx context.Context, client *applock.Client, of applock.Object) (*present, error) {
	p := &present{askers: map[applock.Object][]applock.Asker{}, viewers: map[applock.Object][]applock.Viewer{}}
	asking := applock.AskingRequest{ObjectType: of.Type, ObjectID: of.ID, PageSize: presentMost}
	_, err := first(client.Asking(ctx, asking), presentMost, func(a applock.Asker) bool {
		p.askers[a.Object] = append(p.askers[a.Object], a)
		return false
	})
	if err != nil && !notToBeSeen(err) {
		return nil, err
	}
	viewers := applock.ViewersRequest{ObjectType: of.Type, ObjectID: of.ID, PageSize: presentMost}
	_, err = first(client.Viewers(ctx, viewers), presentMost, func(v applock.Viewer) bool {
		p.viewers[v.Object] = append(p.viewers[v.Object], v)
		return false
	})
	if err != nil && !notToBeSeen(err) {
		return nil, err
	}
	return p, nil
}

// notToBeSeen is true where an account may not see who is there, or a standby does not know.
func notToBeSeen(err error) bool {
	return errors.Is(err, applock.ErrPrivilege) || errors.Is(err, applock.ErrReadOnly)
}

// readPresent returns who is there. All pages that ask at the time share one look, and pages that only look whether something has changed
// take the last one.
func (d *database) readPresent(ctx context.Context, timeout time.Duration) (*present, error) {
	return d.present.get(ctx, struct{}{}, askerOf(ctx).polls, func() (*present, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		defer cancel()
		return readPresent(ctx, d.client, applock.Object{})
	})
}

// here is who has to do with a lock, beside its holder and those who wait: each once.
type here struct{ Askers, Editors, Viewers []string }

// on returns who is there of an object that somebody holds.
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

// asked returns those who ask for any object, the longest first.
func (p *present) asked() []applock.Asker {
	var all []applock.Asker
	for _, askers := range p.askers {
		all = append(all, askers...)
	}
	slices.SortFunc(all, func(a, b applock.Asker) int {
		if by := a.Since.Compare(b.Since); by != 0 {
			return by
		}
		return a.Object.Compare(b.Object)
	})
	return all
}

// answerTo returns what the holder has answered to a request already, empty for nothing.
func (p *present) answerTo(object applock.Object, operator, client string) applock.AskAnswer {
	for _, asker := range p.askers[object] {
		if asker.Owner.Operator == operator && asker.Client == client {
			return asker.Answer
		}
	}
	return ""
}

// attach has the rows of a page tell who is there.
func (c *console) attach(ctx context.Context, rows []row) error {
	p, err := askerOf(ctx).database.readPresent(ctx, c.config.Timeout)
	if err != nil {
		return err
	}
	for i := range rows {
		rows[i].Here = p.on(rows[i].Object, rows[i].Owner.Operator)
	}
	return nil
}

// attachTo has queues tell who is there.
func (p *present) attachTo(queues []queue) {
	for i, q := range queues {
		holder := ""
		if q.Lock != nil {
			holder = q.Lock.Owner.Operator
		}
		queues[i].Here = p.on(q.Object, holder)
	}
}

// presence is a line of an object's page: somebody who asks for it or looks at it.
type presence struct {
	Owner applock.Owner
	// Does is the name of the text that says what.
	Does  string
	Since time.Time
	// Message is that of who asks.
	Message string
}

// presences returns who asks for an object and who looks at it, each operator once for each of these.
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
		if does == "" {
			does = "does.looks"
		}
		add(presence{Owner: viewer.Owner, Does: does, Since: viewer.Since})
	}
	return lines
}
