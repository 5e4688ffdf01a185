package console

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/applock/applock/applock"
)

// rowsOfDesk is how many locks of a desk one confirmation is about: each of them is on the page, and all are one transaction.
const rowsOfDesk = 500

// deskDeed is what somebody wants to be done with all that an operator holds: what a form carries.
type deskDeed struct {
	holder, objectType string
	to                 applock.Owner
	reason, by         string
	// after is the last object of the page before.
	after applock.Object
	// seen is the sum of what the plan has shown.
	seen string
}

// deskVerb is something that can be done with a desk. Another one is another entry in deskVerbs.
type deskVerb struct {
	name string
	// hands is true where the form asks to whom.
	hands bool
	// do makes one call, which is one transaction, of so many rows at most.
	do func(ctx context.Context, client *applock.Client, d deskDeed, dryRun bool, rows int) ([]applock.LockChange, error)
}

func deskVerbs() []deskVerb {
	return []deskVerb{
		{name: "transfer-desk", hands: true, do: transferDesk},
		{name: "release-desk", do: releaseDesk},
	}
}

func transferDesk(ctx context.Context, client *applock.Client, d deskDeed, dryRun bool, rows int) ([]applock.LockChange, error) {
	return client.TransferAll(ctx, applock.TransferAllRequest{
		From: d.holder, ObjectType: d.objectType, To: d.to, Actor: d.by, Reason: d.reason, DryRun: dryRun, After: d.after, Limit: rows, PageSize: rows,
	})
}

func releaseDesk(ctx context.Context, client *applock.Client, d deskDeed, dryRun bool, rows int) ([]applock.LockChange, error) {
	return client.ReleaseAll(ctx, applock.ReleaseAllRequest{
		Operator: d.holder, ObjectType: d.objectType, Actor: d.by, Reason: d.reason, DryRun: dryRun, After: d.after, Limit: rows, PageSize: rows,
	})
}

