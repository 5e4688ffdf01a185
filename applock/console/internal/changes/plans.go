package changes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
	"github.com/applock/applock/applock/console/internal/pages"
)

// plan is the data of a plan: the effects of a change.
type plan struct {
	Rows []planned
	// Left are the locks that have changed since the page was read.
	Left outcomes
	// Notes is true if notes end with their grants, Carries if they can be copied, Cut if the history has no room for a whole one.
	Notes, Carries, Cut bool
	// Holders and Receivers are true if there are several.
	Holders, Receivers bool
	// Waiters wait for any of the locks.
	Waiters []string
}

// planned is a lock of a plan. To holds it afterwards, until EndsThen.
type planned struct {
	applock.Lock
	To       applock.Owner
	EndsThen time.Time
}

// current returns a lock, unless it has changed since the page was read.
func (c *Changer) current(ctx context.Context, v verb, d change, key applock.Key) (applock.Lock, error) {
	for lock, err := range c.client.List(ctx, applock.ListRequest{ObjectType: key.Object.Type, ObjectID: key.Object.ID}) {
		switch {
		case err != nil:
			return lock, err
		case lock.Key() != key:
			return lock, &applock.HeldError{Object: key.Object, Holder: applock.Holder{
				Owner: lock.Owner, Fence: lock.Fence, ExpiresAt: lock.ExpiresAt, Left: lock.Left, Note: lock.Note,
			}}
		case v.Name == access.Note && pages.Tidy(lock.Note) != d.Old:
			return lock, &noteChangedError{note: pages.Tidy(lock.Note)}
		}
		return lock, nil
	}
	return applock.Lock{}, applock.ErrNotHeld
}

// currents returns the locks of a change, and those that have changed since the page was read. For a desk it returns a page of its locks, and
// in next the last of them if more follow.
func (c *Changer) currents(ctx context.Context, v verb, d change) (locks []applock.Lock, left []outcome, next applock.Object, err error) {
	for _, key := range d.Locks {
		lock, err := c.current(ctx, v, d, key)
		switch {
		case isRefusal(err):
			left = append(left, outcome{Key: key, err: err})
		case err != nil:
			return nil, nil, next, err
		default:
			locks = append(locks, lock)
		}
	}
	if len(d.Locks) > 0 {
		return locks, left, d.Next, nil
	}
	request := applock.ListRequest{Operator: d.Desk, ObjectType: d.Type, After: d.After, PageSize: rowsOfPlan + 1}
	for lock, err := range c.client.List(ctx, request) {
		if err != nil {
			return nil, nil, next, err
		}
		if len(locks) == rowsOfPlan {
			return locks, nil, locks[rowsOfPlan-1].Object, nil
		}
		locks = append(locks, lock)
	}
	return locks, nil, next, nil
}

// plan returns the page with the effects of a change. If all locks have changed meanwhile, it says so.
func (c *Changer) plan(ctx context.Context, who access.Visitor, v verb, d change) (pages.View, error) {
	locks, left, next, err := c.currents(ctx, v, d)
	if err != nil {
		return pages.View{}, err
	}
	if len(locks) == 0 && len(left) > 0 {
		return c.answer(who, v, d, left, nil), nil
	}
	d.Locks, d.Next = nil, next
	for _, lock := range locks {
		d.Locks = append(d.Locks, lock.Key())
	}
	longest, err := c.longestTTLs(ctx, v)
	if err != nil {
		return pages.View{}, err
	}
	p := plan{Left: c.outcomes(v, d, left)}
	for _, lock := range locks {
		row := planned{Lock: lock, To: d.ownerAfter(lock), EndsThen: endsThen(lock, longest[lock.Object.Type])}
		p.Rows = append(p.Rows, row)
		p.Holders, p.Receivers = p.Holders || row.Owner != p.Rows[0].Owner, p.Receivers || v.Gives && row.To != p.Rows[0].To
		p.Notes = p.Notes || v.Many && lock.Note != ""
		_, whole := c.withNote(d.Text, lock.Note)
		p.Cut = p.Cut || !whole
	}
	about := d
	if len(p.Rows) > 0 && !p.Receivers {
		about.To = p.Rows[0].To
	}
	p.Carries = p.Notes && v.Gives && who.Rights[access.Note]
	p.Waiters, err = c.waitersOf(ctx, locks)
	s := c.shown(v, about, titleOf(v, d))
	s.change, s.Plan, s.Receiver = d, p, about.To
	return pages.View{Template: "plan", Title: pages.Plain(s.Title) + "?", Data: s}, err
}

// titleOf returns the name of the heading's text.
func titleOf(v verb, d change) string {
	switch {
	case v.Name == access.Note && d.Text == "":
		return "change.clear"
	case v.Name == access.Note:
		return "change.note"
	case v.Hands:
		return "change.transfer"
	default:
		return "title." + v.Name
	}
}

// endsThen returns the end of a lock that is handed over now: its grant's original time, limited by the policy.
func endsThen(lock applock.Lock, longest time.Duration) time.Time {
	ttl := lock.TTL
	if longest > 0 {
		ttl = min(ttl, longest)
	}
	return lock.ExpiresAt.Add(ttl - lock.Left)
}

// longestTTLs returns the limits of the policies by type. It returns none without the right to read them.
func (c *Changer) longestTTLs(ctx context.Context, v verb) (map[string]time.Duration, error) {
	longest := map[string]time.Duration{}
	if !v.Gives {
		return longest, nil
	}
	policies, err := c.client.Policies(ctx, "")
	if errors.Is(err, applock.ErrPrivilege) {
		return longest, nil
	}
	for _, policy := range policies {
		longest[policy.Type] = policy.LongestTTL
	}
	return longest, err
}

// waitersOf returns the waiters for any of the locks.
func (c *Changer) waitersOf(ctx context.Context, locks []applock.Lock) ([]string, error) {
	wanted := map[applock.Object]bool{}
	request := applock.WaitersRequest{PageSize: applock.MaxPageSize}
	for _, lock := range locks {
		wanted[lock.Object] = true
		if len(locks) == 1 {
			request = applock.WaitersRequest{ObjectType: lock.Object.Type, ObjectID: lock.Object.ID}
		}
	}
	var names []string
	for waiter, err := range c.client.Waiters(ctx, request) {
		if err != nil {
			return nil, err
		}
		if wanted[waiter.Object] {
			names = append(names, waiter.Owner.String())
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// withNote appends the ending note to the reason, as much of it as the history has room for.
func (c *Changer) withNote(reason, note string) (text string, whole bool) {
	if note == "" {
		return reason, true
	}
	text = fmt.Sprintf(c.pages.Text("reason.note"), reason, pages.Tidy(note))
	if utf8.RuneCountInString(text) <= applock.MaxReasonLength {
		return text, true
	}
	if utf8.RuneCountInString(fmt.Sprintf(c.pages.Text("reason.note"), reason, "…")) > applock.MaxReasonLength {
		return reason, false
	}
	return string([]rune(text)[:applock.MaxReasonLength-1]) + "…", false
}
