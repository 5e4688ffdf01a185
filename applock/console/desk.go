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

// ownDesk is the private part of a person's own desk.
type ownDesk struct {
	// Asked are requests for locks that the person holds. Asks are the person's own requests.
	Asked []askedFor
	Asks  []applock.Asker
	// Given are locks that the person was given and has not accepted yet. Freed are objects that became free after the person asked for
	// them.
	Given []givenLock
	Freed []applock.Object
	// ReasonLimit is the maximum of characters in an answer.
	ReasonLimit int
}

// askedFor is a request that the person may answer.
type askedFor struct {
	applock.Notice
	// Grant is the requested grant.
	Grant applock.Key
	// Answered is LATER if that was the answer so far.
	Answered applock.AskAnswer
}

// givenLock is a lock that ends within a minute unless the person accepts it.
type givenLock struct {
	applock.Lock
	// From is the former holder, if known.
	From string
}

// deskPage is the person's own desk.
func (c *console) deskPage(r *http.Request) (view, error) {
	ctx := r.Context()
	data, err := c.readDesk(ctx, askerOf(ctx).person)
	if err != nil {
		return view{}, err
	}
	data.Verbs = slices.DeleteFunc(data.Verbs, func(verb string) bool { return verb == "take" }) // a person's own locks need no take
	own, err := c.readOwn(ctx, data)
	data.Own = own
	return view{template: "operator", title: c.texts["title.desk"], here: "desk", data: data}, err
}

// readOwn reads the private part of a desk.
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
		who.database.beats.begin(who.person) // needed after a restart of the console, which forgets the beats
	}
	own.Freed = who.database.beats.freed(who.person)
	slices.SortFunc(own.Freed, applock.Object.Compare)
	if c.allowed(ctx)[rightAnswer] {
		own.Asked, err = c.readAsked(ctx, who)
	}
	return own, err
}

// readAsked returns the requests for the person's locks. It skips the inbox' events, which the page shows as history.
func (c *console) readAsked(ctx context.Context, who asker) ([]askedFor, error) {
	noEvents := applock.InboxPosition{After: math.MaxInt64}
	notices, _, err := who.database.client.Inbox(ctx, applock.InboxRequest{Operator: who.person, Position: noEvents})
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

// untaken reports whether a given lock still has its short time; the first get replaces that by the time that was asked for.
func untaken(lock applock.Lock) bool {
	return lock.ExpiresAt.Sub(lock.LockedAt)+time.Second < lock.TTL
}

// giverOf returns the former holder of an object, from the newest event in the inbox.
func giverOf(object applock.Object, inbox []applock.Event) string {
	for _, event := range inbox {
		if event.Object == object {
			return event.From.Operator
		}
	}
	return ""
}