// sumOf is one word for the grants of a plan. After any of them has ended, or another has begun, it is another word.
func sumOf(changes []applock.LockChange) string {
	sum := sha256.New()
	for _, change := range changes {
		_, _ = fmt.Fprintf(sum, "%q %d\n", change.Object.String(), change.Fence) // never fails
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// changedRow is what becomes of one lock, and how many wait for it.
type changedRow struct {
	applock.LockChange
	Waiters int
	// Beyond is true for what was changed and is not in the plan that was confirmed.
	Beyond bool
}

// deskDeedShown is a form on a desk, the page that asks whether it is meant, and the answer.
type deskDeedShown struct {
	Verb   string
	Hands  bool
	Limit  int
	Holder string
	Type   string
	To     applock.Owner
	Reason string
	// Problem is what was wrong with the form, or with what it was about.
	Problem string
	Rows    []changedRow
	// Changed is how many of the rows were changed, or would be, and Beyond how many of these nobody has confirmed.
	Changed, Beyond int
	// After is what the form begins behind, and Next what the one of the next page begins behind; empty for none.
	After, Next string
	Seen        string
}

func (v deskVerb) shown(d deskDeed) deskDeedShown {
	data := deskDeedShown{
		Verb: v.name, Hands: v.hands, Limit: applock.MaxReasonLength, Holder: d.holder, Type: d.objectType, To: d.to, Reason: d.reason,
	}
	if d.after != (applock.Object{}) {
		data.After = d.after.String()
	}
	return data
}

// add adds the rows, no more than one page has, and says what is behind them.
func (s *deskDeedShown) add(changes []applock.LockChange, waiting map[applock.Object]int, more bool) {
	for _, change := range changes {
		s.Rows = append(s.Rows, changedRow{LockChange: change, Waiters: waiting[change.Object]})
		switch change.Outcome {
		case applock.OutcomeWouldTransfer, applock.OutcomeWouldRelease, applock.OutcomeTransferred, applock.OutcomeReleased:
			s.Changed++
		default: // left as it is
		}
	}
	if more {
		s.Next = changes[len(changes)-1].Object.String()
	}
}

// markBeyond marks the rows that are not in a plan: what the operator got between the last look and the change. A release tells the
// fence of the grant that ended, a transfer only that of the new one.
func (s *deskDeedShown) markBeyond(plan deskDeedShown) {
	seen := map[applock.Object]applock.Fence{}
	for _, row := range plan.Rows {
		seen[row.Object] = row.Fence
	}
	for i, row := range s.Rows {
		fence, planned := seen[row.Object]
		switch row.Outcome {
		case applock.OutcomeTransferred:
		case applock.OutcomeReleased:
			planned = planned && fence == row.Fence
		default: // nothing has become of it
			continue
		}
		if !planned {
			s.Rows[i].Beyond = true
			s.Beyond++
		}
	}
}

// deskFormPage asks for what a verb must know.
func (c *console) deskFormPage(v deskVerb) func(*http.Request) (view, error) {
	return func(r *http.Request) (view, error) {
		if !c.allowed(r.Context())[v.name] {
			return view{}, errMayNot
		}
		d := deskDeed{holder: r.URL.Query().Get("name"), objectType: r.URL.Query().Get("type")}
		if d.holder == "" {
			return view{}, &applock.InvalidError{Argument: "Operator", Reason: "must not be empty"}
		}
		return c.deskFormView(v, v.shown(d), 0), nil
	}
}

func (c *console) deskFormView(v deskVerb, data deskDeedShown, status int) view {
	return view{template: "deskform", status: status, title: fmt.Sprintf(c.texts["title."+v.name], data.Holder), data: data}
}

// deskChangePage takes a form on a desk: it shows by a dry run what would be done, and then does it.
func (c *console) deskChangePage(v deskVerb) func(*http.Request) (view, error) {
	return func(r *http.Request) (view, error) {
		if !c.allowed(r.Context())[v.name] {
			return view{}, errMayNot
		}
		d, confirmed, err := deskDeedOf(r)
		if err != nil {
			return view{}, err
		}
		if problem := c.problemOf(v.hands, d.to, d.reason, "Reason"); problem != "" {
			data := v.shown(d)
			data.Problem = problem
			return c.deskFormView(v, data, http.StatusBadRequest), nil
		}
		plan, err := c.deskPlan(r.Context(), v, d)
		if err != nil {
			return view{}, err
		}
		if confirmed && plan.Seen == d.seen {
			return c.kept("answer", d.by, c.doDesk(r, v, d, plan)), nil
		}
		status := 0
		if confirmed {
			plan.Problem, status = fmt.Sprintf(c.texts["desk.changed"], d.holder), http.StatusConflict
		}
		title := fmt.Sprintf(c.texts["title.plan"], d.holder)
		return c.kept("plan", d.by, view{template: "deskplan", status: status, title: title, data: plan}), nil
	}
}

// deskDeedOf reads a form on a desk.
func deskDeedOf(r *http.Request) (d deskDeed, confirmed bool, err error) {
	if err := parseForm(r); err != nil {
		return d, false, err
	}
	form := func(name string) string { return strings.TrimSpace(r.PostForm.Get(name)) }
	// As it stands: blanks belong to names.
	if d.holder = r.PostForm.Get("name"); d.holder == "" {
		return d, false, &applock.InvalidError{Argument: "Operator", Reason: "must not be empty"}
	}
	if after := r.PostForm.Get("after"); after != "" {
		if d.after, err = applock.ParseObject(after); err != nil {
			return d, false, err
		}
	}
	d.objectType, d.reason, d.by, d.seen = form("type"), form("reason"), personOf(r), form("seen")
	d.to = applock.Owner{Operator: form("to"), Department: form("department")}
	return d, form("confirmed") == "yes", nil
}

// deskPlan says by a dry run what would be done. It reads one row more, to know whether there is a next page.
func (c *console) deskPlan(ctx context.Context, v deskVerb, d deskDeed) (deskDeedShown, error) {
	data := v.shown(d)
	changes, err := v.do(ctx, clientOf(ctx), d, true, rowsOfDesk+1)
	if err != nil {
		return data, err
	}
	waiting, err := c.countWaiters(ctx, applock.ListRequest{ObjectType: d.objectType})
	if err != nil {
		return data, err
	}
	page := changes[:min(len(changes), rowsOfDesk)]
	data.add(page, waiting, len(changes) > len(page))
	data.Seen = sumOf(page)
	return data, nil
}

// deskAnswer is what the database has answered on a desk.
type deskAnswer struct {
	deskDeedShown
	// Failure is why there is no answer.
	Failure string
}

// doDesk does what the plan has shown.
func (c *console) doDesk(r *http.Request, v deskVerb, d deskDeed, plan deskDeedShown) view {
	// It goes on when the browser has gone: half a change would be an unknown one.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), c.config.Timeout)
	defer cancel()
	changes, err := v.do(ctx, clientOf(ctx), d, false, rowsOfDesk)
	answer := deskAnswer{deskDeedShown: v.shown(d)}
	answer.add(changes, nil, len(changes) == rowsOfDesk)
	answer.markBeyond(plan)
	c.config.Logger.InfoContext(ctx, "console: "+v.name,
		slog.String("person", d.by),
		slog.String("holder", d.holder),
		slog.String("to", d.to.Operator),
		slog.String("type", d.objectType),
		slog.Int("changed", answer.Changed),
		slog.Int("left", len(changes)-answer.Changed),
		slog.Int("beyond", answer.Beyond),
		slog.Any("error", err))
	status := 0
	switch {
	case err != nil:
		status, answer.Failure = c.explain(err)
	case answer.Changed < len(changes):
		status = http.StatusConflict
	}
	return view{template: "deskanswer", status: status, title: fmt.Sprintf(c.texts["title.answer"], d.holder), data: answer}
}
