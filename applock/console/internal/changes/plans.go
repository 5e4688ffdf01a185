package changes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/access"
	"github.com/applock/applock/applock/console/internal/pages"
	"github.com/applock/applock/applock/console/internal/reading"
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
	// Waiters go on waiting, Getters get what they wait for by this change.
	Waiters, Getters []string
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
		case v.Name == access.Note && pages.Tidy(lock.Note) != d.Old && pages.Tidy(lock.Note) != d.Text: // the second use of a plan is none
			return lock, &noteChangedError{note: pages.Tidy(lock.Note)}
		}
		return lock, nil
	}
	return applock.Lock{}, applock.ErrNotHeld
}

// currents returns the locks of a change, and those that have changed since the page was read. For a desk it returns a page of its locks, and
// in next the last of them if more follow: those that the person may change.
func (c *Changer) currents(ctx context.Context, who access.Visitor, v verb, d change) (locks []applock.Lock, left []outcome, next applock.Object, err error) {
	for _, key := range d.Locks {
		lock, err := c.current(ctx, v, d, key)
		switch {
		case isRefusal(err):
			left = append(left, c.already(ctx, v, d, outcome{Key: key, err: err}))
		case err != nil:
			return nil, nil, next, err
		default:
			locks = append(locks, lock)
		}
	}
	if len(d.Locks) > 0 {
		return locks, left, d.Next, nil
	}
	if d.Filter != "" {
		locks, err = c.reader.Passing(ctx, d.Filter, d.After, rowsOfPlan+1)
	} else {
		locks, err = c.ofDesk(ctx, who, d)
	}
	if len(locks) > rowsOfPlan {
		return locks[:rowsOfPlan], nil, locks[rowsOfPlan-1].Object, err
	}
	return locks, nil, next, err
}

// ofDesk returns the locks of a desk that the person may change, one more than a plan shows.
func (c *Changer) ofDesk(ctx context.Context, who access.Visitor, d change) (locks []applock.Lock, err error) {
	request := applock.ListRequest{Operator: d.Desk, ObjectType: d.Type, After: d.After, PageSize: rowsOfPlan + 1}
	for lock, err := range c.client.List(ctx, request) {
		if err != nil || len(locks) > rowsOfPlan {
			return locks, err
		}
		if who.Reaches(lock.Owner) {
			locks = append(locks, lock)
		}
	}
	return locks, nil
}

// plan returns the page with the effects of a change. If all locks have changed meanwhile, it says so.
func (c *Changer) plan(ctx context.Context, who access.Visitor, v verb, d change) (pages.View, error) {
	locks, left, next, err := c.currents(ctx, who, v, d)
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
	if d.Filter != "" {
		if err := c.refuseOthers(ctx, who, d); err != nil { // only now it is known whose they are
			return pages.View{}, err
		}
	}
	longest, err := c.longestTTLs(ctx, v)
	if err != nil {
		return pages.View{}, err
	}
	p := plan{Left: c.outcomes(v, d, left)}
	for _, lock := range locks {
		row := planned{Lock: lock, To: d.ownerAfter(lock), EndsThen: endsThen(v, d, lock, longest[lock.Object.Type])}
		p.Rows = append(p.Rows, row)
		p.Holders, p.Receivers = p.Holders || row.Owner != p.Rows[0].Owner, p.Receivers || v.Gives && row.To != p.Rows[0].To
		p.Notes = p.Notes || v.Ends && lock.Note != ""
		_, whole := c.withNote(d.Text, lock.Note)
		p.Cut = p.Cut || !whole
	}
	about := d
	if len(p.Rows) > 0 && !p.Receivers {
		about.To = p.Rows[0].To
	}
	p.Carries = p.Notes && v.Gives && who.Rights[access.Note]
	p.Waiters, p.Getters, err = c.waitersOf(ctx, v, p.Rows)
	s := c.shown(v, about, titleOf(v, d))
	s.change, s.Plan, s.Receiver = d, p, about.To
	if d.Desk != "" && d.Desk != d.By {
		s.Departments = who.Departments
	}
	return pages.View{Template: "plan", Title: pages.Plain(s.Title) + "?", Data: s}, err
}

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

// endsThen returns the end of a lock that is changed now: behind the time that was asked for, or the grant's original time, limited by the
// policy. A renewal shortens nothing.
func endsThen(v verb, d change, lock applock.Lock, longest time.Duration) time.Time {
	ttl := cmp.Or(d.TTL, lock.TTL)
	if longest > 0 {
		ttl = min(ttl, longest)
	}
	if !v.Gives {
		ttl = max(ttl, lock.Left)
	}
	return lock.ExpiresAt.Add(ttl - lock.Left)
}

