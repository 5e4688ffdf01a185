package console

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/applock/applock/applock"
)

// plan is what will happen, and to whom.
type plan struct {
	Rows []planned
	// Left are locks that are not what they were on the page any more.
	Left outcomes
	// Notes is true where notes end with their grants, Carries where they can go over, and Cut where the history has no room for all of one.
	Notes, Carries, Cut bool
	// Holders and Receivers are true where these are several.
	Holders, Receivers bool
	// Waiters are those who wait for any of the locks.
	Waiters []string
}

// planned is a lock of a plan. To has it afterwards, until EndsThen.
type planned struct {
	applock.Lock
	To       applock.Owner
	EndsThen time.Time
}

// current returns a lock, if it is still what it was on the page.
func current(ctx context.Context, v verb, d deed, key applock.Key) (applock.Lock, error) {
	for lock, err := range clientOf(ctx).List(ctx, applock.ListRequest{ObjectType: key.Object.Type, ObjectID: key.Object.ID}) {
		switch {
		case err != nil:
			return lock, err
		case lock.Key() != key:
			return lock, &applock.HeldError{Object: key.Object, Holder: applock.Holder{
				Owner: lock.Owner, Fence: lock.Fence, ExpiresAt: lock.ExpiresAt, Left: lock.Left, Note: lock.Note,
			}}
		case v.Name == verbNote && tidy(lock.Note) != d.Old:
			return lock, &noteChangedError{note: tidy(lock.Note)}
		}
		return lock, nil
	}
	return applock.Lock{}, applock.ErrNotHeld
}

// currents returns the locks of a deed: those that it names, and what is not what it was on the page; or those of the desk, and the last
// of them where there are more.
func currents(ctx context.Context, v verb, d deed) (locks []applock.Lock, left []outcome, next applock.Object, err error) {
	for _, key := range d.Locks {
		lock, err := current(ctx, v, d, key)
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
	for lock, err := range clientOf(ctx).List(ctx, request) {
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

// plan says what will happen, and to whom. If nothing is left of what was on the page, it says that instead.
func (c *console) plan(ctx context.Context, v verb, d deed) (view, error) {
	locks, left, next, err := currents(ctx, v, d)
	if err != nil {
		return view{}, err
	}
	if len(locks) == 0 && len(left) > 0 {
		return c.answer(ctx, v, d, left, nil), nil
	}
	d.Locks, d.Next = nil, next
	for _, lock := range locks {
		d.Locks = append(d.Locks, lock.Key())
	}
	longest, err := longestTTLs(ctx, v)
	if err != nil {
		return view{}, err
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
	p.Carries = p.Notes && v.Gives && c.allowed(ctx)[verbNote]
	p.Waiters, err = waitersOf(ctx, locks)
	s := c.shown(v, about, titleOf(v, d))
	s.deed, s.Plan, s.Receiver = d, p, about.To
	return view{template: "plan", title: plain(s.Title) + "?", data: s}, err
}

// titleOf names the text that says what is to be done.
func titleOf(v verb, d deed) string {
	switch {
	case v.Name == verbNote && d.Text == "":
		return "deed.clear"
	case v.Name == verbNote:
		return "deed.note"
	case v.Hands:
		return "deed.transfer"
	default:
		return "title." + v.Name
	}
}

// endsThen is when a lock ends that is handed over now: after the time that its grant was asked for, or the longest of its policy.
func endsThen(lock applock.Lock, longest time.Duration) time.Time {
	ttl := lock.TTL
	if longest > 0 {
		ttl = min(ttl, longest)
	}
	return lock.ExpiresAt.Add(ttl - lock.Left)
}

// longestTTLs returns the longest times of policies, by types. Without the right to read them there are none.
func longestTTLs(ctx context.Context, v verb) (map[string]time.Duration, error) {
	longest := map[string]time.Duration{}
	if !v.Gives {
		return longest, nil
	}
	policies, err := clientOf(ctx).Policies(ctx, "")
	if errors.Is(err, applock.ErrPrivilege) {
		return longest, nil
	}
	for _, policy := range policies {
		longest[policy.Type] = policy.LongestTTL
	}
	return longest, err
}

// waitersOf returns who waits for any of the locks.
func waitersOf(ctx context.Context, locks []applock.Lock) ([]string, error) {
	wanted := map[applock.Object]bool{}
	request := applock.WaitersRequest{PageSize: applock.MaxPageSize}
	for _, lock := range locks {
		wanted[lock.Object] = true
		if len(locks) == 1 {
			request = applock.WaitersRequest{ObjectType: lock.Object.Type, ObjectID: lock.Object.ID}
		}
	}
	var names []string
	for waiter, err := range clientOf(ctx).Waiters(ctx, request) {
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

// withNote returns the reason for the history, with the note that ends with the grant behind it, as much of it as there is room for.
func (c *console) withNote(reason, note string) (text string, whole bool) {
	if note == "" {
		return reason, true
	}
	text = fmt.Sprintf(c.texts["reason.note"], reason, tidy(note))
	if utf8.RuneCountInString(text) <= applock.MaxReasonLength {
		return text, true
	}
	if utf8.RuneCountInString(fmt.Sprintf(c.texts["reason.note"], reason, "…")) > applock.MaxReasonLength {
		return reason, false
	}
	return string([]rune(text)[:applock.MaxReasonLength-1]) + "…", false
}
