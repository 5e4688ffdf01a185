package changes

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"slices"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
	"github.com/applock/applock/applock/console/internal/pages"
)

// ownDesk is the private part of a person's own desk.
type ownDesk struct {
	// Asked are requests for locks that the person holds. Asks are the person's own requests.
	Asked       []askedFor
	Asks        []applock.Asker
	ReasonLimit int
}

// askedFor is a request that the person may answer.
type askedFor struct {
	applock.Notice
	Grant applock.Key
	// Answered is LATER if that was the answer so far.
	Answered applock.AskAnswer
}

// DeskPage is the person's own desk.
func (c *Changer) DeskPage(ctx context.Context, who access.Visitor, _ url.Values) (pages.View, error) {
	data, err := c.reader.ReadDesk(ctx, who, who.Person)
	if err != nil {
		return pages.View{}, err
	}
	data.Verbs = slices.DeleteFunc(data.Verbs, func(verb string) bool { return verb == access.Take }) // a person's own locks need no take
	for i := range data.Rows {
		data.Rows[i].Verbs = who.May(data.Rows[i].Owner, []string{access.Extend})
	}
	own, err := c.readOwn(ctx, who)
	data.Own = own
	return pages.View{Template: "operator", Title: c.Pages.Text("title.desk"), Here: "desk", Data: data}, err
}

func (c *Changer) readOwn(ctx context.Context, who access.Visitor) (own *ownDesk, err error) {
	own = &ownDesk{ReasonLimit: applock.MaxReasonLength}
	if own.Asks, err = c.requestsOf(ctx, who.Person); err != nil {
		return nil, err
	}
	if who.Rights[access.Answer] {
		own.Asked, err = c.readAsked(ctx, who)
	}
	return own, err
}

// Told returns what waits for a person. A page shows nothing of it if it cannot be read.
func (c *Changer) Told(ctx context.Context, who access.Visitor) (told pages.Told) {
	if who.Person == "" || !who.Rights[access.Ask] {
		return told
	}
	requests, err := c.reader.Requests(ctx)
	if err != nil {
		c.Logger.WarnContext(ctx, "console: read requests", slog.String("person", who.Person), failureOf(err))
		return told
	}
	var asked []applock.Asker
	for _, r := range requests {
		switch {
		case r.Owner.Operator == who.Person && r.Client == access.Client:
			c.beats.begin(who.Person) // needed after a restart of the console, which forgets the beats
		case r.Holder.Owner.Operator == who.Person && r.Owner.Operator != who.Person && r.Answer == "" && who.Rights[access.Answer]:
			asked = append(asked, r)
		}
	}
	if c.beats.waits(who.Person) {
		if told, err = c.tell(ctx, who); err != nil {
			c.Logger.WarnContext(ctx, "console: read locks", slog.String("person", who.Person), failureOf(err))
		}
	}
	told.Asked = asked
	return told
}

// tell returns what waits for somebody who asks, or has asked.
func (c *Changer) tell(ctx context.Context, who access.Visitor) (pages.Told, error) {
	given, err := c.reader.GivenTo(ctx, who)
	if err != nil {
		return pages.Told{}, err
	}
	var missed, over []applock.Object
	for object, freed := range c.beats.open(who.Person, given) {
		lock, err := c.reader.Inquire(ctx, object)
		switch {
		case err != nil:
			return pages.Told{}, err
		case lock != nil && (freed || lock.Owner.Operator == who.Person):
			over = append(over, object)
		case !freed:
			missed = append(missed, object)
		}
	}
	return c.beats.tell(who.Person, given, missed, over), nil
}

// readAsked returns the requests for the person's locks. It passes over the inbox' events, which the page shows as history.
func (c *Changer) readAsked(ctx context.Context, who access.Visitor) ([]askedFor, error) {
	seen, _ := c.inboxes.Load(who.Person)
	position, _ := seen.(applock.InboxPosition)
	notices, position, err := c.client.Inbox(ctx, applock.InboxRequest{Operator: who.Person, Position: position})
	if errors.Is(err, applock.ErrPrivilege) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c.inboxes.Store(who.Person, position)
	answerTo, err := c.reader.AnswersTo(ctx, who)
	if err != nil {
		return nil, err
	}
	var asked []askedFor
	for _, n := range notices {
		if n.Kind == applock.NoticeAwaited && n.Client != "" {
			key := applock.Key{Object: n.Object, Operator: who.Person, Fence: n.Fence}
			asked = append(asked, askedFor{Notice: n, Grant: key, Answered: answerTo(n.Object, n.Other.Operator, n.Client)})
		}
	}
	return asked, nil
}