// longestTTLs returns the limits of the policies by type. It returns none without the right to read them.
func (c *Changer) longestTTLs(ctx context.Context, v verb) (map[string]time.Duration, error) {
	longest := map[string]time.Duration{}
	if !v.Timed {
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

func (c *Changer) waitersOf(ctx context.Context, v verb, rows []planned) (waiters, getters []string, err error) {
	receivers := map[applock.Object]string{}
	request := applock.WaitersRequest{PageSize: applock.MaxPageSize}
	for _, row := range rows {
		receivers[row.Object] = row.To.Operator
		if len(rows) == 1 {
			request = applock.WaitersRequest{ObjectType: row.Object.Type, ObjectID: row.Object.ID}
		}
	}
	for waiter, err := range c.client.Waiters(ctx, request) {
		receiver, wanted := receivers[waiter.Object]
		switch {
		case err != nil:
			return nil, nil, err
		case wanted && v.Gives && waiter.Owner.Operator == receiver:
			getters = append(getters, waiter.Owner.String())
		case wanted:
			waiters = append(waiters, waiter.Owner.String())
		}
	}
	slices.Sort(waiters)
	slices.Sort(getters)
	return slices.Compact(waiters), slices.Compact(getters), nil
}

// withNote appends the ending note to the reason, as much of it as the history has room for.
func (c *Changer) withNote(reason, note string) (text string, whole bool) {
	if note == "" {
		return reason, true
	}
	text = fmt.Sprintf(c.Pages.Text("reason.note"), reason, pages.Tidy(note))
	if utf8.RuneCountInString(text) <= applock.MaxReasonLength {
		return text, true
	}
	if utf8.RuneCountInString(fmt.Sprintf(c.Pages.Text("reason.note"), reason, "…")) > applock.MaxReasonLength {
		return reason, false
	}
	return string([]rune(text)[:applock.MaxReasonLength-1]) + "…", false
}

type outcome struct {
	// Key is the grant that the page showed, From its owner.
	applock.Key
	From applock.Owner
	// Outcome is the procedure's outcome. Text explains it, or says why there is none.
	Outcome, Text string
	Done          bool
	// Holder holds the object now. It is empty if the object is free or the answer names no holder.
	Holder applock.Holder
	// Note is the note of the ended grant. NoteText says what happened to it.
	Note, NoteText string
	err            error
}

type outcomes struct {
	Rows []outcome
	// Sums counts the rows with the same outcome and text.
	Sums []sum
	// Done is true if every row succeeded. Holders, Ends and Notes are true if any row has one.
	Done, Holders, Ends, Notes bool
	// Backs undo the change, one for each former holder.
	Backs []handBack
	// All is the number of the change's locks, and Succeeded that of the rows that did. Rest are the grants to go on with: they have failed, or
	// were not attempted. Unknown names those whose failure may have come after the change.
	All, Succeeded int
	Rest           []applock.Key
	Unknown        []string
}

type sum struct {
	Outcome, Text string
	Number        int
}

// handBack gives locks back to a former holder.
type handBack struct {
	To    applock.Owner
	Locks []applock.Key
	Title template.HTML
}

func isRefusal(err error) bool {
	return errors.Is(err, applock.ErrHeld) || errors.Is(err, applock.ErrNotHeld)
}

// isUnknown reports whether a failure leaves open what has happened, and what further calls would do.
func isUnknown(err error) bool {
	return err != nil && !isRefusal(err) && !errors.Is(err, applock.ErrBusy) && !errors.Is(err, applock.ErrContention)
}

// do makes the changes, lock by lock. A refused lock stays as it is. After a failure, or half of the timeout, it begins no further change.
func (c *Changer) do(ctx context.Context, who access.Visitor, v verb, d change) (pages.View, error) {
	// Go on even if the browser has left: a cancelled change would have an unknown outcome.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Timeout)
	defer cancel()
	if v.Name == access.Note { // no other request changes a note between our comparison and our change
		select {
		case c.Noting <- struct{}{}:
			defer func() { <-c.Noting }()
		case <-ctx.Done():
			return pages.View{}, ctx.Err()
		}
	}
	if v.Name == access.Extend {
		return c.extend(ctx, who, v, d), nil
	}
	var rows []outcome
	begun := time.Now()
	for i, key := range d.Locks {
		if i > 0 && time.Since(begun) > c.Timeout/2 {
			return c.answer(who, v, d, rows, d.Locks[i:]), nil
		}
		row := c.doOne(ctx, v, d, key)
		if isRefusal(row.err) {
			row = c.already(ctx, v, d, row)
		}
		if changed, is := errors.AsType[*noteChangedError](row.err); is {
			return pages.View{}, changed
		}
		rows = append(rows, row)
		c.logChange(ctx, v, d, row)
		if isUnknown(row.err) {
			return c.answer(who, v, d, rows, d.Locks[i+1:]), nil
		}
	}
	return c.answer(who, v, d, rows, nil), nil
}

// extend renews all locks of a plan by one call.
func (c *Changer) extend(ctx context.Context, who access.Visitor, v verb, d change) pages.View {
	changes, err := c.client.RenewAll(ctx, applock.RenewAllRequest{Keys: d.Locks, TTL: d.TTL})
	var rows []outcome
	for i, key := range d.Locks {
		row := outcome{Key: key, err: err}
		if i < len(changes) {
			is := changes[i]
			row.Outcome, row.Holder = string(is.Outcome), applock.Holder{Owner: is.Owner, Fence: is.Fence, ExpiresAt: is.ExpiresAt}
			row.err = map[applock.Outcome]error{
				applock.OutcomeHeld: &applock.HeldError{Object: key.Object, Holder: row.Holder},
				applock.OutcomeFree: applock.ErrNotHeld, applock.OutcomeBusy: applock.ErrBusy,
			}[is.Outcome]
		}
		rows = append(rows, row)
		c.logChange(ctx, v, d, row)
	}
	return c.answer(who, v, d, rows, nil)
}

func (c *Changer) logChange(ctx context.Context, v verb, d change, row outcome) {
	line := []slog.Attr{
		slog.String("person", d.By), slog.String("object", row.Object.String()), slog.String("holder", row.Operator),
		slog.Int64("fence", int64(row.Fence)), slog.String("outcome", row.Outcome), failureOf(row.err),
	}
	if v.Gives {
		line = append(line, slog.String("to", d.To.Operator))
	}
	c.Logger.LogAttrs(ctx, slog.LevelInfo, "console: "+v.Name, line...)
}

// failureOf is an error for the log, without the note that a refusal quotes.
func failureOf(err error) slog.Attr {
	if held, is := errors.AsType[*applock.HeldError](err); is {
		silent := *held
		silent.Holder.Note = ""
		err = &silent
	}
	return slog.Any("error", err)
}

// already returns the outcome of a refused change that the same person has made before, by the second use of a plan, in any replica. The
// history tells.
func (c *Changer) already(ctx context.Context, v verb, d change, row outcome) outcome {
	request := applock.HistoryRequest{ObjectType: row.Object.Type, ObjectID: row.Object.ID, NewestFirst: true, PageSize: reading.RowsOfPage}
	events, err := reading.Collect(c.client.History(ctx, request), reading.RowsOfPage)
	if err != nil {
		return row // the refusal stands
	}
	for _, event := range events {
		if event.Kind == v.event && event.FromFence == row.Fence && event.Actor == d.By && (!v.Gives || event.To.Operator == d.To.Operator) {
			return outcome{Key: row.Key, From: event.From, Outcome: string(event.Kind), Holder: applock.Holder{Owner: event.To, Fence: event.ToFence}}
		}
	}
	return row
}

// doOne changes one lock. The same transaction writes the ended note into the history. The note is then copied to the new grant, if asked
// for.
func (c *Changer) doOne(ctx context.Context, v verb, d change, key applock.Key) outcome {
	row := outcome{Key: key}
	lock, err := c.current(ctx, v, d, key)
	if err != nil {
		row.err = err
		return row
	}
	if v.Ends {
		d.Text, _ = c.withNote(d.Text, lock.Note)
		row.Note = lock.Note
	}
	grant, err := v.call(ctx, c.client, d, lock)
	if err == nil && grant.Outcome == applock.OutcomeFree {
		err = applock.ErrNotHeld
	}
	row.From, row.Outcome, row.err = lock.Owner, string(grant.Outcome), err
	row.Holder = applock.Holder{Owner: grant.Owner, Fence: grant.Fence, ExpiresAt: grant.ExpiresAt}
	switch {
	case err != nil || row.Note == "":
	case !d.Carry || !v.Gives:
		row.NoteText = c.Pages.Text("note.ended")
	default:
		row.NoteText = c.Pages.Text("note.carried")
		if err := c.client.Note(ctx, grant.Key(), lock.Note); err != nil {
			_, why := c.Pages.Explain(err)
			row.NoteText = c.Pages.Text("note.failed") + " " + why
		}
	}
	return row
}

// outcomes explains each result. A refusal is a result, too.
func (c *Changer) outcomes(v verb, d change, rows []outcome) outcomes {
	all := outcomes{Done: true, All: len(rows)}
	for _, row := range rows {
		var held *applock.HeldError
		switch {
		case row.err == nil:
			row.Done = true
			all.Succeeded++
			if v.Name == access.Note {
				row.Note = d.Text
			}
		case errors.As(row.err, &held):
			row.Outcome, row.Holder = string(applock.OutcomeHeld), held.Holder
		case errors.Is(row.err, applock.ErrNotHeld):
			row.Outcome = string(applock.OutcomeFree)
		default:
			_, row.Text = c.Pages.Explain(row.err)
			row.Text = c.Pages.Text("answer.failed") + " " + row.Text
		}
		if row.Text == "" {
			row.Text = c.Pages.Text("answer." + row.Outcome)
		}
		all.Rows, all.Done = append(all.Rows, row), all.Done && row.Done
		all.Holders, all.Ends = all.Holders || row.Holder.Owner.Operator != "", all.Ends || !row.Holder.ExpiresAt.IsZero()
		all.Notes = all.Notes || row.Note != ""
		at := slices.IndexFunc(all.Sums, func(s sum) bool { return s.Outcome == row.Outcome && s.Text == row.Text })
		if at < 0 {
			at, all.Sums = len(all.Sums), append(all.Sums, sum{Outcome: row.Outcome, Text: row.Text})
		}
		all.Sums[at].Number++
	}
	return all
}

func (c *Changer) answer(who access.Visitor, v verb, d change, rows []outcome, rest []applock.Key) pages.View {
	s := c.shown(v, d, titleOf(v, d))
	s.Done = c.outcomes(v, d, rows)
	s.Done.All += len(rest)
	status := 0
	for _, row := range rows {
		switch {
		case row.err == nil:
		case isRefusal(row.err):
			status = max(status, http.StatusConflict)
		default:
			failed, _ := c.Pages.Explain(row.err)
			status = max(status, failed)
			s.Done.Rest = append(s.Done.Rest, row.Key)
			if isUnknown(row.err) {
				s.Done.Unknown = append(s.Done.Unknown, row.Object.String())
			}
		}
	}
	s.Done.Rest = append(s.Done.Rest, rest...)
	if v.Gives && who.Rights[access.Transfer] {
		s.Done.Backs = c.handBacks(s.Done.Rows)
	}
	return pages.View{Template: "answer", Status: status, Title: pages.Plain(s.Title), Data: s}
}

func (c *Changer) handBacks(rows []outcome) []handBack {
	var backs []handBack
	for _, row := range rows {
		if !row.Done || row.From.Operator == row.Holder.Owner.Operator {
			continue
		}
		at := slices.IndexFunc(backs, func(b handBack) bool { return b.To == row.From })
		if at < 0 {
			at, backs = len(backs), append(backs, handBack{To: row.From})
		}
		b := &backs[at]
		b.Locks = append(b.Locks, applock.Key{Object: row.Object, Operator: row.Holder.Owner.Operator, Fence: row.Holder.Fence})
		what := pages.Value(row.Object)
		if len(b.Locks) > 1 {
			what = c.Pages.HTML("change.locks", len(b.Locks))
		}
		b.Title = c.Pages.HTML("change.back", what, b.To)
	}
	return backs
}

// longestSealed is the longest page that goes into an address: proxies accept no more than 8 KB.
const longestSealed = 6000

// sealedView is a finished page.
type sealedView struct {
	Status int
	Title  string
	Main   template.HTML
}

// sealed redirects to an address that has the page sealed in it, so that neither back nor reload sends the form again. Any replica can show
// it, also after a restart. A page that is too long for an address is itself the answer to the form.
func (c *Changer) sealed(page, person string, v pages.View) (pages.View, error) {
	main, err := c.Pages.Main(v, pages.Frame{Title: v.Title, Person: person, Data: v.Data})
	if err != nil {
		return pages.View{}, err
	}
	text, err := c.Seal.Close(sealedView{Status: v.Status, Title: v.Title, Main: main}, page+" of "+person)
	if err != nil || len(text) > longestSealed {
		return v, err
	}
	return pages.View{Location: page + "?sealed=" + text}, nil
}

// sealedPage shows a page to the person for whom it was made, and missing to others.
func (c *Changer) sealedPage(page string, missing error) Page {
	return func(_ context.Context, who access.Visitor, query url.Values) (pages.View, error) {
		var v sealedView
		if !c.Seal.Open(query.Get("sealed"), page+" of "+who.Person, &v) {
			return pages.View{}, missing
		}
		return pages.View{Template: "sealed", Status: v.Status, Title: v.Title, Data: v.Main}, nil
	}
}
