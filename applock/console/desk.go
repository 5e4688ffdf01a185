package console

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/applock/applock/applock"
)

// ownDesk is what only the operator itself sees of its desk.
type ownDesk struct {
	// Asked are those who ask for what the operator holds, and Asks is what it asks for.
	Asked []askedFor
	Asks  []applock.Asker
	// Given are locks that it was given and has not taken up, and Freed objects that became free while it asked.
	Given []givenLock
	Freed []applock.Object
	// ReasonLimit is how many characters an answer may have.
	ReasonLimit int
}

// askedFor is a request that the operator may answer.
type askedFor struct {
	applock.Notice
	// Grant is the one that the answer is about.
	Grant applock.Key
	// Answered is LATER where that was said already.
	Answered applock.AskAnswer
}

// givenLock is a lock that ends within a minute unless the operator takes it up.
type givenLock struct {
	applock.Lock
	// From is who had it, as far as that is known.
	From string
}

// deskPage is the desk of who asks for the page.
func (c *console) deskPage(r *http.Request) (view, error) {
	ctx := r.Context()
	data, err := c.readDesk(ctx, askerOf(ctx).person)
	if err != nil {
		return view{}, err
	}
	data.Verbs = slices.DeleteFunc(data.Verbs, func(verb string) bool { return verb == "take" }) // one's own
	own, err := c.readOwn(ctx, data)
	data.Own = own
	return view{template: "operator", title: c.texts["title.desk"], here: "desk", data: data}, err
}

// readOwn reads what only the operator sees.
func (c *console) readOwn(ctx context.Context, desk deskShown) (*ownDesk, error) {
	who := askerOf(ctx)
	own := &ownDesk{ReasonLimit: applock.MaxReasonLength}
	for _, row := range desk.Rows {
		if untaken(row.Lock) {
			own.Given = append(own.Given, givenLock{Lock: row.Lock, From: giverOf(row.Object, desk.Inbox)})
		}
	}
	var err error
	if own.Asks, err = requestsOf(ctx, who.person); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(own.Asks, func(a applock.Asker) bool { return a.Client == consoleClient }) {
		who.database.beats.begin(who.person) // also after a restart of the console
	}
	own.Freed = who.database.beats.freed(who.person)
	slices.SortFunc(own.Freed, applock.Object.Compare)
	if c.allowed(ctx)[rightAnswer] {
		own.Asked, err = c.readAsked(ctx, who)
	}
	return own, err
}

// readAsked returns who asks for what the operator holds. The events of the inbox are in the history already.
func (c *console) readAsked(ctx context.Context, who asker) ([]askedFor, error) {
	notices, _, err := who.database.client.Inbox(ctx, applock.InboxRequest{Operator: who.person, Position: applock.InboxPosition{After: math.MaxInt64}})
	if errors.Is(err, applock.ErrPrivilege) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p, err := who.database.readPresent(ctx, c.config.Timeout)
	if err != nil {
		return nil, err
	}
	var asked []askedFor
	for _, n := range notices {
		if n.Kind == applock.NoticeAwaited && n.Client != "" {
			key := applock.Key{Object: n.Object, Operator: who.person, Fence: n.Fence}
			asked = append(asked, askedFor{Notice: n, Grant: key, Answered: p.answerTo(n.Object, n.Other.Operator, n.Client)})
		}
	}
	return asked, nil
}

// untaken reports whether a lock was given and ends before the time that it was asked for: the first get takes it up.
func untaken(lock applock.Lock) bool {
	return lock.ExpiresAt.Sub(lock.LockedAt)+time.Second < lock.TTL
}

// giverOf returns who had an object before, by the newest event of a desk's inbox.
func giverOf(object applock.Object, inbox []applock.Event) string {
	for _, event := range inbox {
		if event.Object == object {
			return event.From.Operator
		}
	}
	return ""
}
